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
    /// What the receipts already have, by place. A place counts from its beginning, so only what has changed is written.
    private let written = Monitor<[String: Destroyed]>([:])

    public init(registry: Registry, check: SecondCheck, deadLetters: DeadLetters, names: RunNames, clock: Clock) {
        self.registry = registry
        self.check = check
        self.deadLetters = deadLetters
        self.names = names
        self.clock = clock
    }

    /// From now on, refuses the events that came in before any withdrawal on record. Returns the receipts that an earlier run did not
    /// finish. Call it before anything is handed over.
    public func begin() throws(StorageFault) -> [Int64] {
        try registry.use { (file) throws(StorageFault) in (try check.banAll(of: file), []) }
    }

    /// Records a withdrawal. When this returns, the ledger has it on disk, and no event of it begins to leave, even if the person consents
    /// again. Returns whether the withdrawal holds, and the number of its receipt. The number is nil if a later decision is on record.
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

    /// Trusts the clock: the ledger and the second check change the times that are later than now to now. Returns if the clock was behind.
    public func believeClock() throws(StorageFault) -> Bool {
        try registry.use { (file) throws(StorageFault) in
            let wasBehind = file.isClockBehind
            try file.believeClock()
            check.limitBans(to: file.lastWritten)
            return (wasBehind, [])
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

    /// Records the number of events that were leaving, by place. Call it before the withdrawal is acknowledged, because nobody knows the
    /// number after a kill.
    public func note(inHands: [String: Int], _ receipt: Int64) throws(StorageFault) {
        let lines = inHands.filter { $0.value > 0 }
        assert(inHands.values.allSatisfy { $0 >= 0 }, "a provider processes a negative number of events")
        if lines.isEmpty { return }
        let now = clock.wall()
        try registry.use { (file) throws(StorageFault) in
            try file.write { () throws(StorageFault) in
                for (place, count) in lines.sorted(by: { $0.key < $1.key }) {
                    try file.add(WithdrawalReceipt.Line(place: place, at: now, events: 0, inHands: count), to: receipt)
                }
            }
            return ((), [])
        }
    }

    /// Destroys the dead letters that may not be kept any more.
    public func sweepLetters() throws(StorageFault) -> Swept { try deadLetters.sweep(check, names) }

    /// Destroys what a damaged file of dead letters has brought back: letters that an earlier withdrawal had destroyed. Returns nil if no
    /// damage was found in this run.
    public func sweepDamagedLetters() throws(StorageFault) -> Swept? { deadLetters.damage.isFound ? try sweepLetters() : nil }

    /// The last step, after all places have destroyed their events: writes the receipt with the counts of all places. Returns false if a
    /// place could not destroy everything. Then the next start continues.
    public func finish(_ receipt: Int64, _ places: [String: Swept]) throws(StorageFault) -> Bool {
        let isWhole = !places.values.contains(where: \.isCut)
        try settle(places.mapValues(\.destroyed), finishing: isWhole ? receipt : nil)
        return isWhole
    }

    /// Writes what was destroyed to the receipts, each count to the receipt that it belongs to.
    public func settle(_ places: [String: Destroyed], finishing receipt: Int64? = nil) throws(StorageFault) {
        let now = clock.wall()
        let before = written.withLock { $0 }
        try registry.use { (file) throws(StorageFault) in
            try file.write { () throws(StorageFault) in
                for (place, destroyed) in places.sorted(by: { $0.key < $1.key }) {
                    let known = before[place] ?? Destroyed()
                    for (number, count) in destroyed.counts.sorted(by: { $0.key < $1.key }) where count != known[number] {
                        let line = WithdrawalReceipt.Line(place: place, at: now, events: count.events, bytes: count.bytes)
                        try file.settle(line, of: number)
                    }
                }
                if let receipt { try file.finishReceipt(receipt) }
            }
            if let receipt, let finished = try file.receipts(after: receipt - 1, most: 1).first { check.finish(finished) }
            return ((), [])
        }
        written.withLock { $0.merge(places) { _, new in new } }
    }
}
