// The protocol between the router and the process of a module, version 1.
//
// A frame is the length of its body (4 bytes), its kind (4 bytes) and its body. Numbers are little-endian. A text is its length
// (4 bytes) and UTF-8. Frames to the module:
//   1 hello    version (4), path of the library, name of the provider, settings (in the form of a text)
//   2 deliver  token (8), attempt (4), count (4), the end of each event (8), the arrival of each (8), NDJSON to the frame's end
//   3 flush    token (8)
//   4 reopen
//   5 close
//   8 allow    number of the question (8), 1 if the events may leave or 0 (4)
//   9 erase    token (8), attempt (4), begun (8), deadline in milliseconds (8), state (in the form of a text), count (4), for each subject
//              its member and its id
// Frames from the module:
//  17 ready    version (4), the module's name, its version
//  18 refused  the reason
//  19 ended    token (8), outcome, count (4), for each of these events its index (4) and outcome; messages that would not fit are left out
//  20 log      level (4), line
//  21 gone     the reason why the destination is gone for good
//  22 closed
//  26 erased   as ended, with the indices of subjects; after it a 1 (4) and the new state (in the form of a text), or a 0 (4)
//  27 ask      number of the question (8), token (8), 1 for all events or 0 (4), count (4), index of each event (8)
// An outcome is its kind (4, as in switchyard_plugin.h), its code (4, signed), retry after in milliseconds (8), and a message.
// A frame is not trusted: lengths are bounded, counts must fit the bytes of the frame, tokens must be those of deliveries under way, and
// indices must be within the batch.

internal import Delivery
internal import Document
internal import Platform
internal import Queueing

/// The received bytes are not a valid frame, or the frame is not allowed now. `what` completes the phrase "sent ...".
struct FrameFault: Error {
    let what: String
}

enum Frame {
    static let version: UInt32 = 1
    static let headSize = 8
    /// A batch can have 1 GB of events.
    static let mostToModule = 1_200_000_000
    /// The outcomes of a million events fit into a frame, but not all of their messages.
    static let mostToHost = 64_000_000
    /// The size of the outcome of one event without its message.
    static let eventSize = 24

    enum ToModule {
        case hello(Hello)
        case deliver(token: UInt64, attempt: Int, ReceivedBatch)
        case flush(token: UInt64)
        case reopen
        case close
        case allow(question: UInt64, Bool)
        case erase(token: UInt64, ErasureRequest)
    }

    struct Hello: Equatable {
        var path: String
        var provider: String
        var settings: [UInt8]
    }

    enum ToHost: Equatable {
        case ready(name: String, version: String)
        case refused(String)
        case ended(token: UInt64, BatchOutcome)
        case log(LogLevel, String)
        case gone(String)
        case closed
        case erased(token: UInt64, ErasureAnswer)
        /// Asks whether these events of a delivery may leave. Nil stands for all of them.
        case ask(question: UInt64, token: UInt64, [UInt64]?)
    }

    enum Kind: UInt32 {
        case hello = 1
        case deliver, flush, reopen, close
        case allow = 8
        case erase = 9
        case ready = 17
        case refused, ended, log, gone, closed
        case erased = 26
        case ask = 27

        var isToModule: Bool { rawValue < Kind.ready.rawValue }
    }
}

// MARK: - Writing

/// The body of a frame that is to be sent.
struct FrameBody {
    private(set) var bytes: [UInt8] = []

    mutating func put(_ number: some FixedWidthInteger) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
    mutating func put(_ blob: [UInt8]) {
        assert(blob.count <= Int(UInt32.max), "the length of a text does not fit into its field")
        put(UInt32(clamping: blob.count))
        bytes += blob
    }
    mutating func put(_ text: String) { put(Array(text.utf8)) }

    /// Leaves out a message that is longer than `room`.
    mutating func put(_ outcome: Outcome, room: Int = .max) {
        let (kind, answer, after): (UInt32, Answer, UInt64) =
            switch outcome {
            case .delivered: (0, Answer(""), 0)
            case .rejected(let answer): (1, answer, 0)
            // Zero means that no time is given.
            case .retry(let answer, let after): (2, answer, after.map { UInt64(clamping: max(1, $0.nanoseconds / 1_000_000)) } ?? 0)
            case .unknown(let answer): (3, answer, 0)
            case .fault(let answer): (4, answer, 0)
            case .closed(let answer): (5, answer, 0)
            case .untried: (6, Answer(""), 0)
            case .filtered: preconditionFailure("only the router leaves events out")
            }
        put(kind)
        put(Int32(clamping: answer.code))
        put(after)
        put(answer.message.utf8.count <= room ? answer.message : "")
    }
}

extension FrameBody {
    /// Leaves out the messages of single events that do not fit.
    mutating func put(_ outcome: BatchOutcome) {
        put(outcome.batch)
        put(UInt32(outcome.events.count))
        var left = outcome.events.count
        for (index, one) in outcome.events.sorted(by: { $0.key < $1.key }) {
            let room = Frame.mostToHost - ErasureRequest.mostState - bytes.count - left * Frame.eventSize
            put(UInt32(index))
            put(one, room: room)
            left -= 1
        }
    }
}

extension ErasureRequest {
    /// Returns the body of the frame that passes this request to a process.
    func encoded(token: UInt64) -> FrameBody {
        var body = FrameBody()
        body.put(token)
        body.put(UInt32(clamping: attempt))
        body.put(begun)
        body.put(UInt64(clamping: deadlineMilliseconds))
        body.put(state)
        body.put(UInt32(clamping: subjects.count))
        for subject in subjects {
            body.put(subject.member)
            body.put(subject.id)
        }
        return body
    }
}

extension Frame.ToHost {
    var encoded: (kind: Frame.Kind, body: FrameBody) {
        var body = FrameBody()
        switch self {
        case .ready(let name, let version):
            body.put(Frame.version)
            body.put(name)
            body.put(version)
            return (.ready, body)
        case .refused(let why):
            body.put(why)
            return (.refused, body)
        case .ended(let token, let outcome):
            body.put(token)
            body.put(outcome)
            return (.ended, body)
        case .erased(let token, let answer):
            body.put(token)
            body.put(answer.outcome)
            body.put(UInt32(answer.state == nil ? 0 : 1))
            if let state = answer.state { body.put(state) }
            return (.erased, body)
        case .log(let level, let line):
            body.put(level.rawValue)
            body.put(line)
            return (.log, body)
        case .gone(let why):
            body.put(why)
            return (.gone, body)
        case .closed: return (.closed, body)
        case .ask(let question, let token, let events):
            body.put(question)
            body.put(token)
            body.put(UInt32(events == nil ? 1 : 0))
            body.put(UInt32(events?.count ?? 0))
            for event in events ?? [] { body.put(event) }
            return (.ask, body)
        }
    }
}

extension Frame.Hello {
    var encoded: FrameBody {
        var body = FrameBody()
        body.put(Frame.version)
        body.put(path)
        body.put(provider)
        body.put(settings)
        return body
    }
}

// MARK: - Reading

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
    mutating func text(hiding hidden: HiddenTexts = HiddenTexts()) throws(FrameFault) -> String {
        let bytes: UnsafeBufferPointer<UInt8> = try blob().assumingMemoryBound(to: UInt8.self)
        return ForeignText.read(bytes, most: 4096, hiding: hidden)
    }

    /// A century, in milliseconds. As nanoseconds it still fits into the number of a duration.
    private var mostPause: UInt64 { 36_525 * 86_400_000 }

    mutating func outcome(hiding hidden: HiddenTexts) throws(FrameFault) -> Outcome {
        let kind = try number(UInt32.self)
        let code = Int(try number(Int32.self))
        let after = try number(UInt64.self)
        let answer = Answer(code: code, try text(hiding: hidden))
        switch kind {
        case 0: return .delivered
        case 1: return .rejected(answer)
        case 2: return .retry(answer, after: after == 0 ? nil : .milliseconds(min(after, mostPause)))
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
        _ kind: UInt32, _ bytes: UnsafeRawBufferPointer, hiding hidden: HiddenTexts = HiddenTexts(), eventCount: (UInt64) -> Int?
    ) throws(FrameFault) {
        var parts = FrameParts(bytes)
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
            var events: [UInt64] = []
            for _ in 0..<count { events.append(try parts.number(UInt64.self)) }
            // A delivery that has ended may not begin to leave, so an unknown token is no fault.
            if let total = eventCount(token), !events.allSatisfy({ $0 < UInt64(total) }) {
                throw FrameFault(what: "a question about an event that its batch does not have")
            }
            self = .ask(question: question, token: token, isForAll ? nil : events)
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
        case .deliver:
            let token = try parts.number(UInt64.self)
            let attempt = Int(try parts.number(UInt32.self))
            let count = Int(try parts.number(UInt32.self))
            self = .deliver(token: token, attempt: attempt, try ReceivedBatch(payload, from: parts.offset, count: count))
            return
        case .flush: self = .flush(token: try parts.number(UInt64.self))
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
