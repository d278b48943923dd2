// Tells a producer how far its input is safe: the number of the last line of which all that came of it, and of every line
// before, is where the configuration promises. It writes to a descriptor of the producer's, and never makes a lane wait for it.

internal import Delivery
internal import Glibc
internal import Platform

final class AckWriter: Sendable {
    private struct State {
        /// By number of the block: the last of its lines, once the block is done.
        var done: [Int: Int] = [:]
        var blocks = 0
        var lines = 0
        /// How many blocks from the first on are done, and the last of their lines.
        var frontier = 0
        var safe = 0
        var told = 0
        var isClosed = false
    }

    private let state = Monitor(State())
    private let isOver = Monitor(false)

    init(_ descriptor: Int32, say: @escaping @Sendable (String) -> Void) {
        Thread.start("acks") { [state, isOver] in
            AckWriter.run(state, descriptor, say)
            isOver.withLock { $0 = true }
            isOver.wake()
        }.detach()
    }

    /// Of the next block of the input, which has so many lines.
    func receipt(lines: Int) -> Receipt {
        let (block, last) = state.withLock { state in
            state.lines += lines
            state.blocks += 1
            return (state.blocks - 1, state.lines)
        }
        return Receipt { [state] in
            state.withLock { state in
                state.done[block] = last
                while let last = state.done.removeValue(forKey: state.frontier) {
                    state.frontier += 1
                    state.safe = last
                }
            }
            state.wake()
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
