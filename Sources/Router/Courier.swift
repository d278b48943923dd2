// Takes a page of dead letters to their provider, with a lane of its own, and tells which of them were taken. It keeps none: what is
// not taken stays where it lies.

internal import Configuration
internal import Delivery
internal import Platform
internal import Policy

final class Courier: @unchecked Sendable {
    struct Pending {
        var letter: Int64
        var copies: Int
        var hasFailed = false
    }

    private struct State {
        /// By the moment at which the event came in.
        var pending: [Int64: Pending] = [:]
        var delivered: [Int64] = []
        var isClosed = false

        /// A letter is taken when each of its copies is.
        mutating func settle(_ arrival: Int64, isDelivered: Bool) {
            guard var letter = pending[arrival] else { return }
            letter.copies -= 1
            letter.hasFailed = letter.hasFailed || !isDelivered
            pending[arrival] = letter.copies > 0 ? letter : nil
            if letter.copies <= 0, !letter.hasFailed { delivered.append(letter.letter) }
        }
    }

    private let lane: Lane
    private let state: Monitor<State>
    private let options: ReplayOptions
    private(set) var gaveUp = false

    /// `check`: by which what is handed over passes the gate again; nil: no ledger is kept.
    init(
        _ plan: ProviderPlan, _ outlet: Outlet, _ routes: [String], _ check: SecondLook?, _ options: ReplayOptions,
        _ say: @escaping @Sendable (String) -> Void
    ) {
        self.options = options
        let state = Monitor(State())
        self.state = state
        var delivery = plan.delivery
        // The page is in memory, and its letters stay on disk until they are taken.
        delivery.queue.disk = nil
        delivery.queue.full = .block
        delivery.batch.wait = .zero
        let diverted = DeadLetters(
            path: "", clock: options.clock,
            divert: { batch in
                state.withLock { state in for entry in batch.entries { state.settle(entry.arrival, isDelivered: false) } }
                state.wake()
                return 0
            }, warn: say)
        let clerk = NewsClerk(deadLetters: "the dead letters", say: say) { _ in
            state.withLock { $0.isClosed = true }
            state.wake()
            return 1
        }
        lane = Lane(
            name: plan.name,
            provider: Listener(check.map { LookingProvider(outlet.provider, $0) } ?? outlet.provider) { arrivals in
                state.withLock { state in for arrival in arrivals { state.settle(arrival, isDelivered: true) } }
                state.wake()
            },
            plan: delivery, concurrency: outlet.concurrency, routes: RunNames(routes), deadLetters: diverted, clock: options.clock,
            chance: Chance(seed: options.seed), news: clerk.tell)
        lane.start()
    }

    /// Sends a page of letters and waits for what becomes of each; those that the provider has taken.
    func send(_ parcel: inout Parcel, _ owners: [Int64: Pending]) -> [Int64] {
        guard !owners.isEmpty else { return [] }
        state.withLock { ($0.pending, $0.delivered) = (owners, []) }
        let deadline = options.clock.now() + options.patience
        lane.waitAndTake(&parcel)
        let isDone = state.waitUntilReady { state -> Readiness<Bool> in
            if state.pending.isEmpty { return .ready(true) }
            return state.isClosed || options.clock.now() >= deadline ? .ready(false) : .notBefore(deadline)
        }
        if !isDone {
            gaveUp = true
            lane.giveUp(Answer("time was up after \(options.patience.configured)"))
            lane.waitForEnd()
        }
        return state.withLock { $0.delivered }
    }

    func end() {
        lane.drain()
        lane.waitForEnd(until: options.clock.now() + options.patience)
        if !lane.isOver { lane.giveUp(Answer("the provider does not end")) }
        lane.waitForClose(until: options.clock.now() + .seconds(1))
    }
}

/// A provider whose deliveries are overheard.
private final class Listener: Provider {
    private let provider: any Provider
    private let delivered: @Sendable ([Int64]) -> Void

    init(_ provider: any Provider, delivered: @escaping @Sendable ([Int64]) -> Void) {
        self.provider = provider
        self.delivered = delivered
    }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        provider.deliver(batch, attempt: attempt) { [delivered] outcome in
            let taken = (0..<batch.count).filter { (outcome.events[$0] ?? outcome.batch) == .delivered }
            if !taken.isEmpty { delivered(taken.map { batch.entries[$0].arrival }) }
            done(outcome)
        }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { provider.flush(done) }
    func reopen() { provider.reopen() }
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { provider.onClosed(handler) }
    func close() { provider.close() }
}
