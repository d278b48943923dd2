// Fuzzes frames between the router and the process of a module, in both directions. A frame is refused, or none of its bytes
// is ignored. A frame of the module is read as the same frame after it is written again. Its indices are within the batch, and its text
// cannot move a cursor.

import Delivery
import Queueing
import Seeded

@testable import PluginHost

struct FrameFuzzer: Fuzzer {
    private var random: Seeded
    private let plants: Bool
    private static let eventCount = 5

    init(seed: UInt64, plants: Bool) {
        random = Seeded(state: seed)
        self.plants = plants
    }

    private static let answer = Answer(code: -5, "later\u{1b}[2J")
    private static let preview: WirePreview = {
        var preview = WirePreview()
        preview.requests = [
            WirePreview.Request(
                method: "POST", url: "https://a.example/\u{1b}[2J", headers: ["A: b"], body: [0, 0x1B, 0xFF], events: [0, 4])
        ]
        preview.refused = [1: "too long"]
        preview.losses = [2: ["the end of a text", "a list"]]
        return preview
    }()
    private static let toHost: [(UInt32, [UInt8])] = [
        Frame.ToHost.ready(name: "a", version: "1.0"), .refused("no"), .log(.warning, "a line"), .gone("left"), .closed,
        .ended(token: 7, BatchOutcome(.delivered)),
        .ended(
            token: .max,
            BatchOutcome(
                .retry(answer, after: .milliseconds(1500)),
                events: [0: .rejected(answer), 2: .unknown(answer), 3: .fault(answer), 4: .rejected(answer)])),
        .ended(token: 7, BatchOutcome(.delivered, events: [1: .untried])),
        .erased(token: 9, ErasureAnswer(BatchOutcome(.retry(answer, after: nil), events: [1: .delivered]), state: Array("job".utf8))),
        .ask(question: 1, token: 7, nil), .ask(question: 2, token: 7, [0, 4]),
        .previewed(token: 7, preview), .previewed(token: 7, nil), .probed(token: 7, ProbeFinding(.refused, code: 401, "no\u{1b}[2J")),
        .probed(token: 7, nil),
    ].map { ($0.encoded.kind.rawValue, $0.encoded.body.bytes) }

    private static let toModule: [(UInt32, [UInt8])] = {
        var delivery = FrameBody()
        delivery.put(UInt64(1))
        delivery.put(UInt32(2))
        delivery.put(UInt32(2))
        for end in [3, 11] as [UInt64] { delivery.put(end) }
        for arrival in [7, 8] as [Int64] { delivery.put(arrival) }
        var flush = FrameBody()
        flush.put(UInt64(9))
        var permission = FrameBody()
        permission.put(UInt64(3))
        permission.put(UInt32(1))
        let erasure = ErasureRequest(
            subjects: [SubjectID(member: "userId", id: "u1")], state: [1], attempt: 2, begun: 3, deadlineMilliseconds: 4)
        let hello = Frame.Hello(path: "/modules/a.so", provider: "out", settings: Array("{}".utf8))
        return [
            (Frame.Kind.hello.rawValue, hello.encoded.bytes),
            (Frame.Kind.deliver.rawValue, delivery.bytes + Array("{}\n{\"a\":1}\n".utf8)),
            (Frame.Kind.allow.rawValue, permission.bytes), (Frame.Kind.erase.rawValue, erasure.encoded(token: 5).bytes),
            (Frame.Kind.flush.rawValue, flush.bytes), (Frame.Kind.reopen.rawValue, []), (Frame.Kind.close.rawValue, []),
        ]
    }()

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    /// Edits the bytes once. Frames are most often wrong by a number, so some edits make a number very large or wrong by one.
    private mutating func edit(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else {
            if below(2) == 0 { bytes = [UInt8(below(256))] }
            return
        }
        let i = below(bytes.count)
        switch below(7) {
        case 0: bytes[i] = UInt8(below(256))
        case 1: bytes.insert(UInt8(below(256)), at: i)
        case 2: bytes.remove(at: i)
        case 3: bytes.removeSubrange(i...)
        case 4: bytes += bytes[i...]
        case 5:
            for j in i..<min(bytes.count, i + 4) { bytes[j] = 0xFF }
        default: bytes[i] = bytes[i] &+ (below(2) == 0 ? 1 : 255)
        }
    }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let fromModule = below(2) == 0
        let seeds = fromModule ? FrameFuzzer.toHost : FrameFuzzer.toModule
        var (kind, bytes) = seeds[below(seeds.count)]
        if below(16) == 0 { kind = UInt32(below(32)) }
        for _ in 0..<below(4) { edit(&bytes) }
        return (fromModule ? judgeToHost(kind, bytes) : judgeToModule(kind, bytes), bytes)
    }

    /// Returns a payload whose memory ends with the frame.
    private func payload(_ bytes: [UInt8]) -> Payload {
        let payload = Payload(size: bytes.count)
        payload.memory.copyBytes(from: bytes)
        return payload
    }

    private func read(_ kind: UInt32, _ bytes: [UInt8]) -> Frame.ToHost? {
        try? Frame.ToHost(kind, payload(bytes)) { _ in FrameFuzzer.eventCount }
    }

    private func judgeToHost(_ kind: UInt32, _ bytes: [UInt8]) -> Comparison {
        // The planted bug: at some sizes the last byte of a frame is ignored.
        let seen = plants && bytes.count % 4 == 1 && read(kind, bytes) == nil ? Array(bytes.dropLast()) : bytes
        guard let frame = read(kind, seen) else { return .invalid }
        let (itsKind, body) = frame.encoded
        guard read(itsKind.rawValue, body.bytes) == frame else { return .unexplained("written again, it is read as another frame") }
        var texts: [String] = []
        var isExact = false
        switch frame {
        case .ready(let name, let version): texts = [name, version]
        case .refused(let why), .gone(let why): texts = [why]
        case .log(_, let line): texts = [line]
        case .ended(_, let outcome):
            guard outcome.events.keys.allSatisfy((0..<FrameFuzzer.eventCount).contains) else {
                return .unexplained("it names an event that its batch does not have")
            }
            texts = ([outcome.batch] + outcome.events.values).compactMap(words)
        case .erased(_, let answer):
            guard answer.outcome.events.keys.allSatisfy((0..<FrameFuzzer.eventCount).contains) else {
                return .unexplained("it names a subject that its erasure does not have")
            }
            texts = ([answer.outcome.batch] + answer.outcome.events.values).compactMap(words)
        case .ask(_, _, let events):
            guard (events ?? []).allSatisfy({ $0 < UInt64(FrameFuzzer.eventCount) }) else {
                return .unexplained("it asks about an event that its batch does not have")
            }
            isExact = true
        case .previewed(_, let preview):
            guard (preview?.indices ?? []).allSatisfy((0..<FrameFuzzer.eventCount).contains) else {
                return .unexplained("it names an event that its batch does not have")
            }
            texts = preview?.texts ?? []
            isExact = preview == nil
        case .probed(_, let finding):
            texts = finding.map { [$0.message] } ?? []
            isExact = finding == nil
        case .closed: isExact = true
        }
        // No byte may be ignored, except the message of an outcome that has none, such as delivered. Text is repaired and cut, so its length
        // can change. A frame without text has the same length again.
        if isExact, body.bytes.count != bytes.count {
            return .unexplained("\(bytes.count - body.bytes.count) bytes were ignored")
        }
        return texts.allSatisfy { ForeignText.harmless($0) == $0 } ? .valid : .unexplained("its text could move a cursor")
    }

    private func words(_ outcome: Outcome) -> String? {
        switch outcome {
        case .delivered, .filtered, .untried: nil
        case .rejected(let answer), .retry(let answer, _), .unknown(let answer), .fault(let answer), .closed(let answer): answer.message
        }
    }

    private func judgeToModule(_ kind: UInt32, _ bytes: [UInt8]) -> Comparison {
        guard let frame = try? Frame.ToModule(kind, payload(bytes)) else { return .invalid }
        let batch: ReceivedBatch
        switch frame {
        case .deliver(_, _, let received), .preview(_, let received): batch = received
        default: return .valid
        }
        var last: UInt64 = 0
        for end in batch.ends {
            if end <= last { return .unexplained("the ends of its events do not increase") }
            last = end
        }
        guard last == UInt64(batch.bytes.count), batch.ends.count == batch.arrivals.count else {
            return .unexplained("its events do not cover its bytes, or the arrivals are incomplete")
        }
        return batch.bytes.count + 16 * batch.ends.count + 16 == bytes.count ? .valid : .unexplained("bytes were ignored")
    }
}

extension WirePreview {
    fileprivate var indices: [Int] { requests.flatMap(\.events) + refused.keys + losses.keys }
    fileprivate var texts: [String] {
        requests.flatMap { [$0.method, $0.url] + $0.headers } + refused.values + losses.values.flatMap { $0 }
    }
}
