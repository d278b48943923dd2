import Delivery
import Document
import Platform
import Queueing
import Testing

@testable import PluginHost

@Suite("The protocol of an isolated module")
struct FrameTests {
    private static let frames: [Frame.ToHost] = [
        .ready(name: "a", version: "1.0"), .refused("no"), .log(.warning, "a line"), .gone("left"), .closed,
        .ended(token: 7, BatchOutcome(.delivered)),
        .ended(
            token: .max,
            BatchOutcome(
                .retry(Answer(code: -5, "later"), after: .milliseconds(1500)),
                events: [
                    0: .rejected(Answer(code: 422, "bad")), 2: .unknown(Answer("?")), 3: .fault(Answer("who")), 4: .rejected(Answer("")),
                ])),
        .erased(token: 9, ErasureAnswer(.rejected(Answer("by hand")))),
        .erased(
            token: 9,
            ErasureAnswer(
                BatchOutcome(.retry(Answer(code: 202, "at work"), after: .seconds(60)), events: [1: .delivered]), state: Array("job 7".utf8)
            )),
        .ended(token: 7, BatchOutcome(.delivered, events: [1: .untried])), .ask(question: 9, token: 7, nil),
        .ask(question: 9, token: 7, [0, 4]), .ask(question: 9, token: 7, []),
        .previewed(token: 7, nil), .previewed(token: 7, WirePreview()), .previewed(token: 7, preview), .probed(token: 7, nil),
        .probed(token: 7, ProbeFinding(.refused, code: -401, "no")), .probed(token: 7, ProbeFinding(.failed, "")),
    ]

    private static let preview: WirePreview = {
        var preview = WirePreview()
        var cut = WirePreview.Request(method: "PUT", url: "/b", headers: [], body: [0, 0xFF], events: [])
        cut.isCut = true
        preview.requests = [
            WirePreview.Request(
                method: "POST", url: "https://a.example", headers: ["A: b", String(repeating: "c", count: 9000)], body: [],
                events: [4, 0, 4]),
            cut,
        ]
        preview.refused = [1: "too long", 3: ""]
        preview.losses = [0: ["the end of a text", "a list"], 2: ["a list"]]
        preview.isCut = true
        return preview
    }()

    private func payload(_ bytes: [UInt8]) -> Payload {
        let payload = Payload(size: bytes.count)
        payload.memory.copyBytes(from: bytes)
        return payload
    }

    private func read(_ kind: UInt32, _ bytes: [UInt8], count: Int? = 5) throws(FrameFault) -> Frame.ToHost {
        try Frame.ToHost(kind, payload(bytes)) { _ in count }
    }

    /// Returns the body of a deliver frame with these lines.
    private func delivery(_ lines: [String]) -> [UInt8] {
        let batch = OwnBatch(lines, arrival: 7)
        var body = FrameBody()
        body.put(UInt64(1))
        body.put(UInt32(2))
        body.put(UInt32(lines.count))
        for end in batch.ends { body.put(end) }
        for arrival in batch.arrivals { body.put(arrival) }
        return body.bytes + Array(batch.bytes)
    }

    @Test("a written frame is read as the same frame", arguments: frames)
    func roundTrip(frame: Frame.ToHost) throws {
        let (kind, body) = frame.encoded
        #expect(try read(kind.rawValue, body.bytes) == frame)
    }

    @Test("a received batch has the same events, ends and arrivals")
    func batches() throws {
        guard case .deliver(1, 2, let batch) = try Frame.ToModule(Frame.Kind.deliver.rawValue, payload(delivery(["{}", "{\"a\":1}"])))
        else {
            Issue.record("the frame is not a deliver frame")
            return
        }
        #expect(String(decoding: batch.bytes, as: UTF8.self) == "{}\n{\"a\":1}\n")
        #expect(Array(batch.ends) == [3, 11] && Array(batch.arrivals) == [7, 7])
    }

    @Test("a batch that is to be previewed has the same events")
    func previews() throws {
        guard case .preview(1, let batch) = try Frame.ToModule(Frame.Kind.preview.rawValue, payload(delivery(["{}"]))) else {
            Issue.record("the frame is not a preview frame")
            return
        }
        #expect(String(decoding: batch.bytes, as: UTF8.self) == "{}\n")
    }

    @Test("a preview is refused if nobody asked for it, or if it names an event that its batch does not have, or is cut short")
    func wrongPreviews() {
        let (kind, body) = Frame.ToHost.previewed(token: 7, FrameTests.preview).encoded
        #expect(throws: FrameFault.self) { try read(kind.rawValue, body.bytes, count: nil) }
        #expect(throws: FrameFault.self) { try read(kind.rawValue, body.bytes, count: 4) }
        for size in stride(from: 0, to: body.bytes.count, by: 7) {
            #expect(throws: FrameFault.self) { try read(kind.rawValue, Array(body.bytes[..<size])) }
        }
        var refusedTwice = FrameBody()
        for number in [UInt32(7), 0, 1, 0, 2] { refusedTwice.put(number) }
        for _ in 0..<2 {
            refusedTwice.put(UInt64(1))
            refusedTwice.put("no")
        }
        for number in [UInt32(0), 0] { refusedTwice.put(number) }
        #expect(throws: FrameFault.self) { try read(kind.rawValue, refusedTwice.bytes) }
        let finding = Frame.ToHost.probed(token: 7, ProbeFinding(.accepted, "")).encoded
        #expect(throws: FrameFault.self) { try read(finding.kind.rawValue, finding.body.bytes, count: nil) }
        var strange = finding.body.bytes
        strange[12] = 9
        #expect(throws: FrameFault.self) { try read(finding.kind.rawValue, strange) }
    }

    @Test("a counted list that its frame cannot hold is refused before there is memory for it")
    func hugePreviews() {
        for place in 0..<3 {
            var body = FrameBody()
            for number in [UInt32(7), 0, 1] + Array(repeating: 0, count: place) { body.put(number) }
            body.put(UInt32.max)
            #expect(throws: FrameFault.self) { try read(Frame.Kind.previewed.rawValue, body.bytes) }
        }
    }

    @Test("a secret in a preview is masked, also where the process has cut it")
    func maskedPreviews() throws {
        var preview = WirePreview()
        var request = WirePreview.Request(
            method: "POST", url: "https://a.example/s3cret-text", headers: ["Key: s3cret-text"], body: Array("a s3cret-te".utf8),
            events: [0])
        request.isCut = true
        preview.requests = [request]
        preview.refused = [1: "it is s3cret-text"]
        let (kind, body) = Frame.ToHost.previewed(token: 7, preview).encoded
        let read = try Frame.ToHost(kind.rawValue, payload(body.bytes), hiding: HiddenTexts(["s3cret-text"])) { _ in 5 }
        guard case .previewed(7, let shown?) = read else {
            Issue.record("it is no preview")
            return
        }
        #expect(shown.requests[0].url == "https://a.example/(secret)" && shown.requests[0].headers == ["Key: (secret)"])
        #expect(String(decoding: shown.requests[0].body, as: UTF8.self) == "a (secret)" && shown.refused == [1: "it is (secret)"])
    }

    @Test("an outcome of an event that its batch does not have is refused, and so are two outcomes of one event")
    func indices() {
        let (kind, body) = FrameTests.frames[6].encoded
        #expect(throws: FrameFault.self) { try read(kind.rawValue, body.bytes, count: 4) }
        var twice = FrameBody()
        twice.put(UInt64(1))
        twice.put(Outcome.delivered)
        twice.put(UInt32(2))
        for _ in 0..<2 {
            twice.put(UInt32(0))
            twice.put(Outcome.delivered)
        }
        #expect(throws: FrameFault.self) { try read(kind.rawValue, twice.bytes) }
    }

    @Test("the outcome closed for a single event of a batch is refused")
    func goneForOne() {
        let (kind, _) = FrameTests.frames[6].encoded
        var one = FrameBody()
        one.put(UInt64(1))
        one.put(Outcome.delivered)
        one.put(UInt32(1))
        one.put(UInt32(0))
        one.put(Outcome.closed(Answer("left")))
        #expect(throws: FrameFault.self) { try read(kind.rawValue, one.bytes) }
    }

    @Test("messages of single events that do not fit into a frame are left out, and the outcomes stay")
    func messages() {
        let long = Outcome.rejected(Answer(code: 422, String(repeating: "m", count: 4000)))
        let events = Dictionary(uniqueKeysWithValues: (0..<20_000).map { ($0, long) })
        let (_, body) = Frame.ToHost.ended(token: 1, BatchOutcome(.delivered, events: events)).encoded
        #expect(body.bytes.count <= Frame.mostToHost && body.bytes.count > Frame.mostToHost - ErasureRequest.mostState - 8000)
        func event(_ index: UInt32, _ outcome: Outcome) -> [UInt8] {
            var one = FrameBody()
            one.put(index)
            one.put(outcome)
            return one.bytes
        }
        #expect(body.bytes[32...].starts(with: event(0, long)))
        #expect(body.bytes.suffix(Frame.eventSize).elementsEqual(event(19_999, .rejected(Answer(code: 422, "")))))
    }

    @Test("a request to erase is read as it was written, also with texts that are not plain, and a cut one is refused")
    func erasure() throws {
        let request = ErasureRequest(
            subjects: [SubjectID(member: "userId", id: "u\u{0}1\n"), SubjectID(member: "traits.email", id: "é")], state: [0, 255, 7],
            attempt: 3, begun: 5, deadlineMilliseconds: 60_000)
        let bytes = request.encoded(token: 8).bytes
        guard case .erase(8, let read) = try Frame.ToModule(Frame.Kind.erase.rawValue, payload(bytes)) else {
            Issue.record("the frame is no erase frame")
            return
        }
        #expect(read == request)
        for count in bytes.indices {
            #expect(throws: FrameFault.self) { _ = try Frame.ToModule(Frame.Kind.erase.rawValue, payload(Array(bytes[..<count]))) }
        }
    }

    @Test("a state of an erasure that is too long is refused")
    func longState() {
        let answer = ErasureAnswer(BatchOutcome(.delivered), state: [UInt8](repeating: 1, count: ErasureRequest.mostState + 1))
        let (kind, body) = Frame.ToHost.erased(token: 1, answer).encoded
        #expect(throws: FrameFault.self) { try read(kind.rawValue, body.bytes) }
    }

    @Test("a frame with missing or extra bytes is refused")
    func lengths() {
        for frame in FrameTests.frames {
            let (kind, body) = frame.encoded
            for count in body.bytes.indices { #expect(throws: FrameFault.self) { try read(kind.rawValue, Array(body.bytes[..<count])) } }
            #expect(throws: FrameFault.self) { try read(kind.rawValue, body.bytes + [0]) }
        }
        let whole = delivery(["{}", "{}"])
        for count in whole.indices {
            #expect(throws: FrameFault.self) { _ = try Frame.ToModule(Frame.Kind.deliver.rawValue, payload(Array(whole[..<count]))) }
        }
    }

    @Test("ten thousand randomly changed frames are refused, or read as frames that can be written and read again")
    func fuzz() throws {
        var chance = RandomSource(seed: 20_261_121)
        let hello = Frame.Hello(path: "/a.so", provider: "out", settings: Array("{}".utf8)).encoded.bytes
        var taken = 0
        for _ in 0..<10_000 {
            let frame = FrameTests.frames[Int(chance.next() % UInt64(FrameTests.frames.count))]
            let (kind, body) = frame.encoded
            let number = chance.next() % 8 == 0 ? UInt32(chance.next() % 28) : kind.rawValue
            if let read = try? read(number, mutate(body.bytes, &chance)) {
                taken += 1
                let (kind, body) = read.encoded
                #expect(try self.read(kind.rawValue, body.bytes) == read)
            }
            let other = mutate(chance.next() % 2 == 0 ? delivery(["{}", "{\"a\":1}", "{}"]) : hello, &chance)
            if case .deliver(_, _, let batch)? = try? Frame.ToModule(UInt32(1 + chance.next() % 5), payload(other)) {
                // Every byte that the batch refers to is there.
                var start = 0
                for end in batch.ends {
                    #expect(end > start && end <= batch.bytes.count)
                    start = Int(end)
                }
                _ = batch.bytes.reduce(0) { $0 &+ $1 }
            }
        }
        #expect(taken > 500, "enough changed frames are still valid")
    }

    private func mutate(_ bytes: [UInt8], _ chance: inout RandomSource) -> [UInt8] {
        var bytes = bytes
        for _ in 0...(chance.next() % 3) {
            let place = Int(chance.next() % UInt64(bytes.count + 1))
            switch chance.next() % 5 {
            case 0 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: chance.next())
            case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8(chance.next() % 8)
            case 2: bytes.insert(UInt8(truncatingIfNeeded: chance.next()), at: place)
            case 3: bytes.removeSubrange(place...)
            default: if place < bytes.count { bytes[place] = [0, 0xff, 0x7f, 0x80][Int(chance.next() % 4)] }
            }
        }
        return bytes
    }
}
