// Workers read blocks in turn, work on them in parallel, and hand the results on in turn: so order is kept into every
// lane without a queue between the stages.

internal import Platform

/// Hands out numbers by one lock, and lets their holders through in that order by another.
final class Sequencer<Source: ~Copyable>: Sendable {
    private struct Reading: ~Copyable {
        var source: Source
        var next = 0
    }

    private let reading: Monitor<Reading>
    private struct Passing {
        var next = 0
        /// How many have read; who waits for input holds the lock for reading, and this can be asked all the same.
        var read = 0
    }
    private let passing = Monitor(Passing())

    init(_ source: consuming sending Source) { reading = Monitor(Reading(source: source)) }

    /// Reads under the lock; the number says when it is this reader's turn to pass.
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

    /// Waits until all those have passed that have read by now.
    func settle() {
        let read = passing.withLock { $0.read }
        passing.wait(while: { $0.next < read })
    }

    /// Runs the body once all those with a lower number have passed. Every number must pass exactly once.
    func pass(_ turn: Int, _ body: () -> Void) {
        passing.wait(while: { $0.next != turn })
        body()
        passing.withLock { $0.next += 1 }
        passing.wake()
    }
}
