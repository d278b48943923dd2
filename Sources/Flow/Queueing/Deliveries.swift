// The deliveries of a lane that the provider has not ended, and the call that the lane's thread is in. A pure value. It promises that a
// token is never used twice, that `bytes` is the sum of the batches in flight, and that a delivery is either in flight or abandoned.

internal import Admission
internal import ConsentGate
internal import Platform

struct Deliveries {
    /// What became known when the provider ended a call.
    enum Ending {
        /// The delivery was in flight.
        case delivery(Handed)
        /// The delivery was abandoned at its deadline.
        case late
        /// No such delivery is known: it ended before, or the lane has ended since.
        case unknown
    }

    /// A call of the provider that the lane's thread is making.
    private struct Call {
        /// The token of the delivery.
        var token: UInt64
        var due: Instant
        /// The number of deadlines that the call has missed.
        var passed = 0
    }

    private var inFlight: [UInt64: Handed] = [:]
    /// The number of bytes of the batches in flight.
    private(set) var bytes = 0
    private var lastToken: UInt64 = 0
    /// The first token of the current provider. A delivery with a lower token went to a provider that has been replaced.
    private var firstToken: UInt64 = 1
    private var call: Call?
    /// The deliveries that were given up at their deadline and have not ended since. The provider may still be reading their events.
    private var abandoned: Set<UInt64> = []

    var count: Int { inFlight.count }
    var isEmpty: Bool { inFlight.isEmpty }
    var batches: [Batch] { inFlight.values.map(\.waiting.batch) }
    /// The deliveries in flight, in the order of their hand-over.
    var inOrder: [(token: UInt64, handed: Handed)] { inFlight.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
    subscript(token: UInt64) -> Handed? { inFlight[token] }

    /// The number of the last delivery so far. It is 0 if there was none.
    var last: UInt64 { lastToken }

    /// True if no delivery up to this one is in flight.
    func hasEnded(upTo delivery: UInt64) -> Bool { inFlight.keys.allSatisfy { $0 > delivery } }

    func isOfReplacedProvider(_ token: UInt64) -> Bool { token < firstToken }

    /// Notes that another provider gets the deliveries from now on.
    mutating func replaceProvider() { firstToken = lastToken + 1 }

    /// Begins a delivery, and the call of the lane's thread if the delivery has a deadline. `version` is the one of consent under which the
    /// whole batch passed. Returns its token.
    mutating func begin(_ waiting: WaitingBatch, passedAt version: SecondCheck.Version?) -> UInt64 {
        assert(waiting.batch.count > 0, "a batch without events is handed over")
        lastToken += 1
        inFlight[lastToken] = Handed(waiting, passedAt: version)
        bytes += waiting.batch.bytes.count
        call = waiting.due.map { Call(token: lastToken, due: $0) }
        return lastToken
    }

    /// Ends the delivery of this token.
    mutating func end(_ token: UInt64) -> Ending {
        guard let waiting = remove(token) else { return abandoned.remove(token) != nil ? .late : .unknown }
        assert(!abandoned.contains(token), "a delivery is both in flight and abandoned")
        return .delivery(waiting)
    }

    /// Removes a delivery that is past its deadline, and waits no longer for its end.
    mutating func abandon(_ token: UInt64) -> WaitingBatch? {
        guard let handed = remove(token) else { return nil }
        abandoned.insert(token)
        return handed.waiting
    }

    private mutating func remove(_ token: UInt64) -> Handed? {
        guard let handed = inFlight.removeValue(forKey: token) else { return nil }
        bytes -= handed.waiting.batch.bytes.count
        assert(bytes >= 0 && (bytes == 0 || !inFlight.isEmpty), "the bytes in flight do not match the batches in flight")
        return handed
    }

    /// Removes and returns what is left of all deliveries, in the order of their hand-over. The lane has ended.
    mutating func removeAll() -> [WaitingBatch] {
        let all = inOrder.map(\.handed.waiting)
        assert(all.reduce(0) { $0 + $1.batch.bytes.count } == bytes, "the bytes in flight do not match the batches in flight")
        inFlight.removeAll()
        bytes = 0
        return all.filter { $0.batch.count > 0 }
    }

    // MARK: - Events that leave

    /// Notes that these events of a delivery, by their index as they were handed over, have begun to leave. Nil stands for all events.
    mutating func noteBegun(_ token: UInt64, _ events: [Int]?) { inFlight[token]?.noteBegun(events) }

    /// Notes the version of consent under which all events of a delivery passed.
    mutating func notePassed(_ token: UInt64, at version: SecondCheck.Version?) { inFlight[token]?.passed = version }

    /// Takes events out of a delivery, by their index in what is left of it. They must not have begun. Returns them.
    mutating func withdraw(_ events: [Int], from token: UInt64) -> WaitingBatch? {
        guard !events.isEmpty, let taken = inFlight[token]?.withdraw(events) else { return nil }
        bytes -= taken.batch.bytes.count
        assert(bytes >= 0, "more bytes were taken out of a delivery than it has")
        return taken
    }

    // MARK: - Deadlines

    /// Notes that the lane's thread is in no call of the provider.
    mutating func callReturned() { call = nil }

    /// Forgets the abandoned deliveries. Closing the provider ends the deliveries that it still holds, and such an end is no late answer.
    mutating func forgetAbandoned() { abandoned = [] }

    /// The earliest deadline. It is nil if nothing has one.
    var nextDeadline: Instant? { (inFlight.values.compactMap(\.waiting.due) + (call.map { [$0.due] } ?? [])).min() }

    /// The deliveries in flight that are past their deadline. The latest comes first.
    func pastDeadline(at now: Instant) -> [UInt64] {
        inFlight.filter { $0.value.waiting.due.map { $0 <= now } ?? false }.keys.sorted(by: >)
    }

    /// The number of calls that the provider still holds after their deadline. A call that blocks the lane's thread counts again after each
    /// further deadline. Nothing else can be delivered meanwhile, since only one thread at a time calls a module.
    func overdue(at now: Instant) -> Int {
        let late = pastDeadline(at: now)
        let held = abandoned.count + late.count
        guard let call else { return held }
        let isCounted = abandoned.contains(call.token) || late.contains(call.token)
        let passed = call.passed + (call.due <= now ? 1 : 0)
        return held + max(0, passed - (isCounted ? 1 : 0))
    }

    /// Gives the call of the lane's thread another deadline if it has missed one.
    mutating func extendCall(by deadline: Duration, at now: Instant) {
        guard var late = call, late.due <= now else { return }
        late.passed += 1
        late.due = now + deadline
        call = late
    }
}
