// The provider: its condition decides how and when it answers, or that it never does. It remembers what it really got. The checks of every
// hand-over are here too.

import Admission
import Plans
import Platform

@testable import Queueing

extension World {
    func hand(_ token: UInt64, _ batch: Batch, _ attempt: Int) throws {
        let numbers = numbers(batch)
        tell("deliver \(token): \(numbers) attempt \(attempt)")
        try require(!numbers.isEmpty, "an empty batch is delivered")
        try require(
            numbers.count <= plan.batch.events && (batch.bytes.count <= plan.batch.bytes || numbers.count == 1),
            "a batch of \(numbers.count) events and \(batch.bytes.count) bytes is delivered")
        try require(
            batch.bytes.count <= plan.batch.largest ?? .max, "\(batch.bytes.count) bytes are delivered to a module that takes less")
        let open = life.deliveries.count
        try require(open < (plan.ordered ? 1 : concurrency), "\(open + 1) deliveries are under way")
        try require(!life.state.health.isBreakerOpen || open == 0, "the breaker is open, and \(open + 1) deliveries are under way")
        for number in numbers {
            let event = events[number]
            try require(event.isOwed, "event \(number) is delivered although it has its fate: \(event)")
            try require(event.inHand == 0, "event \(number) is in two deliveries at once")
            events[number].inHand = 1
            events[number].firstHanded = event.firstHanded ?? now
        }
        if isOrdered, !drops {
            while lowest < events.count, !events[lowest].isOwed { lowest += 1 }
            try require(numbers[0] == lowest, "event \(numbers[0]) is delivered before event \(lowest)")
        }
        life.deliveries[token] = decide(numbers)
    }

    /// Decides the answer of the provider and its time.
    private func decide(_ numbers: [Int]) -> Delivery {
        var arrives = numbers.map { !events[$0].isPoison }
        var outcome = BatchOutcome(.delivered)
        var wait: Int64? = Int64(roll(roll(8) == 0 ? 3000 : 30)) * World.millisecond
        func refuseAll(_ other: Outcome) {
            outcome = BatchOutcome(other)
            arrives = numbers.map { _ in false }
        }
        var condition = condition
        if setup.closes, !isHealed, roll(30) == 0 {
            refuseAll(.closed(Answer("left")))
            condition = .closing
        }
        if condition == .flaky { condition = [.well, .well, .busy, .down, .hanging][Int(roll(plan.deadline > .zero ? 5 : 4))] }
        switch condition {
        case .well, .flaky:
            let bad = numbers.indices.filter { events[numbers[$0]].isPoison }
            if bad.isEmpty {
                // Sometimes the provider asks to retry some of the events.
                if self.condition == .flaky, roll(4) == 0 {
                    for index in numbers.indices where roll(2) == 0 {
                        outcome.events[index] = .retry(Answer("later"), after: nil)
                        arrives[index] = false
                    }
                }
            } else if setup.refusesSingly {
                for index in bad { outcome.events[index] = .rejected(Answer("bad")) }
            } else {
                refuseAll(.rejected(Answer("bad")))
            }
        case .busy: refuseAll(.retry(Answer("busy"), after: roll(3) == 0 ? .milliseconds(Int64(roll(5000))) : nil))
        case .down:
            if roll(8) == 0 { refuseAll(.fault(Answer("wrong token"))) } else { outcome = BatchOutcome(.unknown(Answer("reset"))) }
            if roll(2) == 0 { arrives = numbers.map { _ in false } }
        case .closing: break
        case .hanging:
            if roll(2) == 0 { arrives = numbers.map { _ in false } }
            wait = roll(3) == 0 ? Int64(roll(30_000)) * World.millisecond : nil
        }
        if plant == .twice, outcome.batch == .delivered, roll(40) == 0 { outcome = BatchOutcome(.retry(Answer("lied"), after: nil)) }
        let due = plan.deadline > .zero ? now + plan.deadline.nanoseconds : nil
        for (index, number) in numbers.enumerated() where arrives[index] { events[number].arrivals += 1 }
        return Delivery(
            events: numbers, outcome: outcome, arrives: arrives, done: wait.map { now + $0 }, due: due, handed: now)
    }

    /// Forgets the delivery. The lane does not wait for it any more. If `excused`, its events may arrive once more.
    func letGo(_ token: UInt64, excused: Bool) {
        guard let delivery = life.deliveries.removeValue(forKey: token) else { return }
        for number in delivery.events {
            events[number].inHand = 0
            if excused { events[number].excuses += 1 }
        }
    }

    func answer(_ token: UInt64) throws {
        guard let delivery = life.deliveries[token] else { return }
        tell("answer \(token): \(delivery.outcome.batch)")
        letGo(token, excused: false)
        for (index, number) in delivery.events.enumerated() {
            switch delivery.outcome.events[index] ?? delivery.outcome.batch {
            case .delivered: try settle(number, .delivered)
            case .filtered: try settle(number, .filtered)
            case .untried: break
            case .unknown: events[number].excuses += 1
            case .rejected, .retry, .fault, .closed: break
            }
            let event = events[number]
            try require(event.arrivals <= 1 + event.excuses, "event \(number) came \(event.arrivals) times, with \(event.excuses) excuses")
        }
        let effects = try perform(.completed(token, delivery.outcome))
        try carryOut(effects, wakes: plant != .sleep)
    }
}
