// Tells a producer how far its input is safe: the number of the last line of which all that came of it, and of every line
// before, is where the configuration promises. It writes to a descriptor of the producer's, and never makes a lane wait for it.

internal import Glibc
internal import Platform

final class AckWriter: Sendable {
    private struct State {
        var lines = 0
        /// The last line of which all before are safe too.
        var safe = 0
        var told = 0
        var isClosed = false
    }

    private let state = Monitor(State())
    private let watermark = Watermark()
    private let isOver = Monitor(false)

    init(_ descriptor: Int32, say: @escaping @Sendable (String) -> Void) {
        Thread.start("acks") { [state, isOver] in
            AckWriter.run(state, descriptor, say)
            isOver.withLock { $0 = true }
            isOver.wake()
        }.detach()
    }

    /// Of the next block of the input, which has so many lines: what is to be called when they are safe.
    func next(lines: Int) -> @Sendable () -> Void {
        let block = watermark.enter()
        let last = state.withLock { state in
            state.lines += lines
            return state.lines
        }
        return { [state, watermark] in
            watermark.settle(block) {
                state.withLock { $0.safe = last }
                state.wake()
            }
        }
    }

    /// Waits until everything that is safe has been told, or a producer that does not listen has had its time.
    func close(by deadline: Instant, _ clock: Clock) {
        state.withLock { $0.isClosed = true }
        state.wake()
        isOver.waitUntilReady { isOver -> Readiness<Void> in
            isOver || clock.now() >= deadline ? .ready(()) : .notBefore(deadline)
        }
    }

    private static func run(_ state: Monitor<State>, _ descriptor: Int32, _ say: @Sendable (String) -> Void) {
        while true {
            let safe = state.waitUntilReady { state -> Readiness<Int?> in
                if state.safe > state.told {
                    state.told = state.safe
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
