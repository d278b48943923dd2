// Reads the frames that the other side has sent. No byte of them is trusted (Frame.swift says what is checked).

internal import Delivery
internal import Document
internal import Platform
internal import Queueing

/// Reads the parts of a frame. It never reads beyond the frame.
struct FrameParts {
    private let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var left: Int {
        assert((0...bytes.count).contains(offset), "a frame was read beyond its end")
        return bytes.count - offset
    }

    mutating func number<N: FixedWidthInteger>(_ type: N.Type) throws(FrameFault) -> N {
        let size = MemoryLayout<N>.size
        guard left >= size else { throw FrameFault(what: "a frame that ends within a number") }
        defer { offset += size }
        return N(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: N.self))
    }

    mutating func blob() throws(FrameFault) -> UnsafeRawBufferPointer {
        let size = Int(try number(UInt32.self))
        guard left >= size else { throw FrameFault(what: "a frame that ends within a text") }
        defer { offset += size }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + size])
    }

    /// Reads a text of the other side, which is not trusted.
    mutating func text(most: Int = 4096, hiding hidden: HiddenTexts = HiddenTexts()) throws(FrameFault) -> String {
        let bytes: UnsafeBufferPointer<UInt8> = try blob().assumingMemoryBound(to: UInt8.self)
        return ForeignText.read(bytes, most: most, hiding: hidden)
    }

    /// A century, in milliseconds. As nanoseconds it still fits into the number of a duration.
    static let mostPause: UInt64 = 36_525 * 86_400_000

    mutating func outcome(hiding hidden: HiddenTexts) throws(FrameFault) -> Outcome {
        let kind = try number(UInt32.self)
        let code = Int(try number(Int32.self))
        let after = try number(UInt64.self)
        let answer = Answer(code: code, try text(hiding: hidden))
        switch kind {
        case 0: return .delivered
        case 1: return .rejected(answer)
        case 2: return .retry(answer, after: after == 0 ? nil : .milliseconds(min(after, FrameParts.mostPause)))
        case 3: return .unknown(answer)
        case 4: return .fault(answer)
        case 5: return .closed(answer)
        case 6: return .untried
        default: throw FrameFault(what: "an outcome of the unknown kind \(kind)")
        }
    }

    /// Reads the outcome of a batch of `total` events.
    mutating func batchOutcome(of total: Int, hiding hidden: HiddenTexts) throws(FrameFault) -> BatchOutcome {
        var outcome = BatchOutcome(try self.outcome(hiding: hidden))
        let count = try number(UInt32.self)
        // Each event takes at least this size. So a wrong count cannot cause more memory use than the size of its frame justifies.
        guard Int(count) <= left / Frame.eventSize else { throw FrameFault(what: "a count beyond the frame") }
        for _ in 0..<count {
            let index = Int(try number(UInt32.self))
            let one = try self.outcome(hiding: hidden)
            if case .closed = one { throw FrameFault(what: "the outcome 'closed' for one event") }
            if index >= total { throw FrameFault(what: "the outcome of an event that its batch does not have") }
            guard outcome.events.updateValue(one, forKey: index) == nil else { throw FrameFault(what: "two outcomes of one event") }
        }
        return outcome
    }

    func end() throws(FrameFault) {
        guard left == 0 else { throw FrameFault(what: "a frame with \(left) bytes too many") }
    }
}

extension Frame.ToHost {
    /// Reads a frame. `hidden` is masked in every text except a name and a version, which are only compared. `eventCount` returns the
    /// number of events of the delivery with that token. It returns nil if there is no such delivery; then the frame is a fault.
    init(
        _ kind: UInt32, _ payload: Payload, hiding hidden: HiddenTexts = HiddenTexts(), eventCount: (UInt64) -> Int?
    ) throws(FrameFault) {
        // The compiler may end the life of the payload after the last use of its name, and its memory is read until the end.
        defer { withExtendedLifetime(payload) {} }
        var parts = FrameParts(payload.bytes)
        switch Frame.Kind(rawValue: kind) {
        case .ready:
            let version = try parts.number(UInt32.self)
            guard version == Frame.version else { throw FrameFault(what: "version \(version) of the protocol") }
            self = .ready(name: try parts.text(), version: try parts.text())
        case .refused: self = .refused(try parts.text(hiding: hidden))
        case .ended:
            let token = try parts.number(UInt64.self)
            guard let total = eventCount(token) else { throw FrameFault(what: "the outcome of a delivery that it does not have") }
            self = .ended(token: token, try parts.batchOutcome(of: total, hiding: hidden))
        case .erased:
            let token = try parts.number(UInt64.self)
            guard let total = eventCount(token) else { throw FrameFault(what: "the outcome of an erasure that it does not have") }
            var answer = ErasureAnswer(try parts.batchOutcome(of: total, hiding: hidden))
            if try parts.number(UInt32.self) != 0 {
                let state = try parts.blob()
                guard state.count <= ErasureRequest.mostState else { throw FrameFault(what: "a state of \(state.count) bytes") }
                answer.state = Array(state)
            }
            self = .erased(token: token, answer)
        case .log:
            guard let level = LogLevel(rawValue: try parts.number(Int32.self)) else { throw FrameFault(what: "an unknown log level") }
            self = .log(level, try parts.text(hiding: hidden))
        case .gone: self = .gone(try parts.text(hiding: hidden))
        case .closed: self = .closed
        case .ask:
            let (question, token) = (try parts.number(UInt64.self), try parts.number(UInt64.self))
            let isForAll = try parts.number(UInt32.self) == 1
            let count = try parts.number(UInt32.self)
            guard Int(count) <= parts.left / 8 else { throw FrameFault(what: "a count beyond the frame") }
            guard !isForAll || count == 0 else { throw FrameFault(what: "a question about all events that names some") }
            var events: [UInt64] = []
            for _ in 0..<count { events.append(try parts.number(UInt64.self)) }
            // A delivery that has ended may not begin to leave, so an unknown token is no fault.
            if let total = eventCount(token), !events.allSatisfy({ $0 < UInt64(total) }) {
                throw FrameFault(what: "a question about an event that its batch does not have")
            }
            self = .ask(question: question, token: token, isForAll ? nil : events)
        case .previewed:
            let token = try parts.number(UInt64.self)
            guard let total = eventCount(token) else { throw FrameFault(what: "a preview that nobody asked for") }
            self = .previewed(token: token, try parts.preview(of: total, hiding: hidden))
        case .probed:
            let token = try parts.number(UInt64.self)
            guard eventCount(token) != nil else { throw FrameFault(what: "a finding that nobody asked for") }
            self = .probed(token: token, try parts.finding(hiding: hidden))
        default: throw FrameFault(what: "a frame of the kind \(kind)")
        }
        try parts.end()
    }
}

extension Frame.ToModule {
    init(_ kind: UInt32, _ payload: Payload) throws(FrameFault) {
        var parts = FrameParts(payload.bytes)
        switch Frame.Kind(rawValue: kind) {
        case .hello:
            let version = try parts.number(UInt32.self)
            guard version == Frame.version else { throw FrameFault(what: "version \(version) of the protocol") }
            let path = String(decoding: try parts.blob(), as: UTF8.self)
            let provider = try parts.text()
            self = .hello(Frame.Hello(path: path, provider: provider, settings: Array(try parts.blob())))
        case .deliver, .preview:
            let token = try parts.number(UInt64.self)
            let attempt = Int(try parts.number(UInt32.self))
            let count = Int(try parts.number(UInt32.self))
            let batch = try ReceivedBatch(payload, from: parts.offset, count: count)
            self = kind == Frame.Kind.deliver.rawValue ? .deliver(token: token, attempt: attempt, batch) : .preview(token: token, batch)
            return
        case .flush: self = .flush(token: try parts.number(UInt64.self))
        case .probe:
            let token = try parts.number(UInt64.self)
            self = .probe(token: token, within: .milliseconds(min(try parts.number(UInt64.self), FrameParts.mostPause)))
        case .reopen: self = .reopen
        case .close: self = .close
        case .allow:
            let question = try parts.number(UInt64.self)
            self = .allow(question: question, try parts.number(UInt32.self) == 1)
        case .erase:
            let token = try parts.number(UInt64.self)
            let attempt = Int(try parts.number(UInt32.self))
            let begun = try parts.number(Int64.self)
            let deadline = Int(clamping: try parts.number(UInt64.self))
            let state = Array(try parts.blob())
            let count = Int(try parts.number(UInt32.self))
            // A subject takes at least the lengths of its texts.
            guard (1...max(1, parts.left / 8)).contains(count), attempt >= 1 else { throw FrameFault(what: "a count beyond the frame") }
            var subjects: [SubjectID] = []
            for _ in 0..<count {
                let member = String(decoding: try parts.blob(), as: UTF8.self)
                subjects.append(SubjectID(member: member, id: String(decoding: try parts.blob(), as: UTF8.self)))
            }
            self = .erase(
                token: token,
                ErasureRequest(subjects: subjects, state: state, attempt: attempt, begun: begun, deadlineMilliseconds: deadline))
        default: throw FrameFault(what: "a frame of the kind \(kind)")
        }
        try parts.end()
    }
}

/// The body of a received frame, aligned for any number.
final class Payload: @unchecked Sendable {
    let memory: UnsafeMutableRawBufferPointer
    init(size: Int) { memory = .allocate(byteCount: size, alignment: 16) }
    deinit { memory.deallocate() }
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
}

/// A batch whose events stay in the memory in which they were received.
final class ReceivedBatch: BorrowedBatch, @unchecked Sendable {
    let bytes: UnsafeRawBufferPointer
    let ends: UnsafeBufferPointer<UInt64>
    let arrivals: UnsafeBufferPointer<Int64>
    private let payload: Payload

    /// `start` must be a multiple of eight.
    init(_ payload: Payload, from start: Int, count: Int) throws(FrameFault) {
        precondition(
            start % 8 == 0 && (0...payload.memory.count).contains(start), "the numbers of a batch are not aligned, or not in its frame")
        let whole = payload.bytes
        guard count <= (whole.count - start) / 16 else { throw FrameFault(what: "a batch of more events than its frame holds") }
        let times = start + 8 * count
        let text = times + 8 * count
        assert(text <= whole.count, "the numbers of a batch end after its frame")
        self.payload = payload
        ends = UnsafeRawBufferPointer(rebasing: whole[start..<times]).bindMemory(to: UInt64.self)
        arrivals = UnsafeRawBufferPointer(rebasing: whole[times..<text]).bindMemory(to: Int64.self)
        bytes = UnsafeRawBufferPointer(rebasing: whole[text...])
        var last: UInt64 = 0
        for end in ends {
            guard end > last else { throw FrameFault(what: "a batch whose events do not follow each other") }
            last = end
        }
        guard last == UInt64(bytes.count) else { throw FrameFault(what: "a batch whose events do not cover its bytes") }
    }
}
