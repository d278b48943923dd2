// Knows which generation is current, which blocks still belong to older ones, and every lane of the run.

internal import Delivery
public import Platform

public final class GenerationRegistry: Sendable {
    private struct State {
        var current: Generation
        /// All lanes of the run, those included that an earlier generation sent to.
        var destinations: [Destination]
        /// The numbers of the routes of all generations.
        var routes: Set<UInt16>
        /// By generation: how many blocks it is judging.
        var users: [Int: Int] = [:]
        /// Those whose provider was taken out of the plan.
        var retiring: Set<Int> = []
        var isEnding = false
    }
    private let state: Monitor<State>

    private let openLanes: OpenLanes

    public init(_ generation: Generation, openLanes: OpenLanes) {
        self.openLanes = openLanes
        state = Monitor(State(current: generation, destinations: generation.destinations, routes: Set(generation.routes)))
        openLanes.adopt(generation.destinations.map(\.lane))
    }

    public var current: Generation { state.withLock { $0.current } }
    public var destinations: [Destination] { state.withLock { $0.destinations } }
    public var routes: [UInt16] { state.withLock { $0.routes.sorted() } }

    // MARK: - Blocks

    /// The generation that the next block belongs to; `leave` must follow. Asked in the order of the blocks.
    public func enter() -> Generation {
        state.withLock { state in
            state.users[state.current.number, default: 0] += 1
            return state.current
        }
    }

    public func leave(_ generation: Generation) {
        state.withLock { state in
            let left = state.users[generation.number]! - 1
            state.users[generation.number] = left > 0 ? left : nil
        }
        state.wake()
    }

    // MARK: - Changes

    /// From the next block on this generation judges; false: the run is ending.
    public func adopt(_ generation: Generation, retiring: [Destination]) -> Bool {
        state.withLock { state in
            guard !state.isEnding else { return false }
            state.current = generation
            state.routes.formUnion(generation.routes)
            let known = Set(state.destinations.map(\.index))
            state.destinations += generation.destinations.filter { !known.contains($0.index) }
            state.retiring.formUnion(retiring.map(\.index))
            // Under the lock, so that a lane that closes meanwhile is counted by one generation or the other.
            openLanes.adopt(generation.destinations.map(\.lane))
            return true
        }
    }

    /// Waits until every block has been handed over that belongs to an earlier generation, but not for ever; whether it has.
    public func waitForBlocks(before generation: Generation, until deadline: Instant, _ clock: Clock) -> Bool {
        state.waitUntilReady { state in
            if !state.users.keys.contains(where: { $0 < generation.number }) { return .ready(true) }
            return clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
    }

    /// No generation comes any more.
    public func end() { state.withLock { $0.isEnding = true } }

    public func isRetiring(_ destination: Destination) -> Bool { state.withLock { $0.retiring.contains(destination.index) } }
    /// Whether its provider has left, or it has stopped.
    public func isGone(_ destination: Destination) -> Bool { openLanes.isClosed(destination.lane) }
}
