// One run of the router, from its start to its end or kill: the objects of one process on a state folder.

import DeadLetterStore
import Judging
import Plans
import Platform
import StateFiles
import Statements

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Ledger
@testable import Queueing
@testable import Spool
@testable import Withdrawal

/// The simulated clock, for the objects that read a clock themselves.
final class SimulatedClock: Sendable {
    private let time = Monitor(Int64(1))
    /// The wall clock at the instant 0.
    static let epoch: Int64 = 1_700_000_000_000_000_000

    var now: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
    var wall: Int64 { now + SimulatedClock.epoch }
    var clock: Clock {
        Clock(now: { [self] in Instant(nanoseconds: now) }, wall: { [self] in wall })
    }
}

/// A delivery in flight.
struct Delivery {
    var copies: [Copy]
    var outcome: BatchOutcome
    var arrives: [Bool]
    /// True for each copy that has begun to leave.
    var begun: [Bool]
    /// The time at which the provider asks for the next events.
    var asksAt: Int64
    /// True after an answer of no. Then nothing more of the delivery leaves.
    var isRefused = false
    /// The time of the answer. It is nil if the provider never answers.
    var done: Int64?
    var due: Int64?
}

/// Events that are to become dead letters, with the receipts to settle afterwards.
struct Letters {
    let burial: Burial
    var receipts: [Receipt] = []
}

final class LaneLife {
    var state: LaneState
    let store: SpoolFile?
    let index: Int
    /// The times at which the threads of the lane, the store and the deadlines run next. 0 means now, and nil means when woken.
    var laneWake: Int64? = 0
    var diskWake: Int64? = 0
    var watchWake: Int64? = 0
    var isSourceAsleep = false
    var isStoreOver: Bool
    /// The second check of the lane. It is nil with the planted bug `unchecked`.
    let check: SecondCheck?
    /// The answers of the second check that the lane's thread got in an earlier step.
    var answers = ConsentAnswers()
    /// The work in progress at the store.
    var disk: LaneState.DiskStep?
    var deliveries: [UInt64: Delivery] = [:]
    var burials: [Letters] = []
    var flushDone: Int64?
    /// The counts that must equal the account.
    var taken = 0
    let resumed: Int
    var delivered = 0
    var lost = 0
    /// What earlier lives had destroyed.
    let before: Destroyed

    /// True if this life has no such provider.
    let isAbsent: Bool

    init(_ state: consuming LaneState, check: SecondCheck?, store: SpoolFile?, index: Int, isAbsent: Bool) {
        self.check = check
        self.isAbsent = isAbsent
        resumed = state.account.totalResumed
        before = state.destroyed
        self.state = state
        self.store = store
        self.index = index
        isStoreOver = store == nil
    }

    func wake() {
        laneWake = 0
        diskWake = 0
        isSourceAsleep = false
    }

    /// Carries out an act of the lane, and asks the second check until the lane has all answers.
    func perform(_ act: LaneState.Act, at now: Instant) -> [LaneState.Effect] {
        decide { state, answers in state.perform(act, answers, consentIs: check?.version, at: now) }
    }

    /// Asks whether these events of a delivery may leave.
    func mayBegin(_ token: UInt64, _ events: [Int]) -> Bool {
        events.map { UInt64($0) }.withUnsafeBufferPointer { events in
            decide { state, answers in state.mayBegin(token, events, answers, consentIs: check?.version) }
        }
    }

    var refusedInFlight: Int { decide { state, answers in state.refusedInFlight(answers, consentIs: check?.version) } }

    private func decide<R>(_ body: (inout LaneState, ConsentAnswers) -> LaneState.Reply<R>) -> R {
        var answers = ConsentAnswers()
        while true {
            switch body(&state, answers) {
            case .done(let result): return result
            case .ask(let batches): ask(&answers, batches)
            }
        }
    }

    func ask(_ answers: inout ConsentAnswers, _ batches: [Batch]) {
        guard let check else { preconditionFailure("a lane without a second check asks for consent") }
        answers.ask(check, about: batches)
    }
}

/// A block in flight through the workers.
final class Passing {
    let events: [Int]
    /// True if its source may write the ledger.
    let mayWrite: Bool
    let gatehouse: PlanGate
    let desk: Desk
    /// What the model says of each event, from the moment at which the block was judged. It is nil before.
    var early: [Permit]?
    var arrival: Int64 = 0
    /// The number of changes that the stream had made to the ledger at that moment.
    var changesBefore = 0
    /// The parcel of each lane. It is nil until the statements of the block are in the ledger.
    var parcels: [ParcelBox]?

    init(events: [Int], mayWrite: Bool, gatehouse: PlanGate) {
        self.events = events
        self.mayWrite = mayWrite
        self.gatehouse = gatehouse
        desk = gatehouse.takeDesk()
    }
}

/// What the model permits for one event.
struct Permit: Equatable {
    var routes: [Int]
    /// The routes for which it waits until its subjects answer.
    var held: [Int] = []
    var keepsField: Bool
}

/// A withdrawal that is recorded and whose receipt is not finished.
struct Withdrawing {
    enum Stage: Equatable {
        case waiting
        /// It waits until this many blocks have been handed over.
        case settling(Int)
        case sweeping, finishing
    }
    var receipt: Int64
    var stage = Stage.waiting
    var places: [String: Swept] = [:]
    var lanesLeft = 0
}

final class Life {
    let folder: Folder
    let say: @Sendable (String) -> Void
    let registry: Registry
    let names = RunNames(["r0", "r1", "r2"])
    let levels = RunNames()
    let check: SecondCheck
    /// The check of the lanes. It is the same one, except with some planted bugs.
    let laneCheck: SecondCheck
    let deadLetters: DeadLetters
    let steps: WithdrawalSteps
    let writer: ConsentWriter
    /// The held events. It is nil if no plan holds events, and before the router has begun.
    var holding: Holding?
    /// The receipts of the withdrawals that the stream brought since the last look.
    let adopted = Monitor<[Int64]>([])
    var gatehouse: PlanGate
    private(set) var lanes: [LaneLife] = []
    /// The blocks in flight, in the order in which they were read.
    var passing: [Passing] = []
    var blocksRead = 0
    var blocksHandedOver = 0
    /// The receipt of a recorded withdrawal that is not acknowledged yet.
    var unacknowledged: Int64?
    var withdrawals: [Withdrawing] = []
    /// False while a command changes the ledger without a router.
    var hasBegun = false
    var isEnding = false
    var endsAt: Int64?

    static func ledgerOptions(_ hands: SimulatedClock) -> LedgerFile.Options {
        var options = LedgerFile.Options(
            keys: LedgerKeys(current: LedgerKeys.Key("ids", Array("0123456789abcdef0123456789abcdef".utf8)))
        ) { id in
            let key = SubjectKey(of: id, under: PlanGate.key)
            return ShortHash(high: key.high, low: key.low)
        }
        options.levels = Words.levels
        options.clock = hands.clock
        return options
    }

    /// `absent` are the lanes whose provider this life does not have. Their files stay in the folder.
    init(
        _ folder: Folder, _ scenario: Scenario, _ plan: Plan, hands: SimulatedClock, seed: UInt64, plant: Plant?, said: Monitor<[String]>,
        absent: Set<Int> = []
    ) throws {
        self.folder = folder
        let say: @Sendable (String) -> Void = { words in said.withLock { $0.append(words) } }
        self.say = say
        registry = try Registry(LedgerFile(folder.path + "/" + LedgerFile.name, options: Life.ledgerOptions(hands))!)
        check = SecondCheck(registry.records, levels: levels, clock: hands.clock)
        // Lanes with these planted bugs do not know all withdrawals.
        let laneCheck = plant == .revive || plant == .forgets ? SecondCheck(registry.records, levels: levels, clock: hands.clock) : check
        self.laneCheck = laneCheck
        deadLetters = DeadLetters(
            path: folder.path + "/" + DeadLetterFile.name, levels: levels, clock: hands.clock, check: check, warn: say)
        steps = WithdrawalSteps(registry: registry, check: check, deadLetters: deadLetters, names: names, clock: hands.clock)
        writer = ConsentWriter(
            registry, destroy: { [adopted] receipts in adopted.withLock { $0 += receipts } }, erase: { _ in }, say: { _ in })
        gatehouse = PlanGate(plan, records: registry.records, levels: levels)
        check.adopt(gatehouse.ruleset.consent)
        laneCheck.adopt(gatehouse.ruleset.consent)
        var random = RandomSource(seed: seed)
        for (index, lane) in scenario.lanes.enumerated() {
            var store: SpoolFile?
            let isAbsent = absent.contains(index)
            if lane.isDurable, !isAbsent {
                var options = SpoolFile.Options()
                options.clock = hands.clock
                options.levels = levels
                options.pageSize = 4096
                store = try SpoolFile(
                    path: StateFolder.spool(of: Words.lanes[index], in: folder.path), names: names, options: options, say: say)
            }
            let state = LaneState(
                lane.delivery, concurrency: lane.concurrency, routes: names.all.count, random: RandomSource(seed: random.next()),
                contents: store?.contents, epoch: SimulatedClock.epoch, checksConsent: plant != .unchecked)
            lanes.append(
                LaneLife(state, check: plant == .unchecked ? nil : laneCheck, store: store, index: index, isAbsent: isAbsent))
        }
    }
}
