// A provider as erasures see it: whom to ask, and whether the lane has nothing of an earlier time in the provider's hands.

public import Delivery

public struct ErasureTarget: Sendable {
    /// The name of the provider's module.
    public var plugin: String
    /// The time in which an ask must end.
    public var deadline: Duration
    /// The number of the lane's last delivery so far.
    public var lastDelivery: @Sendable () -> UInt64
    /// True if every delivery up to this one has ended.
    public var hasEnded: @Sendable (_ delivery: UInt64) -> Bool
    public var erase: @Sendable (ErasureRequest, @escaping @Sendable (ErasureAnswer) -> Void) -> Void

    public init(
        plugin: String, deadline: Duration, lastDelivery: @escaping @Sendable () -> UInt64,
        hasEnded: @escaping @Sendable (UInt64) -> Bool,
        erase: @escaping @Sendable (ErasureRequest, @escaping @Sendable (ErasureAnswer) -> Void) -> Void
    ) {
        self.plugin = plugin
        self.deadline = deadline
        self.lastDelivery = lastDelivery
        self.hasEnded = hasEnded
        self.erase = erase
    }
}
