// The place of a provider in its lane, where another provider can take over while the lane continues. Before it calls the new provider, it
// waits until the old one has ended what is under way, flushes it and closes it. It does not wait longer than the grace period. An old
// provider that reports late that its destination is gone does not end the lane. Each provider has its own shape: no batch reaches a provider
// in the shape of another.

public import Admission
public import Delivery
public import Judging
public import Platform
public import Queueing
internal import Shaping

public final class ProviderSlot: Provider {
    private struct State {
        var current: ShapedProvider
        /// The number of the current provider, counted from 0.
        var number = 0
        /// The provider that takes over next, and the latest time at which it does.
        var next: (provider: ShapedProvider, by: Instant)?
        /// The number of calls that have not returned and of deliveries without an answer, by provider number.
        var underWay: [Int: Int] = [:]
        /// The errors of the transforms of the providers before this one.
        var earlierErrors = 0
        var handler: (@Sendable (Answer) -> Void)?
        var isClosed = false

        mutating func promote() {
            guard let next else { return }
            earlierErrors += current.transformErrors
            current = next.provider
            number += 1
            assert(underWay.keys.allSatisfy { $0 < number }, "a call reached a provider before its turn")
            self.next = nil
        }
    }

    private let state: Monitor<State>
    private let clock: Clock

    /// `shape` is nil if the provider gets the events as they wait.
    public init(_ provider: any Provider, shape: Shape? = nil, clock: Clock) {
        state = Monitor(State(current: ShapedProvider(provider, shape)))
        self.clock = clock
    }

    // MARK: - As the lane sees it

    public func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        deliver(batch, attempt: attempt, asking: { _ in true }, done)
    }

    public func deliver(
        _ batch: Batch, attempt: Int, asking: @escaping Asking, _ done: @escaping @Sendable (BatchOutcome) -> Void
    ) {
        let (provider, number) = enter(2)
        provider.deliver(batch, attempt: attempt, asking: asking) { [self] outcome in
            let isOld = state.withLock { $0.number != number || $0.next != nil }
            leave(number)
            done(isOld ? outcome.forItsSuccessor : outcome)
        }
        leave(number)
    }

    public func flush(_ done: @escaping @Sendable (Outcome) -> Void) {
        let (provider, number) = enter(1)
        provider.flush(done)
        leave(number)
    }

    public func reopen() { state.withLock { $0.current }.reopen() }

    public func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {
        let (provider, number) = state.withLock { state in
            state.handler = handler
            return (state.current, state.number)
        }
        listen(to: provider, number)
    }

    /// Erasures do not wait for the lane, so a provider that is being replaced may still get one. Its answer counts like any other.
    public func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) {
        state.withLock { $0.current }.erase(request, done)
    }

    public func close() {
        let all = state.withLock { state in
            state.isClosed = true
            return [state.current] + (state.next.map { [$0.provider] } ?? [])
        }
        state.wake()
        for provider in all { provider.close() }
    }

    /// The number of times that an expression of the provider's transform had no value.
    public var transformErrors: Int { state.withLock { $0.earlierErrors + $0.current.transformErrors } }

    // MARK: - Taking over

    /// Makes the provider, or the one that will take over, shape events in another way from its next batch on.
    public func adopt(_ shape: Shape?) { state.withLock { $0.next?.provider ?? $0.current }.adopt(shape) }

    /// Makes another provider take over, and returns at once.
    public func change(to provider: any Provider, shape: Shape? = nil, within grace: Duration) {
        let provider = ShapedProvider(provider, shape)
        let deadline = clock.now() + grace
        let (old, number, replaced, isClosed) = state.withLock { state in
            defer { if !state.isClosed { state.next = (provider, state.next?.by ?? deadline) } }
            return (state.current, state.number, state.next?.provider, state.isClosed)
        }
        if isClosed { return provider.close() }
        listen(to: provider, number + 1)
        // This provider was replaced before it was called.
        if let replaced { return replaced.close() }
        Thread.start("hand over") { [self] in retire(old, number, by: deadline) }.detach()
    }

    private func retire(_ old: any Provider, _ number: Int, by deadline: Instant) {
        let isIdle = state.waitUntilReady { state -> Readiness<Bool> in
            if state.underWay[number] == nil { return .ready(true) }
            return clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
        if isIdle {
            let isFlushed = Monitor(false)
            old.flush { _ in
                isFlushed.withLock { $0 = true }
                isFlushed.wake()
            }
            isFlushed.waitUntilReady { $0 || clock.now() >= deadline ? .ready(()) : .notBefore(deadline) }
        }
        old.close()
        state.withLock { state in
            if state.number == number { state.promote() }
        }
        state.wake()
    }

    private func listen(to provider: any Provider, _ number: Int) {
        provider.onClosed { [weak self] answer in
            guard let self else { return }
            let handler = state.withLock { $0.number == number && $0.next == nil ? $0.handler : nil }
            handler?(answer)
        }
    }

    /// Waits until a provider may be called, and returns it with its number. `leave` must follow `count` times.
    private func enter(_ count: Int) -> (any Provider, Int) {
        state.waitUntilReady { state in
            if let next = state.next, !state.isClosed {
                guard clock.now() >= next.by else { return .notBefore(next.by) }
                state.promote()
            }
            state.underWay[state.number, default: 0] += count
            return .ready((state.current, state.number))
        }
    }

    private func leave(_ number: Int) {
        let isIdle = state.withLock { state in
            let left = state.underWay[number, default: 0] - 1
            assert(left >= 0, "a call or a delivery ended twice")
            state.underWay[number] = left > 0 ? left : nil
            return left <= 0
        }
        if isIdle { state.wake() }
    }
}

extension BatchOutcome {
    /// A provider that is being replaced may report that its destination is gone. This does not end the lane: the successor delivers the
    /// batch.
    fileprivate var forItsSuccessor: BatchOutcome {
        func outcome(_ outcome: Outcome) -> Outcome {
            if case .closed(let answer) = outcome { return .retry(answer, after: .zero) }
            return outcome
        }
        return BatchOutcome(outcome(batch), events: events.mapValues(outcome))
    }
}
