// The taps of a router: for each person who looks, a bounded queue of captured events that are not shown yet. The parts of the router ask
// `looks` once for a block or a batch, and capture only if somebody looks. A tap never makes them wait: what does not fit is counted and not
// kept. A tap that nobody asks for some time ends, so a client that died leaves nothing behind. An event whose subject has withdrawn is
// never shown.

public import Admission
internal import CPlatform
public import Platform

public final class Taps: @unchecked Sendable {
    /// The most taps at once.
    public static let most = 4
    /// The time after which a tap ends if nobody asks.
    static let expiry = Duration.seconds(10)
    /// The least time from one answer to the next. It limits the work for a tap at a full stream.
    static let pause = Duration.milliseconds(100)
    /// The time after which an answer comes without events.
    static let patience = Duration.seconds(1)

    /// The most events and bytes that wait for one tap. A tap with a condition gets more, since it shows only some of them.
    static func capacity(_ request: TapRequest) -> (events: Int, bytes: Int) {
        request.condition == nil ? (256, 1 << 20) : (2048, 4 << 20)
    }

    private struct Tap {
        let number: Int
        let request: TapRequest
        let user: UInt32?
        var events: [TappedEvent] = []
        var bytes = 0
        var dropped = 0
        /// The number of events that may still be shown. It is nil without a limit.
        var left: Int?
        var expires: Instant
        var pausedUntil: Instant?

        var room: (events: Int, bytes: Int) {
            let most = Taps.capacity(request)
            return (most.events - events.count, most.bytes - bytes)
        }

        mutating func add(_ event: @autoclosure () -> TappedEvent, bytes count: Int) {
            let room = room
            guard room.events > 0, room.bytes >= count else {
                dropped += 1
                return
            }
            events.append(event())
            bytes += count
        }
    }

    private struct State {
        var taps: [Tap] = []
        var last = 0
        var isOver = false
    }

    private let state = Monitor(State())
    private let clock: Clock
    /// Returns true if an event with this arrival and these subjects came in before a withdrawal.
    private let isWithdrawn: @Sendable (_ arrival: Int64, _ subjects: [SubjectKey]) -> Bool
    /// A bit for each stage that somebody looks at.
    private let stages: UnsafeMutablePointer<UInt64>

    public init(
        clock: Clock = .system, isWithdrawn: @escaping @Sendable (_ arrival: Int64, _ subjects: [SubjectKey]) -> Bool = { _, _ in false }
    ) {
        self.clock = clock
        self.isWithdrawn = isWithdrawn
        stages = .allocate(capacity: 1)
        stages.initialize(to: 0)
    }

    deinit { stages.deallocate() }

    // MARK: - For those who look

    /// Begins a tap. Returns its number, or nil if too many are open.
    public func open(_ request: TapRequest, user: UInt32?) -> Int? {
        let now = clock.now()
        return state.withLock { state in
            guard state.taps.count < Taps.most, !state.isOver else { return nil }
            state.last += 1
            state.taps.append(
                Tap(number: state.last, request: request, user: user, left: request.limit, expires: now + Taps.expiry))
            note(state)
            return state.last
        }
    }

    /// What a tap has captured since the last call.
    public struct Taken: Sendable {
        public var request: TapRequest
        public var events: [TappedEvent]
        /// The number of events that did not fit.
        public var dropped: Int
    }

    /// Waits until the tap has events, but not for long, and takes them. Returns nil if this user has no tap of this number, or if the
    /// router has ended.
    public func take(_ number: Int, user: UInt32?) -> Taken? {
        let begun = clock.now()
        return state.waitUntilReady { state -> Readiness<Taken?> in
            guard let index = state.taps.firstIndex(where: { $0.number == number && $0.user == user }) else { return .ready(nil) }
            let now = clock.now()
            state.taps[index].expires = now + Taps.expiry
            if let paused = state.taps[index].pausedUntil, now < paused, !state.isOver { return .notBefore(paused) }
            let isEmpty = state.taps[index].events.isEmpty && state.taps[index].dropped == 0
            if isEmpty, state.isOver { return .ready(nil) }
            if isEmpty, now < begun + Taps.patience { return .notBefore(begun + Taps.patience) }
            defer {
                state.taps[index].events = []
                state.taps[index].bytes = 0
                state.taps[index].dropped = 0
                state.taps[index].pausedUntil = now + Taps.pause
            }
            let tap = state.taps[index]
            return .ready(Taken(request: tap.request, events: tap.events, dropped: tap.dropped))
        }
    }

    /// Returns which of these events may be shown now: those that no withdrawal has reached, and not more than the tap may still show. A tap
    /// that has shown all that it may ends.
    public func pass(_ number: Int, _ events: [TappedEvent]) -> [Bool] {
        let may = events.map { !isWithdrawn($0.arrival, $0.subjects) }
        return state.withLock { state in
            guard let index = state.taps.firstIndex(where: { $0.number == number }) else { return may.map { _ in false } }
            guard var left = state.taps[index].left else { return may }
            let passed = may.map { may in
                guard may, left > 0 else { return false }
                left -= 1
                return true
            }
            state.taps[index].left = left
            if left == 0 { remove(number, &state) }
            return passed
        }
    }

    /// Ends a tap of this user. What it has captured is forgotten.
    public func close(_ number: Int, user: UInt32?) {
        state.withLock { state in
            guard state.taps.contains(where: { $0.number == number && $0.user == user }) else { return }
            remove(number, &state)
        }
        state.wake()
    }

    /// Ends the taps that nobody asks any more. Returns the time at which the next may end, or nil if there is none.
    @discardableResult
    public func expire() -> Instant? {
        let now = clock.now()
        return state.withLock { expire(&$0, now) }
    }

    /// Waits until no tap is open, and ends those that nobody asks any more.
    public func watchExpiry() {
        state.waitUntilReady { state -> Readiness<Void> in
            guard let next = expire(&state, clock.now()), !state.isOver else { return .ready(()) }
            return .notBefore(next)
        }
    }

    /// Ends all taps, since the router ends. What they have captured is still shown.
    public func end() {
        state.withLock { $0.isOver = true }
        state.wake()
    }

    /// Forgets the captured events that came in before a withdrawal of their subjects.
    public func forgetWithdrawn() {
        if !looks(at: TapStage.allCases) { return }
        state.withLock { state in
            for index in state.taps.indices {
                state.taps[index].events.removeAll { isWithdrawn($0.arrival, $0.subjects) }
                state.taps[index].bytes = state.taps[index].events.reduce(0) { $0 + $1.line.count }
            }
        }
    }

    private func remove(_ number: Int, _ state: inout State) {
        state.taps.removeAll { $0.number == number }
        note(state)
    }

    private func expire(_ state: inout State, _ now: Instant) -> Instant? {
        state.taps.removeAll { $0.expires <= now }
        note(state)
        return state.taps.map(\.expires).min()
    }

    private func note(_ state: State) { cplatform_poke(stages, state.taps.reduce(0) { $0 | $1.request.stage.bit }) }

    // MARK: - For those who capture

    /// Returns true if somebody looks at one of the stages. Reading it takes no lock.
    @inline(__always) public func looks(at stage: TapStage) -> Bool { cplatform_peek(stages) & stage.bit != 0 }

    public func looks(at stages: [TapStage]) -> Bool {
        let open = cplatform_peek(self.stages)
        return open != 0 && stages.contains { open & $0.bit != 0 }
    }

    /// True if somebody looks at what routes decide. Reading it takes no lock.
    public var looksAtRoutes: Bool { cplatform_peek(stages) & Taps.routeBits != 0 }

    private static let routeBits = TapStage.allCases.filter { !$0.isOfLanes }.reduce(0 as UInt64) { $0 | $1.bit }

    /// A tap that looks at what routes decide, and the room that it has.
    public struct Looking: Sendable {
        public var tap: Int
        public var request: TapRequest
        public var room: (events: Int, bytes: Int)
    }

    /// The taps that look at what routes decide.
    public var lookingAtRoutes: [Looking] {
        state.withLock { state in
            state.taps.filter { !$0.request.stage.isOfLanes }.map { Looking(tap: $0.number, request: $0.request, room: $0.room) }
        }
    }

    /// Adds events to a tap. `dropped` is the number of events that were not captured for it.
    public func add(_ events: [TappedEvent], dropped: Int, to number: Int) {
        if events.isEmpty, dropped == 0 { return }
        state.withLock { state in
            guard let index = state.taps.firstIndex(where: { $0.number == number }) else { return }
            for event in events { state.taps[index].add(event, bytes: event.line.count) }
            state.taps[index].dropped += dropped
        }
        state.wake()
    }

    /// Adds the events of a batch of a lane to the taps that look at them. `names` are the names of the routes by their number.
    public func add(
        _ indices: [Int], of batch: Batch, at stage: TapStage, provider: String, routes names: [String],
        answer: TappedEvent.Answered? = nil, reason: String? = nil
    ) {
        let isTaken = state.withLock { state in
            var isTaken = false
            for tap in state.taps.indices {
                let request = state.taps[tap].request
                guard request.stage == stage, request.provider == nil || request.provider == provider else { continue }
                for index in indices {
                    let route = names.indices.contains(Int(batch.entries[index].route)) ? names[Int(batch.entries[index].route)] : ""
                    if let wanted = request.route, wanted != route { continue }
                    let text = batch.event(index)
                    isTaken = true
                    state.taps[tap].add(
                        TappedEvent(
                            line: Array(text), arrival: batch.entries[index].arrival, subjects: batch.subjects(of: index),
                            origin: .lane(provider: provider, route: route, answer: answer, reason: reason)),
                        bytes: text.count)
                }
            }
            return isTaken
        }
        if isTaken { state.wake() }
    }
}
