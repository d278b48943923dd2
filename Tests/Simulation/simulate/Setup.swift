// The values that a seed fixes: the lane's plan, the behaviour of the provider and the disk over time, and the times of kills, ends and
// reloads.

import Plans
import Platform
import Queueing

enum Plant: String, CaseIterable {
    /// The store sometimes loses a row.
    case loss
    /// A confirmed delivery is sometimes reported as one to retry.
    case twice
    /// Completions never wake the lane's thread.
    case sleep
}

struct Setup {
    enum Kind: String { case memory, durable, spill }
    /// The behaviour of a provider.
    enum Condition: UInt64 { case well, busy, down, flaky, hanging, closing }

    var kind = Kind.memory
    var plan = DeliveryPlan()
    var concurrency = 1
    var events = 0
    var poison = 0.0
    /// True if the provider sometimes closes, and true if dead letters are sometimes lost. Both happen only before the healed time.
    var closes = false
    var losesLetters = false
    /// True if the provider rejects single events, and false if it rejects the whole batch.
    var refusesSingly = false
    /// The times, in milliseconds, at which the behaviour of the provider changes.
    var conditions: [(at: Int64, condition: Condition)] = []
    /// The times at which the health of the disk changes.
    var health: [(at: Int64, health: ModelStore.Health)] = []
    /// The times at which the router is killed, and at which a signal tells it to end.
    var kills: [Int64] = []
    var ends: [Int64] = []
    /// The times of the reloads.
    var reloads: [Int64] = []
    /// The time from which on everything works.
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
        plan.batch.wait = roll(3) == 0 ? nil : .milliseconds(Int64(roll(3) * roll(500)))
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
            var condition = Condition(rawValue: roll(5))!
            // Without a deadline the lane correctly waits for ever for a call that never ends.
            if condition == .hanging, plan.deadline == .zero { condition = .down }
            conditions.append((Int64(roll(span)), condition))
        }
        conditions.sort { $0.at < $1.at }
        for _ in 0..<(kind == .memory ? 0 : roll(4)) {
            health.append((Int64(roll(span)), roll(3) == 0 ? .well : roll(2) == 0 ? .full : .failing))
        }
        health.sort { $0.at < $1.at }
        if kind != .memory, roll(3) > 0 { for _ in 0..<(1 + roll(4)) { kills.append(Int64(roll(span))) } }
        if roll(2) == 0 { for _ in 0..<(1 + roll(2)) { ends.append(Int64(roll(span))) } }
        if roll(3) == 0 { for _ in 0..<(1 + roll(3)) { reloads.append(Int64(roll(span))) } }
        healed = Int64(span)
    }

    /// Returns another plan for the same lane, as after a change of the file.
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
        // A call that never ends needs a deadline, so a deadline stays. Spilled events must not be dropped, so a spilling lane never drops.
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
            + "\(plan.batch.events) events \(plan.batch.bytes) bytes \(plan.batch.wait.map { "\($0)" } ?? "at once"), ordered \(plan.ordered), concurrency \(concurrency), "
            + "breaker \(plan.breaker), deadline \(plan.deadline), retry for \(plan.retry.total), \(events) events, poison \(poison), "
            + "closes \(closes), loses letters \(losesLetters), dead letters \(plan.deadLetters.rawValue), conditions \(conditions), disk \(health), kills \(kills), ends \(ends), reloads \(reloads), healed \(healed)"
    }
}

extension DeliveryPlan {
    var drops: Bool { queue.full == .dropNewest || queue.full == .dropOldest }
}
