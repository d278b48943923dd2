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
final class DurableFixture {
    let fixture: StateFixture
    let store: MemoryStore
    var acknowledged = 0

    init(_ plan: DeliveryPlan, store: MemoryStore = MemoryStore(), concurrency: Int = 1, check: SecondCheck? = nil) {
        self.store = store
        fixture = StateFixture(plan, concurrency: concurrency, contents: store.contents, check: check)
    }

    func take(_ events: [String], at time: Int64 = 0) -> [String] {
        var parcel = parcel(events)
        nonisolated(unsafe) let durable = self
        let receipt = Receipt { durable.acknowledged += events.count }
        receipt.add()
        receipt.settle()
        return carryOut(fixture.state.take(&parcel, receipt, at: instant(time)))
    }

    /// Carries out the next step of the thread that has the store, and describes it: `commit +a,b -1 ~c`, `read a b`, `tidy`, `wait`,
    /// `close`.
    func disk(at time: Int64 = 0) -> String {
        switch fixture.state.diskStep(at: instant(time)) {
        case .commit(let work):
            let insert = work.insert.map { "+" + texts($0.batch).joined(separator: ",") }
            let rewrite = work.rewrite.map { "~" + texts($0.batch).joined(separator: ",") }
            let words = (insert + rewrite + work.tried.map { "!\($0.attempts)" } + (work.remove.isEmpty ? [] : ["-\(work.remove.count)"]))
            let effects: [LaneState.Effect]
            var failed = ""
            do throws(SpoolFault) {
                try store.commit(work)
                effects = fixture.state.committed(at: instant(time))
            } catch {
                failed = " failed"
                effects = fixture.state.storeFailed(error, at: instant(time))
            }
            return (["commit"] + words).joined(separator: " ") + failed + said(carryOut(effects))
        case .read(let row, let most):
            do throws(SpoolFault) {
                let rows = try store.read(after: row, most: most)
                return "read " + rows.flatMap { texts($0.batch) }.joined(separator: " ")
                    + said(carryOut(fixture.state.rowsRead(rows, at: instant(time))))
            } catch {
                return "read failed" + said(carryOut(fixture.state.readFailed(error, at: instant(time))))
            }
        case .sweep: return "sweep"
        case .check: return "check"
        case .tidy:
            _ = fixture.perform(.tidied(isDone: true), at: time)
            return "tidy"
        case .wait: return "wait"
        case .close: return "close" + said(carryOut(fixture.perform(.storeClosed)))
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
        return fixture.describe(effects).filter { !$0.hasPrefix("acknowledge") }
    }

    func adopt(_ plan: DeliveryPlan) { fixture.state.adopt(plan, concurrency: nil, isNewProvider: false) }
    func giveUp() { _ = fixture.giveUp("time is up") }
}

@Suite("The state of a durable lane")
struct DurableStateTests {
    @Test("stores every event before it is acknowledged or delivered")
    func storesFirst() {
        let durable = DurableFixture(durablePlan())
        _ = durable.take(["a", "b"])
        #expect(durable.fixture.step(at: 0) == "wait")
        #expect(durable.acknowledged == 0)
        #expect(durable.disk() == "commit +a,b")
        #expect(durable.acknowledged == 2)
        #expect(durable.fixture.step(at: 0) == "deliver a b")
    }

    @Test("stores events that gather during one commit with the next commit")
    func groups() {
        let durable = DurableFixture(durablePlan(events: 10))
        for event in ["a", "b", "c"] { _ = durable.take([event]) }
        #expect(durable.disk() == "commit +a,b,c")
        #expect(durable.acknowledged == 3)
    }

    @Test("removes delivered events, and rewrites a row to the events that are left of it")
    func removes() {
        let durable = DurableFixture(durablePlan(events: 3))
        _ = durable.take(["a", "b", "c"])
        #expect(durable.disk() == "commit +a,b,c")
        _ = durable.fixture.step(at: 0)
        _ = durable.fixture.complete(.init(.delivered, events: [1: .retry(Answer("busy"), after: nil)]), at: 0)
        #expect(durable.disk() == "commit ~b !1")
        #expect(durable.store.events == ["b"])
        #expect(durable.fixture.step(at: 9000) == "deliver b attempt 2")
        _ = durable.fixture.complete(.init(.delivered), at: 9000)
        #expect(durable.disk(at: 9000) == "commit -1")
        #expect(durable.store.events.isEmpty)
    }

    @Test("keeps a row until its dead letter is kept, and for good if the letter cannot be kept")
    func keepsUntilBuried() {
        let durable = DurableFixture(durablePlan(events: 1))
        _ = durable.take(["a"])
        durable.settle()
        _ = durable.fixture.step(at: 0)
        #expect(durable.fixture.complete(.init(.rejected(Answer("no"))), at: 0) == ["bury a rejected no 1"])
        durable.settle()
        #expect(durable.store.events == ["a"])
        durable.fixture.buried()
        durable.settle()
        #expect(durable.store.events.isEmpty)

        let other = DurableFixture(durablePlan(events: 1))
        _ = other.take(["b"])
        other.settle()
        _ = other.fixture.step(at: 0)
        _ = other.fixture.complete(.init(.rejected(Answer("no"))), at: 0)
        other.fixture.buried(lost: 1)
        other.settle()
        #expect(other.store.events == ["b"])
    }

    @Test("keeps memory bounded: rows that do not fit leave memory and are read back in order")
    func readsBack() {
        let durable = DurableFixture(durablePlan(memory: 8))
        for event in ["aa", "bb", "cc", "dd", "ee", "ff"] {
            _ = durable.take([event])
            durable.settle()
        }
        #expect(durable.fixture.heldBytes <= 8 + 6)
        #expect(durable.acknowledged == 6)
        var delivered: [String] = []
        for _ in 0..<30 where delivered.count < 6 {
            let step = durable.fixture.step(at: 0)
            if step.hasPrefix("deliver") {
                delivered += step.split(separator: " ").dropFirst().map(String.init)
                _ = durable.fixture.complete(.init(.delivered), at: 0)
            }
            durable.settle()
            #expect(durable.fixture.heldBytes <= 8 + 6)
        }
        #expect(delivered == ["aa", "bb", "cc", "dd", "ee", "ff"])
        #expect(durable.store.events.isEmpty)
    }

    @Test("delivers the events of an earlier run first, with their attempts, and counts them as resumed")
    func resumes() {
        let store = MemoryStore()
        let first = DurableFixture(durablePlan(events: 1), store: store)
        _ = first.take(["a", "b"])
        first.settle()
        _ = first.fixture.step(at: 0)
        _ = first.fixture.complete(.init(.retry(Answer("busy"), after: nil)), at: 0)
        first.settle()
        #expect(store.attempts == [1, 0])

        let second = DurableFixture(durablePlan(events: 1), store: store)
        _ = second.take(["c"])
        second.settle()
        #expect(second.fixture.step(at: 0) == "deliver a attempt 2")
        #expect(second.fixture.laneAccount.totalResumed == 2)
        #expect(second.fixture.account() == "1 taken, 3 waiting")
    }

    @Test("commits a failed removal later, so that the next run does not send delivered events again")
    func removesAgain() {
        let store = MemoryStore()
        let durable = DurableFixture(durablePlan(events: 1), store: store)
        _ = durable.take(["a", "b"])
        durable.settle()
        #expect(durable.fixture.step(at: 0) == "deliver a")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        store.fail(SpoolFault(.failed, "no disk"))
        #expect(durable.disk() == "commit -1 failed; storing no disk")
        #expect(store.events == ["a", "b"])
        store.fail(nil)
        durable.settle(at: 100_000)
        #expect(store.events == ["b"])
        durable.giveUp()
        durable.settle(at: 100_000)
        let next = DurableFixture(durablePlan(events: 1), store: store)
        next.settle()
        #expect(next.fixture.step(at: 0) == "deliver b")
    }

    @Test("drop_oldest drops the oldest of the batches that wait in memory and on disk")
    func dropsOldestInMemory() {
        let durable = DurableFixture(durablePlan(events: 1, disk: 6, full: .dropOldest))
        for event in ["aa", "bb", "cc"] {
            _ = durable.take([event])
            durable.settle()
        }
        #expect(durable.store.events == ["bb", "cc"])
        #expect(durable.fixture.step(at: 0) == "deliver bb")
    }

    @Test("waits on its clock if a full disk prevents a sweep, and ends nevertheless")
    func waitsToSweep() {
        let durable = DurableFixture(durablePlan(events: 1), check: SecondCheck(ConsentRecords(), levels: RunNames()) {})
        let full = SpoolFault(.full, "no room")
        _ = durable.take(["a"])
        durable.settle()
        let told = Monitor<[Bool]>([])
        _ = durable.fixture.perform(.sweep { swept in told.withLock { $0.append(swept.isCut) } })
        #expect(durable.disk() == "sweep")
        #expect(durable.fixture.describe(durable.fixture.state.sweepFailed(full, at: instant(0))) == ["storing sweeps no room"])
        #expect(durable.disk() == "wait")
        #expect(durable.fixture.step(at: 0) == "deliver a", "the other acts continue and free space")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        #expect(durable.disk() == "commit -1")
        durable.fixture.state.drain()
        #expect(durable.fixture.step(at: 0) == "flush")
        _ = durable.fixture.state.flushed(.delivered)
        #expect(durable.fixture.step(at: 0) == "end")
        durable.fixture.state.providerClosed()
        for time: Int64 in [100_000, 300_000] {
            #expect(durable.disk(at: time) == "sweep")
            #expect(durable.fixture.describe(durable.fixture.state.sweepFailed(full, at: instant(time))).isEmpty)
        }
        #expect(durable.disk(at: 300_000).hasPrefix("close"))
    }

    @Test("waits on its clock if rows cannot be read because a full disk prevents setting a damaged row aside")
    func waitsToRead() {
        let durable = DurableFixture(durablePlan(events: 1, memory: 8))
        for event in ["aa", "bb", "cc", "dd"] {
            _ = durable.take([event])
            durable.settle()
        }
        while durable.fixture.step(at: 0).hasPrefix("deliver") { _ = durable.fixture.complete(.init(.delivered), at: 0) }
        #expect(
            durable.fixture.describe(durable.fixture.state.readFailed(SpoolFault(.full, "no room"), at: instant(0))) == [
                "storing reads no room"
            ])
        durable.settle()
        #expect(durable.disk() == "wait", "it is not read again at once")
        #expect(durable.disk(at: 100_000).hasPrefix("read "))
    }

    @Test("ends the report of a full disk when new rows could be stored, and not when rows could be removed")
    func reportedOnce() {
        let durable = DurableFixture(durablePlan(events: 1))
        _ = durable.take(["a"])
        durable.settle()
        durable.store.fail(SpoolFault(.full, "no room"))
        _ = durable.take(["b"])
        #expect(durable.disk() == "commit +b failed; storing no room")
        #expect(durable.fixture.step(at: 0) == "deliver a")
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        #expect(durable.disk() == "commit -1")
        #expect(durable.disk() == "wait", "nothing is tried again at once")
        #expect(durable.disk(at: 100_000) == "commit +b failed", "the same fault is not reported again")
        durable.store.fail(nil)
        #expect(durable.disk(at: 300_000) == "commit +b; storing again")
        #expect(durable.acknowledged == 2)
    }

    @Test("reports only once that a disk can be read but not written to")
    func readsWell() {
        let durable = DurableFixture(durablePlan(events: 1, memory: 8))
        for event in ["aa", "bb", "cc", "dd"] {
            _ = durable.take([event])
            durable.settle()
        }
        durable.store.fail(SpoolFault(.failed, "no disk"))
        _ = durable.take(["ee"])
        #expect(durable.disk() == "commit +ee failed; storing no disk")
        _ = durable.fixture.step(at: 0)
        _ = durable.fixture.complete(.init(.delivered), at: 0)
        _ = durable.fixture.state.rowsRead([], at: instant(0))
        #expect(durable.disk() == "wait")
        durable.store.fail(nil)
        #expect(durable.disk(at: 100_000).hasSuffix("; storing again"))
    }
}
