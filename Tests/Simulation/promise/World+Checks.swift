// The conditions that must hold at every step, when a receipt is finished, and at the end.

import DeadLetterStore
import Plans
import Platform
import StateFiles

@testable import Delivery
@testable import Ledger
@testable import Queueing
@testable import Spool

extension World {
    /// The purposes that a copy needs: those that its route demands now, and those demanded at its admission.
    func demanded(_ copy: Copy) -> Set<String> { demands[copy.route].demanded.union(copy.admitted) }

    /// Returns true if an acknowledged withdrawal forbids every further hand-over.
    func isDoomed(_ copy: Copy) -> Bool { !copy.dooms.isEmpty && isDoomed(copy, by: copy.dooms) }

    func isDoomed(_ copy: Copy, by dooms: [(receipt: Int64, purposes: Set<String>?)]) -> Bool {
        let demanded = demanded(copy)
        return dooms.contains { doom in doom.purposes.map { !$0.isDisjoint(with: demanded) } ?? !demanded.isEmpty }
    }

    func isRefused(_ copy: Copy) -> Bool { isDoomed(copy) || !promise.keeps(events[copy.event].ids, demanded(copy)) }

    /// Returns true if it is older than the retention of its lane.
    func isTooOld(_ copy: Copy) -> Bool {
        guard let most = scenario.lanes[copy.lane].delivery.retention else { return false }
        return hands.wall - events[copy.event].received >= most.nanoseconds
    }

    func isMeant(_ copy: Copy, by withdrawal: Withdrawal) -> Bool {
        events[copy.event].received <= withdrawal.time && !withdrawal.person.isDisjoint(with: events[copy.event].ids)
    }

    /// Notes what is refused by now. Call it after each change of what is on record and of what is demanded.
    func noteRefusals() {
        life.holding?.wake = 0
        for copy in copies where !copy.wasRefused {
            let isDue = written.contains { isMeant(copy, by: $0) && isDoomed(copy, by: [($0.receipt, $0.purposes)]) }
            if isDue || isRefused(copy) { copy.wasRefused = true }
        }
        for hold in holds where !hold.wasRefused && hold.releasedIn == nil && isRefused(hold) { hold.wasRefused = true }
    }

    /// Requires that the account of the lane equals the counts of the model.
    func checkAccount(_ lane: LaneLife) throws {
        if lane.isAbsent { return }
        let account = lane.state.account
        try require(account.totalTaken == lane.taken, "the account has \(account.totalTaken) taken, the model \(lane.taken)")
        try require(account.totalResumed == lane.resumed, "the account has \(account.totalResumed) resumed, not \(lane.resumed)")
        try require(
            account.total(.delivered) == lane.delivered, "the account has \(account.total(.delivered)) delivered, not \(lane.delivered)")
        try require(account.totalWaiting >= 0 && lane.state.heldBytes >= 0, "the account does not balance: \(standing)")
        try require(account.total(.dropped) == 0 && account.lost == 0, "events were dropped")
        try require(account.total(.damaged) == lane.lost, "the account has \(account.total(.damaged)) damaged, not \(lane.lost)")
    }

    /// Requires that the receipt names the events in flight, and that no destroyed event is left in memory or in the files.
    func checkReceipt(_ done: Withdrawing) throws {
        let receipt = try life.registry.use { (file) throws(StorageFault) in
            (try file.receipts(after: done.receipt - 1, most: 1).first, [])
        }
        guard let receipt, receipt.finished != nil else { throw Breach(words: "receipt \(done.receipt) is not finished") }
        let told = receipt.lines.reduce(0) { $0 + $1.inHands }
        let were = inHands[done.receipt] ?? 0
        try require(told == were, "receipt \(done.receipt) names \(told) events in flight, expected \(were)")
        for lane in life.lanes {
            var waiting = (0..<lane.state.queue.count).flatMap { copies(of: lane.state.queue[$0].batch, lane.index) }
            waiting += (life.holding?.release?.boxes[lane.index]).map { copies(of: $0, lane.index) } ?? []
            for block in life.passing { waiting += (block.parcels?[lane.index]).map { copies(of: $0, lane.index) } ?? [] }
            for copy in waiting where isDoomed(copy) && copy.dooms.contains(where: { $0.receipt <= done.receipt }) {
                throw Breach(words: "after receipt \(done.receipt) was finished event \(copy.event) waits for \(Words.lanes[lane.index])")
            }
        }
        // This search is slow. It runs for every receipt of the first seeds, and for one third of the others.
        guard roll(3) == 0 || seed <= 100 else { return }
        var hit: Set<Int> = []
        var others: Set<Int> = []
        for copy in copies {
            let isHit = isDoomed(copy) && copy.dooms.contains { $0.receipt <= done.receipt }
            if isHit { hit.insert(copy.event) } else { others.insert(copy.event) }
        }
        for hold in holds where hold.releasedIn == nil {
            let dooms = hold.dooms.filter { $0.receipt <= done.receipt }
            if isDoomed(hold, by: dooms) { hit.insert(hold.event) } else { others.insert(hold.event) }
        }
        if let found = life.folder.finds(hit.subtracting(others)) {
            throw Breach(words: "after receipt \(done.receipt) was finished \(found.file) holds event \(found.event)")
        }
    }

    func unfinished() throws -> [Int64] {
        try life.registry.use { (file) throws(StorageFault) in (try file.unfinishedReceipts().map(\.number), []) }
    }

    /// Requires at the end that no event of a consenting person was lost, and that no withdrawn event is a dead letter.
    func checkEnd() throws {
        noteLosses()
        let open = try unfinished()
        try require(open.isEmpty, "receipts \(open) were never finished")
        let path = life.folder.path + "/" + DeadLetterFile.name
        let file = try DeadLetterFile(path, makes: false, mends: !damageLog.isEmpty, say: life.say)
        if let loss = file?.loss { damageLog.lose(loss.events, of: World.letters) }
        let letters = try file?.letters(DeadLetterFile.Choice()).map(copy(of:)) ?? []
        for copy in letters {
            try require(!isDoomed(copy), "event \(copy.event) is a dead letter, after receipt \(copy.dooms.map(\.receipt))")
        }
        let kept = Set(letters.map(ObjectIdentifier.init))
        var missing: [String: [Int]] = [:]
        for copy in copies where !copy.isDelivered && !copy.wasRefused && !copy.isGone && !isTooOld(copy) {
            if kept.contains(ObjectIdentifier(copy)) { continue }
            // What has become a letter was lost as a letter.
            guard let damaged = copy.mayBeLostIn.contains(World.letters) ? World.letters : copy.mayBeLostIn.min() else {
                throw Breach(words: "event \(copy.event) of \(events[copy.event].ids) by r\(copy.route) was lost")
            }
            missing[damaged, default: []].append(copy.event)
        }
        missing[World.held] = try checkHolds()
        for (file, events) in missing { try damageLog.check(events, of: file) }
        for lane in life.lanes { try require(lane.state.account.totalWaiting == 0, "events wait at the end: \(standing)") }
        try checkCounts()
    }

    /// Requires that the receipts count every event that a withdrawal destroyed in a queue on disk, also over kills, and nothing twice: no
    /// event of a queue, and no dead letter.
    private func checkCounts() throws {
        // Nobody knows whether a lost event was counted.
        if !damageLog.isEmpty { return }
        // With these planted bugs the counts are wrong too, and the hand-over is to show them.
        if let plant, plant == .early || Plant.forHandOver.contains(plant) { return }
        let counted = try life.registry.use { (file) throws(StorageFault) in
            (try file.receipts(after: 0, most: 10_000).reduce(0) { $0 + $1.lines.reduce(0) { $0 + $1.events } }, [])
        }
        let destroyed = copies.filter { copy in
            let plan = scenario.lanes[copy.lane].delivery
            return copy.isFirstRefusedByWithdrawal && !copy.wasNamedInFlight && isDoomed(copy) && !copy.isDelivered && !copy.isGone
                && copy.isAcknowledged
                && scenario.lanes[copy.lane].isDurable && plan.queue.full != .spill && plan.retention == nil && variationsAgree
        }
        let gone =
            destroyed.count + (variationsAgree ? holds.count { $0.isFirstRefusedByWithdrawal && $0.releasedIn == nil && isDoomed($0) } : 0)
        try require(counted >= gone, "the receipts count \(counted) destroyed events, expected at least \(gone)")
        let refused =
            copies.reduce(0) { sum, copy in
                copy.wasRefused
                    ? sum + (copy.mayWaitBesideLetter ? 1 + copy.letters : max(1, copy.letters)) + max(0, copy.releases - 1) : sum
            } + holds.count(where: \.wasRefused)
        try require(counted <= refused, "the receipts count \(counted) destroyed events, and only \(refused) were refused")
    }

    /// True if no reload has changed what routes demand. Another plan may refuse an event first, and then no receipt counts it.
    private var variationsAgree: Bool { plans.count == 1 }
}
