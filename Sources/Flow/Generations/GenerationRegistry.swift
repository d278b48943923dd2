// Tracks the current generation, the blocks that still belong to earlier generations, and every lane of the run.

internal import Delivery
public import Platform

public final class GenerationRegistry: Sendable {
    private struct State {
        var current: Generation
        /// All lanes of the run, including the lanes of earlier generations.
        var destinations: [Destination]
        /// The numbers of the routes of all generations.
        var routes: Set<UInt16>
        /// The number of blocks that each generation is judging, by generation number.
        var users: [Int: Int] = [:]
        /// The indices of the destinations whose provider was removed from the plan.
        var retiring: Set<Int> = []
        var isEnding = false
    }
    private let state: Monitor<State>

    private let openLanes: OpenLanes

    public init(_ generation: Generation, openLanes: OpenLanes) {
        self.openLanes = openLanes
        state = Monitor(State(current: generation, destinations: generation.destinations, routes: Set(generation.routes)))
        // No lane has lost its provider before the first generation.
        _ = openLanes.adopt(generation.destinations.map(\.lane))
    }

    public var current: Generation { state.withLock { $0.current } }
    public var destinations: [Destination] { state.withLock { $0.destinations } }
    public var routes: [UInt16] { state.withLock { $0.routes.sorted() } }

    // MARK: - Blocks

    /// Returns the generation of the next block. Blocks must enter in their order, and `leave` must follow for each.
    public func enter() -> Generation {
        state.withLock { state in
            state.users[state.current.number, default: 0] += 1
            return state.current
        }
    }

    public func leave(_ generation: Generation) {
        state.withLock { state in
            let left = state.users[generation.number]! - 1
            assert(generation.number <= state.current.number, "a block leaves a generation that was never adopted")
            state.users[generation.number] = left > 0 ? left : nil
        }
        state.wake()
    }

    // MARK: - Changes

    /// Makes this generation judge from the next block on. Returns false if the run is ending.
    public func adopt(_ generation: Generation, retiring: [Destination]) -> Bool {
        let taken: (isTaken: Bool, hasNoProvider: Bool) = state.withLock { state in
            guard !state.isEnding else { return (false, false) }
            assert(generation.number > state.current.number, "the plan goes back to an earlier generation")
            state.current = generation
            state.routes.formUnion(generation.routes)
            let known = Set(state.destinations.map(\.index))
            state.destinations += generation.destinations.filter { !known.contains($0.index) }
            state.retiring.formUnion(retiring.map(\.index))
            // This happens under the lock, so that a lane that closes at the same time counts in the old generation or in the new one.
            return (true, openLanes.adopt(generation.destinations.map(\.lane)))
        }
        if taken.hasNoProvider { openLanes.end() }
        return taken.isTaken
    }

    /// Waits until all blocks of earlier generations have been handed over, but not longer than the deadline. Returns true if they have.
    public func waitForBlocks(before generation: Generation, until deadline: Instant, _ clock: Clock) -> Bool {
        state.waitUntilReady { state in
            if !state.users.keys.contains(where: { $0 < generation.number }) { return .ready(true) }
            return clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
    }

    /// Refuses all further generations.
    public func end() { state.withLock { $0.isEnding = true } }

    public func isRetiring(_ destination: Destination) -> Bool { state.withLock { $0.retiring.contains(destination.index) } }
    /// Returns true if the lane's provider has left or the lane has stopped.
    public func isGone(_ destination: Destination) -> Bool { openLanes.isClosed(destination.lane) }
}
