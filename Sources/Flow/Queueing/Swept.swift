// What a sweep for a withdrawal destroyed.

public import Admission

/// The result of a sweep for a withdrawal.
public struct Swept: Sendable, Equatable {
    /// What withdrawals have destroyed at this place so far, by receipt. If the place is on disk, this includes what earlier runs destroyed.
    public var destroyed = Destroyed()
    /// The number of events that had begun to leave when the sweep began. They may have been delivered.
    public var inFlight = 0
    /// True if the sweep did not finish, so that something may be left.
    public var isCut = false
    public init() {}
}
