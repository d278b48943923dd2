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
//  10 preview  as deliver
//  11 probe    token (8), deadline in milliseconds (8)
// Frames from the module:
//  17 ready    version (4), the module's name, its version
//  18 refused  the reason
//  19 ended    token (8), outcome, count (4), for each of these events its index (4) and outcome; messages that would not fit are left out
//  20 log      level (4), line
//  21 gone     the reason why the destination is gone for good
//  22 closed
//  26 erased   as ended, with the indices of subjects; after it a 1 (4) and the new state (in the form of a text), or a 0 (4)
//  27 ask      number of the question (8), token (8), 1 for all events or 0 (4), count (4), index of each event (8)
//  28 previewed and 29 probed: InquiryFrames.swift
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
        case preview(token: UInt64, ReceivedBatch)
        case probe(token: UInt64, within: Duration)
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
        /// What the module would send, and what its probe has found. Nil if the module cannot say it.
        case previewed(token: UInt64, WirePreview?)
        case probed(token: UInt64, ProbeFinding?)
    }

    enum Kind: UInt32 {
        case hello = 1
        case deliver, flush, reopen, close
        case allow = 8
        case erase = 9
        case preview, probe
        case ready = 17
        case refused, ended, log, gone, closed
        case erased = 26
        case ask = 27
        case previewed, probed

        var isToModule: Bool { rawValue < Kind.ready.rawValue }
    }
}

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
        case .previewed(let token, let preview):
            body.put(token)
            body.put(preview)
            return (.previewed, body)
        case .probed(let token, let finding):
            body.put(token)
            body.put(finding)
            return (.probed, body)
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
