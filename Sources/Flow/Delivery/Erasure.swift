// What a provider is asked when subjects are to be erased at its destination, and what it answers. An erasure is a job of many calls: each
// call gets the state that the last one returned.

public import Queueing

/// An id of a subject, and the member of the events that held it.
public struct SubjectID: Sendable, Hashable {
    /// The path of the member, such as `userId`.
    public var member: String
    public var id: String

    public init(member: String, id: String) {
        self.member = member
        self.id = id
    }
}

/// One call of a job.
public struct ErasureRequest: Sendable, Equatable {
    /// The subjects that are still to be erased.
    public var subjects: [SubjectID]
    /// What the last call of the job returned. It is empty for the first call.
    public var state: [UInt8]
    /// The number of the call, from 1.
    public var attempt: Int
    /// When the job began, in nanoseconds since 1970.
    public var begun: Int64
    /// The time in which the call must end, in milliseconds.
    public var deadlineMilliseconds: Int

    public init(subjects: [SubjectID], state: [UInt8] = [], attempt: Int, begun: Int64, deadlineMilliseconds: Int) {
        assert(!subjects.isEmpty && attempt >= 1, "an erasure names nobody, or has no number")
        self.subjects = subjects
        self.state = state
        self.attempt = attempt
        self.begun = begun
        self.deadlineMilliseconds = deadlineMilliseconds
    }

    /// The most bytes of a state.
    public static let mostState = 8192
}

/// The answer of a provider to one call.
public struct ErasureAnswer: Sendable, Equatable {
    /// The outcome of the call, and by index the subjects whose outcome differs. `delivered` means that the destination has confirmed.
    public var outcome: BatchOutcome
    /// The state for the next call. It is nil if the last one stays.
    public var state: [UInt8]?

    public init(_ outcome: BatchOutcome, state: [UInt8]? = nil) {
        self.outcome = outcome
        self.state = state
    }

    public init(_ outcome: Outcome) { self.init(BatchOutcome(outcome)) }
}

extension Provider {
    /// A provider that says nothing else cannot erase.
    public func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) {
        done(ErasureAnswer(.rejected(Answer("the module cannot erase"))))
    }
}
