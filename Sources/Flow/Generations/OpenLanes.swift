// Which lanes of the current generation still have a provider. It promises that the sources are stopped when the last one has none.

public import Delivery
public import Ingest
public import Platform

public final class OpenLanes: Sendable {
    private struct State {
        /// The lanes of the current generation.
        var current: [ObjectIdentifier] = []
        /// The lanes of the run whose provider has left or that have stopped.
        var gone: Set<ObjectIdentifier> = []
    }

    private let state = Monitor(State())
    private let stop: WakeUp
    /// Weak, since the inbox tells the lanes when it waits, and the lanes tell this object when they close.
    private weak let inbox: Inbox?

    /// `inbox`: nil when standard input is the only source.
    public init(stop: WakeUp, inbox: Inbox?) {
        self.stop = stop
        self.inbox = inbox
    }

    /// These are the lanes of the current generation from now on.
    public func adopt(_ lanes: [Lane]) { state.withLock { $0.current = lanes.map { ObjectIdentifier($0) } } }

    /// The lane has no provider any more. Returns how many lanes of the current generation have one.
    public func close(_ lane: Lane) -> Int {
        let left = state.withLock { state in
            state.gone.insert(ObjectIdentifier(lane))
            return state.current.count { !state.gone.contains($0) }
        }
        if left == 0 {
            stop.raise()
            inbox?.close()
        }
        return left
    }

    public func isClosed(_ lane: Lane) -> Bool { state.withLock { $0.gone.contains(ObjectIdentifier(lane)) } }
}
