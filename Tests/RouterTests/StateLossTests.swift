// Tests for the loss of the state folder, and for the turns of the workers.

import Admission
import Delivery
import Glibc
import Platform
import Queueing
import Testing

@testable import Router

private final class Collector: Provider {
    private let state = Monitor<[String]>([])
    var lines: [String] { state.withLock { $0 } }
    func wait(for count: Int) { state.wait(while: { $0.count < count }) }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        state.withLock { lines in for index in 0..<batch.count { lines.append(String(decoding: batch.event(index), as: UTF8.self)) } }
        state.wake()
        done(BatchOutcome(.delivered))
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

@Suite("The loss of the state folder")
struct StateLossTests {
    @Test("is reported once with advice, and ends the run once, however many files are gone")
    func once() {
        let said = Monitor<[String]>([])
        let left = Monitor(0)
        let loss = StateLoss(say: { line in said.withLock { $0.append(line) } }, leave: { left.withLock { $0 += 1 } })
        #expect(loss.fault == nil)
        for path in ["/a", "/b", "/a"] { loss.report(.removed(path)) }
        #expect(loss.fault == .removed("/a") && left.withLock { $0 } == 1)
        let lines = said.withLock { $0 }
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("/a: was removed, moved away or replaced while the router has it: nothing more is taken") == true)
        #expect(lines.first?.contains("move it back before the next start") == true)
    }

    @Test("ends a router although its input goes on, which delivers what it has and says so in its account")
    func router() {
        let provider = Collector()
        let fixture = RouterFixture([provider])
        fixture.send("{\"n\":1}\n")
        provider.wait(for: 1)
        fixture.router.leave(.removed("/state"))
        fixture.router.leave(.removed("/other"))
        let account = fixture.finish(endingInput: false)
        #expect(account.stateFault == .removed("/state") && account.balances && account.isComplete)
        #expect(provider.lines == ["{\"n\":1}"])
        #expect(fixture.said.withLock { $0.count { $0.contains("nothing more is taken") } } == 1)
    }
}

@Suite("The turns of the workers")
struct SequencerTests {
    @Test("come in the order of the reads, one at a time, and each number comes once", arguments: [1, 2, 7])
    func order(workers: Int) {
        let sequencer = Sequencer(0)
        let passed = Monitor<[Int]>([])
        let inside = Monitor(0)
        let left = Monitor(workers)
        for _ in 0..<workers {
            Platform.Thread.start("worker") {
                while true {
                    let (value, turn) = sequencer.read { source in
                        source += 1
                        return source
                    }
                    sequencer.pass(turn) {
                        let others = inside.withLock { inside in
                            defer { inside += 1 }
                            return inside
                        }
                        passed.withLock { $0.append(others == 0 && turn == value - 1 ? value : -1) }
                        inside.withLock { $0 -= 1 }
                    }
                    if value > 500 { break }
                }
                left.withLock { $0 -= 1 }
                left.wake()
            }.detach()
        }
        left.wait(while: { $0 > 0 })
        #expect(passed.withLock { $0 } == Array(1...500 + workers))
    }

    @Test("are kept by a worker that has finished first: it waits for those that have read before it")
    func waits() {
        for _ in 0..<20 {
            let sequencer = Sequencer(0)
            let passed = Monitor<[Int]>([])
            let isReady = Monitor(false)
            let (_, first) = sequencer.read { _ in 0 }
            let (_, second) = sequencer.read { _ in 1 }
            Platform.Thread.start("second") {
                isReady.withLock { $0 = true }
                isReady.wake()
                sequencer.pass(second) { passed.withLock { $0.append(1) } }
                passed.wake()
            }.detach()
            isReady.wait(while: { !$0 })
            // The second one gets every opportunity to be too early.
            for _ in 0..<1000 { sched_yield() }
            sequencer.pass(first) { passed.withLock { $0.append(0) } }
            passed.wait(while: { $0.count < 2 })
            #expect(passed.withLock { $0 } == [0, 1])
        }
    }

    @Test("are waited for until all completed reads have passed, but not until a read that waits for input is over")
    func settles() {
        let sequencer = Sequencer(0)
        let input = Monitor((isWaited: false, hasCome: false))
        let (_, first) = sequencer.read { _ in 1 }
        let isSettled = Monitor(false)
        Platform.Thread.start("settle") {
            sequencer.settle()
            isSettled.withLock { $0 = true }
            isSettled.wake()
        }.detach()
        Platform.Thread.start("reader") {
            let (_, turn) = sequencer.read { _ in
                input.withLock { $0.isWaited = true }
                input.wake()
                input.wait(while: { !$0.hasCome })
                return 2
            }
            sequencer.pass(turn) {}
        }.detach()
        input.wait(while: { !$0.isWaited })
        sequencer.pass(first) { #expect(!isSettled.withLock { $0 }, "the first block has not passed yet") }
        isSettled.wait(while: { !$0 })
        sequencer.settle()
        input.withLock { $0.hasCome = true }
        input.wake()
    }
}
