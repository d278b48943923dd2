// Withdrawals at work. A withdrawal is acknowledged when the ledger has it for good and the gate knows of it; from then on no hand-over
// of the subject's events begins. What waits anywhere is destroyed after that by a thread of its own, while the lanes go on, and a
// receipt says what was destroyed where. A receipt that is not finished when the router ends, however it ends, is finished by the next.

internal import Delivery
public import Ledger
public import Platform
public import Policy

public final class Withdrawals: Sendable {
    fileprivate struct State {
        /// Receipts whose destruction is not done, in the order of their withdrawals, with what was destroyed for them so far.
        var waiting: [(receipt: Int64, places: [String: Swept])] = []
        var isWorking = false
    }

    private let registry: Registry
    private let check: SecondCheck
    private let deadLetters: DeadLetters
    private let names: RunNames
    private let lanes: @Sendable () -> [Lane]
    /// Waits until every block has been handed over that was judged before.
    private let settle: @Sendable () -> Void
    private let clock: Clock
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    init(
        _ registry: Registry, check: SecondCheck, deadLetters: DeadLetters, names: RunNames, lanes: @escaping @Sendable () -> [Lane],
        settle: @escaping @Sendable () -> Void, clock: Clock, say: @escaping @Sendable (String) -> Void
    ) {
        self.registry = registry
        self.check = check
        self.deadLetters = deadLetters
        self.names = names
        self.lanes = lanes
        self.settle = settle
        self.clock = clock
        self.say = say
    }

    /// Goes on with what an earlier run began.
    func resume() throws(StorageFault) {
        let unfinished = try registry.use { (file) throws(StorageFault) in (try file.unfinishedReceipts().map(\.number), []) }
        for receipt in unfinished { enqueue(receipt, [:]) }
    }

    /// Withdraws consent, all of it or to these purposes; whether it is on record now, and the number of the receipt.
    public func withdraw(_ id: LedgerID, purposes: [String]?, origin: String) throws(StorageFault) -> (holds: Bool, receipt: Int64?) {
        let (holds, receipt): (Bool, Int64?) = try registry.use { (file) throws(StorageFault) in
            try file.write { () throws(StorageFault) in
                let outcome = try file.withdraw(id, purposes: purposes, origin: origin)
                let receipt = outcome.holds ? try file.beginReceipt(of: id, purposes: purposes, origin: origin) : nil
                return ((outcome.holds, receipt), outcome.changes)
            }
        }
        guard let receipt else { return (holds, nil) }
        begin([receipt])
        return (holds, receipt)
    }

    /// Of withdrawals that the ledger has for good.
    func begin(_ receipts: [Int64]) {
        guard !receipts.isEmpty else { return }
        // What is in a provider's hands is told as of now.
        var places: [String: Swept] = [:]
        for lane in lanes() { places[Withdrawals.place(lane), default: Swept()].inHands = lane.refusedInHands }
        for receipt in receipts { enqueue(receipt, places) }
    }

    /// What waits of these subjects in memory alone, by provider, with the names of the routes that it came by.
    public func inMemory(of subjects: Set<SubjectKey>) -> [(provider: String, batch: Batch, routes: [String])] {
        let known = names.all
        return lanes().flatMap { lane in
            lane.inMemory(of: subjects).map { (lane.name, $0, $0.entries.map { known[Int($0.route)] }) }
        }
    }

    private func enqueue(_ receipt: Int64, _ places: [String: Swept]) {
        let isIdle = state.withLock { state in
            state.waiting.append((receipt, places))
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if isIdle { Thread.start("withdrawals") { self.work() }.detach() }
    }

    private func work() {
        while let next = state.withLock({ $0.next() }) { destroy(next.receipt, next.places) }
    }

    private func destroy(_ receipt: Int64, _ before: [String: Swept]) {
        settle()
        var places = before
        for (place, swept) in sweepLanes() { places[place, default: Swept()].add(swept) }
        do throws(StorageFault) {
            let letters = try deadLetters.sweep(check, names)
            if letters.events > 0 { places["dead letters"] = letters }
            let lines = places.sorted { $0.key < $1.key }.filter { $0.value != Swept() }
            let now = clock.wall()
            try registry.use { (file) throws(StorageFault) in
                try file.write { () throws(StorageFault) in
                    for (place, swept) in lines {
                        try file.add(
                            WithdrawalReceipt.Line(
                                place: place, at: now, events: swept.events, bytes: swept.bytes, inHands: swept.inHands), to: receipt)
                    }
                    try file.finishReceipt(receipt)
                    return ((), [])
                }
            }
        } catch {
            say("withdrawal \(receipt): not everything is destroyed yet: \(error); the next start goes on with it")
        }
    }

    private static func place(_ lane: Lane) -> String { "queue of \(lane.name)" }

    /// By place; waits until every lane has destroyed what it is to destroy.
    private func sweepLanes() -> [String: Swept] {
        let lanes = lanes()
        let results = Monitor((left: lanes.count, places: [String: Swept]()))
        for lane in lanes {
            lane.sweep { swept in
                results.withLock { results in
                    results.left -= 1
                    results.places[Withdrawals.place(lane), default: Swept()].add(swept)
                }
                results.wake()
            }
        }
        return results.waitUntilReady { $0.left == 0 ? .ready($0.places) : .notBefore(nil) }
    }
}

extension Withdrawals.State {
    fileprivate mutating func next() -> (receipt: Int64, places: [String: Swept])? {
        guard !waiting.isEmpty else {
            isWorking = false
            return nil
        }
        return waiting.removeFirst()
    }
}

extension Swept {
    fileprivate mutating func add(_ other: Swept) {
        events += other.events
        bytes += other.bytes
        // None came into hands since: those that are there were counted before.
        inHands = max(inHands, other.inHands)
    }
}
