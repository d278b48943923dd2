// What waits for consent, as a router or a file of its tells it.

public import Platform
public import Spool

public struct HeldStatus: Sendable, Equatable {
    public var events = 0
    public var bytes = 0
    /// When the oldest came in, in nanoseconds since 1970.
    public var oldest: Int64?
    /// How many an earlier run had left.
    public var resumed = 0
    /// Why nothing can be held at the moment.
    public var fault: String?
    /// Its file was damaged when the router started, or turned out to be.
    public var isDamaged = false
    /// How many events were lost by that.
    public var damaged = 0
    /// Its file was removed, moved away or replaced.
    public var gone: StorageFault?
    public init() {}

    /// Of a file that no router has.
    public init(_ file: HeldSummary) {
        events = file.events
        bytes = file.bytes
        oldest = file.oldest
        fault = file.fault
    }
}
