// What a sweep for a withdrawal destroyed.

/// The result of a sweep for a withdrawal.
public struct Swept: Sendable, Equatable {
    /// The number of events that were destroyed, in memory and on disk, and the number of their bytes.
    public var events = 0
    public var bytes = 0
    /// The number of events that were in flight when the sweep began. They may have been delivered.
    public var inFlight = 0
    /// True if the sweep did not finish, so that something may be left.
    public var isCut = false
    /// True if events may still come back from the provider, or are on their way to the dead letters.
    public var isLoose = false
    public init() {}
}
