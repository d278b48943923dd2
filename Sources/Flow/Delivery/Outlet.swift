// A provider and what its lane must know of it.

public import Spool

/// A provider of the plan, ready to be delivered to.
public struct Outlet: Sendable {
    public var provider: any Provider
    /// The most batches it takes at once.
    public var concurrency: Int
    /// Where its lane keeps its queue; nil: in memory.
    public var store: (any SpoolStore)?
    public init(provider: any Provider, concurrency: Int, store: (any SpoolStore)? = nil) {
        self.provider = provider
        self.concurrency = concurrency
        self.store = store
    }
}
