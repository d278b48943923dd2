// The status of a running router: its sources, its routes, its held events, the lanes of the current plan, and the lanes that still drain.

internal import Admission
internal import Delivery
public import Erasing
public import Generations
public import Holding
internal import Ingest
internal import Judging
public import Plans
public import Platform
public import Queueing

public struct RouterStatus: Sendable {
    public struct Lane: Sendable {
        public var provider: String
        /// True if the provider was removed from the configuration and the lane drains.
        public var isRetiring: Bool
        public var isDurable: Bool
        public var isClosed: Bool
        public var status: LaneStatus
    }

    public struct Source: Sendable {
        public var name: String
        public var counts: SourceCounts
    }

    public struct Route: Sendable {
        public var name: String
        /// The number of each verdict, in the order of `Tally.columns`.
        public var verdicts: [Int]
        public var keepErrors: Int
        public var transformErrors: Int
    }

    public struct Inbox: Sendable {
        public var submissions: Int
        public var bytes: Int
        /// The times from the arrival of a submission to its answer, in nanoseconds.
        public var latencies: Histogram
    }

    /// The number of the current generation. It is 1 at the start, and each reload adds 1.
    public var generation: Int
    /// The number of valid events that came in so far.
    public var events: Int
    public var duplicates: Int
    /// The number of emitted events.
    public var emitted: Int
    /// The number of events that violated the tracking plan, by what was done with them.
    public var violations: [(action: String, count: Int)]
    public var sources: [Source]
    /// The routes of all generations of the run.
    public var routes: [Route]
    /// The input that waits for a worker. It is nil if standard input is the only source.
    public var inbox: Inbox?
    public var lanes: [Lane]
    /// The events that wait for consent. It is nil if no events can be held.
    public var held: HeldStatus?
    /// The erasures at providers. They are nil if there is no ledger.
    public var erasures: Erasures.Status?
    /// The time of the status, in nanoseconds since 1970.
    public var at: Int64
}

extension Router {
    public var status: RouterStatus {
        let current = generations.current
        let draining = generations.destinations.filter { destination in generations.isRetiring(destination) && !destination.lane.isOver }
        let sums = totals.withLock { $0 }
        let names = lanes.names.all
        let inbox = input.inbox.map { inbox in
            let waiting = inbox.waiting
            return RouterStatus.Inbox(submissions: waiting.submissions, bytes: waiting.bytes, latencies: inbox.latencies)
        }
        return RouterStatus(
            generation: current.number, events: sums.tally.events, duplicates: sums.tally.duplicates, emitted: sums.tally.emitted,
            violations: sums.tally.violationsByAction,
            sources: input.sources.enumerated().map { index, source in
                .init(name: source.name, counts: index < sums.sources.count ? sums.sources[index] : SourceCounts())
            },
            routes: generations.routes.map { route in
                let number = Int(route)
                return .init(
                    name: names[number], verdicts: Tally.columns.map { sums.tally[number, $0] },
                    keepErrors: sums.tally.keepErrors(route: number),
                    transformErrors: sums.tally.transformErrors(route: number))
            }, inbox: inbox,
            lanes: (current.destinations + draining).map { destination in
                .init(
                    provider: destination.lane.name, isRetiring: generations.isRetiring(destination), isDurable: destination.lane.isDurable,
                    isClosed: destination.lane.isClosedByProvider, status: destination.lane.status)
            }, held: heldStore?.status, erasures: erasures?.status, at: options.clock.wall())
    }

    /// The current plan.
    public var plan: Plan { generations.current.plan }

    /// The names of the providers whose spools are in use.
    public var durableProviders: Set<String> {
        let current = generations.current
        let destinations = generations.destinations.filter { destination in
            !destination.lane.isOver || current.destinations.contains { $0 === destination }
        }
        return Set(destinations.filter(\.lane.isDurable).map(\.lane.name))
    }
}
