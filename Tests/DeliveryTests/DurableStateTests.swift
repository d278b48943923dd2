import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Delivery

private func durable(
    events: Int = 2, memory: Int = 1000, disk: Int = 100_000, full: DeliveryPlan.Queue.Full = .block
) -> DeliveryPlan {
    var plan = plan(events: events, wait: .zero)
    plan.queue.memory = memory
    plan.queue.disk = disk
    plan.queue.full = full
    return plan
}

/// A lane state and its store. A test runs them one step at a time.
private final class Desk {
    let bench: Bench
    let store: MemoryStore
    var acknowledged = 0

    init(_ plan: DeliveryPlan, store: MemoryStore = MemoryStore(), concurrency: Int = 1, check: SecondCheck? = nil) {
        self.store = store
        bench = Bench(plan, concurrency: concurrency, contents: store.contents, check: check)
    }

    func take(_ events: [String], at time: Int64 = 0) -> [String] {
        var parcel = parcel(events)
        nonisolated(unsafe) let desk = self
        let receipt = Receipt { desk.acknowledged += events.count }
        receipt.add()
        receipt.settle()
        return carryOut(bench.state.take(&parcel, receipt, at: instant(time)))
    }

    /// Carries out the next step of the thread that has the store, and describes it: `commit +a,b -1 ~c`, `read a b`, `tidy`, `wait`,
    /// `close`.
    func disk(at time: Int64 = 0) -> String {
        switch bench.state.diskStep(at: instant(time)) {
        case .commit(let work):
            let insert = work.insert.map { "+" + texts($0.batch).joined(separator: ",") }
            let rewrite = work.rewrite.map { "~" + texts($0.batch).joined(separator: ",") }
            let words = (insert + rewrite + work.tried.map { "!\($0.attempts)" } + (work.remove.isEmpty ? [] : ["-\(work.remove.count)"]))
            let effects: [LaneState.Effect]
            var failed = ""
            do throws(SpoolFault) {
                try store.commit(work)
                effects = bench.state.committed(at: instant(time))
            } catch {
                failed = " failed"
                effects = bench.state.storeFailed(error, at: instant(time))
            }
            return (["commit"] + words).joined(separator: " ") + failed + said(carryOut(effects))
        case .read(let row, let most):
            do throws(SpoolFault) {
                let rows = try store.read(after: row, most: most)
                return "read " + rows.flatMap { texts($0.batch) }.joined(separator: " ")
                    + said(carryOut(bench.state.rowsRead(rows, at: instant(time))))
            } catch {
                return "read failed" + said(carryOut(bench.state.readFailed(error, at: instant(time))))
            }
        case .sweep: return "sweep"
        case .check: return "check"
        case .tidy:
            _ = bench.perform(.tidied(isDone: true), at: time)
            return "tidy"
        case .wait: return "wait"
        case .close: return "close" + said(carryOut(bench.perform(.storeClosed)))
        }
    }

    /// Runs steps until the store has nothing to do.
    func settle(at time: Int64 = 0) {
        while true {
            let step = disk(at: time)
            if step == "wait" || step == "tidy" || step.hasPrefix("close") { return }
        }
    }

    private func said(_ effects: [String]) -> String { effects.isEmpty ? "" : "; " + effects.joined(separator: "; ") }

    private func carryOut(_ effects: [LaneState.Effect]) -> [String] {
        for case .acknowledge(let receipts) in effects { for receipt in receipts { receipt.settle() } }
        return bench.describe(effects).filter { !$0.hasPrefix("acknowledge") }
    }

    func adopt(_ plan: DeliveryPlan) { bench.state.adopt(plan, concurrency: nil, isNewProvider: false) }
    func giveUp() { _ = bench.giveUp("time is up") }
}

@Suite("The state of a durable lane")
struct DurableStateTests {
    @Test("stores every event before it is acknowledged or delivered")
    func storesFirst() {
        let desk = Desk(durable())
        _ = desk.take(["a", "b"])
        #expect(desk.bench.step(at: 0) == "wait")
        #expect(desk.acknowledged == 0)
        #expect(desk.disk() == "commit +a,b")
        #expect(desk.acknowledged == 2)
        #expect(desk.bench.step(at: 0) == "deliver a b")
    }

    @Test("stores events that gather during one commit with the next commit")
    func groups() {
        let desk = Desk(durable(events: 10))
        for event in ["a", "b", "c"] { _ = desk.take([event]) }
        #expect(desk.disk() == "commit +a,b,c")
        #expect(desk.acknowledged == 3)
    }

    @Test("removes delivered events, and rewrites a row to the events that are left of it")
    func removes() {
        let desk = Desk(durable(events: 3))
        _ = desk.take(["a", "b", "c"])
        #expect(desk.disk() == "commit +a,b,c")
        _ = desk.bench.step(at: 0)
        _ = desk.bench.complete(.init(.delivered, events: [1: .retry(Answer("busy"), after: nil)]), at: 0)
        #expect(desk.disk() == "commit ~b !1")
        #expect(desk.store.events == ["b"])
        #expect(desk.bench.step(at: 9000) == "deliver b attempt 2")
        _ = desk.bench.complete(.init(.delivered), at: 9000)
        #expect(desk.disk(at: 9000) == "commit -1")
        #expect(desk.store.events.isEmpty)
    }

    @Test("keeps a row until its dead letter is kept, and for good if the letter cannot be kept")
    func keepsUntilBuried() {
        let desk = Desk(durable(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        _ = desk.bench.step(at: 0)
        #expect(desk.bench.complete(.init(.rejected(Answer("no"))), at: 0) == ["bury a rejected no 1"])
        desk.settle()
        #expect(desk.store.events == ["a"])
        desk.bench.buried()
        desk.settle()
        #expect(desk.store.events.isEmpty)

        let other = Desk(durable(events: 1))
        _ = other.take(["b"])
        other.settle()
        _ = other.bench.step(at: 0)
        _ = other.bench.complete(.init(.rejected(Answer("no"))), at: 0)
        other.bench.buried(lost: 1)
        other.settle()
        #expect(other.store.events == ["b"])
    }

    @Test("keeps memory bounded: rows that do not fit leave memory and are read back in order")
    func readsBack() {
        let desk = Desk(durable(memory: 8))
        for event in ["aa", "bb", "cc", "dd", "ee", "ff"] {
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.bench.heldBytes <= 8 + 6)
        #expect(desk.acknowledged == 6)
        var delivered: [String] = []
        for _ in 0..<30 where delivered.count < 6 {
            let step = desk.bench.step(at: 0)
            if step.hasPrefix("deliver") {
                delivered += step.split(separator: " ").dropFirst().map(String.init)
                _ = desk.bench.complete(.init(.delivered), at: 0)
            }
            desk.settle()
            #expect(desk.bench.heldBytes <= 8 + 6)
        }
        #expect(delivered == ["aa", "bb", "cc", "dd", "ee", "ff"])
        #expect(desk.store.events.isEmpty)
    }

    @Test("delivers the events of an earlier run first, with their attempts, and counts them as resumed")
    func resumes() {
        let store = MemoryStore()
        let first = Desk(durable(events: 1), store: store)
        _ = first.take(["a", "b"])
        first.settle()
        _ = first.bench.step(at: 0)
        _ = first.bench.complete(.init(.retry(Answer("busy"), after: nil)), at: 0)
        first.settle()
        #expect(store.attempts == [1, 0])

        let second = Desk(durable(events: 1), store: store)
        _ = second.take(["c"])
        second.settle()
        #expect(second.bench.step(at: 0) == "deliver a attempt 2")
        #expect(second.bench.laneAccount.totalResumed == 2)
        #expect(second.bench.account() == "1 taken, 3 waiting")
    }

    @Test("commits a failed removal later, so that the next run does not send delivered events again")
    func removesAgain() {
        let store = MemoryStore()
        let desk = Desk(durable(events: 1), store: store)
        _ = desk.take(["a", "b"])
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver a")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        store.fail(SpoolFault(.failed, "no disk"))
        #expect(desk.disk() == "commit -1 failed; storing no disk")
        #expect(store.events == ["a", "b"])
        store.fail(nil)
        desk.settle(at: 100_000)
        #expect(store.events == ["b"])
        desk.giveUp()
        desk.settle(at: 100_000)
        let next = Desk(durable(events: 1), store: store)
        next.settle()
        #expect(next.bench.step(at: 0) == "deliver b")
    }

    @Test("drop_oldest drops the oldest of the batches that wait in memory and on disk")
    func dropsOldestInMemory() {
        let desk = Desk(durable(events: 1, disk: 6, full: .dropOldest))
        for event in ["aa", "bb", "cc"] {
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.store.events == ["bb", "cc"])
        #expect(desk.bench.step(at: 0) == "deliver bb")
    }

    @Test("acknowledges nothing on a full disk, reports this once, and still removes delivered events to free space")
    func survivesFull() {
        let desk = Desk(durable(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        _ = desk.bench.step(at: 0)
        desk.store.fail(SpoolFault(.full, "no room"))
        _ = desk.take(["b"])
        #expect(desk.disk() == "commit +b failed; storing no room")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1; storing again" || desk.store.events.isEmpty)
        #expect(desk.acknowledged == 1)
        desk.store.fail(nil)
        desk.settle(at: 100_000)
        #expect(desk.acknowledged == 2)
        #expect(desk.bench.step(at: 100_000) == "deliver b")
    }

    @Test("waits on its clock if a full disk prevents a record, even if it is woken often, and reports this once")
    func waitsToRecord() {
        let desk = Desk(durable(events: 1))
        _ = desk.take(["a", "b"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(desk.bench.step(at: 0) == "deliver a")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1 failed; storing no room")
        #expect(desk.disk() == "wait")
        #expect(desk.disk(at: 100_000) == "commit -1 failed")
        #expect(!desk.disk(at: 100_000).hasPrefix("commit"))
        desk.store.fail(nil)
        #expect(desk.disk(at: 300_000) == "commit -1; storing again")
        #expect(desk.store.events == ["b"])
    }

    @Test("hands nothing over while a full disk prevents the record of deliveries, and continues afterwards")
    func handsNothingOver() {
        var plan = durable(events: 1)
        plan.ordered = false
        let desk = Desk(plan, concurrency: 2)
        _ = desk.take(["a", "b", "c", "d"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(desk.bench.step(at: 0) == "deliver a")
        #expect(desk.bench.step(at: 0) == "deliver b")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1 failed; storing no room")
        #expect(desk.bench.step(at: 0) == "wait")
        _ = desk.bench.complete(.init(.delivered), index: 0, at: 0)
        #expect(desk.bench.step(at: 0) == "wait")
        #expect(desk.disk() == "wait", "a new record does not start another attempt")
        #expect(desk.disk(at: 100_000) == "commit -2 failed")
        #expect(desk.bench.step(at: 100_000) == "wait")
        desk.store.fail(nil)
        #expect(desk.disk(at: 300_000) == "commit -2; storing again")
        #expect(desk.bench.step(at: 300_000) == "deliver c")
    }

    @Test("does not try for ever if it ends while nothing can be recorded")
    func endsUnrecorded() {
        let desk = Desk(durable(events: 1))
        _ = desk.take(["a", "b"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        _ = desk.bench.step(at: 0)
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1 failed; storing no room")
        desk.giveUp()
        var steps: [String] = []
        for time in 1...10 where steps.last?.hasPrefix("close") != true { steps.append(desk.disk(at: Int64(time) * 100_000)) }
        #expect(steps.last?.hasPrefix("close") == true && steps.count <= 4, "\(steps)")
    }

    @Test("names the place of each event that is left of a rewritten row, also after a rewrite that failed")
    func placesOfWhatIsLeft() throws {
        let store = MemoryStore()
        let first = Desk(durable(events: 2), store: store)
        _ = first.take(["a", "b", "c", "d"])
        first.settle()
        let desk = Desk(durable(events: 4), store: store)
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver a b c d")
        _ = desk.bench.complete(
            .init(.delivered, events: [1: .retry(Answer("busy"), after: nil), 3: .retry(Answer("busy"), after: nil)]), at: 0)
        func left(_ time: Int64, fails: Bool = false) throws -> [SpoolPlace] {
            guard case .commit(let work) = desk.bench.state.diskStep(at: instant(time)) else { return [] }
            if fails {
                _ = desk.bench.state.storeFailed(SpoolFault(.failed, "no disk"), at: instant(time))
            } else {
                try store.commit(work)
                _ = desk.bench.state.committed(at: instant(time))
            }
            return try #require(work.left[1])
        }
        let places = [SpoolPlace(row: 1, index: 1), SpoolPlace(row: 2, index: 1)]
        #expect(try left(0, fails: true) == places)
        #expect(try left(100_000) == places)
        #expect(desk.bench.step(at: 200_000) == "deliver b d attempt 2")
        _ = desk.bench.complete(.init(.delivered, events: [1: .retry(Answer("busy"), after: nil)]), at: 200_000)
        #expect(try left(200_000) == [SpoolPlace(row: 1, index: 1)])
        #expect(store.events == ["d"])
    }

    @Test("ends even if a full disk prevents records")
    func endsWithoutRecords() {
        let desk = Desk(durable(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"), records: true)
        #expect(desk.bench.step(at: 0) == "deliver a")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        desk.bench.state.drain()
        #expect(desk.disk() == "commit -1 failed; storing no room")
        #expect(desk.bench.step(at: 0) == "flush")
        _ = desk.bench.state.flushed(.delivered)
        #expect(desk.bench.step(at: 0) == "end")
        desk.bench.state.providerClosed()
        #expect(desk.disk() == "wait")
        #expect(desk.disk(at: 100_000) == "commit -1 failed")
        desk.settle(at: 100_000)
        #expect(desk.disk(at: 300_000) == "commit -1 failed")
        #expect(desk.disk(at: 300_000).hasPrefix("close"))
    }

    @Test("waits on its clock if a full disk prevents a sweep, and ends nevertheless")
    func waitsToSweep() {
        let desk = Desk(durable(events: 1), check: SecondCheck(ConsentRecords(), levels: RunNames()) {})
        let full = SpoolFault(.full, "no room")
        _ = desk.take(["a"])
        desk.settle()
        let told = Monitor<[Bool]>([])
        _ = desk.bench.perform(.sweep { swept in told.withLock { $0.append(swept.isCut) } })
        #expect(desk.disk() == "sweep")
        #expect(desk.bench.describe(desk.bench.state.sweepFailed(full, at: instant(0))) == ["storing sweeps no room"])
        #expect(desk.disk() == "wait")
        #expect(desk.bench.step(at: 0) == "deliver a", "the other acts continue and free space")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1")
        desk.bench.state.drain()
        #expect(desk.bench.step(at: 0) == "flush")
        _ = desk.bench.state.flushed(.delivered)
        #expect(desk.bench.step(at: 0) == "end")
        desk.bench.state.providerClosed()
        for time: Int64 in [100_000, 300_000] {
            #expect(desk.disk(at: time) == "sweep")
            #expect(desk.bench.describe(desk.bench.state.sweepFailed(full, at: instant(time))).isEmpty)
        }
        #expect(desk.disk(at: 300_000).hasPrefix("close"))
    }

    @Test("waits on its clock if rows cannot be read because a full disk prevents setting a damaged row aside")
    func waitsToRead() {
        let desk = Desk(durable(events: 1, memory: 8))
        for event in ["aa", "bb", "cc", "dd"] {
            _ = desk.take([event])
            desk.settle()
        }
        while desk.bench.step(at: 0).hasPrefix("deliver") { _ = desk.bench.complete(.init(.delivered), at: 0) }
        #expect(desk.bench.describe(desk.bench.state.readFailed(SpoolFault(.full, "no room"), at: instant(0))) == ["storing reads no room"])
        desk.settle()
        #expect(desk.disk() == "wait", "it is not read again at once")
        #expect(desk.disk(at: 100_000).hasPrefix("read "))
    }

    @Test("ends the report of a full disk when new rows could be stored, and not when rows could be removed")
    func reportedOnce() {
        let desk = Desk(durable(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        desk.store.fail(SpoolFault(.full, "no room"))
        _ = desk.take(["b"])
        #expect(desk.disk() == "commit +b failed; storing no room")
        #expect(desk.bench.step(at: 0) == "deliver a")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        #expect(desk.disk() == "commit -1")
        #expect(desk.disk() == "wait", "nothing is tried again at once")
        #expect(desk.disk(at: 100_000) == "commit +b failed", "the same fault is not reported again")
        desk.store.fail(nil)
        #expect(desk.disk(at: 300_000) == "commit +b; storing again")
        #expect(desk.acknowledged == 2)
    }

    @Test("reports only once that a disk can be read but not written to")
    func readsWell() {
        let desk = Desk(durable(events: 1, memory: 8))
        for event in ["aa", "bb", "cc", "dd"] {
            _ = desk.take([event])
            desk.settle()
        }
        desk.store.fail(SpoolFault(.failed, "no disk"))
        _ = desk.take(["ee"])
        #expect(desk.disk() == "commit +ee failed; storing no disk")
        _ = desk.bench.step(at: 0)
        _ = desk.bench.complete(.init(.delivered), at: 0)
        _ = desk.bench.state.rowsRead([], at: instant(0))
        #expect(desk.disk() == "wait")
        desk.store.fail(nil)
        #expect(desk.disk(at: 100_000).hasSuffix("; storing again"))
    }

    @Test("makes events wait for disk space, or drops them with drop_newest", arguments: [DeliveryPlan.Queue.Full.block, .dropNewest])
    func fullBudget(full: DeliveryPlan.Queue.Full) {
        let desk = Desk(durable(events: 1, disk: 6, full: full))
        for event in ["aa", "bb"] {
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.bench.mustWait(for: 3) == (full == .block))
        guard full == .dropNewest else { return }
        #expect(desk.take(["cc"]) == ["dropping"])
        #expect(desk.bench.account() == "3 taken, 1 dropped, 2 waiting")
        #expect(desk.acknowledged == 3, "a drop is a fate that the plan demands")
    }

    @Test("drop_oldest drops the oldest events on disk")
    func dropsOldest() {
        let desk = Desk(durable(events: 1, memory: 4, disk: 9, full: .dropOldest))
        for event in ["aa", "bb", "cc", "dd", "ee"] {
            while desk.bench.mustWait(for: 3) { desk.settle() }
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.store.events == ["cc", "dd", "ee"])
        #expect(desk.bench.account() == "5 taken, 2 dropped, 3 waiting")
    }

    @Test("leaves everything on disk when time is up, and the next run has it")
    func leaves() {
        let store = MemoryStore()
        let desk = Desk(durable(events: 1), store: store)
        _ = desk.take(["a", "b"])
        desk.settle()
        _ = desk.bench.step(at: 0)
        _ = desk.take(["c"])
        desk.giveUp()
        #expect(desk.disk() == "commit +c")
        #expect(desk.disk() == "check")
        #expect(desk.disk() == "close; left 3")
        #expect(desk.bench.isOver)
        #expect(store.events == ["a", "b", "c"])
    }

    @Test("that spills uses memory while it has space, and at its end stores what it has there, in order")
    func spills() {
        let store = MemoryStore()
        let desk = Desk(durable(events: 1, memory: 8, full: .spill), store: store)
        for event in ["a", "b", "c", "d"] { _ = desk.take([event]) }
        #expect(desk.disk() == "wait", "eight bytes are in memory")
        _ = desk.take(["e"])
        #expect(desk.disk() == "commit +e")
        #expect(store.events == ["e"])
        _ = desk.take(["f"])
        #expect(desk.disk() == "commit +f", "after the events on disk")
        desk.giveUp()
        desk.settle()
        #expect(store.events == ["a", "b", "c", "d", "e", "f"])
        #expect(desk.bench.laneAccount.totalWaiting == 6)
    }

    @Test("that spills never lets events from disk pass an open batch in memory")
    func spillKeepsOrder() {
        let desk = Desk(durable(events: 3, memory: 8, full: .spill))
        _ = desk.take(["a", "b", "c", "d"])
        #expect(desk.bench.step(at: 0) == "deliver a b c")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        _ = desk.take(["eeeeeeee"])
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver d")
    }

    @Test("that spills delivers events in memory before later events on disk, even if their batch is young")
    func memoryGoesFirst() {
        var plan = durable(events: 3, memory: 8, full: .spill)
        plan.batch.wait = .seconds(1000)
        let desk = Desk(plan)
        _ = desk.take(["a", "b"])
        _ = desk.take(["c", "d", "e"])
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver a b")
        _ = desk.bench.complete(.init(.delivered), at: 0)
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver c d e")
    }

    @Test("restores all rows of a joined row when its rewriting fails")
    func rewritesAgain() {
        let store = MemoryStore()
        let first = Desk(durable(events: 1), store: store)
        _ = first.take(["a", "b", "c"])
        first.settle()
        let desk = Desk(durable(events: 3), store: store)
        desk.settle()
        #expect(desk.bench.step(at: 0) == "deliver a b c")
        _ = desk.bench.complete(.init(.delivered, events: [2: .retry(Answer("busy"), after: nil)]), at: 0)
        store.fail(SpoolFault(.failed, "no disk"))
        #expect(desk.disk() == "commit ~c !1 -2 failed; storing no disk")
        #expect(store.events == ["a", "b", "c"])
        _ = desk.bench.step(at: 20_000)
        _ = desk.bench.complete(.init(.delivered), at: 20_000)
        store.fail(nil)
        desk.settle(at: 100_000)
        #expect(store.events.isEmpty)
    }

    @Test("cuts a batch again that was cut to the limits of an earlier plan")
    func cutsAnew() {
        let desk = Desk(durable(events: 4))
        _ = desk.take(["a", "b", "c", "d"])
        desk.settle()
        desk.adopt(durable(events: 1))
        let steps = (0..<4).map { _ in
            let step = desk.bench.step(at: 0)
            _ = desk.bench.complete(.init(.delivered), at: 0)
            return step
        }
        #expect(steps == ["deliver a", "deliver b", "deliver c", "deliver d"])
        desk.settle()
        #expect(desk.store.events.isEmpty)
    }

    @Test("gives up an event that is larger than the module takes, and continues")
    func givesUpLarge() {
        var plan = durable(events: 5)
        plan.batch.bytes = 10
        plan.batch.largest = 10
        let desk = Desk(plan)
        _ = desk.take(["a", "0123456789", "b"])
        desk.settle()
        let steps = (0..<3).map { _ in
            let step = desk.bench.step(at: 0)
            if step.hasPrefix("deliver") { _ = desk.bench.complete(.init(.delivered), at: 0) }
            return step
        }
        #expect(
            steps == [
                "deliver a", "bury 0123456789 rejected the event has 11 bytes, and the module takes 10 at most 0", "deliver b",
            ])
    }
}

@Suite("A breaker")
struct BreakerTests {
    private var busy: BatchOutcome { BatchOutcome(.retry(Answer("busy"), after: nil)) }

    @Test("opens after a number of failures in a row, lets one batch probe at a time, and closes with the first success")
    func opens() {
        var plan = plan(events: 1, ordered: false)
        plan.breaker = 2
        let bench = Bench(plan, concurrency: 3)
        bench.take(["a", "b", "c", "d"], at: 0)
        for _ in 0..<3 { _ = bench.step(at: 0) }
        #expect(bench.complete(busy, index: 0, at: 1) == ["failing busy"])
        #expect(bench.complete(busy, index: 1, at: 1) == ["opened 2"])
        #expect(bench.complete(busy, index: 2, at: 1) == [], "told once")
        #expect(bench.step(at: 1).hasPrefix("wait "))
        #expect(bench.step(at: 50_000).hasPrefix("deliver"))
        #expect(bench.step(at: 50_000) == "wait", "one at a time")
        #expect(bench.complete(.init(.delivered), at: 50_001) == ["recovered 3"])
        for _ in 0..<3 { #expect(bench.step(at: 50_001).hasPrefix("deliver")) }
    }

    @Test("is not opened by refused events")
    func ignoresRefusals() {
        var plan = plan(events: 1)
        plan.breaker = 1
        let bench = Bench(plan)
        bench.take(["a"], immediate: true, at: 0)
        _ = bench.step(at: 0)
        _ = bench.complete(.init(.rejected(Answer("no"))), at: 0)
        #expect(!bench.isBreakerOpen)
    }

    @Test("that is open over an empty queue wakes no thread")
    func sleeps() {
        var plan = plan(events: 1)
        plan.breaker = 1
        plan.retry.total = .milliseconds(1)
        let bench = Bench(plan)
        bench.take(["a"], immediate: true, at: 0)
        _ = bench.step(at: 0)
        _ = bench.complete(busy, at: 0)
        _ = bench.step(at: 60_000)
        _ = bench.complete(busy, at: 60_000)
        bench.buried()
        #expect(bench.step(at: 60_000) == "wait")
    }
}
