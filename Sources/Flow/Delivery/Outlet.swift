// A provider together with the settings that its lane needs.

public import Spool

/// A provider of the plan that is ready to take deliveries.
public struct Outlet: Sendable {
    public var provider: any Provider
    /// The maximum number of batches that the provider takes at once.
    public var concurrency: Int
    /// The store for the lane's queue. It is nil if the queue is in memory.
    public var store: (any SpoolStore)?
    public init(provider: any Provider, concurrency: Int, store: (any SpoolStore)? = nil) {
        self.provider = provider
        self.concurrency = concurrency
        self.store = store
    }
}
