// One seed, played: sources, workers, lanes with their threads, providers, the ledger, and the hand that kills, on one clock that jumps
// from one thing that happens to the next. Nothing is left to the machine: the same seed plays the same.

import Plans
import Platform

@testable import Delivery

/// Nothing is promised after it; it says what was found.
struct Breach: Error { var words: String }

final class World {
    enum Mood: UInt64 { case well, busy, down, flaky, hanging }

    let scenario: Scenario
    let plans: [Plan]
    let seed: UInt64
    let plant: Plant?
    let tells: Bool
    var random: RandomSource
    let hands = Hands()
    var life: Life
    var lives = 0
    /// Which of the plans the router goes by.
    var variation = 0

    var promise = Promise()
    var written: [Withdrawal] = []
    var events: [Event] = []
    var copies: [Copy] = []
    var copyNumbers: [Int: Int] = [:]
    var moods: [Mood] = [.well, .well]
    var nextBlock: Int64 = 0
    var nextAct: Int64 = 0
    var actsLeft: Int
    /// An acknowledgement that came too early, as a planted bug: what is still to be written.
    var owed: (id: String, purposes: [String]?)?
    var isLast = false
    var steps = 0
    /// By receipt: how many events were in a provider's hands when it was acknowledged.
    var inHands: [Int64: Int] = [:]

    static let millisecond: Int64 = 1_000_000

    init(_ scenario: Scenario, seed: UInt64, random: RandomSource, plant: Plant?, tells: Bool) throws {
        self.scenario = scenario
        self.seed = seed
        self.random = random
        self.plant = plant
        self.tells = tells
        actsLeft = scenario.acts
        plans = scenario.variations.map(Plans.read)
        life = try Life(Folder("\(seed)-0"), scenario, plans[0], hands: hands, seed: seed, plant: plant)
    }

    var now: Int64 {
        get { hands.now }
        set { hands.now = newValue }
    }
    var instant: Instant { Instant(nanoseconds: now) }
    var demands: [Demand] { scenario.variations[variation].routes }
    /// All that was to happen has happened: from now on everything works, and what waits goes its way.
    var isHealed: Bool { actsLeft == 0 && owed == nil }
    var isDone: Bool { isHealed && events.count == scenario.events }

    func roll(_ sides: UInt64) -> Int { Int(random.next() % sides) }
    func tell(_ words: @autoclosure () -> String) { if tells { print("\(Double(now) / 1e6) ms: \(words())") } }
    func require(_ isTrue: Bool, _ words: @autoclosure () -> String) throws { if !isTrue { throw Breach(words: words()) } }

    // MARK: - The play

    func play() throws {
        while true {
            steps += 1
            try require(steps < 200_000, "it does not come to an end: \(standing)")
            if try step() {
                for lane in life.lanes { try checkAccount(lane) }
                continue
            }
            if life.isEnding, life.passing.isEmpty, life.lanes.allSatisfy({ $0.state.isOver && $0.isStoreOver && $0.burials.isEmpty }) {
                if try rest() { return }
                continue
            }
            guard let next = nextTime() else { throw Breach(words: "everything waits, and nothing will come: \(standing)") }
            now = max(now, next)
        }
    }

    private func nextTime() -> Int64? {
        var times = [nextBlock, nextAct]
        if let end = life.endsAt { times.append(end) }
        for lane in life.lanes {
            times += lane.deliveries.values.compactMap(\.done)
            for time in [lane.flushDone, lane.laneWake, lane.diskWake, lane.watchWake] { if let time { times.append(time) } }
        }
        return times.filter { $0 > now }.min()
    }

    /// One thing that can be done now, chosen by chance among those that can; false: there is none.
    private func step() throws -> Bool {
        var ready: [() throws -> Void] = []
        sourceSteps(&ready)
        ledgerSteps(&ready)
        for lane in life.lanes { laneSteps(lane, &ready) }
        if let end = life.endsAt, end <= now { ready.append(giveUp) }
        if isDone, !life.isEnding, isQuiet { ready.append { [self] in end(within: nil) } }
        guard !ready.isEmpty else { return false }
        try ready[roll(UInt64(ready.count))]()
        return true
    }

    /// Nothing waits anywhere.
    private var isQuiet: Bool {
        life.passing.isEmpty && life.withdrawals.isEmpty && life.unacknowledged == nil
            && life.lanes.allSatisfy { $0.state.account.totalWaiting == 0 && $0.burials.isEmpty && $0.state.sweeping == nil }
    }

    // MARK: - Endings

    func end(within time: Int64?) {
        tell(time.map { "told to end within \(Double($0) / 1e6) ms" } ?? "all is done")
        life.isEnding = true
        life.endsAt = time.map { now + $0 }
        // What was read is judged and handed over before the lanes end.
        for lane in life.lanes {
            lane.state.isSourceBusy = false
            lane.wake()
        }
    }

    /// The input has ended: the lanes drain once nothing is on its way to them.
    func drainLanes() {
        for lane in life.lanes where lane.state.phase == .open {
            lane.state.drain()
            lane.wake()
        }
    }

    private func giveUp() throws {
        life.endsAt = nil
        tell("given up")
        drainLanes()
        for lane in life.lanes where !lane.state.isOver {
            letGoOfAll(lane)
            try carryOut(lane.state.giveUp(Answer("time is up")), lane)
        }
    }

    /// A life is over by itself. The next one begins, or the play ends and is judged: true.
    private func rest() throws -> Bool {
        if isDone, isQuiet {
            // A sweep that the end of the lanes cut off is for one more start.
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

    /// Another life, with the files as they are.
    private func begin() throws {
        lives += 1
        for copy in copies {
            copy.inHands = 0
            // Only what was acknowledged by a lane that stores is promised to be there again.
            let isKept = copy.isAcknowledged && scenario.lanes[copy.lane].delivery.queue.full != .spill
            if !copy.isDelivered, !copy.isBuried, !scenario.lanes[copy.lane].isDurable || !isKept { copy.isGone = true }
        }
        let folder = life.folder.copy(to: "\(seed)-\(lives)")
        life = try Life(folder, scenario, plans[variation], hands: hands, seed: random.next(), plant: plant)
        owed = nil
        tell("a new life")
        // While no router had the folder the command may have been used on it.
        while actsLeft > 0, roll(4) == 0 {
            try say()
            if let receipt = life.unacknowledged { promised(receipt) }
            // It is for the start to carry it out.
            life.unacknowledged = nil
        }
        if plant != .resume { for receipt in try life.steps.unfinished() { life.withdrawals.append(Withdrawing(receipt: receipt)) } }
    }

    var standing: String {
        let lanes = life.lanes.map { lane in
            "\(lane.state.phase), waiting \(lane.state.account.totalWaiting), held \(lane.state.heldBytes), in hand \(lane.deliveries.count), "
                + "burials \(lane.burials.count), fault \(lane.state.storeFault?.description ?? "none")"
        }
        return "\(events.count) events, \(actsLeft) acts left, \(life.passing.count) blocks on their way, withdrawals \(life.withdrawals), "
            + "lanes \(lanes)"
    }
}
