// One provider's queue and the thread that empties it. Lanes are independent: one that is slow or failing delays no
// other. What it does next is decided by `LaneState`; this class holds the lock, tells the time and carries it out.

public import Configuration
public import Platform
public import Policy

public final class Lane: Sendable {
    /// What a lane tells the one who runs it.
    public enum News: Sendable {
        case failing(Answer, again: Duration)
        case recovered(attempts: Int)
        /// Events were given up and are in the dead-letter file (but for `lost` of them).
        case buried(count: Int, reason: LaneAccount.Fate, Answer, lost: Int)
        /// The lane has ended because its destination is gone.
        case closed(Answer)
    }

    public let name: String
    private let provider: any Provider
    private let deadLetters: DeadLetters
    private let routes: [String]
    private let clock: Clock
    private let news: @Sendable (Lane, News) -> Void
    private let state: Monitor<LaneState>
    private let blocks: Bool

    public init(
        name: String, provider: any Provider, plan: DeliveryPlan, concurrency: Int, routes: [String], deadLetters: DeadLetters,
        clock: Clock, chance: Chance, news: @escaping @Sendable (Lane, News) -> Void
    ) {
        self.name = name
        self.provider = provider
        self.deadLetters = deadLetters
        self.routes = routes
        self.clock = clock
        self.news = news
        blocks = plan.queue.full == .block
        state = Monitor(LaneState(plan, concurrency: concurrency, routes: routes.count, chance: chance))
    }

    /// Starts the lane's thread, which ends when the lane has ended.
    public func start() {
        provider.onClosed { [weak self] answer in self?.destinationLeft(answer) }
        Thread.start("lane \(name)") { self.run() }.detach()
    }

    // MARK: - Events come in

    /// Takes what the parcel holds, if anything, and leaves it empty; false, with nothing taken, when the lane blocks and is
    /// full. A busy source calls this for every block, so that nothing gets too old while the lane's thread is left alone.
    public func take(_ parcel: inout Parcel) -> Bool {
        let now = clock.now()
        let (hasTaken, needsAttention) = state.withLock { state in
            if blocks, !parcel.isEmpty, !state.hasRoom(for: parcel.byteCount) { return (false, true) }
            if !parcel.isEmpty { state.take(&parcel, at: now) }
            return (true, state.needsAttention(at: now))
        }
        if needsAttention { state.wake() }
        return hasTaken
    }

    /// Takes what the parcel holds, as soon as there is room for it.
    public func waitAndTake(_ parcel: inout Parcel) {
        while !take(&parcel) {
            let bytes = parcel.byteCount
            state.wait(while: { !$0.hasRoom(for: bytes) })
        }
    }

    /// Told by the source when input flows, and when there is none at the moment.
    public func sourceIs(busy: Bool) {
        state.withLock { $0.isSourceBusy = busy }
        if !busy { state.wake() }
    }

    /// Events taken so far and what became of them.
    public var account: LaneAccount { state.withLock { $0.account } }
    /// The answer that the lane is failing with at the moment.
    public var failure: Answer? { state.withLock { $0.failure } }

    /// Whether the destination went away.
    public var isClosedByProvider: Bool { state.withLock { $0.isClosedByProvider } }

    /// Opens anew what was moved away.
    public func reopen() { provider.reopen() }

    // MARK: - The end

    /// No more events will come: what is here leaves at once.
    public func drain() {
        state.withLock { $0.drain() }
        state.wake()
    }

    /// Waits until the lane has ended, or was given up. False: the instant has come before.
    public func waitForEnd(until deadline: Instant) -> Bool { wait(until: deadline) { $0.isOver } }

    /// Waits until the provider is closed, which a stuck one never is.
    public func waitForClose(until deadline: Instant) { _ = wait(until: deadline) { $0.isProviderClosed } }

    private func wait(until deadline: Instant, for condition: (borrowing LaneState) -> Bool) -> Bool {
        state.waitUntilReady { state in
            if condition(state) { return .ready(true) }
            return clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
    }

    /// Time is up: what still waits is given up and kept in the dead-letter file.
    public func giveUp(_ answer: Answer) {
        carryOut(state.withLock { $0.giveUp(answer) })
    }

    private func destinationLeft(_ answer: Answer) {
        carryOut(state.withLock { $0.close(answer) })
    }

    // MARK: - The lane's thread

    private func run() {
        while true {
            switch nextStep() {
            case .deliver(let token, let batch, let attempt):
                provider.deliver(batch, attempt: attempt) { [weak self] outcome in
                    guard let self else { return }
                    carryOut(state.withLock { $0.completed(token, outcome, at: clock.now()) })
                }
            case .flush:
                provider.flush { [weak self] outcome in
                    guard let self else { return }
                    carryOut(state.withLock { $0.flushed(outcome) })
                }
            case .end:
                provider.close()
                state.withLock { $0.providerClosed() }
                state.wake()
                return
            case .wait: preconditionFailure("nextStep waits by itself")
            }
        }
    }

    private func nextStep() -> LaneState.Step {
        state.waitUntilReady { state in
            let step = state.next(at: clock.now())
            if case .wait(let instant) = step { return .notBefore(instant) }
            return .ready(step)
        }
    }

    private func carryOut(_ effects: [LaneState.Effect]) {
        state.wake()
        for effect in effects {
            switch effect {
            case .bury(let batch, let reason, let answer, let attempts):
                let lost = deadLetters.bury(
                    batch, provider: name, routes: routes, reason: reason, answer, attempts: attempts)
                state.withLock { $0.buried(lost: lost) }
                state.wake()
                news(self, .buried(count: batch.count, reason: reason, answer, lost: lost))
            case .failing(let answer, let again): news(self, .failing(answer, again: again))
            case .recovered(let attempts): news(self, .recovered(attempts: attempts))
            case .closed(let answer): news(self, .closed(answer))
            }
        }
    }
}
