// Runs withdrawals. A withdrawal is acknowledged when the ledger has it on disk and the gate knows it; from then on no hand-over of the
// subject's events begins. After that, a separate thread destroys the events that wait anywhere, while the lanes continue. A receipt
// records what was destroyed and where. If the router ends in any way before a receipt is finished, the next start finishes it.

public import Admission
public import ConsentGate
public import Delivery
public import Holding
public import Ledger
public import Platform
internal import Queueing

public final class Withdrawals: Sendable {
    fileprivate struct State {
        /// The receipts whose destruction is not done, in the order of their withdrawals.
        var waiting: [Int64] = []
        var isWorking = false
    }

    private let steps: WithdrawalSteps
    private let lanes: @Sendable () -> [Lane]
    /// The store of held events. It is nil if events are not held.
    private let heldStore: HeldStore?
    /// Waits until every block that was already judged has been handed over.
    private let settle: @Sendable () -> Void
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    public init(
        _ registry: Registry, check: SecondCheck, deadLetters: DeadLetters, names: RunNames, lanes: @escaping @Sendable () -> [Lane],
        heldStore: HeldStore?, settle: @escaping @Sendable () -> Void, clock: Clock, say: @escaping @Sendable (String) -> Void
    ) {
        steps = WithdrawalSteps(registry: registry, check: check, deadLetters: deadLetters, names: names, clock: clock)
        self.lanes = lanes
        self.heldStore = heldStore
        self.settle = settle
        self.say = say
    }

    /// Continues the withdrawals that an earlier run did not finish.
    public func resume() throws(StorageFault) {
        for receipt in try steps.unfinished() { enqueue(receipt) }
    }

    /// Withdraws all consent, or consent to these purposes. Returns whether the withdrawal holds, and the number of its receipt.
    public func withdraw(_ id: LedgerID, purposes: [String]?, origin: String) throws(StorageFault) -> (holds: Bool, receipt: Int64?) {
        // Nothing is released until the receipt is in the queue.
        heldStore?.beginWithdrawal()
        defer { heldStore?.endWithdrawal() }
        let (holds, receipt) = try steps.record(id, purposes: purposes, origin: origin)
        guard let receipt else { return (holds, nil) }
        begin([receipt])
        return (holds, receipt)
    }

    /// Withdraws for many ids in one transaction. Returns the numbers of the receipts of those that hold.
    public func withdraw(all ids: [LedgerID], purposes: [String]?, origin: String) throws(StorageFault) -> [Int64] {
        heldStore?.beginWithdrawal()
        defer { heldStore?.endWithdrawal() }
        let receipts = try steps.record(all: ids, purposes: purposes, origin: origin)
        begin(receipts)
        return receipts
    }

    /// Begins the destruction for withdrawals that came in the stream and are in the ledger.
    public func adopt(_ receipts: [Int64]) {
        if receipts.isEmpty { return }
        do throws(StorageFault) {
            try steps.ban(receipts)
        } catch {
            say("withdrawal \(receipts[0]): \(error); if the subject consents again before the next start, earlier events may be delivered")
        }
        begin(receipts)
    }

    private func begin(_ receipts: [Int64]) {
        var inHands: [String: Int] = [:]
        for lane in lanes() { inHands[Withdrawals.place(lane), default: 0] += lane.refusedInFlight }
        for receipt in receipts {
            do throws(StorageFault) {
                try steps.note(inHands: inHands, receipt)
            } catch {
                say("withdrawal \(receipt): the number of events that providers are processing could not be recorded: \(error)")
            }
            enqueue(receipt)
        }
    }

    /// Returns the events of these subjects that wait in memory only, by provider, with the names of their routes.
    public func inMemory(of subjects: Set<SubjectKey>) -> [(provider: String, batch: Batch, routes: [String])] {
        let known = steps.names.all
        return lanes().flatMap { lane in
            lane.inMemory(of: subjects).map { (lane.name, $0, $0.entries.map { known[Int($0.route)] }) }
        }
    }

    private func enqueue(_ receipt: Int64) {
        heldStore?.beginWithdrawal()
        let isIdle = state.withLock { state in
            assert(!state.waiting.contains(receipt), "a receipt is worked on twice")
            state.waiting.append(receipt)
            defer { state.isWorking = true }
            return !state.isWorking
        }
        if isIdle { Thread.start("withdrawals") { self.work() }.detach() }
    }

    private func work() {
        while let next = state.withLock({ $0.next() }) { destroy(next) }
    }

    private func destroy(_ receipt: Int64) {
        settle()
        let held = Result { () throws(StorageFault) in try sweepHolds() }
        var places = sweepLanes()
        do throws(StorageFault) {
            places["held events"] = try held.get()
            guard try !steps.finish(receipt, places) else { return }
            say("withdrawal \(receipt): a lane ended before everything was destroyed; the next start continues")
        } catch {
            say("withdrawal \(receipt): not everything is destroyed yet: \(error); the next start continues")
        }
    }

    private func sweepHolds() throws(StorageFault) -> Swept {
        defer { heldStore?.endWithdrawal() }
        return try heldStore?.sweep(steps.check) ?? Swept()
    }

    private static func place(_ lane: Lane) -> String { "queue of \(lane.name)" }

    /// Makes every lane destroy its events, and waits for all of them. Returns what was destroyed, by place.
    private func sweepLanes() -> [String: Swept] {
        let lanes = lanes()
        let results = Monitor((left: lanes.count, places: [String: Swept]()))
        for lane in lanes {
            lane.sweep { swept in
                results.withLock { results in
                    results.left -= 1
                    assert(results.left >= 0, "a lane has swept twice")
                    results.places[Withdrawals.place(lane), default: Swept()].add(swept)
                }
                results.wake()
            }
        }
        return results.waitUntilReady { $0.left == 0 ? .ready($0.places) : .notBefore(nil) }
    }
}

extension Withdrawals.State {
    fileprivate mutating func next() -> Int64? {
        assert(isWorking, "receipts are worked on, and no thread is noted for it")
        guard !waiting.isEmpty else {
            isWorking = false
            return nil
        }
        return waiting.removeFirst()
    }
}

extension Swept {
    fileprivate mutating func add(_ other: Swept) {
        assert(other.events >= 0 && other.bytes >= 0, "a negative number of events was destroyed")
        events += other.events
        bytes += other.bytes
        isCut = isCut || other.isCut
        isLoose = isLoose || other.isLoose
    }
}
