// The simulation of one seed: a source, a lane with its threads, a provider, a disk and kills. One simulated clock jumps from one moment
// at which something happens to the next. The same seed always gives the same simulation.

import Plans
import Platform
import Spool

@testable import Admission
@testable import Events
@testable import Queueing

/// A broken promise. It ends the simulation, and `words` describes it.
struct Breach: Error { var words: String }

/// One run of the router, from its start to its end or kill.
final class Life {
    var state: LaneState
    /// The times at which the threads of the lane, the store and the deadlines run next. 0 means now, and nil means when woken.
    var laneWake: Int64? = 0
    var diskWake: Int64? = 0
    var watchWake: Int64? = 0
    /// The work in progress at the store, and the time at which it is done.
    var disk: (step: LaneState.DiskStep, done: Int64)?
    var deliveries: [UInt64: Delivery] = [:]
    var burials: [(burial: Burial, lost: Int, at: Int64)] = []
    var flushDone: Int64?
    var isStoreOver = false
    /// True if the source waits until the lane has space and wakes it.
    var isSourceAsleep = false
    var isEnding = false
    var endsAt: Int64?
    /// The counts that must equal the account.
    var taken = 0
    var resumed = 0
    var settled: [LaneAccount.Fate: Int] = [:]
    /// The wall time, in nanoseconds, at instant 0 of this life's clock. Each life has another one.
    let epoch: Int64

    init(_ state: consuming LaneState, epoch: Int64) {
        self.state = state
        self.epoch = epoch
    }
}

struct Delivery {
    var events: [Int]
    var outcome: BatchOutcome
    var arrives: [Bool]
    /// The time of the answer. It is nil if the provider never answers.
    var done: Int64?
    var due: Int64?
    var handed: Int64
}

final class World {
    let setup: Setup
    /// The present plan of the lane.
    var plan: DeliveryPlan
    var concurrency: Int
    /// For all plans so far: true if one of them drops events, true if all keep the order, and the largest allowed memory.
    var drops: Bool
    var isOrdered: Bool
    var roomiest: Int
    var reloadsLeft: [Int64]
    let plant: Plant?
    let tells: Bool
    var random: RandomSource
    var now: Int64 = 1
    var events: [Event] = []
    let store = ModelStore()
    var life: Life
    var condition = Setup.Condition.well
    var parcel: (events: [Int], parcel: ParcelBox)?
    var nextParcel: Int64 = 0
    var lowest = 0
    var steps = 0
    var lives = 1
    var moodsLeft: [(at: Int64, condition: Setup.Condition)]
    var healthLeft: [(at: Int64, health: ModelStore.Health)]
    var killsLeft: [Int64]
    var endsLeft: [Int64]

    final class ParcelBox {
        var parcel: Parcel
        init(_ parcel: consuming Parcel) { self.parcel = parcel }
    }

    /// What an acknowledgement broke.
    var breachOfPromise: String?

    init(_ setup: Setup, random: RandomSource, plant: Plant?, tells: Bool) {
        self.setup = setup
        plan = setup.plan
        concurrency = setup.concurrency
        drops = plan.drops
        isOrdered = plan.ordered
        roomiest = plan.queue.memory + plan.batch.bytes
        reloadsLeft = setup.reloads.map { $0 * World.millisecond }.sorted()
        self.random = random
        self.plant = plant
        self.tells = tells
        moodsLeft = setup.conditions.map { ($0.at * World.millisecond, $0.condition) }
        healthLeft = setup.health.map { ($0.at * World.millisecond, $0.health) }
        killsLeft = setup.kills.map { $0 * World.millisecond }.sorted()
        endsLeft = setup.ends.map { $0 * World.millisecond }.sorted()
        life = Life(
            LaneState(
                setup.plan, concurrency: setup.concurrency, routes: 1, random: RandomSource(seed: 1),
                contents: setup.stores ? SpoolContents() : nil,
                epoch: 0), epoch: 0)
        life.state.isSourceBusy = setup.pause < 1000
    }

    static let millisecond: Int64 = 1_000_000
    var isHealed: Bool { now >= setup.healed * World.millisecond }

    func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }
    var instant: Instant { Instant(nanoseconds: now - life.epoch) }
    func tell(_ words: @autoclosure () -> String) { if tells { print("\(Double(now) / 1e6) ms: \(words())") } }
    func require(_ isTrue: Bool, _ words: @autoclosure () -> String) throws { if !isTrue { throw Breach(words: words()) } }

    // MARK: - The loop

    func play() throws {
        while true {
            steps += 1
            try require(steps < 400_000, "it does not end: \(standing), wakes \([life.laneWake, life.diskWake, life.watchWake])")
            happen()
            if let kill = killsLeft.first, kill <= now {
                killsLeft.removeFirst()
                try die()
                continue
            }
            if try step() {
                if let breach = store.breach { throw Breach(words: breach) }
                try checkAccount()
                continue
            }
            if life.state.isOver, !setup.stores || life.isStoreOver, life.burials.isEmpty {
                if try rest() { return }
                continue
            }
            guard let next = nextTime() else { throw Breach(words: "everything waits, and nothing can happen any more: \(standing)") }
            now = max(now, next)
        }
    }

    /// Applies the changes of the provider's condition and the disk's health that are due.
    private func happen() {
        while let next = moodsLeft.first, next.at <= now {
            condition = next.condition
            tell("the provider is \(condition)")
            moodsLeft.removeFirst()
        }
        while let next = healthLeft.first, next.at <= now {
            store.health = next.health
            tell("the disk is \(next.health)")
            healthLeft.removeFirst()
        }
        if isHealed, condition != .well || store.health != .well {
            (condition, store.health) = (.well, .well)
            tell("all is well")
        }
    }

    private func nextTime() -> Int64? {
        var times: [Int64] =
            moodsLeft.prefix(1).map(\.at) + healthLeft.prefix(1).map(\.at) + killsLeft.prefix(1) + endsLeft.prefix(1)
            + reloadsLeft.prefix(1)
        times += [setup.healed * World.millisecond].filter { $0 > now }
        times += life.deliveries.values.compactMap(\.done) + life.burials.map(\.at)
        if let done = life.disk?.done { times.append(done) }
        if let done = life.flushDone { times.append(done) }
        if let end = life.endsAt { times.append(end) }
        if parcel == nil, events.count < setup.events, !life.isEnding { times.append(nextParcel) }
        for wake in [life.laneWake, life.diskWake, life.watchWake] { if let wake { times.append(wake) } }
        return times.filter { $0 > now }.min()
    }

    /// Does one possible step, chosen at random. Returns false if no step is possible.
    private func step() throws -> Bool {
        var ready: [() throws -> Void] = []
        if !life.isEnding {
            if parcel != nil ? !life.isSourceAsleep : nextParcel <= now && events.count < setup.events { ready.append(offer) }
            if let signal = endsLeft.first, signal <= now {
                ready.append { [self] in
                    endsLeft.removeFirst()
                    end(within: Int64(roll(20_000)) * World.millisecond)
                }
            }
            if let reload = reloadsLeft.first, reload <= now { ready.append(reloadPlan) }
            if events.count == setup.events, parcel == nil, isHealed, endsLeft.isEmpty {
                ready.append { [self] in end(within: nil) }
            }
        }
        if let end = life.endsAt, end <= now { ready.append(giveUp) }
        if let wake = life.laneWake, wake <= now { ready.append(laneLooks) }
        if life.disk == nil, !life.isStoreOver, setup.stores, let wake = life.diskWake, wake <= now { ready.append(diskLooks) }
        if let disk = life.disk, disk.done <= now { ready.append(diskIsDone) }
        if plan.deadline > .zero, let wake = life.watchWake, wake <= now { ready.append(watchLooks) }
        if let flush = life.flushDone, flush <= now {
            ready.append { [self] in
                life.flushDone = nil
                try carryOut(life.state.flushed(.delivered))
            }
        }
        for token in life.deliveries.keys.sorted() where life.deliveries[token]!.done.map({ $0 <= now }) ?? false {
            ready.append { [self] in try answer(token) }
        }
        if let burial = life.burials.first, burial.at <= now {
            ready.append { [self] in
                life.burials.removeFirst()
                if !burial.burial.isSettled, burial.lost == 0 {
                    for number in numbers(burial.burial.batch) { try settle(number, burial.burial.reason) }
                }
                let account = life.state.account.lost
                life.state.buried(burial.burial, lost: burial.lost, at: instant)
                try require(
                    burial.burial.isSettled || burial.burial.share == nil || life.state.account.lost == account,
                    "dead letters that were held are lost")
                wake()
            }
        }
        guard !ready.isEmpty else { return false }
        try ready[Int(roll(UInt64(ready.count)))]()
        return true
    }

    func wake() {
        life.laneWake = 0
        life.diskWake = 0
        life.isSourceAsleep = false
    }

    // MARK: - The threads of the lane

    private func laneLooks() throws {
        life.laneWake = nil
        switch life.state.next(at: instant) {
        case .ask: throw Breach(words: "a lane without a ledger asks for consent")
        case .deliver(let token, let batch, let attempt):
            life.laneWake = 0
            try hand(token, batch, attempt)
        case .bury(let effects):
            life.laneWake = 0
            try carryOut(effects)
        case .wait(let until): life.laneWake = until.map { $0.nanoseconds + life.epoch }
        case .flush: life.flushDone = now + Int64(roll(100)) * World.millisecond
        case .end:
            life.state.providerClosed()
            life.watchWake = nil
            wake()
            life.laneWake = nil
        }
    }

    private func watchLooks() throws {
        // The thread of the deadlines runs next at the earliest deadline. Calls that begin later have later deadlines.
        let effects = try perform(.expire)
        for token in life.deliveries.keys.sorted() where life.deliveries[token]!.due.map({ $0 <= now }) ?? false {
            tell("call \(token) passed its deadline")
            letGo(token, excused: true)
        }
        try carryOut(effects)
        if life.state.phase == .ended || life.state.phase == .stopped {
            life.watchWake = nil
        } else {
            life.watchWake = (life.state.nextDeadline ?? instant + plan.deadline).nanoseconds + life.epoch
        }
    }

    /// Carries out an act of the lane. The lane has no ledger, so it asks for no consent.
    func perform(_ act: LaneState.Act) throws -> [LaneState.Effect] {
        guard case .done(let effects) = life.state.perform(act, at: instant) else {
            throw Breach(words: "a lane without a ledger asks for consent")
        }
        return effects
    }

    /// Carries out the effects that the lane returned.
    func carryOut(_ effects: [LaneState.Effect], wakes: Bool = true) throws {
        if wakes { wake() }
        for effect in effects {
            switch effect {
            case .bury(let burial):
                let buried = numbers(burial.batch)
                tell("buried \(buried): \(burial.reason.rawValue), \(burial.answer.message)")
                for number in buried { try judge(number, burial.reason) }
                if burial.isSettled { for number in buried { try settle(number, burial.reason) } }
                let lost = setup.losesLetters && !isHealed && roll(3) == 0 ? 1 : 0
                for number in buried where lost > 0 && burial.isSettled && burial.share != nil { events[number].isUnburied = true }
                life.burials.append((burial, lost, now + Int64(roll(3)) * Int64(roll(300)) * World.millisecond))
            case .acknowledge(let receipts): for receipt in receipts { receipt.settle() }
            case .opened(let failures):
                tell("the breaker opened")
                try require(failures >= plan.breaker, "the breaker opened after \(failures) failures")
            case .closed, .stopped:
                tell("\(effect)".prefix(60) + "…")
                for token in life.deliveries.keys.sorted() { letGo(token, excused: true) }
                if !life.isEnding { end(within: Int64(roll(20_000)) * World.millisecond) }
            case .failing, .recovered, .dropping, .storing, .damaged, .gone, .left, .swept: tell("\(effect)".prefix(60) + "…")
            }
        }
        if let words = breachOfPromise { throw Breach(words: words) }
    }

    private func judge(_ number: Int, _ reason: LaneAccount.Fate) throws {
        switch reason {
        case .rejected:
            // An event that was too large for an earlier plan stays marked while its dead letter is tried again.
            try require(
                events[number].isPoison || events[number].wasTooLarge || events[number].size > plan.batch.largest ?? .max,
                "event \(number) was given up as rejected, but no provider rejected it")
            events[number].wasTooLarge = !events[number].isPoison
        case .expired:
            // The attempts are stored per row. After a reload and a restart, events of one row share the time of the first attempt.
            let age = now - (events[number].firstHanded ?? now)
            try require(age >= plan.retry.total.nanoseconds || !setup.reloads.isEmpty, "event \(number) expired after \(age) ns")
        case .unknown, .undelivered: break
        case .delivered, .filtered, .dropped, .damaged, .withdrawn, .aged: throw Breach(words: "event \(number) was buried as \(reason)")
        }
    }

    func settle(_ number: Int, _ fate: LaneAccount.Fate) throws {
        try require(events[number].isOwed, "event \(number) is settled as \(fate) and was not owed: \(events[number])")
        events[number].fate = fate
        life.settled[fate, default: 0] += 1
    }

    // MARK: - Endings

    private func end(within time: Int64?) {
        tell(time.map { "told to end within \(Double($0) / 1e6) ms" } ?? "the input ended")
        life.isEnding = true
        life.endsAt = time.map { now + $0 }
        life.state.isSourceBusy = false
        life.state.drain()
        wake()
    }

    private func giveUp() throws {
        life.endsAt = nil
        guard !life.state.isOver else { return }
        tell("given up")
        for token in life.deliveries.keys { letGo(token, excused: true) }
        try carryOut(perform(.giveUp(Answer("time is up"))))
    }

    var standing: String {
        let owed = events.indices.filter { events[$0].isOwed }
        return "\(life.state.phase), held \(life.state.heldBytes), owed \(owed.prefix(20)), stored \(store.events.prefix(20)), in flight "
            + "\(life.deliveries.count), burials \(life.burials.count), queue \(life.state.queue.count), unstored \(life.state.backlog.unstoredBytes), "
            + "away \(life.state.backlog.awayBytes), source \(parcel == nil ? "free" : "blocked"), fault \(life.state.storeHealth.fault?.description ?? "none")"
    }
}
