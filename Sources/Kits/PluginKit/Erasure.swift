// Erasing subjects at a destination. The router keeps the job and asks until the destination has confirmed. Conformance to the protocol
// announces it in the module's table.

internal import Encoding

/// A destination that can erase the data of subjects.
public protocol SubjectEraser: Adapter, Sendable {
    /// Does the next part of the job, and returns what the destination says. The host calls it on a thread of its own, also while a
    /// delivery is active, so it may block until the deadline. It is called again with the same subjects if the host does not know the
    /// answer, such as after a crash; so a repeated call must do no harm.
    func erase(_ erasure: Erasure) -> Erasure.Answer
}

/// One call of a job.
public struct Erasure: Sendable, Equatable {
    /// An id, and the path of the member of the events that held it. A provider that got hashed ids gets the hashes here.
    public struct Subject: Sendable, Hashable {
        public var member: String
        public var id: String

        public init(member: String, id: String) {
            self.member = member
            self.id = id
        }
    }

    /// The subjects that are still to be erased.
    public var subjects: [Subject]
    /// What the last call of the job returned. It is empty for the first call.
    public var state: [UInt8]
    /// The number of the call, from 1.
    public var attempt: Int
    /// When the job began, in nanoseconds since 1970.
    public var begun: Int64
    /// The time in which the call must return. Long work is done in parts, and each part returns `askAgain`.
    public var deadlineMilliseconds: Int

    public init(
        _ subjects: [Subject], state: [UInt8] = [], attempt: Int = 1, begun: Int64 = 0, deadlineMilliseconds: Int = 60_000
    ) {
        self.subjects = subjects
        self.state = state
        self.attempt = attempt
        self.begun = begun
        self.deadlineMilliseconds = deadlineMilliseconds
    }

    /// The state as text.
    public var stateText: String { String(decoding: state, as: UTF8.self) }

    /// The most bytes of a state.
    public static let mostState = Int(SWITCHYARD_MOST_ERASURE_STATE)

    /// What the destination says. `delivered` means that it has confirmed that it holds nothing of the subjects any more; a request that
    /// was only accepted is a `retry`. `rejected` means that it cannot erase them, with what a person must do there. In `mixed` an index
    /// is that of a subject. No message holds an id or a secret.
    public struct Answer: Sendable {
        public var outcome: Outcome
        /// The state for the next call. It is nil if the last one stays.
        public var state: [UInt8]?

        public init(_ outcome: Outcome, state: [UInt8]? = nil) {
            self.outcome = outcome
            self.state = state
        }

        /// The destination has confirmed that it holds nothing of the subjects any more.
        public static let confirmed = Answer(.delivered)

        /// The destination is at work, or busy.
        public static func askAgain(_ words: String, afterMilliseconds: UInt64? = nil, state: String? = nil) -> Answer {
            Answer(.retry(words, afterMilliseconds: afterMilliseconds), state: state.map { Array($0.utf8) })
        }

        /// The destination cannot erase the subjects. The words say what a person must do there by hand.
        public static func cannot(_ words: String) -> Answer { Answer(.rejected(words)) }
    }
}

// MARK: - The C interface

extension Erasure {
    /// Returns nil if the subjects are not what the host promises.
    init?(_ raw: UnsafePointer<switchyard_erasure>) {
        let erasure = raw.pointee
        let list = String(decoding: UnsafeRawBufferPointer(start: erasure.subjects.data, count: erasure.subjects.size), as: UTF8.self)
        // The kit parses only objects, so the list becomes the only member of an object.
        guard let objects = (try? Settings(json: "{\"subjects\":\(list)}"))?.get("subjects", as: [Settings].self) else { return nil }
        let subjects = objects.compactMap { object -> Subject? in
            guard let member: String = object.get("member"), let id: String = object.get("id") else { return nil }
            return Subject(member: member, id: id)
        }
        guard subjects.count == objects.count, !subjects.isEmpty else { return nil }
        self.init(
            subjects, state: Array(UnsafeBufferPointer(start: erasure.state.data, count: erasure.state.size)),
            attempt: Int(erasure.attempt), begun: erasure.begun, deadlineMilliseconds: Int(clamping: erasure.deadline_ms))
    }
}

/// How one call ends. It outlives the struct of the call.
struct ErasureEnding {
    private let token: UInt64
    private let context: UnsafeMutableRawPointer?
    private let ended:
        @convention(c) (
            UnsafeMutableRawPointer?, UInt64, UnsafePointer<switchyard_outcome>?, UnsafePointer<switchyard_event_outcome>?, Int,
            switchyard_bytes
        ) -> Void
    private let lastState: [UInt8]

    init(_ raw: UnsafePointer<switchyard_erasure>) {
        let erasure = raw.pointee
        token = erasure.token
        context = erasure.context
        ended = erasure.ended
        lastState = Array(UnsafeBufferPointer(start: erasure.state.data, count: erasure.state.size))
    }

    func end(_ answer: Erasure.Answer) {
        (answer.state ?? lastState).withUnsafeBufferPointer { state in
            answer.outcome.withC { outcome, subjects, count in
                ended(context, token, outcome, subjects, count, switchyard_bytes(data: state.baseAddress, size: state.count))
            }
        }
    }
}
