// Tracks which lanes of the current generation still have a provider. It stops the sources when the last of them closes.

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
    /// This reference is weak, since the inbox tells the lanes when it waits, and the lanes tell this object when they close.
    private weak let inbox: Inbox?

    /// `inbox` is nil if standard input is the only source.
    public init(stop: WakeUp, inbox: Inbox?) {
        self.stop = stop
        self.inbox = inbox
    }

    /// Sets the lanes of the current generation.
    public func adopt(_ lanes: [Lane]) { state.withLock { $0.current = lanes.map { ObjectIdentifier($0) } } }

    /// Records that the lane has no provider any more. Returns the number of lanes of the current generation that have one.
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
