// Runs withdrawals. A withdrawal is acknowledged when the ledger has it on disk and the gate knows it; from then on no event of the subject
// begins to leave. After that, a separate thread destroys the events that wait anywhere, while the lanes continue: in the lanes, among the
// held events and the dead letters, and in the files of the state folder that belong to no lane. A receipt records what was destroyed and
// where. If the router ends in any way before a receipt is finished, the next start finishes it.

public import Admission
public import ConsentGate
public import Delivery
public import Holding
public import Ledger
public import Platform
public import Queueing

public final class Withdrawals: Sendable {
    /// Destroys the events that the check refuses in the files of the state folder that belong to no lane. For a withdrawal it also destroys
    /// what was set aside as damaged. Returns what was destroyed, by place.
    public typealias Strays = @Sendable (SecondCheck, _ isForWithdrawal: Bool) -> [String: Swept]

    fileprivate struct State {
        /// The receipts whose destruction is not done, in the order of their withdrawals.
        var waiting: [Int64] = []
        var isWorking = false
        /// True if the files that belong to no lane and damaged dead letters are to be searched, since they may be older than a withdrawal on
        /// record.
        var mustSearch = false
    }

    private let steps: WithdrawalSteps
    private let lanes: @Sendable () -> [Lane]
    /// The store of held events. It is nil if events are not held.
    private let heldStore: HeldStore?
    /// Searches the files that belong to no lane. It is nil if the router has no state folder.
    private let strays: Strays?
    /// Waits until every block that was already judged has been handed over.
    private let settle: @Sendable () -> Void
    /// Forgets what was captured of withdrawn events only to be looked at.
    private let forget: @Sendable () -> Void
    private let say: @Sendable (String) -> Void
    private let state = Monitor(State())

    public init(
        _ registry: Registry, check: SecondCheck, deadLetters: DeadLetters, names: RunNames, lanes: @escaping @Sendable () -> [Lane],
        heldStore: HeldStore?, strays: Strays? = nil, settle: @escaping @Sendable () -> Void,
        forget: @escaping @Sendable () -> Void = {}, clock: Clock,
        say: @escaping @Sendable (String) -> Void
    ) {
        steps = WithdrawalSteps(registry: registry, check: check, deadLetters: deadLetters, names: names, clock: clock)
        self.lanes = lanes
        self.heldStore = heldStore
        self.strays = strays
        self.settle = settle
        self.forget = forget
        self.say = say
    }

    /// From now on, refuses the events that came in before any withdrawal on record. Call it before the lanes start. If the withdrawals
    /// cannot be read, nothing that needs consent is handed over.
    public func prepare() {
        do throws(StorageFault) {
            let unfinished = try steps.begin()
            state.withLock { state in
                state.waiting = unfinished
                state.mustSearch = !steps.check.isWithoutBans
            }
        } catch {
            steps.check.goBlind()
            say("the withdrawals on record cannot be read: \(error); until the next start nothing that needs consent is delivered")
        }
    }

    /// Continues the withdrawals that an earlier run did not finish, and searches the files that belong to no lane, which may have been put
    /// there since, and damaged dead letters.
    public func resume() {
        let (unfinished, hasWork) = state.withLock { state in
            defer { state.isWorking = state.mustSearch || !state.waiting.isEmpty }
            return (state.waiting.count, state.mustSearch || !state.waiting.isEmpty)
        }
        for _ in 0..<unfinished { heldStore?.beginWithdrawal() }
        if hasWork { Thread.start("withdrawals") { self.work() }.detach() }
    }

    /// Writes to the receipts what the lanes have destroyed and no receipt has yet: events that came back from a provider after the receipt
    /// was finished, and what an earlier run destroyed before it was killed.
    public func settleLanes() {
        var places: [String: Destroyed] = [:]
        for lane in lanes() { places[Withdrawals.place(lane), default: Destroyed()].add(lane.destroyed) }
        if places.values.allSatisfy(\.isEmpty) { return }
        do throws(StorageFault) {
            try steps.settle(places)
        } catch {
            say("what was destroyed for withdrawals could not be recorded in the receipts: \(error); the next start tries again")
        }
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

    /// Trusts the clock after it was wrong: times on record that are later than now become now. Returns if the clock was behind.
    public func believeClock() throws(StorageFault) -> Bool { try steps.believeClock() }

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
        forget()
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
        while let next = state.withLock({ $0.next() }) {
            switch next {
            case .receipt(let receipt): destroy(receipt)
            case .strays: search()
            }
        }
    }

    private func search() {
        do throws(StorageFault) {
            if let found = strays?(steps.check, false) { try steps.settle(found.mapValues(\.destroyed)) }
            if let letters = try steps.sweepDamagedLetters() { try steps.settle(["dead letters": letters.destroyed]) }
        } catch {
            say("what was destroyed in files without a provider and in damaged dead letters could not be recorded: \(error)")
        }
    }

    private func destroy(_ receipt: Int64) {
        settle()
        settleHolds()
        let held = Result { () throws(StorageFault) in try sweepHolds() }
        var places = sweepLanes()
        do throws(StorageFault) {
            places["held events"] = try held.get()
            places["dead letters"] = try steps.sweepLetters()
            // This comes last: a file that turned out to be damaged in the steps before was set aside.
            for (place, swept) in strays?(steps.check, true) ?? [:] { places[place, default: Swept()].add(swept) }
            guard try !steps.finish(receipt, places) else { return }
            say("withdrawal \(receipt): not everything could be destroyed; the next start continues")
        } catch {
            say("withdrawal \(receipt): not everything is destroyed yet: \(error); the next start continues")
        }
    }

    /// Thread A releases held events, and waits until a lane has room for them. Meanwhile thread B withdraws. The events are no longer held,
    /// and not yet in the lane, so no sweep finds them: thread B waits until the lane has them. It first destroys what waits in the lanes,
    /// which can make the room.
    private func settleHolds() {
        guard let heldStore, heldStore.isHandingOver else { return }
        _ = sweepLanes()
        heldStore.waitForHandOver()
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

private enum Task {
    case receipt(Int64)
    case strays
}

extension Withdrawals.State {
    fileprivate mutating func next() -> Task? {
        assert(isWorking, "receipts are worked on, and no thread is noted for it")
        // A receipt searches these files too.
        if mustSearch, waiting.isEmpty {
            mustSearch = false
            return .strays
        }
        mustSearch = false
        guard !waiting.isEmpty else {
            isWorking = false
            return nil
        }
        return .receipt(waiting.removeFirst())
    }
}

extension Swept {
    fileprivate mutating func add(_ other: Swept) {
        destroyed.add(other.destroyed)
        inFlight += other.inFlight
        isCut = isCut || other.isCut
    }
}
