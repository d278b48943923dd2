// Lets workers read blocks in turn, work on them in parallel, and hand over the results in the same order. So every lane gets its events
// in order, without a queue between the stages.

internal import Platform

/// Gives out numbers under one lock, and lets their holders pass in that order under another lock.
final class Sequencer<Source: ~Copyable>: Sendable {
    private let reading: Monitor<Source>
    private struct Passing {
        var next = 0
        /// The number of completed reads. Another lock protects the source, since a worker that waits for input holds that lock.
        var read = 0
    }
    private let passing = Monitor(Passing())

    init(_ source: consuming sending Source) { reading = Monitor(source) }

    /// Reads under the lock. Returns the result, and the number with which the reader must pass.
    func read<R>(_ body: (inout Source) -> R) -> (result: R, turn: Int) {
        reading.withLock { source in
            let result = body(&source)
            return (result, enter())
        }
    }

    /// Returns the number of a read that needs no lock, because the caller knows that no other one is being completed.
    func enter() -> Int {
        passing.withLock { passing in
            defer { passing.read += 1 }
            return passing.read
        }
    }

    /// Waits until all workers have passed that have completed a read by now.
    func settle() {
        let read = passing.withLock { $0.read }
        passing.wait(while: { $0.next < read })
    }

    /// Runs the body when all lower numbers have passed. Every number must pass exactly once.
    func pass(_ turn: Int, _ body: () -> Void) {
        passing.wait(while: { $0.next != turn })
        body()
        advance(past: turn)
    }

    /// Runs the body if all lower numbers have passed, and never waits. Returns false if they have not, or if the body returns false. Then the
    /// number must still pass.
    func passAtOnce(_ turn: Int, _ body: () -> Bool) -> Bool {
        guard passing.withLock({ $0.next == turn }), body() else { return false }
        advance(past: turn)
        return true
    }

    private func advance(past turn: Int) {
        passing.withLock { passing in
            assert(passing.next == turn && turn < passing.read, "a number has passed twice, or was never given out")
            passing.next += 1
        }
        passing.wake()
    }
}
