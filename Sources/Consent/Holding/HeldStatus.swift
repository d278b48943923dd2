// The state of held events, as a router reports it or as it is read from a file.

public import HeldEventStore
public import Platform

public struct HeldStatus: Sendable, Equatable {
    public var events = 0
    public var bytes = 0
    /// The arrival time of the oldest event, in nanoseconds since 1970.
    public var oldest: Int64?
    /// The number of events that an earlier run left.
    public var resumed = 0
    /// The reason why no event can be held at the moment.
    public var fault: String?
    /// True if the file was damaged at the start or was found to be damaged later.
    public var isDamaged = false
    /// The number of events that were lost to damage.
    public var damaged = 0
    /// The fault if the file was removed, moved away or replaced.
    public var gone: StorageFault?
    public init() {}

    /// Makes the state from a file that no router uses.
    public init(_ file: HeldSummary) {
        events = file.events
        bytes = file.bytes
        oldest = file.oldest
        fault = file.fault
    }
}
