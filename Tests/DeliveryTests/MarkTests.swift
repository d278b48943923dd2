// The mark of a block whose source waits for the end of its events: it ends with the last of them, whatever becomes of each.

import Plans
import Platform
import Spool
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Queueing

/// A mark that a test watches.
private final class WatchedMark {
    enum Word { case open, ended, lost }
    private let said = Monitor(Word.open)
    private var mark: EndMark?

    init() {
        mark = EndMark { [said] isLost in said.withLock { $0 = isLost ? .lost : .ended } }
    }

    var word: Word { said.withLock { $0 } }

    /// Lets a lane take events with this mark. After it nobody but the lane holds the mark. Returns the settled receipts.
    func take(_ events: [String], into state: inout LaneState, at time: Int64 = 0) -> [LaneState.Effect] {
        var parcel = parcel(events)
        let receipt = Receipt(mark: mark.take()) {}
        receipt.add()
        receipt.settle()
        let effects = state.take(&parcel, receipt, at: instant(time))
        for case .acknowledge(let receipts) in effects { for receipt in receipts { receipt.settle() } }
        return effects.filter { if case .acknowledge = $0 { false } else { true } }
    }
}

@Suite("The mark of events in a lane")
struct MarkTests {
    @Test("ends when all batches that have events of it are delivered")
    func split() {
        let fixture = StateFixture(plan(events: 2, wait: .zero))
        let mark = WatchedMark()
        _ = mark.take(["a", "b", "c"], into: &fixture.state)
        #expect(fixture.step(at: 0) == "deliver a b")
        _ = fixture.complete(.init(.delivered), at: 0)
        #expect(mark.word == .open)
        #expect(fixture.step(at: 0) == "deliver c")
        _ = fixture.complete(.init(.delivered), at: 0)
        #expect(mark.word == .ended)
    }

    @Test("follows events that are tried again, halved and kept as dead letters")
    func parts() {
        let fixture = StateFixture(plan(events: 10, wait: .zero))
        let (first, second) = (WatchedMark(), WatchedMark())
        _ = first.take(["a"], into: &fixture.state)
        _ = second.take(["b", "c"], into: &fixture.state)
        #expect(fixture.step(at: 0) == "deliver a b c")
        _ = fixture.complete(.init(.rejected(Answer("no"))), at: 0)
        #expect(fixture.step(at: 0) == "deliver a")
        _ = fixture.complete(.init(.delivered), at: 0)
        #expect(first.word == .open, "the other half still carries the marks of the whole")
        #expect(fixture.step(at: 0) == "deliver b c")
        _ = fixture.complete(.init(.delivered, events: [1: .rejected(Answer("no"))]), at: 0)
        #expect(second.word == .open)
        fixture.buried()
        #expect(first.word == .ended && second.word == .ended)
    }

    @Test("says that events are lost if their letter cannot be kept")
    func lostLetter() {
        let fixture = StateFixture(plan(events: 1, wait: .zero))
        let mark = WatchedMark()
        _ = mark.take(["a"], into: &fixture.state)
        _ = fixture.step(at: 0)
        _ = fixture.complete(.init(.rejected(Answer("no"))), at: 0)
        fixture.buried(lost: 1)
        #expect(mark.word == .lost)
    }

    @Test("ends when events are dropped by a full queue, since the plan demands that")
    func dropped() {
        var plan = plan(events: 1, wait: .zero)
        plan.queue.memory = 4
        plan.queue.full = .dropOldest
        let fixture = StateFixture(plan)
        let (first, second) = (WatchedMark(), WatchedMark())
        _ = first.take(["aaa"], into: &fixture.state)
        _ = second.take(["bbb"], into: &fixture.state)
        #expect(first.word == .ended && second.word == .open)
    }

    @Test("says that events are lost which come after the end of a lane whose destination went away")
    func tooLate() {
        let fixture = StateFixture(plan(events: 1, wait: .zero))
        let (first, second) = (WatchedMark(), WatchedMark())
        _ = first.take(["a"], into: &fixture.state)
        _ = fixture.destinationGone("gone")
        #expect(first.word == .lost)
        _ = second.take(["b"], into: &fixture.state)
        #expect(second.word == .lost)
    }

    @Test("of a queue on disk ends when the events are stored, also if the queue spills")
    func durable() {
        for full in [DeliveryPlan.Queue.Full.block, .spill] {
            let durable = DurableFixture(durablePlan(events: 1, memory: 2, full: full))
            _ = durable.take(["x"])
            let mark = WatchedMark()
            _ = mark.take(["a"], into: &durable.fixture.state)
            #expect(mark.word == .open)
            durable.settle()
            #expect(mark.word == .ended)
        }
    }

    @Test("says that events are lost whose store was removed before they were stored")
    func gone() {
        let durable = DurableFixture(durablePlan(events: 1))
        let mark = WatchedMark()
        _ = mark.take(["a"], into: &durable.fixture.state)
        _ = durable.fixture.state.storeGone(SpoolFault(.removed, "removed"), at: instant(0))
        #expect(mark.word == .lost)
        let later = WatchedMark()
        _ = later.take(["b"], into: &durable.fixture.state)
        #expect(later.word == .lost)
    }
}
