// What a router does at the moment: every lane of the current plan, and those that still drain.

public import Delivery
internal import Platform

public struct RouterStatus: Sendable {
    public struct Lane: Sendable {
        public var provider: String
        /// Its provider was taken out of the configuration, and the lane drains.
        public var isRetiring: Bool
        public var isDurable: Bool
        public var isClosed: Bool
        public var status: LaneStatus
    }

    /// Which plan of the run it goes by, from 1: each reload is one more.
    public var generation: Int
    /// Valid events that came in so far.
    public var events: Int
    public var lanes: [Lane]
    /// When it was asked, in nanoseconds since 1970.
    public var at: Int64
}

extension Router {
    public var status: RouterStatus {
        let current = roster.current
        let draining = roster.posts.filter { post in roster.isRetiring(post) && !post.lane.isOver }
        return RouterStatus(
            generation: current.number, events: events,
            lanes: (current.posts + draining).map { post in
                .init(
                    provider: post.lane.name, isRetiring: roster.isRetiring(post), isDurable: post.lane.isDurable,
                    isClosed: post.lane.isClosedByProvider, status: post.lane.status)
            }, at: options.clock.wall())
    }

    /// The providers whose lanes are at work, in words for nobody: names only.
    public var providers: Set<String> {
        let current = roster.current
        return Set(roster.posts.filter { post in !post.lane.isOver || current.posts.contains { $0 === post } }.map(\.lane.name))
    }
}
