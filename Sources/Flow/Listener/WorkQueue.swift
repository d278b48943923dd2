// The threads that work on whole requests, in the order in which they came. Its length is bounded by that of the connections.

internal import Platform

final class WorkQueue: Sendable {
    private struct State {
        var waiting: [Exchange] = []
        var next = 0
        var isEnding = false
    }

    private let state = Monitor(State())

    func add(_ exchange: Exchange) {
        state.withLock { $0.waiting.append(exchange) }
        state.wakeOne()
    }

    /// Works until the end, which comes when nothing waits any more.
    func run(_ work: (Exchange) -> Void) {
        while let exchange = take() { work(exchange) }
    }

    private func take() -> Exchange? {
        state.waitUntilReady { state -> Readiness<Exchange?> in
            if state.next < state.waiting.count {
                let exchange = state.waiting[state.next]
                state.next += 1
                if state.next == state.waiting.count {
                    state.waiting.removeAll(keepingCapacity: true)
                    state.next = 0
                } else if state.next > 1024 {
                    state.waiting.removeFirst(state.next)
                    state.next = 0
                }
                return .ready(exchange)
            }
            return state.isEnding ? .ready(nil) : .notBefore(nil)
        }
    }

    func end() {
        state.withLock { $0.isEnding = true }
        state.wake()
    }
}

/// A thread that is kept among others until it is joined.
final class ThreadHandle: @unchecked Sendable {
    private var thread: Thread?
    init(_ thread: consuming Thread) { self.thread = consume thread }
    func join() { thread.take()?.join() }
}
