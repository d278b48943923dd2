// What a withdrawal does to the ledger and the dead letters, step by step. On which thread a step is taken, and what the lanes do in
// between, is for others to say, so that a simulation can stop between any two of them.

public import Admission
public import ConsentGate
public import Delivery
public import Ledger
public import Platform

public struct WithdrawalSteps: Sendable {
    public let registry: Registry
    public let check: SecondCheck
    public let deadLetters: DeadLetters
    public let names: RunNames
    public let clock: Clock

    /// The receipts that an earlier run began and did not finish. From now on nothing goes of what they are about.
    public func unfinished() throws(StorageFault) -> [Int64] {
        try registry.use { (file) throws(StorageFault) in
            let receipts = try file.unfinishedReceipts()
            for receipt in receipts { check.ban(receipt) }
            return (receipts.map(\.number), [])
        }
    }

    /// When this returns the ledger has it for good, and no hand-over begins any more, also if the person consents again; whether it is on
    /// record now, and the number of the receipt.
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

    /// From now on nothing goes of what these are about.
    func ban(_ receipts: [Int64]) throws(StorageFault) {
        try registry.use { (file) throws(StorageFault) in
            for number in receipts {
                if let receipt = try file.receipts(after: number - 1, most: 1).first { check.ban(receipt) }
            }
            return ((), [])
        }
    }

    /// Before it is acknowledged: how many events are in providers' hands, by place, which nobody could tell after a kill.
    public func note(inHands: [String: Int], _ receipt: Int64) throws(StorageFault) {
        let lines = inHands.filter { $0.value > 0 }
        if lines.isEmpty { return }
        try write(lines.mapValues { count in WithdrawalReceipt.Line(place: "", at: 0, events: 0, inHands: count) }, to: receipt)
    }

    /// The last step, when the lanes have destroyed what waited in these places: the dead letters, and the receipt. False: a lane
    /// ended before it had destroyed everything, and the next start goes on with it.
    public func finish(_ receipt: Int64, _ lanes: [String: Swept]) throws(StorageFault) -> Bool {
        var places = lanes
        places["dead letters"] = try deadLetters.sweep(check, names)
        let isWhole = !lanes.values.contains(where: \.isCut)
        let lines = places.filter { $0.value.events > 0 }.mapValues { swept in
            WithdrawalReceipt.Line(place: "", at: 0, events: swept.events, bytes: swept.bytes)
        }
        try write(lines, to: receipt, finishing: isWhole)
        // What may still come back is told by the ban alone that it must not.
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
