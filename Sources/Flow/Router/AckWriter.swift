// Acknowledges lines of standard input to their producer. It writes the number of the last line that is safe: everything that came of
// this line and of all lines before it is stored or delivered as the configuration promises. It writes to a descriptor of the producer,
// on a thread of its own, so that a lane never waits for the producer.

internal import Glibc
internal import Platform

final class AckWriter: Sendable {
    private struct State {
        var lines = 0
        /// The number of the last line that is safe together with all lines before it.
        var safe = 0
        var acknowledged = 0
        var isClosed = false
    }

    private let state = Monitor(State())
    private let watermark = Watermark()
    private let isOver = Monitor(false)

    init(_ descriptor: Int32, say: @escaping @Sendable (String) -> Void) {
        Thread.start("acks") { [state, isOver] in
            AckWriter.run(state, descriptor: descriptor, say: say)
            isOver.withLock { $0 = true }
            isOver.wake()
        }.detach()
    }

    /// Registers the next block of the input, with its number of lines. Returns the function to call when these lines are safe.
    func next(lines: Int) -> @Sendable () -> Void {
        let block = watermark.enter()
        let last = state.withLock { state in
            state.lines += lines
            return state.lines
        }
        return { [state, watermark] in
            watermark.settle(block) {
                state.withLock { state in
                    assert(last >= state.safe && last <= state.lines, "the number of the last safe line falls")
                    state.safe = last
                }
                state.wake()
            }
        }
    }

    /// Waits until all safe lines are acknowledged, or until the deadline if the producer does not read.
    func close(by deadline: Instant, _ clock: Clock) {
        state.withLock { $0.isClosed = true }
        state.wake()
        isOver.waitUntilReady { isOver -> Readiness<Void> in
            isOver || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    private static func run(_ state: Monitor<State>, descriptor: Int32, say: @Sendable (String) -> Void) {
        while true {
            let safe = state.waitUntilReady { state -> Readiness<Int?> in
                if state.safe > state.acknowledged {
                    state.acknowledged = state.safe
                    return .ready(state.safe)
                }
                return state.isClosed ? .ready(nil) : .notBefore(nil)
            }
            guard let safe else { return }
            do throws(SystemFault) {
                let line = Array("\(safe)\n".utf8)
                try line.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try writeAll(descriptor, UnsafeRawBufferPointer(bytes)) }
            } catch {
                say("--acks: descriptor \(descriptor) cannot be written to: \(error); nothing more is acknowledged")
                return
            }
        }
    }
}
