// A lane whose spool is removed or moved away while it runs.

import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import Queueing

private let removed = SpoolFault.removed("spool-out.sqlite")

private func durable(full: DeliveryPlan.Queue.Full = .block) -> DeliveryPlan {
    var plan = plan(events: 1, wait: .zero)
    plan.queue.memory = 1000
    plan.queue.disk = 100_000
    plan.queue.full = full
    return plan
}

@Suite("A lane whose queue on disk is gone")
struct GoneTests {
    private final class Line {
        let fixture: StateFixture
        let store = MemoryStore()
        var acknowledged = 0
        /// True if the check of the place finds the files.
        var isThere = true

        init(_ plan: DeliveryPlan = durable()) { fixture = StateFixture(plan, contents: SpoolContents()) }

        func take(_ events: [String]) -> [String] {
            var parcel = parcel(events)
            nonisolated(unsafe) let line = self
            let receipt = Receipt { line.acknowledged += 1 }
            receipt.add()
            receipt.settle()
            return tell(fixture.state.take(&parcel, receipt, at: instant(0)))
        }

        /// Carries out all steps of the store, and describes their effects.
        func settle() -> [String] {
            var said: [String] = []
            for _ in 0..<100 {
                switch fixture.state.diskStep(at: instant(0)) {
                case .commit(let work):
                    do throws(SpoolFault) {
                        try store.commit(work)
                        said += tell(fixture.state.committed(at: instant(0)))
                    } catch {
                        said += tell(fixture.state.storeFailed(error, at: instant(0)))
                    }
                case .check:
                    said.append("check")
                    if !isThere { said += tell(fixture.state.storeGone(removed, at: instant(0))) }
                case .close: return said + tell(fixture.perform(.storeClosed))
                case .tidy: _ = fixture.perform(.tidied(isDone: true), at: 0)
                case .read, .sweep, .wait: return said
                }
            }
            return said
        }

        private func tell(_ effects: [LaneState.Effect]) -> [String] {
            for case .acknowledge(let receipts) in effects { for receipt in receipts { receipt.settle() } }
            return fixture.describe(effects).filter { !$0.hasPrefix("acknowledge") }
        }
    }

    @Test("acknowledges nothing more, takes nothing more, and makes no source wait")
    func refuses() {
        let line = Line()
        _ = line.take(["a"])
        #expect(line.settle() == [])
        #expect(line.acknowledged == 1)
        _ = line.take(["b"])
        line.store.fail(removed)
        #expect(line.settle() == ["gone \(removed)"])
        #expect(!line.fixture.mustWait(for: 1 << 30))
        #expect(line.take(["c"]) == [])
        line.store.fail(nil)
        #expect(line.settle() == [])
        #expect(line.acknowledged == 1)
        #expect(line.fixture.account() == "3 taken, 2 undelivered, 1 waiting")
        #expect(line.fixture.laneAccount.lost == 2)
    }

    @Test("still delivers what it has, and reports what is left at the end as lost")
    func losesRest() {
        let line = Line()
        _ = line.take(["a", "b"])
        #expect(line.settle() == [])
        line.fixture.state.checkPlace()
        #expect(line.settle() == ["check"])
        #expect(line.fixture.describe(line.fixture.state.storeGone(removed, at: instant(0))) == ["gone \(removed)"])
        #expect(line.fixture.step(at: 0) == "deliver a")
        _ = line.fixture.complete(.init(.delivered), at: 0)
        #expect(line.settle() == [], "a report that recording works again would say nothing")
        #expect(line.store.events == ["b"], "if the files were only moved, nothing is sent again")
        _ = line.fixture.giveUp("time is up")
        #expect(
            line.settle() == ["damaged an event that waited is lost with the files of its queue, unless those were only moved"])
        #expect(line.fixture.account() == "2 taken, 1 delivered, 1 damaged, 0 waiting")
    }

    @Test("checks the files before it reports that the rest waits for the next run, even if nobody has noticed the loss")
    func looksAtTheEnd() {
        for isThere in [true, false] {
            let line = Line()
            line.isThere = isThere
            _ = line.take(["a", "b"])
            #expect(line.settle() == [])
            _ = line.fixture.giveUp("time is up")
            let lost = "damaged 2 events that waited are lost with the files of its queue, unless those were only moved"
            #expect(line.settle() == (isThere ? ["check", "left 2"] : ["check", "gone \(removed)", lost]))
        }
    }

    @Test("that spills also loses what is only in memory when its time is up")
    func spills() {
        let line = Line(durable(full: .spill))
        _ = line.take(["a", "b"])
        _ = line.fixture.state.storeGone(removed, at: instant(0))
        #expect(line.fixture.step(at: 0) == "deliver a")
        _ = line.fixture.giveUp("time is up")
        #expect(line.settle() == [])
        #expect(line.fixture.account() == "2 taken, 1 unknown, 1 undelivered, 0 waiting")
        #expect(line.fixture.laneAccount.lost == 2)
        #expect(line.fixture.heldBytes == 0)
    }
}
