// Lets the own thread of a source wait for room. The source passes on `pause`, `resume` and `stop`, and hands its blocks over with `submit`,
// which returns when the block was taken or when nothing more is taken.

public import Platform

public final class SourceGate: Sendable {
    private struct State {
        var isPaused = false
        var isStopped = false
        /// The number of calls of `resume` so far. One that comes while a block is refused counts for that block.
        var resumes = 0
    }

    private let host: SourceHost
    private let state = Monitor(State())

    public init(_ host: SourceHost) { self.host = host }

    public func pause() { state.withLock { $0.isPaused = true } }

    public func resume() {
        state.withLock { state in
            state.isPaused = false
            state.resumes += 1
        }
        state.wake()
    }

    /// Makes every present and later call of `submit` and `wait` return false, after a block that is being handed over.
    public func stop() {
        state.withLock { $0.isStopped = true }
        state.wake()
    }

    public var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Waits until the source may hand over. Returns false if it is stopped.
    public func wait() -> Bool {
        state.waitUntilReady { state in
            if state.isStopped { return .ready(false) }
            return state.isPaused ? .notBefore(nil) : .ready(true)
        }
    }

    /// Waits until that time, or until it is stopped. Returns false if it is stopped.
    public func wait(until time: Instant, clock: Clock = .system) -> Bool {
        state.waitUntilReady { state in
            if state.isStopped { return .ready(false) }
            return clock.now() >= time ? .ready(true) : .notBefore(time)
        }
    }

    /// Hands over a block, and waits for room before. Returns `taken`, `closing` or `wrong`.
    public func submit(_ block: SourceBlock) -> Handover {
        while true {
            guard wait() else { return .closing }
            let resumes = state.withLock { $0.resumes }
            let verdict = host.submit(block)
            guard verdict == .full else { return verdict }
            let isOpen: Bool = state.waitUntilReady { state in
                if state.isStopped { return .ready(false) }
                return state.resumes == resumes ? .notBefore(nil) : .ready(true)
            }
            guard isOpen else { return .closing }
        }
    }
}
