// The account of a run: where every event went. It balances, and says so of itself.

public import Delivery
public import Holding
public import Judging
public import Platform
public import Workers

public struct Account: Sendable {
    public struct Provider: Sendable {
        public var name: String
        public var lane: LaneAccount
        /// Whether the destination went away, such as a pipe whose reader left.
        public var isClosed: Bool
        /// Whether what waits, waits on disk for the next run.
        public var isDurable: Bool
        /// By route: how many events were admitted for it.
        var routed: [Int]

        /// Events that are kept for it on disk.
        public var kept: Int { isDurable ? lane.totalWaiting : 0 }
        /// Events that it did not get, and that do not wait for it on disk.
        public var undelivered: Int { lane.totalTaken + lane.totalResumed - lane.total(.delivered) - kept }
    }

    /// Lines that were not blank.
    public var received = 0
    /// Lines that were no valid event.
    public var rejected = 0
    /// Rejected lines that were to be kept and could not be.
    public var unkeptRejects = 0
    /// Why the input could not be read to its end.
    public var inputFault: SystemFault?
    /// What of the state folder was removed while the router ran.
    public var stateFault: StorageFault?
    /// Whether `dead-letters.sqlite` was found damaged, and how many letters were lost by that.
    public var lettersAreDamaged = false
    public var damagedLetters = 0
    /// What came of events that speak to the ledger.
    public var consent: ConsentCounts
    /// Of all plans that the run went by, and those of events that an earlier run had left.
    public var routes: [String]
    /// Of those, by index: the ones of plans of this run.
    public var ownRoutes: [Int]
    /// How each route judged the valid events.
    public var verdicts: Tally
    /// For each route how many events it judged: all valid ones, unless a reload brought it or took it away.
    var judged: [Int]
    /// What waits for consent when the run has ended.
    public var held = HeldStatus()
    public var providers: [Provider] = []

    /// Events that came before and were let go.
    public var duplicates: Int { verdicts.duplicates }
    /// Events that were made of others.
    public var emitted: Int { verdicts.emitted }
    /// Events that came in, and that every route judged.
    public var valid: Int { received - rejected - duplicates }

    /// Whether a file with events that wait for nobody of this run was found damaged.
    public var foundDamage: Bool { held.isDamaged || lettersAreDamaged }

    /// Whether every admitted event reached every provider of its route.
    public var isComplete: Bool { providers.allSatisfy { $0.undelivered == 0 && !$0.isClosed } }

    /// Whether events were lost, other than by readers that chose to leave and left the router without a purpose.
    public var lostSome: Bool {
        providers.contains { $0.undelivered > 0 } && !providers.allSatisfy(\.isClosed)
    }

    /// Whether every event that came in is accounted for, at every route and every provider.
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
