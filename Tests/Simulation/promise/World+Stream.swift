// The statements that events make for the ledger. The router's own writer takes them in the turn of their block. What an event states holds
// for itself and for every later line, whichever worker has judged that line, and for no earlier one.

import Platform
import Statements

@testable import Delivery
@testable import Ledger
@testable import Withdrawal

extension World {
    /// Writes what the events of a block state, and checks what the gate has decided. It runs in the turn of the block.
    func settle(_ block: Passing) throws {
        // With this planted bug, the block seems to have been judged just now.
        if plant == .order { life.writer.prepare(&block.desk.worker, block.gatehouse.ruleset) }
        let base = hands.wall
        let isWritten = life.writer.settle(&block.desk.worker, block.gatehouse.ruleset, source: block.mayWrite ? "center" : "web")
        try require(isWritten, "the statements of \(block.events) could not be written")
        let receipts = life.adopted.withLock { adopted in
            defer { adopted = [] }
            return adopted
        }
        let (permits, expected) = hear(block, base)
        try adopt(receipts, expected)
        // The ledger gives each statement a time of its own.
        now += Int64(block.events.count) + 1
        tell("settled \(block.events)\(receipts.isEmpty ? "" : ", with receipts \(receipts)")")
        try makeCopies(block, permits)
        noteRefusals()
        if !receipts.isEmpty, dies(in: 6) { return try die() }
        for receipt in receipts { beginDestruction(receipt) }
        try noteInHands(receipts)
        try holdEvents(of: block)
    }

    /// Lets the promise hear the statements of a block. Returns what may have been decided on each event, and the withdrawals that must have
    /// receipts, each with the index of its event.
    private func hear(_ block: Passing, _ base: Int64) -> (permits: [[Permit]], expected: [(ExpectedReceipt, event: Int)]) {
        let assumes = scenario.variations[variation].assumed != nil
        let touchedBefore = streamChanges[block.changesBefore...].reduce(into: Set<String>()) { $0.formUnion($1) }
        var touched: Set<String> = []
        // From the first statement that must wait for the turn of the block, everything is judged in its turn.
        var isInTurn = false
        var expected: [(ExpectedReceipt, event: Int)] = []
        let permits: [[Permit]] = zip(block.events, block.early!).enumerated().map { index, one in
            let (number, early) = one
            let event = events[number]
            if event.isStatement, block.mayWrite || !event.statement.concernsTies {
                let before = Words.people.map(promise.effective)
                let withdrawn = promise.hear(event, mayWrite: block.mayWrite, at: base + Int64(index) + 1, assumes: assumes)
                expected += withdrawn.map { ($0, number) }
                for (id, old) in zip(Words.people, before) where promise.effective(id) != old { touched.insert(id) }
                // An event that only repeats a known tie need not wait.
                if event.statement != .identify { isInTurn = true }
            }
            let late = permit(number)
            return isInTurn || !touched.union(touchedBefore).isDisjoint(with: event.ids) ? [late] : [early, late]
        }
        streamChanges.append(touched)
        return (permits, expected)
    }

    /// Begins the withdrawals that came in the stream. From here on they are acknowledged.
    private func adopt(_ receipts: [Int64], _ expected: [(ExpectedReceipt, event: Int)]) throws {
        try require(
            receipts.count == expected.count, "the stream has withdrawn \(expected.map(\.0)), and the receipts are \(receipts)")
        if plant != .adopt { try life.steps.ban(receipts) }
        for (receipt, (withdrawal, event)) in zip(receipts, expected) {
            if plant == .forgets { try life.banLanes(receipt) }
            let begun = try life.registry.use { (file) throws(StorageFault) in
                (try file.receipts(after: receipt - 1, most: 1).first?.begun, [])
            }
            guard let begun else { throw Breach(words: "receipt \(receipt) of event \(event) is not in the ledger") }
            written.append(
                Withdrawal(
                    receipt: receipt, person: withdrawal.person, purposes: withdrawal.purposes.map { Set($0) }, time: begun,
                    isAcknowledged: true, event: event, changed: streamChanges.last ?? []))
            if withdrawal.purposes == nil { receipted[withdrawal.id] = withdrawal.decided }
            heed(written[written.count - 1])
        }
    }

    /// Requires that the event counts as older than the withdrawals behind it in the stream, and as newer than those before it.
    func checkArrival(_ arrival: Int64, of number: Int, demanding demanded: Set<String>, in block: Passing) throws {
        try require(arrival >= block.arrival && arrival <= hands.wall, "event \(number) came in at \(arrival)")
        for withdrawal in written where !withdrawal.person.isDisjoint(with: events[number].ids) {
            guard let event = withdrawal.event else { continue }
            // A withdrawal that changed nothing, or that no route of a later line asks about, does not cause that line to be judged again. The
            // line counts as older, and for its routes that makes no difference.
            let isAsked = !demanded.isEmpty && !withdrawal.changed.isDisjoint(with: events[number].ids)
            if number >= event, !block.events.contains(event), !isAsked { continue }
            try require(
                (arrival > withdrawal.time) == (number >= event),
                "event \(number) came in at \(arrival), and event \(event) of the stream has withdrawn at \(withdrawal.time)")
        }
        events[number].received = arrival
    }

    /// Notes how many refused events were leaving when these withdrawals were acknowledged.
    func noteInHands(_ receipts: [Int64]) throws {
        if receipts.isEmpty { return }
        var told: [String: Int] = [:]
        for lane in life.lanes {
            var refused = 0
            for delivery in lane.deliveries.values {
                for (copy, hasBegun) in zip(delivery.copies, delivery.begun) where hasBegun && isRefused(copy) {
                    copy.wasNamedInFlight = true
                    refused += 1
                }
            }
            let count = lane.refusedInFlight
            try require(
                count == refused || plant.map { Plant.forHandOver.contains($0) } ?? false,
                "\(count) refused events are reported in flight at \(Words.lanes[lane.index]), expected \(refused)")
            told["queue of \(Words.lanes[lane.index])"] = count
            for receipt in receipts { inHands[receipt, default: 0] += count }
        }
        for receipt in receipts { try life.steps.note(inHands: told, receipt) }
    }
}

extension Event {
    /// True if the ledger may take something from the event.
    var isStatement: Bool {
        switch statement {
        case .none: false
        case .identify: members["userId"] != nil && members["anonymousId"] != nil
        default: true
        }
    }
}
