// A plan at work, from one reload to the next: its rules and the lanes it sends to. Every block is judged and handed over by one
// generation. The roster knows which one is current, which blocks still belong to older ones, and every lane of the run.

internal import Configuration
internal import Delivery
internal import Judging
internal import Platform

/// A lane with its provider's seat, in the order in which the run came by them.
final class Post: Sendable {
    let index: Int
    let lane: Lane
    let seat: Seat

    init(index: Int, lane: Lane, seat: Seat) {
        self.index = index
        self.lane = lane
        self.seat = seat
    }
}

final class Generation: Sendable {
    /// From 1.
    let number: Int
    let plan: Plan
    let ruleset: Ruleset
    /// By provider of the plan.
    let posts: [Post]
    /// By route of the plan: its number among all routes of the run.
    let routes: [UInt16]
    /// By route: the posts that its events go to, each once.
    let targets: [[Int]]

    init(number: Int, plan: Plan, ruleset: Ruleset, posts: [Post], routes: [UInt16]) {
        self.number = number
        self.plan = plan
        self.ruleset = ruleset
        self.posts = posts
        self.routes = routes
        targets = plan.routes.map { route in Set(route.providers).map { posts[$0].index }.sorted() }
    }
}

final class Roster: Sendable {
    private struct State {
        var current: Generation
        /// All lanes of the run, those included that an earlier generation sent to.
        var posts: [Post]
        /// The numbers of the routes of all generations.
        var routes: Set<UInt16>
        /// By generation: how many blocks it is judging.
        var users: [Int: Int] = [:]
        /// Those whose provider has left or that have stopped, by index.
        var gone: Set<Int> = []
        /// Those whose provider was taken out of the plan.
        var retiring: Set<Int> = []
        var isEnding = false
    }
    private let state: Monitor<State>

    init(_ generation: Generation) { state = Monitor(State(current: generation, posts: generation.posts, routes: Set(generation.routes))) }

    var current: Generation { state.withLock { $0.current } }
    var posts: [Post] { state.withLock { $0.posts } }
    var routes: [UInt16] { state.withLock { $0.routes.sorted() } }

    // MARK: - Blocks

    /// The generation that the next block belongs to; `leave` must follow. Asked in the order of the blocks.
    func enter() -> Generation {
        state.withLock { state in
            state.users[state.current.number, default: 0] += 1
            return state.current
        }
    }

    func leave(_ generation: Generation) {
        state.withLock { state in
            let left = state.users[generation.number]! - 1
            state.users[generation.number] = left > 0 ? left : nil
        }
        state.wake()
    }

    // MARK: - Changes

    /// From the next block on this generation judges; false: the run is ending.
    func adopt(_ generation: Generation, retiring: [Post]) -> Bool {
        state.withLock { state in
            guard !state.isEnding else { return false }
            state.current = generation
            state.routes.formUnion(generation.routes)
            let known = Set(state.posts.map(\.index))
            state.posts += generation.posts.filter { !known.contains($0.index) }
            state.retiring.formUnion(retiring.map(\.index))
            return true
        }
    }

    /// Waits until every block has been handed over that belongs to an earlier generation, but not for ever; whether it has.
    func waitForBlocks(before generation: Generation, until deadline: Instant, _ clock: Clock) -> Bool {
        state.waitUntilReady { state in
            if !state.users.keys.contains(where: { $0 < generation.number }) { return .ready(true) }
            return clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
    }

    /// No generation comes any more.
    func end() { state.withLock { $0.isEnding = true } }

    func isRetiring(_ post: Post) -> Bool { state.withLock { $0.retiring.contains(post.index) } }
    func isGone(_ post: Post) -> Bool { state.withLock { $0.gone.contains(post.index) } }

    /// A lane has no provider any more; how many of those that events go to have one.
    func note(gone lane: Lane) -> Int {
        state.withLock { state in
            if let post = state.posts.first(where: { $0.lane === lane }) { state.gone.insert(post.index) }
            return state.current.posts.filter { !state.gone.contains($0.index) }.count
        }
    }
}
