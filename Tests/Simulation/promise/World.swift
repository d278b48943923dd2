// The simulation of one seed: sources, workers, lanes with their threads, providers, the ledger and kills. One simulated clock jumps from
// one moment at which something happens to the next. The same seed always gives the same simulation.

import Holding
import Plans
import Platform
import Withdrawal

@testable import Delivery
@testable import Queueing

/// A broken promise. It ends the simulation, and `words` describes it.
struct Breach: Error { var words: String }

final class World {
    enum Condition: UInt64 { case well, busy, down, flaky, hanging }

    let scenario: Scenario
    let plans: [Plan]
    let seed: UInt64
    let plant: Plant?
    let tells: Bool
    var random: RandomSource
    let hands = SimulatedClock()
    var life: Life
    var lives = 0
    /// The index of the plan that the router uses.
    var variation = 0

    var promise = Promise()
    var written: [Withdrawal] = []
    /// For each id that has withdrawn everything with a receipt, the time of that decision.
    var receipted: [String: Int64] = [:]
    /// The lines of the last import.
    var lastImport: [ImportLine] = []
    /// The held events, in the order in which they came in.
    var holds: [Hold] = []
    /// The ids whose consent on record each block of the stream has changed.
    var streamChanges: [Set<String>] = []
    var events: [Event] = []
    var copies: [Copy] = []
    var copyNumbers: [Int: Int] = [:]
    var conditions: [Condition] = [.well, .well]
    var nextBlock: Int64 = 0
    var nextAct: Int64 = 0
    var actsLeft: Int
    /// With the planted bug `early`: the withdrawal that was acknowledged and is not written yet.
    var owed: (id: String, purposes: [String]?)?
    var isLast = false
    var steps = 0
    /// The files of a queue that a person moved away, by lane.
    var shelf: [Int: [(name: String, bytes: [UInt8])]] = [:]
    /// The number of files that were set aside as damaged.
    var damagedCount = 0
    /// For each receipt, the number of refused events that were in flight at providers when it was acknowledged.
    var inHands: [Int64: Int] = [:]
    let damageLog = DamageLog()

    static let millisecond: Int64 = 1_000_000

    init(_ scenario: Scenario, seed: UInt64, random: RandomSource, plant: Plant?, tells: Bool) throws {
        self.scenario = scenario
        self.seed = seed
        self.random = random
        self.plant = plant
        self.tells = tells
        actsLeft = scenario.acts
        plans = scenario.variations.map { Plans.read($0, scenario.hold, plant) }
        life = try Life(Folder("\(seed)-0"), scenario, plans[0], hands: hands, seed: seed, plant: plant, said: damageLog.said)
        life.hasBegun = true
        try hold()
    }

    var now: Int64 {
        get { hands.now }
        set { hands.now = newValue }
    }
    var instant: Instant { Instant(nanoseconds: now) }
    var demands: [Demand] { scenario.variations[variation].routes }
    /// True once all planned acts have happened. From then on everything works, and waiting events can be delivered.
    var isHealed: Bool { actsLeft == 0 && owed == nil }
    var isDone: Bool { isHealed && events.count == scenario.events }

    func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
    func tell(_ words: @autoclosure () -> String) { if tells { print("\(Double(now) / 1e6) ms: \(words())") } }
    func require(_ isTrue: Bool, _ words: @autoclosure () -> String) throws { if !isTrue { throw Breach(words: words()) } }

    // MARK: - The loop

    func play() throws {
        while true {
            steps += 1
            try require(steps < 200_000, "it does not end: \(standing)")
            if try step() {
                for lane in life.lanes { try checkAccount(lane) }
                continue
            }
            if life.isEnding, life.passing.isEmpty,
                life.lanes.allSatisfy({ $0.isAbsent || $0.state.isOver && $0.isStoreOver && $0.burials.isEmpty })
            {
                if try rest() { return }
                continue
            }
            guard let next = nextTime() else { throw Breach(words: "everything waits, and nothing can happen any more: \(standing)") }
            now = max(now, next)
        }
    }

    private func nextTime() -> Int64? {
        var times = [nextBlock, nextAct]
        if let end = life.endsAt { times.append(end) }
        if let wake = life.holding?.wake { times.append(wake) }
        for lane in life.lanes {
            times += lane.deliveries.values.compactMap(\.done) + lane.deliveries.values.filter(\.mayAsk).map(\.asksAt)
            for time in [lane.flushDone, lane.laneWake, lane.diskWake, lane.watchWake] { if let time { times.append(time) } }
        }
        return times.filter { $0 > now }.min()
    }

    /// Does one possible step, chosen at random. Returns false if no step is possible.
    private func step() throws -> Bool {
        var ready: [() throws -> Void] = []
        sourceSteps(&ready)
        ledgerSteps(&ready)
        holdingSteps(&ready)
        for lane in life.lanes where !lane.isAbsent { laneSteps(lane, &ready) }
        if let end = life.endsAt, end <= now { ready.append(giveUp) }
        if isDone, !life.isEnding, isQuiet { ready.append { [self] in end(within: nil) } }
        guard !ready.isEmpty else { return false }
        try ready[roll(UInt64(ready.count))]()
        return true
    }

    /// True if nothing waits anywhere.
    private var isQuiet: Bool {
        life.passing.isEmpty && life.withdrawals.isEmpty && life.unacknowledged == nil && isHoldingIdle
            && life.lanes.allSatisfy { $0.state.account.totalWaiting == 0 && $0.burials.isEmpty && $0.state.withdrawals.sweeping == nil }
    }

    // MARK: - Endings

    func end(within time: Int64?) {
        tell(time.map { "told to end within \(Double($0) / 1e6) ms" } ?? "all is done")
        life.isEnding = true
        life.endsAt = time.map { now + $0 }
        // Blocks that were read are judged and handed over before the lanes end.
        for lane in life.lanes {
            lane.state.isSourceBusy = false
            lane.wake()
        }
    }

    /// Drains the lanes after the input has ended and all blocks were handed over.
    func drainLanes() {
        life.holding?.isOver = true
        for lane in life.lanes where !lane.isAbsent && lane.state.phase == .open {
            lane.state.drain()
            lane.wake()
        }
    }

    private func giveUp() throws {
        life.endsAt = nil
        tell("given up")
        dropRelease()
        drainLanes()
        for lane in life.lanes where !lane.isAbsent && !lane.state.isOver {
            letGoOfAll(lane)
            try carryOut(lane.perform(.giveUp(Answer("time is up")), at: instant), lane)
        }
    }

    /// Handles the regular end of a life. Either begins the next life, or checks the end of the simulation and returns true.
    private func rest() throws -> Bool {
        try settleLanes()
        life.holding?.store.close()
        // What a person answers at the very end reaches the held events at the next start.
        let isAnswered = life.holding?.wake.map { $0 > now } ?? true
        if isDone, isQuiet, isAnswered, life.lanes.allSatisfy({ !$0.isAbsent }), shelf.isEmpty {
            // One more start completes a sweep that was interrupted by the end of the lanes.
            if try isLast || unfinished().isEmpty {
                try checkEnd()
                return true
            }
            isLast = true
        }
        try begin()
        return false
    }

    func die() throws {
        tell("killed")
        try begin()
    }

    /// Begins another life with the files as they are.
    private func begin() throws {
        lives += 1
        for copy in copies {
            copy.inHands = 0
            if copy.letters > 0 { copy.mayWaitBesideLetter = true }
            // Only events that a durable lane has acknowledged must be there after a restart.
            let isKept = copy.isAcknowledged && scenario.lanes[copy.lane].delivery.queue.full != .spill
            if !copy.isDelivered, copy.letters == 0, !scenario.lanes[copy.lane].isDurable || !isKept { copy.isGone = true }
        }
        dropRelease()
        let folder = life.folder.copy(to: "\(seed)-\(lives)")
        let absent = try rearrange(folder)
        if !isHealed, roll(5) == 0 { try damageLedger(in: folder) }
        noteLosses()
        if !isHealed, scenario.hasDamage, roll(3) == 0 { damageFiles(in: folder, absent: absent) }
        life = try Life(
            folder, scenario, plans[variation], hands: hands, seed: random.next(), plant: plant, said: damageLog.said, absent: absent)
        owed = nil
        tell("a new life\(absent.isEmpty ? "" : ", without \(absent.map { Words.lanes[$0] })")")
        // While no router had the folder, the command could change the ledger.
        while actsLeft > 0, roll(4) == 0 {
            try say()
            if let receipt = life.unacknowledged { promised(receipt) }
            // The start carries out this withdrawal.
            life.unacknowledged = nil
        }
        life.hasBegun = true
        // The start knows all withdrawals on record before the lanes hand anything over.
        life.deadLetters.begin()
        let unfinished = try life.steps.begin()
        if plant == .forgets {
            for receipt in try self.unfinished() { try life.banLanes(receipt) }
        }
        try hold()
        if plant != .uncounted { try settleLanes() }
        if plant != .resume { for receipt in unfinished { beginDestruction(receipt) } }
        if plant != .strays { try searchStrays(isForWithdrawal: false) }
        _ = try life.steps.sweepDamagedLetters()
    }

    var standing: String {
        let lanes = life.lanes.map { lane in
            "\(lane.state.phase), waiting \(lane.state.account.totalWaiting), held \(lane.state.heldBytes), in flight \(lane.deliveries.count), "
                + "burials \(lane.burials.count), fault \(lane.state.storeHealth.fault?.description ?? "none")"
        }
        return "\(events.count) events, \(actsLeft) acts left, \(life.passing.count) blocks in flight, withdrawals \(life.withdrawals), "
            + "lanes \(lanes)"
    }
}
