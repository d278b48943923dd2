// Lets workers read blocks in turn, work on them in parallel, and hand over the results in the same order. So every lane gets its events
// in order, without a queue between the stages.

internal import Platform

/// Gives out numbers under one lock, and lets their holders pass in that order under another lock.
final class Sequencer<Source: ~Copyable>: Sendable {
    private struct Reading: ~Copyable {
        var source: Source
        var next = 0
    }

    private let reading: Monitor<Reading>
    private struct Passing {
        var next = 0
        /// The number of completed reads. It is not in `Reading`, since a worker that waits for input holds that lock.
        var read = 0
    }
    private let passing = Monitor(Passing())

    init(_ source: consuming sending Source) { reading = Monitor(Reading(source: source)) }

    /// Reads under the lock. Returns the result, and the number with which the reader must pass.
    func read<R>(_ body: (inout Source) -> R) -> (result: R, turn: Int) {
        reading.withLock { state in
            let result = body(&state.source)
            defer {
                state.next += 1
                passing.withLock { $0.read += 1 }
            }
            return (result, state.next)
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
        passing.withLock { passing in
            assert(passing.next == turn && turn < passing.read, "a number has passed twice, or was never given out")
            passing.next += 1
        }
        passing.wake()
    }
}
