import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Queueing

func durablePlan(
    events: Int = 2, memory: Int = 1000, disk: Int = 100_000, full: DeliveryPlan.Queue.Full = .block
) -> DeliveryPlan {
    var plan = plan(events: events, wait: .zero)
    plan.queue.memory = memory
    plan.queue.disk = disk
    plan.queue.full = full
    return plan
}

/// A lane state and its store. A test runs them one step at a time.
final class Desk {
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
        let desk = Desk(durablePlan())
        _ = desk.take(["a", "b"])
        #expect(desk.bench.step(at: 0) == "wait")
        #expect(desk.acknowledged == 0)
        #expect(desk.disk() == "commit +a,b")
        #expect(desk.acknowledged == 2)
        #expect(desk.bench.step(at: 0) == "deliver a b")
    }

    @Test("stores events that gather during one commit with the next commit")
    func groups() {
        let desk = Desk(durablePlan(events: 10))
        for event in ["a", "b", "c"] { _ = desk.take([event]) }
        #expect(desk.disk() == "commit +a,b,c")
        #expect(desk.acknowledged == 3)
    }

    @Test("removes delivered events, and rewrites a row to the events that are left of it")
    func removes() {
        let desk = Desk(durablePlan(events: 3))
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
        let desk = Desk(durablePlan(events: 1))
        _ = desk.take(["a"])
        desk.settle()
        _ = desk.bench.step(at: 0)
        #expect(desk.bench.complete(.init(.rejected(Answer("no"))), at: 0) == ["bury a rejected no 1"])
        desk.settle()
        #expect(desk.store.events == ["a"])
        desk.bench.buried()
        desk.settle()
        #expect(desk.store.events.isEmpty)

        let other = Desk(durablePlan(events: 1))
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
        let desk = Desk(durablePlan(memory: 8))
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
        let first = Desk(durablePlan(events: 1), store: store)
        _ = first.take(["a", "b"])
        first.settle()
        _ = first.bench.step(at: 0)
        _ = first.bench.complete(.init(.retry(Answer("busy"), after: nil)), at: 0)
        first.settle()
        #expect(store.attempts == [1, 0])

        let second = Desk(durablePlan(events: 1), store: store)
        _ = second.take(["c"])
        second.settle()
        #expect(second.bench.step(at: 0) == "deliver a attempt 2")
        #expect(second.bench.laneAccount.totalResumed == 2)
        #expect(second.bench.account() == "1 taken, 3 waiting")
    }

    @Test("commits a failed removal later, so that the next run does not send delivered events again")
    func removesAgain() {
        let store = MemoryStore()
        let desk = Desk(durablePlan(events: 1), store: store)
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
        let next = Desk(durablePlan(events: 1), store: store)
        next.settle()
        #expect(next.bench.step(at: 0) == "deliver b")
    }

    @Test("drop_oldest drops the oldest of the batches that wait in memory and on disk")
    func dropsOldestInMemory() {
        let desk = Desk(durablePlan(events: 1, disk: 6, full: .dropOldest))
        for event in ["aa", "bb", "cc"] {
            _ = desk.take([event])
            desk.settle()
        }
        #expect(desk.store.events == ["bb", "cc"])
        #expect(desk.bench.step(at: 0) == "deliver bb")
    }

    @Test("waits on its clock if a full disk prevents a sweep, and ends nevertheless")
    func waitsToSweep() {
        let desk = Desk(durablePlan(events: 1), check: SecondCheck(ConsentRecords(), levels: RunNames()) {})
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
        let desk = Desk(durablePlan(events: 1, memory: 8))
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
        let desk = Desk(durablePlan(events: 1))
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
        let desk = Desk(durablePlan(events: 1, memory: 8))
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
}
