// Delivers groups of dead letters to their provider, on its own lane, and reports which of them were taken as soon as the provider says so.
// It never keeps letters: a letter that is not taken stays in its file.

internal import Admission
internal import Delivery
internal import Judging
internal import Plans
internal import Platform
internal import Queueing
internal import Shaping

final class ReplayLane: @unchecked Sendable {
    struct Pending {
        var letter: Int64
        var copies: Int
        /// True if at least one copy was handed over.
        var isTried = false
        var hasFailed = false
        /// True if the provider took at least one copy. The filter of the provider may leave out the others.
        var isTaken = false

        init(letter: Int64, copies: Int) {
            self.letter = letter
            self.copies = copies
        }
    }

    /// What became of a copy of a letter.
    enum Result { case taken, filtered, failed }

    /// Letters that are settled, by their ids.
    struct Settled {
        /// The provider took them.
        var delivered: [Int64] = []
        /// The filter of the provider left them out.
        var filtered: [Int64] = []
        var isEmpty: Bool { delivered.isEmpty && filtered.isEmpty }
    }

    /// The numbers of letters of a group that were not taken.
    struct Remainder {
        /// Letters that were handed over and not taken.
        var failed = 0
        /// Letters that were never handed over.
        var left = 0
    }

    private struct State {
        /// The number of the current group. A late outcome of an earlier group never counts for a letter of this one.
        var group = 0
        /// The letters that have no result yet, by the arrival time of their events.
        var pending: [Int64: Pending] = [:]
        /// Letters that are settled, and that are not recorded yet.
        var settled = Settled()
        var remainder = Remainder()
        /// The number of batches in flight.
        var underWay = 0
        var isClosed = false
        /// Nil until the lane is told to end. Then nothing more is handed over, and batches in flight may take until this time.
        var stopDeadline: Instant?

        /// Settles one copy of a letter. A letter is settled when all of its copies are taken or left out.
        mutating func settle(_ arrival: Int64, of group: Int, as result: Result) {
            guard group == self.group, var letter = pending[arrival] else { return }
            letter.copies -= 1
            assert(letter.copies >= 0, "a copy of a letter was settled twice")
            switch result {
            case .taken: letter.isTaken = true
            case .filtered: break
            case .failed: letter.hasFailed = true
            }
            guard letter.copies <= 0 else {
                pending[arrival] = letter
                return
            }
            pending[arrival] = nil
            if letter.hasFailed {
                count(letter)
            } else if letter.isTaken {
                settled.delivered.append(letter.letter)
            } else {
                settled.filtered.append(letter.letter)
            }
        }

        mutating func count(_ letter: Pending) {
            if letter.isTried { remainder.failed += 1 } else { remainder.left += 1 }
        }

        /// Returns the group of the batch, or nil if the batch must not be handed over any more.
        mutating func begin(_ batch: Batch) -> Int? {
            guard stopDeadline == nil else { return nil }
            underWay += 1
            for entry in batch.entries { pending[entry.arrival]?.isTried = true }
            return group
        }
    }

    private enum Turn {
        case taken(Settled)
        case settled
        case outOfTime
        case stopped
    }

    private let lane: Lane
    private let state: Monitor<State>
    private let options: ReplayOptions
    private var deadline: Instant
    private(set) var gaveUp = false

    /// Makes the lane of the provider with this index. `check` is the second check at the hand-over. It is nil if no ledger is kept.
    init(
        _ index: Int, of whole: Plan, outlet: Outlet, check: ReplayCheck?, options: ReplayOptions,
        say: @escaping @Sendable (String) -> Void
    ) {
        let plan = whole.providers[index]
        let shaped = ShapedProvider(outlet.provider, Shape(plan, of: whole))
        self.options = options
        deadline = options.clock.now() + options.timeout
        let state = Monitor(State())
        self.state = state
        var delivery = plan.laneDelivery
        // The lane needs no queue on disk, since its letters stay in their file until they are taken.
        delivery.queue.disk = nil
        delivery.queue.full = .block
        delivery.batch.wait = .zero
        let diverted = DeadLetters(
            path: "", clock: options.clock,
            divert: { batch in
                // The lane holds nothing of an earlier group: all letters of that group were settled before this group began.
                state.withLock { state in
                    for entry in batch.entries { state.settle(entry.arrival, of: state.group, as: .failed) }
                }
                state.wake()
                return 0
            }, warn: say)
        let clerk = LaneReporter(deadLetters: "the dead letters", say: say) { _ in
            state.withLock { $0.isClosed = true }
            state.wake()
            return 1
        }
        lane = Lane(
            name: plan.name,
            provider: Listener(
                check.map { CheckedProvider(shaped, $0) } ?? shaped,
                begin: { batch in state.withLock { $0.begin(batch) } },
                end: { results, group in
                    state.withLock { state in
                        state.underWay -= 1
                        assert(state.underWay >= 0, "a batch ended twice")
                        for (arrival, result) in results { state.settle(arrival, of: group, as: result) }
                    }
                    state.wake()
                }),
            plan: delivery, concurrency: outlet.concurrency, routes: RunNames(whole.routes.map(\.name)), deadLetters: diverted,
            clock: options.clock,
            random: RandomSource(seed: options.seed), news: clerk.tell)
        lane.start()
    }

    /// Stops handing over. Batches in flight may take this long.
    func stop(within time: Duration) {
        let limit = options.clock.now() + time
        state.withLock { $0.stopDeadline = min($0.stopDeadline ?? limit, limit) }
        state.wake()
    }

    /// Sends a group of letters, and waits for the result of each for at most `options.timeout`. `record` gets letters as soon as
    /// they are settled, and before another group is sent.
    func send(_ parcel: inout Parcel, _ owners: [Int64: Pending], record: (Settled) throws -> Void) throws -> Remainder {
        guard !owners.isEmpty else { return Remainder() }
        deadline = options.clock.now() + options.timeout
        state.withLock { state in
            state.group += 1
            assert(
                state.pending.isEmpty && state.settled.isEmpty, "a letter of the last group has no result, or one that was not recorded")
            assert(owners.values.allSatisfy { $0.copies > 0 }, "a letter without copies would never be settled")
            (state.pending, state.settled, state.remainder) = (owners, Settled(), Remainder())
        }
        lane.waitAndTake(&parcel)
        while true {
            switch nextTurn() {
            case .taken(let letters):
                do {
                    try record(letters)
                } catch {
                    // Stop, since letters that cannot be recorded would be sent again.
                    stop(within: .zero)
                    throw error
                }
            case .settled: return state.withLock { $0.remainder }
            case .outOfTime: giveUp(Answer("timed out after \(options.timeout.configured)"))
            case .stopped: giveUp(Answer("the replay was told to end"))
            }
        }
    }

    private func nextTurn() -> Turn {
        let deadline = deadline
        return state.waitUntilReady { [options] state -> Readiness<Turn> in
            if !state.settled.isEmpty {
                defer { state.settled = Settled() }
                return .ready(.taken(state.settled))
            }
            if state.pending.isEmpty { return .ready(.settled) }
            let now = options.clock.now()
            if let stop = state.stopDeadline, state.underWay == 0 || now >= stop { return .ready(.stopped) }
            if state.isClosed || now >= deadline { return .ready(.outOfTime) }
            return .notBefore(min(deadline, state.stopDeadline ?? deadline))
        }
    }

    private func giveUp(_ answer: Answer) {
        gaveUp = true
        lane.giveUp(answer)
        lane.waitForEnd()
        state.withLock { state in
            for letter in state.pending.values { state.count(letter) }
            state.pending = [:]
        }
    }

    func end() {
        lane.drain()
        let limit = options.clock.now() + options.timeout
        lane.waitForEnd(until: min(limit, state.withLock { $0.stopDeadline } ?? limit))
        if !lane.isOver { lane.giveUp(Answer("the provider does not finish")) }
        lane.waitForClose(until: options.clock.now() + .seconds(1))
    }
}

/// Wraps a provider to observe its deliveries. It hands over nothing once the replay was told to end.
private final class Listener: Provider {
    private let provider: any Provider
    private let begin: @Sendable (Batch) -> Int?
    private let end: @Sendable ([(arrival: Int64, result: ReplayLane.Result)], Int) -> Void

    /// `begin` returns the group of a batch, or nil if the batch must not be handed over. `end` gets the arrival times of the events that
    /// were taken or left out, and the group.
    init(
        _ provider: any Provider, begin: @escaping @Sendable (Batch) -> Int?,
        end: @escaping @Sendable ([(arrival: Int64, result: ReplayLane.Result)], Int) -> Void
    ) {
        self.provider = provider
        self.begin = begin
        self.end = end
    }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        guard let group = begin(batch) else { return done(BatchOutcome(.rejected(Answer("the replay was told to end")))) }
        provider.deliver(batch, attempt: attempt) { [end] outcome in
            let results = (0..<batch.count).compactMap { index -> (arrival: Int64, result: ReplayLane.Result)? in
                switch outcome.events[index] ?? outcome.batch {
                case .delivered: (batch.entries[index].arrival, .taken)
                case .filtered: (batch.entries[index].arrival, .filtered)
                // The lane tries them again, or gives them up.
                case .untried, .rejected, .retry, .unknown, .fault, .closed: nil
                }
            }
            end(results, group)
            done(outcome)
        }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { provider.flush(done) }
    func reopen() { provider.reopen() }
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { provider.onClosed(handler) }
    func close() { provider.close() }
}
