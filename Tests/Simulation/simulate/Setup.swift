// What one seed decides: the lane's plan, how the provider and the disk behave and when, and when the router dies.

import Delivery
import Plans
import Platform

enum Plant: String, CaseIterable {
    /// The store loses a row now and then.
    case loss
    /// A delivery that was confirmed is told as one to be tried again.
    case twice
    /// The clock of the lane's thread is never woken by completions.
    case sleep
}

struct Setup {
    enum Kind: String { case memory, durable, spill }
    /// How a provider answers.
    enum Mood: UInt64 { case well, busy, down, flaky, hanging, closing }

    var kind = Kind.memory
    var plan = DeliveryPlan()
    var concurrency = 1
    var events = 0
    var poison = 0.0
    /// Whether the provider leaves at times, and dead letters cannot always be kept. Only before all is well.
    var closes = false
    var losesLetters = false
    /// Whether events are refused by themselves, or the batch whole.
    var refusesSingly = false
    /// When the provider's mood changes, in milliseconds.
    var moods: [(at: Int64, mood: Mood)] = []
    /// When the disk's health changes.
    var health: [(at: Int64, health: ModelStore.Health)] = []
    /// When the router is killed, or told to end by a signal.
    var kills: [Int64] = []
    var ends: [Int64] = []
    /// When the configuration is read anew.
    var reloads: [Int64] = []
    /// From when on everything works.
    var healed: Int64 = 0
    /// The longest pause between two parcels.
    var pause: Int64 = 1

    init() {}

    init(_ random: inout RandomSource) {
        func roll(_ sides: UInt64) -> UInt64 { random.next() % sides }
        kind = [.memory, .durable, .durable, .durable, .spill, .spill][Int(roll(6))]
        plan.batch.events = 1 + Int(roll(8))
        plan.batch.bytes = 24 + Int(roll(200))
        plan.batch.largest = roll(3) == 0 ? plan.batch.bytes + Int(roll(60)) : nil
        plan.batch.wait = .milliseconds(Int64(roll(3) * roll(500)))
        plan.queue.memory = plan.batch.bytes * Int(1 + roll(6))
        plan.queue.full = kind == .spill ? .spill : roll(4) > 0 ? .block : roll(2) == 0 ? .dropNewest : .dropOldest
        if kind != .memory { plan.queue.disk = roll(3) == 0 ? plan.batch.bytes * Int(1 + roll(10)) : 1 << 40 }
        plan.ordered = roll(2) == 0
        plan.retry.first = .milliseconds(Int64(1 + roll(1000)))
        plan.retry.most = .milliseconds(Int64(1000 + roll(60_000)))
        plan.retry.total = roll(4) == 0 ? .seconds(Int64(roll(120))) : .seconds(1_000_000)
        plan.breaker = 1 + Int(roll(6))
        plan.deadline = roll(4) == 0 ? .zero : .milliseconds(Int64(500 + roll(10_000)))
        plan.abandon = roll(3) == 0 ? Int(1 + roll(4)) : 1000
        closes = kind != .memory && roll(8) == 0
        losesLetters = plan.queue.disk == 1 << 40 && roll(8) == 0
        plan.deadLetters = roll(2) == 0 ? .block : .lose
        concurrency = 1 + Int(roll(3))
        events = 10 + Int(roll(140))
        poison = roll(3) == 0 ? Double(roll(30)) / 100 : 0
        refusesSingly = roll(2) == 0
        pause = Int64(1 + roll(roll(4) == 0 ? 5000 : 200))
        let span = roll(100_000) + 2000
        for _ in 0..<roll(6) {
            var mood = Mood(rawValue: roll(5))!
            // Without a deadline a call that is never ended is waited for, by right.
            if mood == .hanging, plan.deadline == .zero { mood = .down }
            moods.append((Int64(roll(span)), mood))
        }
        moods.sort { $0.at < $1.at }
        for _ in 0..<(kind == .memory ? 0 : roll(4)) {
            health.append((Int64(roll(span)), roll(3) == 0 ? .well : roll(2) == 0 ? .full : .failing))
        }
        health.sort { $0.at < $1.at }
        if kind != .memory, roll(3) > 0 { for _ in 0..<(1 + roll(4)) { kills.append(Int64(roll(span))) } }
        if roll(2) == 0 { for _ in 0..<(1 + roll(2)) { ends.append(Int64(roll(span))) } }
        if roll(3) == 0 { for _ in 0..<(1 + roll(3)) { reloads.append(Int64(roll(span))) } }
        healed = Int64(span)
    }

    /// Another plan for the same lane, as a changed file would have it.
    func varied(_ random: inout RandomSource) -> (plan: DeliveryPlan, concurrency: Int) {
        var other = self
        other.reloads = []
        let fresh = Setup(&random)
        other.plan.batch = fresh.plan.batch
        other.plan.queue.memory = fresh.plan.queue.memory
        other.plan.retry = fresh.plan.retry
        other.plan.breaker = fresh.plan.breaker
        other.plan.ordered = fresh.plan.ordered
        other.plan.deadLetters = fresh.plan.deadLetters
        // A call that is never ended must always have a deadline; and what spilled to disk may not be dropped as if it were new.
        if plan.deadline > .zero, fresh.plan.deadline > .zero { other.plan.deadline = fresh.plan.deadline }
        if kind != .spill, fresh.kind != .spill { other.plan.queue.full = fresh.plan.queue.full }
        if kind == .spill, fresh.plan.ordered { other.plan.queue.full = .block }
        if kind != .memory, fresh.kind != .memory { other.plan.queue.disk = fresh.plan.queue.disk }
        if losesLetters { other.plan.queue.disk = plan.queue.disk }
        return (other.plan, fresh.concurrency)
    }

    var stores: Bool { kind != .memory }

    var description: String {
        let queue = plan.queue
        return "\(kind) lane, full \(queue.full.rawValue), memory \(queue.memory), disk \(queue.disk.map { "\($0)" } ?? "none"), batch "
            + "\(plan.batch.events) events \(plan.batch.bytes) bytes \(plan.batch.wait), ordered \(plan.ordered), concurrency \(concurrency), "
            + "breaker \(plan.breaker), deadline \(plan.deadline), retry for \(plan.retry.total), \(events) events, poison \(poison), "
            + "closes \(closes), loses letters \(losesLetters), dead letters \(plan.deadLetters.rawValue), moods \(moods), disk \(health), kills \(kills), ends \(ends), reloads \(reloads), healed \(healed)"
    }
}

extension DeliveryPlan {
    var drops: Bool { queue.full == .dropNewest || queue.full == .dropOldest }
}
