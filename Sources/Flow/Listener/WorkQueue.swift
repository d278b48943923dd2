// The queue of whole requests for the worker threads, in order of arrival. The number of connections bounds its length.

internal import Platform

final class WorkQueue: Sendable {
    private struct State {
        var waiting: [Exchange] = []
        var next = 0
        var isEnding = false
    }

    private let state = Monitor(State())

    func add(_ exchange: Exchange) {
        state.withLock { state in
            assert(!state.isEnding, "a request came after the end, and nobody would answer it")
            state.waiting.append(exchange)
        }
        state.wakeOne()
    }

    /// Works on requests until `end` was called and no request waits.
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

/// A thread that can be stored in an array until it is joined.
final class ThreadHandle: @unchecked Sendable {
    private var thread: Thread?
    init(_ thread: consuming Thread) { self.thread = consume thread }
    func join() { thread.take()?.join() }
}
