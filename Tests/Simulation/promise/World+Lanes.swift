// The threads of the lanes, one step at a time, with their spools, the dead letters and the providers. The model checks every hand-over.

import Plans
import Platform

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Queueing
@testable import Spool

extension World {
    func laneSteps(_ lane: LaneLife, _ ready: inout [() throws -> Void]) {
        if let wake = lane.laneWake, wake <= now { ready.append { [self] in try laneLooks(lane) } }
        if lane.disk != nil {
            ready.append { [self] in try diskWorks(lane) }
        } else if !lane.isStoreOver, let wake = lane.diskWake, wake <= now {
            ready.append { [self] in try diskLooks(lane) }
        }
        if let wake = lane.watchWake, wake <= now { ready.append { [self] in try watchLooks(lane) } }
        if let flush = lane.flushDone, flush <= now {
            ready.append { [self] in
                lane.flushDone = nil
                try carryOut(lane.state.flushed(.delivered), lane)
            }
        }
        for token in lane.deliveries.keys.sorted() where lane.deliveries[token]!.mayAsk && lane.deliveries[token]!.asksAt <= now {
            ready.append { [self] in try begin(token, lane) }
        }
        for token in lane.deliveries.keys.sorted() where lane.deliveries[token]!.isOver(at: now) {
            ready.append { [self] in try answer(token, lane) }
        }
        if !lane.burials.isEmpty { ready.append { [self] in try bury(lane) } }
    }

    private func laneLooks(_ lane: LaneLife) throws {
        lane.laneWake = nil
        let version = plant == .stale ? lane.answers.version : lane.check?.version
        let step = lane.state.next(at: instant, lane.answers, consentIs: version)
        lane.answers.removeAll()
        switch step {
        case .ask(let batches):
            // The lane enters its state in a later step. Anything can happen in between.
            lane.laneWake = 0
            lane.ask(&lane.answers, batches)
        case .deliver(let token, let batch, let attempt):
            lane.laneWake = 0
            try hand(token, batch, attempt, lane)
        case .bury(let effects):
            lane.laneWake = 0
            try carryOut(effects, lane)
        case .wait(let until): lane.laneWake = until?.nanoseconds
        case .flush: lane.flushDone = now + Int64(roll(100)) * World.millisecond
        case .end:
            lane.state.providerClosed()
            lane.watchWake = nil
            lane.wake()
            lane.laneWake = nil
        }
    }

    private func watchLooks(_ lane: LaneLife) throws {
        let effects = lane.perform(.expire, at: instant)
        for token in lane.deliveries.keys.sorted() where lane.deliveries[token]!.due.map({ $0 <= now }) ?? false {
            // The provider still holds the delivery, and may want to send it later.
            try require(!lane.mayBegin(token, []), "events of a delivery that was given up may leave")
            letGo(token, lane)
        }
        try carryOut(effects, lane)
        if lane.state.phase == .ended || lane.state.phase == .stopped {
            lane.watchWake = nil
        } else {
            lane.watchWake = (lane.state.nextDeadline ?? instant + lane.state.plan.deadline).nanoseconds
        }
    }

    private func diskLooks(_ lane: LaneLife) throws {
        lane.diskWake = nil
        let step = lane.state.diskStep(at: instant)
        if case .wait(let until) = step { lane.diskWake = until?.nanoseconds } else { lane.disk = step }
    }

    /// Does the work that the lane gave to the store in an earlier step. A kill can come before the work, or after it and before the lane
    /// gets the result.
    private func diskWorks(_ lane: LaneLife) throws {
        guard let store = lane.store, let step = lane.disk else { return }
        lane.disk = nil
        lane.diskWake = 0
        switch step {
        case .wait, .check: break
        case .close:
            try reportLoss(lane)
            store.close()
            lane.isStoreOver = true
            try carryOut(lane.perform(.storeClosed, at: instant), lane)
        case .commit(let work):
            let fault = fault { () throws(StorageFault) in try store.commit(work) }
            if dies(in: 60) { return try die() }
            try carryOut(fault.map { lane.state.storeFailed($0, at: instant) } ?? lane.state.committed(at: instant), lane)
        case .read(let row, let most):
            var rows: [SpoolRow] = []
            let fault = fault { () throws(StorageFault) in rows = try store.read(after: row, most: most) }
            try carryOut(fault.map { lane.state.readFailed($0, at: instant) } ?? lane.state.rowsRead(rows, at: instant), lane)
        case .sweep(let row, let order):
            var swept = SpoolSwept()
            let fault = fault { () throws(StorageFault) in swept = try store.sweep(after: row, order.sweep(lane.check)) }
            if dies(in: 20) { return try die() }
            try carryOut(
                fault.map { lane.state.sweepFailed($0, at: instant) }
                    ?? sparing(lane) { lane.perform(.rowsSwept(swept), at: instant) }, lane)
        case .tidy(let clearsGaps):
            let fault = fault { () throws(StorageFault) in
                try store.tidy()
                if clearsGaps { try store.clearGaps() }
            }
            if dies(in: 60) { return try die() }
            try carryOut(lane.perform(.tidied(isDone: fault == nil), at: instant), lane)
        }
        try reportLoss(lane)
    }

    private func fault(_ work: () throws(StorageFault) -> Void) -> StorageFault? {
        do throws(StorageFault) {
            try work()
            return nil
        } catch {
            return error
        }
    }

    /// Returns true if the router is killed at this point, with a chance of one in `chances`.
    func dies(in chances: UInt64) -> Bool {
        guard actsLeft > 0, roll(chances) == 0 else { return false }
        actsLeft -= 1
        return true
    }

    // MARK: - The provider

    /// Requires that the copy may be handed over.
    func checkHandOver(_ copy: Copy, _ how: String) throws {
        let event = events[copy.event]
        try require(
            !isDoomed(copy), "event \(copy.event) of \(event.ids) is \(how) by r\(copy.route) after receipt \(copy.dooms.map(\.receipt))")
        try require(
            promise.keeps(event.ids, demanded(copy)),
            "event \(copy.event) of \(event.ids) is \(how) by r\(copy.route), refused; on record \(promise.said) of \(promise.persons)")
    }

    private func hand(_ token: UInt64, _ batch: Batch, _ attempt: Int, _ lane: LaneLife) throws {
        let copies = copies(of: batch, lane.index)
        tell("\(Words.lanes[lane.index]) delivers \(token): \(copies.map(\.event)), attempt \(attempt)")
        try require(!copies.isEmpty, "an empty batch is handed over")
        for copy in copies {
            try checkHandOver(copy, "handed over")
            try require(!isTooOld(copy), "event \(copy.event) is handed over but is too old")
            try require(copy.inHands == 0 || copy.releases > 1, "event \(copy.event) is in two deliveries at once")
            copy.inHands = 1
        }
        lane.deliveries[token] = decide(copies, lane)
    }

    /// The provider asks for some events of a delivery, and lets them leave if it may.
    private func begin(_ token: UInt64, _ lane: LaneLife) throws {
        guard var delivery = lane.deliveries[token] else { return }
        let left = delivery.begun.indices.filter { !delivery.begun[$0] }
        let next = Array(left.prefix(1 + roll(UInt64(left.count))))
        let isAllowed = lane.mayBegin(token, next)
        tell("\(Words.lanes[lane.index]) \(isAllowed ? "begins" : "may not begin") \(next.map { delivery.copies[$0].event }) of \(token)")
        if isAllowed || plant == .asks {
            for index in next {
                try checkHandOver(delivery.copies[index], "begun")
                delivery.begun[index] = true
            }
            delivery.asksAt = now + Int64(roll(30)) * World.millisecond
        } else {
            delivery.isRefused = true
            // The provider ends the delivery when what has begun is answered.
            delivery.done = delivery.done ?? now
        }
        lane.deliveries[token] = delivery
    }

    private func decide(_ copies: [Copy], _ lane: LaneLife) -> Delivery {
        var outcome = BatchOutcome(.delivered)
        var arrives = copies.map { !events[$0.event].isPoison }
        var wait: Int64? = Int64(roll(roll(4) == 0 ? 2000 : 60)) * World.millisecond
        func refuseAll(_ other: Outcome) {
            outcome = BatchOutcome(other)
            arrives = copies.map { _ in false }
        }
        var condition = isHealed ? .well : conditions[lane.index]
        if condition == .flaky { condition = Condition(rawValue: UInt64(roll(5)))! }
        switch condition {
        case .well, .flaky:
            let bad = copies.indices.filter { events[copies[$0].event].isPoison }
            if roll(2) == 0 || bad.isEmpty {
                for index in bad { outcome.events[index] = .rejected(Answer("bad")) }
            } else {
                refuseAll(.rejected(Answer("bad")))
            }
        case .busy: refuseAll(.retry(Answer("busy"), after: nil))
        case .down:
            outcome = BatchOutcome(.unknown(Answer("reset")))
            if roll(2) == 0 { arrives = copies.map { _ in false } }
        case .hanging: wait = roll(3) == 0 ? Int64(roll(8000)) * World.millisecond : nil
        }
        return Delivery(
            copies: copies, outcome: outcome, arrives: arrives, begun: copies.map { _ in false },
            asksAt: now + Int64(roll(roll(3) == 0 ? 1500 : 20)) * World.millisecond, done: wait.map { now + $0 },
            due: now + lane.state.plan.deadline.nanoseconds)
    }

    /// Forgets the delivery. The lane does not wait for it any more.
    private func letGo(_ token: UInt64, _ lane: LaneLife) {
        for copy in lane.deliveries.removeValue(forKey: token)?.copies ?? [] { copy.inHands = 0 }
    }

    func letGoOfAll(_ lane: LaneLife) { for token in lane.deliveries.keys.sorted() { letGo(token, lane) } }

    private func answer(_ token: UInt64, _ lane: LaneLife) throws {
        guard let delivery = lane.deliveries[token] else { return }
        letGo(token, lane)
        let outcome = delivery.told
        tell("\(Words.lanes[lane.index]) answers \(token): \(outcome.batch)")
        for (index, copy) in delivery.copies.enumerated() where (outcome.events[index] ?? outcome.batch) == .delivered {
            copy.isDelivered = true
            lane.delivered += 1
        }
        try carryOut(lane.perform(.completed(token, outcome), at: instant), lane)
    }

    // MARK: - Effects of the lane

    func carryOut(_ effects: [LaneState.Effect], _ lane: LaneLife) throws {
        lane.wake()
        var isBurying = false
        for effect in effects {
            switch effect {
            case .bury(let burial):
                tell("\(Words.lanes[lane.index]) gives up \(copies(of: burial.batch, lane.index).map(\.event)): \(burial.reason.rawValue)")
                lane.burials.append(Letters(burial: burial))
                isBurying = true
            case .acknowledge(let receipts):
                life.holding?.wake = 0
                // The receipts are settled after the burial, in the order of the router.
                if isBurying {
                    lane.burials[lane.burials.count - 1].receipts += receipts
                } else {
                    for receipt in receipts { receipt.settle() }
                }
            case .swept(let swept, let done):
                tell("\(Words.lanes[lane.index]) has swept \(swept)")
                for done in done { done(swept) }
            case .failing, .recovered, .opened, .left, .storing(nil, _): break
            // The store has repaired the file, and the lane tries again.
            case .damaged, .storing(.some, _):
                try require(damageLog.isDamaged(lane), "\(Words.lanes[lane.index]): \(effect)")
            case .dropping, .gone, .closed, .stopped: throw Breach(words: "\(Words.lanes[lane.index]): \(effect)")
            }
        }
    }

    private func bury(_ lane: LaneLife) throws {
        let letters = lane.burials.removeFirst()
        let burial = letters.burial
        let (lost, _) = life.deadLetters.bury(
            burial.batch, provider: Words.lanes[lane.index], routes: life.names.all, reason: burial.reason, burial.answer,
            attempts: burial.attempts, isLost: burial.isSettled)
        try require(lost == 0, "\(lost) dead letters could not be kept")
        for copy in copies(of: burial.batch, lane.index) { copy.letters += 1 }
        if dies(in: 20) { return try die() }
        lane.state.buried(burial, lost: lost, at: instant)
        for receipt in letters.receipts { receipt.settle() }
        life.holding?.wake = 0
        lane.wake()
    }
}

extension Delivery {
    /// True if the provider wants to send more of it.
    var mayAsk: Bool { !isRefused && begun.contains(false) }

    /// True if the provider ends it now.
    func isOver(at now: Int64) -> Bool { !mayAsk && done.map { $0 <= now } ?? false }

    /// The outcome as the provider reports it: what did not leave is untried.
    fileprivate var told: BatchOutcome {
        guard isRefused else { return outcome }
        var events: [Int: Outcome] = [:]
        for index in begun.indices where begun[index] {
            let own = outcome.events[index] ?? outcome.batch
            if case .rejected = own, outcome.events[index] == nil {
                events[index] = .retry(Answer("busy"), after: nil)
            } else {
                events[index] = own
            }
        }
        return BatchOutcome(.untried, events: events)
    }
}
