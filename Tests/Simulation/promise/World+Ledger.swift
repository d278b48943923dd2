// The decisions of people, the steps of withdrawals as the router does them, and the other acts: reloads, replays, kills and faults.

import DeadLetterStore
import Judging
import Platform

@testable import Admission
@testable import ConsentGate
@testable import Delivery
@testable import Holding
@testable import Ledger
@testable import Queueing
@testable import Spool
@testable import Withdrawal

extension World {
    func ledgerSteps(_ ready: inout [() throws -> Void]) {
        if actsLeft > 0, nextAct <= now { ready.append(act) }
        if life.unacknowledged != nil { ready.append(acknowledge) }
        if let owed { ready.append { [self] in try pay(owed.id, owed.purposes) } }
        guard let first = life.withdrawals.first else { return }
        switch first.stage {
        case .waiting: ready.append { [self] in life.withdrawals[0].stage = .settling(plant == .settle ? 0 : life.blocksRead) }
        case .settling(let blocks):
            let isHandedOver = life.holding?.release == nil || plant == .underway
            if life.blocksHandedOver >= blocks, isHandedOver { ready.append(sweep) }
        case .sweeping: if first.lanesLeft == 0 { ready.append { [self] in life.withdrawals[0].stage = .finishing } }
        case .finishing: ready.append(finish)
        }
    }

    private func act() throws {
        nextAct = now + Int64(roll(roll(3) == 0 ? 4000 : 100)) * World.millisecond
        switch roll(20) {
        case 0..<12: try say()
        case 12..<14:
            actsLeft -= 1
            conditions[roll(2)] = Condition(rawValue: UInt64(roll(5)))!
        case 14: try reload()
        case 15..<17: try replay()
        case 17..<19:
            actsLeft -= 1
            try die()
        default:
            actsLeft -= 1
            if !life.isEnding { end(within: Int64(roll(3000)) * World.millisecond) }
        }
    }

    // MARK: - Decisions of people

    func say() throws {
        actsLeft -= 1
        now += 1
        let id = Words.people[roll(UInt64(Words.people.count))]
        switch roll(12) {
        case 0..<4: try set(id)
        case 4..<7: try withdraw(id)
        case 10..<12: try importLines()
        case 7..<9:
            let ids = [id, Words.people[roll(UInt64(Words.people.count))]]
            tell("tie \(ids)")
            try life.registry.use { (file) throws(StorageFault) in
                if case .tied(let changes) = try file.tie(ids.map { LedgerID($0) }) { return ((), changes) }
                return ((), [])
            }
            promise.tie(ids)
        default:
            tell("untie \(id)")
            try life.registry.use { (file) throws(StorageFault) in ((), try file.untie(LedgerID(id))) }
            promise.untie(id)
        }
        noteRefusals()
    }

    private func set(_ id: String) throws {
        let level = roll(5) == 0 ? nil : roll(2) == 0 ? 3 : roll(4)
        let granted = roll(4) == 0 ? [Words.purposes[roll(3)]] : []
        let denied = roll(6) == 0 ? [Words.purposes[roll(3)]] : []
        // Some decisions were made before they are recorded.
        let decided = hands.wall - (roll(6) == 0 ? Int64(1 + roll(5_000_000_000)) : 0)
        let terms = ConsentTerms(level: level.map { Words.levels[$0] }, granted: granted, denied: denied)
        tell("\(id) says \(terms) at \(decided)")
        try life.registry.use { (file) throws(StorageFault) in
            ((), try file.set(LedgerID(id), terms, decided: decided, origin: "play").changes)
        }
        promise.set(id, .terms(level: level, granted: Set(granted), denied: Set(denied), at: decided))
    }

    private func withdraw(_ id: String) throws {
        guard life.unacknowledged == nil, owed == nil else { return }
        let purposes = roll(3) == 0 ? [Words.purposes[roll(3)]] : nil
        if plant == .early {
            tell("\(id) withdraws \(purposes ?? ["everything"]), and gets an early acknowledgement")
            owed = (id, purposes)
            note(0, id, purposes)
            return promised(0)
        }
        life.holding?.store.beginWithdrawal()
        let (holds, receipt) = try life.steps.record(LedgerID(id), purposes: purposes, origin: "play")
        tell("\(id) withdraws \(purposes ?? ["everything"]): receipt \(receipt ?? 0)")
        guard holds, let receipt else { throw Breach(words: "a withdrawal with the present time has no effect") }
        note(receipt, id, purposes)
        life.unacknowledged = receipt
        if plant == .forgets { try life.banLanes(receipt) }
    }

    private func note(_ receipt: Int64, _ id: String, _ purposes: [String]?) {
        promise.withdraw(id, purposes, at: hands.wall)
        written.append(
            Withdrawal(receipt: receipt, person: promise.person(id), purposes: purposes.map { Set($0) }, time: hands.wall))
        if purposes == nil { receipted[id] = hands.wall }
        heed(written[written.count - 1])
    }

    func heed(_ withdrawal: Withdrawal) {
        for copy in copies { heed(withdrawal, copy) }
        for hold in holds where hold.releasedIn == nil { heed(withdrawal, hold) }
    }

    /// Marks a copy that arrived before the withdrawal: it may be destroyed, and after the acknowledgement it must not be handed over.
    func heed(_ withdrawal: Withdrawal, _ copy: Copy) {
        guard isMeant(copy, by: withdrawal) else { return }
        let doom = (withdrawal.receipt, withdrawal.purposes)
        if isDoomed(copy, by: [doom]) {
            if !copy.wasRefused { copy.isFirstRefusedByWithdrawal = true }
            copy.wasRefused = true
        }
        if withdrawal.isAcknowledged { copy.dooms.append(doom) }
    }

    private func pay(_ id: String, _ purposes: [String]?) throws {
        owed = nil
        now += 1
        guard let receipt = try life.steps.record(LedgerID(id), purposes: purposes, origin: "play").receipt else { return }
        beginDestruction(receipt)
    }

    /// Acknowledges the recorded withdrawal, which makes it a promise.
    private func acknowledge() throws {
        guard let receipt = life.unacknowledged else { return }
        life.unacknowledged = nil
        promised(receipt)
        try noteInHands([receipt])
        beginDestruction(receipt)
        life.holding?.store.endWithdrawal()
    }

    /// Nothing is released from the held events before the sweep for the receipt.
    func beginDestruction(_ receipt: Int64) {
        life.holding?.store.beginWithdrawal()
        life.withdrawals.append(Withdrawing(receipt: receipt))
    }

    func promised(_ receipt: Int64) {
        tell("receipt \(receipt) is acknowledged")
        let index = written.lastIndex { $0.receipt == receipt }!
        written[index].isAcknowledged = true
        heed(written[index])
    }

    // MARK: - The sweep of waiting events

    private func sweep() throws {
        let receipt = life.withdrawals[0].receipt
        tell("sweep for receipt \(receipt)")
        life.withdrawals[0].stage = .sweeping
        life.withdrawals[0].lanesLeft = life.lanes.count { !$0.isAbsent }
        // A copy whose route demands no consent any more is spared.
        for copy in copies where !isDoomed(copy) { copy.dooms.removeAll { $0.receipt <= receipt } }
        try sweepHolds(receipt)
        for lane in life.lanes where !lane.isAbsent {
            // The simulation has only one thread. A lane that is killed before its sweep keeps this closure, so the closure must not keep
            // the lane alive.
            nonisolated(unsafe) unowned let (world, its) = (self, lane)
            let life = ObjectIdentifier(life)
            try carryOut(
                sparing(lane) {
                    lane.perform(.sweep { if ObjectIdentifier(world.life) == life { world.swept(its, $0) } }, at: instant)
                }, lane)
        }
    }

    /// Runs the body. With the planted bug `retries`, events that wait for a retry are removed from the queue meanwhile.
    func sparing(_ lane: LaneLife, _ body: () -> [LaneState.Effect]) -> [LaneState.Effect] {
        guard plant == .retries else { return body() }
        var spared: [WaitingBatch] = []
        for waiting in lane.state.queue.removeAll() {
            if waiting.attempts > 0 { spared.append(waiting) } else { lane.state.queue.append(waiting) }
        }
        defer { for waiting in spared.reversed() { lane.state.queue.prepend(waiting) } }
        return body()
    }

    private func swept(_ lane: LaneLife, _ swept: Swept) {
        let place = "queue of \(Words.lanes[lane.index])"
        var swept = swept
        if plant == .uncounted { swept.destroyed = swept.destroyed.since(lane.before) }
        life.withdrawals[0].places[place] = swept
        life.withdrawals[0].lanesLeft -= 1
    }

    private func finish() throws {
        let done = life.withdrawals.removeFirst()
        var steps = life.steps
        if plant == .letters {
            steps = WithdrawalSteps(
                registry: steps.registry, check: steps.check, deadLetters: DeadLetters(path: "/nowhere", clock: hands.clock) { _ in },
                names: steps.names, clock: steps.clock)
        }
        tell("finish receipt \(done.receipt)")
        var places = done.places
        places["dead letters"] = try steps.sweepLetters()
        if plant != .strays { for (place, swept) in sweepStrays(isForWithdrawal: true) { places[place] = swept } }
        if dies(in: 30) { return try die() }
        let isWhole = try steps.finish(done.receipt, places)
        // Damage after this moment can bring back what was destroyed.
        if dies(in: scenario.hasDamage ? 4 : 20) { return try die() }
        if isWhole { try checkReceipt(done) }
    }

    // MARK: - Reload and replay

    private func reload() throws {
        actsLeft -= 1
        // The plan changes only between two blocks. During a sweep it does not change, because the model could not follow.
        guard life.passing.isEmpty, life.withdrawals.allSatisfy({ $0.stage == .waiting }) else { return }
        variation = roll(UInt64(plans.count))
        tell("reload: plan \(variation)")
        life.gatehouse = PlanGate(plans[variation], records: life.registry.records, levels: life.levels)
        life.check.adopt(life.gatehouse.ruleset.consent)
        life.laneCheck.adopt(life.gatehouse.ruleset.consent)
        life.holding?.adopt(plans[variation], life.gatehouse.ruleset)
        noteRefusals()
    }

    /// Sends some dead letters to their provider again, through the present gate.
    private func replay() throws {
        actsLeft -= 1
        guard let file = try DeadLetterFile(life.folder.path + "/" + DeadLetterFile.name, makes: false) else { return }
        for letter in try file.letters(DeadLetterFile.Choice(), most: 1 + roll(6)) {
            let copy = copy(of: letter)
            let box = life.gatehouse.judge(letter)[copy.lane]
            let index = box.parcel.entries.firstIndex { Int($0.route) == copy.route }
            let event = events[copy.event]
            let isWanted = promise.admits(event, demands[copy.route].demanded, assumed: scenario.variations[variation].assumed)
            try require(
                (index != nil) == isWanted, "the gate says \(index != nil) to a replay of event \(copy.event), the model \(isWanted)")
            // The level of its admission can be higher than the level that its route demands now.
            let level = life.check.entryLevel(letter.level)
            let mayGo = life.check.check(level: level, arrival: letter.arrival, subjects: letter.subjects) == .pass
            let isDenied = index.map { life.check.check(Batch(box.parcel.taken()).subset([$0])) != .pass } ?? true
            tell("replay of \(copy.event): \(isDenied || !mayGo ? "refused" : "sent")")
            if isDenied || !mayGo {
                try require(
                    !isWanted || copy.wasRefused || isRefused(copy), "a replay of event \(copy.event) is refused without a reason")
                copy.isGone = true
                try file.remove([letter.id])
                continue
            }
            try checkHandOver(copy, "replayed")
            guard roll(4) > 0 else { continue }
            copy.isDelivered = true
            if dies(in: 8) { return try die() }
            try file.remove([letter.id])
        }
        try file.tidy()
        try file.clearGaps()
    }

    func copy(of letter: DeadLetter) -> Copy {
        let event = letter.event.withUnsafeBytes { World.number($0, 0) }
        return copy(event, Int(String(letter.route.dropFirst()))!, Words.lanes.firstIndex(of: letter.provider)!)
    }
}

extension Parcel {
    fileprivate mutating func taken() -> Parcel {
        var full = Parcel()
        swap(&full, &self)
        return full
    }
}

extension Destroyed {
    /// Returns what was added since.
    fileprivate func since(_ before: Destroyed) -> Destroyed {
        var more = Destroyed()
        for (receipt, count) in counts where count.events > before[receipt].events {
            more.add(receipt, events: count.events - before[receipt].events, bytes: max(0, count.bytes - before[receipt].bytes))
        }
        return more
    }
}
