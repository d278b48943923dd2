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
        /// The number of lanes of the current generation that have a provider.
        var left: Int { current.count { !gone.contains($0) } }
    }

    private let state = Monitor(State())
    private let stop: WakeUp
    /// This reference is weak, since the inbox tells the lanes when it waits, and the lanes tell this object when they close.
    private weak let inbox: Inbox?
    private let say: @Sendable (String) -> Void

    /// `inbox` is nil if standard input is the only source. `say` gets messages for a person.
    public init(stop: WakeUp, inbox: Inbox?, say: @escaping @Sendable (String) -> Void) {
        self.say = say
        self.stop = stop
        self.inbox = inbox
    }

    /// Sets the lanes of the current generation. Returns true if all of them have lost their provider before. `close` then counted the lanes
    /// of the generation before and did not stop the sources, so the caller calls `end`.
    func adopt(_ lanes: [Lane]) -> Bool {
        state.withLock { state in
            state.current = lanes.map { ObjectIdentifier($0) }
            return !lanes.isEmpty && state.left == 0
        }
    }

    /// Stops the sources because no lane of a new generation has a provider.
    func end() {
        say("no provider of the new plan is left, ending")
        stopSources()
    }

    /// Records that the lane has no provider any more. Returns the number of lanes of the current generation that have one.
    public func close(_ lane: Lane) -> Int {
        let left = state.withLock { state in
            state.gone.insert(ObjectIdentifier(lane))
            return state.left
        }
        if left == 0 { stopSources() }
        return left
    }

    private func stopSources() {
        stop.raise()
        inbox?.close()
    }

    public func isClosed(_ lane: Lane) -> Bool { state.withLock { $0.gone.contains(ObjectIdentifier(lane)) } }
}
