// The account of a run: the counters that say what became of every event. `balances` checks that no event is missing.

public import Holding
public import Judging
public import Platform
public import Queueing
public import Workers

public struct Account: Sendable {
    public struct Provider: Sendable {
        public var name: String
        public var lane: LaneAccount
        /// True if the destination is gone, such as a pipe without a reader.
        public var isClosed: Bool
        /// True if waiting events are on disk for the next run.
        public var isDurable: Bool
        /// The number of times that an expression of its transform had no value at a hand-over.
        public var transformErrors = 0
        /// The number of events that each route admitted for this provider.
        var routed: [Int]

        /// The number of events that are kept for it on disk.
        public var kept: Int { isDurable ? lane.totalWaiting : 0 }
        /// The number of events that it was to get, did not get, and that do not wait for it on disk.
        public var undelivered: Int {
            lane.totalTaken + lane.totalResumed - lane.total(.delivered) - lane.total(.filtered) - kept
        }
    }

    /// The number of lines that were not blank.
    public var received = 0
    /// The number of lines that were not valid events.
    public var rejected = 0
    /// The number of rejected lines that could not be written to the file of `--rejects`.
    public var unkeptRejects = 0
    /// The reason why the input could not be read to its end. It is nil if it was read to its end.
    public var inputFault: SystemFault?
    /// The fault if a part of the state folder was removed while the router ran.
    public var stateFault: StorageFault?
    /// True if `dead-letters.sqlite` was found damaged.
    public var lettersAreDamaged = false
    /// The number of dead letters that were lost by this damage.
    public var damagedLetters = 0
    /// The counts of events that carry decisions or ties for the ledger.
    public var consent: ConsentCounts
    /// The names of all routes that are known to this run, those of earlier runs included.
    public var routes: [String]
    /// The indices of the routes of this run's plans, and of routes whose held events an earlier run left.
    public var ownRoutes: [Int]
    /// The verdicts of each route.
    public var verdicts: Tally
    /// The number of events that each route judged. A route judges all valid events, unless a reload added or removed it.
    var judged: [Int]
    /// The events that wait for consent when the run has ended.
    public var held = HeldStatus()
    public var providers: [Provider] = []

    /// The number of duplicates, which were dropped.
    public var duplicates: Int { verdicts.duplicates }
    /// The number of emitted events.
    public var emitted: Int { verdicts.emitted }
    /// The number of valid events that came in and were not duplicates.
    public var valid: Int { received - rejected - duplicates }

    /// True if the file of held events or the file of dead letters was found damaged.
    public var foundDamage: Bool { held.isDamaged || lettersAreDamaged }

    /// True if an event that was given up could not be kept as a dead letter. That holds for every dead letter: those of lanes, and those of
    /// events that the tracking plan rejects, which are in no lane.
    public var lostLetters: Bool { providers.contains { $0.lane.lost > 0 } }

    /// True if every admitted event was delivered to every provider of its route, was left out by its filter, or waits for it on disk, if no
    /// destination is gone, and if no dead letter is lost.
    public var isComplete: Bool { providers.allSatisfy { $0.undelivered == 0 && !$0.isClosed } && !lostLetters }

    /// True if events were not delivered, unless all destinations are gone because their readers closed them, or if dead letters are lost.
    public var lostSome: Bool {
        lostLetters || providers.contains { $0.undelivered > 0 } && !providers.allSatisfy(\.isClosed)
    }

    /// True if every event that came in is accounted for, at every route and every provider.
    public var balances: Bool {
        for route in routes.indices {
            let judged = route < judged.count ? judged[route] : 0
            if Tally.columns.reduce(0, { $0 + verdicts[route, $1] }) != judged { return false }
            if judged > valid + emitted + held.resumed || verdicts[route, .held] < 0 { return false }
            for provider in providers {
                let routed = route < provider.routed.count ? provider.routed[route] : 0
                if provider.lane.taken(route: route) != routed { return false }
            }
        }
        for provider in providers where !provider.isDurable && provider.lane.totalWaiting != 0 {
            return false
        }
        return true
    }
}
