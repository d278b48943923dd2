// The steps of a withdrawal in the ledger and the dead letters. The caller chooses the thread for each step and lets the lanes run in
// between, so that a simulation can stop between any two steps.

public import Admission
public import ConsentGate
public import Delivery
public import Ledger
public import Platform
public import Queueing

public struct WithdrawalSteps: Sendable {
    public let registry: Registry
    public let check: SecondCheck
    public let deadLetters: DeadLetters
    public let names: RunNames
    public let clock: Clock

    /// Returns the receipts that an earlier run did not finish. From now on, their events are not handed over.
    public func unfinished() throws(StorageFault) -> [Int64] {
        try registry.use { (file) throws(StorageFault) in
            let receipts = try file.unfinishedReceipts()
            for receipt in receipts { check.ban(receipt) }
            return (receipts.map(\.number), [])
        }
    }

    /// Records a withdrawal. When this returns, the ledger has it on disk, and no hand-over of its events begins, even if the person
    /// consents again. Returns whether the withdrawal holds, and the number of its receipt. The number is nil if a later decision is on
    /// record.
    public func record(_ id: LedgerID, purposes: [String]?, origin: String) throws(StorageFault) -> (holds: Bool, receipt: Int64?) {
        try registry.use { (file) throws(StorageFault) in
            let (outcome, receipt): (LedgerOutcome, Int64?) = try file.write { () throws(StorageFault) in
                let outcome = try file.withdraw(id, purposes: purposes, origin: origin)
                return (outcome, outcome.holds ? try file.beginReceipt(of: id, purposes: purposes, origin: origin) : nil)
            }
            if let receipt, let written = try file.receipts(after: receipt - 1, most: 1).first { check.ban(written) }
            return ((outcome.holds, receipt), outcome.changes)
        }
    }

    /// Records the withdrawals of many ids in one transaction, with the same promise. Returns the receipts of those that hold.
    public func record(all ids: [LedgerID], purposes: [String]?, origin: String) throws(StorageFault) -> [Int64] {
        try registry.use { (file) throws(StorageFault) in
            let (receipts, changes) = try file.withdraw(all: ids, purposes: purposes, origin: origin)
            for number in receipts {
                if let written = try file.receipts(after: number - 1, most: 1).first { check.ban(written) }
            }
            return (receipts, changes)
        }
    }

    /// From now on, refuses the events that these receipts are about.
    func ban(_ receipts: [Int64]) throws(StorageFault) {
        try registry.use { (file) throws(StorageFault) in
            for number in receipts {
                if let receipt = try file.receipts(after: number - 1, most: 1).first { check.ban(receipt) }
            }
            return ((), [])
        }
    }

    /// Records the number of events that providers are processing, by place. Call it before the withdrawal is acknowledged, because nobody
    /// knows the number after a kill.
    public func note(inHands: [String: Int], _ receipt: Int64) throws(StorageFault) {
        let lines = inHands.filter { $0.value > 0 }
        assert(inHands.values.allSatisfy { $0 >= 0 }, "a provider processes a negative number of events")
        if lines.isEmpty { return }
        try write(lines.mapValues { count in WithdrawalReceipt.Line(place: "", at: 0, events: 0, inHands: count) }, to: receipt)
    }

    /// The last step, after the lanes have destroyed their events: sweeps the dead letters, and writes the receipt with the counts of all
    /// places. Returns false if a lane ended before it had destroyed everything. Then the next start continues.
    public func finish(_ receipt: Int64, _ lanes: [String: Swept]) throws(StorageFault) -> Bool {
        var places = lanes
        places["dead letters"] = try deadLetters.sweep(check, names)
        let isWhole = !lanes.values.contains(where: \.isCut)
        let lines = places.filter { $0.value.events > 0 }.mapValues { swept in
            WithdrawalReceipt.Line(place: "", at: 0, events: swept.events, bytes: swept.bytes)
        }
        try write(lines, to: receipt, finishing: isWhole)
        // Only the ban stops events that may still come back, so it then stays.
        if isWhole, !lanes.values.contains(where: \.isLoose) { check.lift(receipt) }
        return isWhole
    }

    private func write(
        _ lines: [String: WithdrawalReceipt.Line], to receipt: Int64, finishing: Bool = false
    ) throws(StorageFault) {
        let now = clock.wall()
        try registry.use { (file) throws(StorageFault) in
            try file.write { () throws(StorageFault) in
                for (place, line) in lines.sorted(by: { $0.key < $1.key }) {
                    var line = line
                    (line.place, line.at) = (place, now)
                    try file.add(line, to: receipt)
                }
                if finishing { try file.finishReceipt(receipt) }
                return ((), [])
            }
        }
    }
}
