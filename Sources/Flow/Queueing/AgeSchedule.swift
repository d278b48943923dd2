// When a lane must look for events that are too old. A pure value. It promises that the lane looks at the latest a minute
// after an event is too old, and that it does not look for each event of a stream.

internal import ConsentGate
internal import Platform

struct AgeSchedule {
    /// The maximum ages of events.
    private(set) var retention: Retention
    /// The time of the next search. It is nil if no such search is needed.
    private(set) var due: Instant?
    /// Nanoseconds since 1970 at instant 0.
    let epoch: Int64

    init(all: Int64?, epoch: Int64) {
        retention = Retention(all: all)
        self.epoch = epoch
    }

    /// Sets the maximum age of every event. If it has changed, a search is due at once.
    mutating func adopt(all: Int64?) {
        guard all != retention.all else { return }
        retention.all = all
        due = Instant(nanoseconds: .min)
    }

    /// Sets the maximum ages by route number, in addition to the one of every event.
    mutating func adopt(routes: [UInt16: Int64]) { retention.routes = routes }

    /// Begins a search. Returns false if no event ever becomes too old.
    mutating func begin() -> Bool {
        due = nil
        return retention.shortest != nil
    }

    /// Schedules a search for events that come in now. None of them is too old before that search.
    mutating func noteArrival(at now: Instant) {
        if retention.isEmpty { return }
        guard let shortest = retention.shortest else { return }
        search(at: now + .nanoseconds(shortest))
    }

    /// Schedules a search at the time `due`, in nanoseconds since 1970. Two searches are at least a hundredth of the shortest maximum age
    /// apart, but never forced to be more than a minute apart. Thus a stream whose events are due one by one is not searched for each of
    /// them.
    mutating func noteDue(_ due: Int64?, at now: Instant) {
        guard let due, let shortest = retention.shortest else { return }
        let next = now + .nanoseconds(min(max(1_000_000, shortest / 100), 60_000_000_000))
        search(at: max(Instant(nanoseconds: due.subtractingReportingOverflow(epoch).partialValue), next))
    }

    private mutating func search(at instant: Instant) { due = due.map { min($0, instant) } ?? instant }

    /// The time in nanoseconds since 1970.
    func wall(_ now: Instant) -> Int64 { epoch + now.nanoseconds }

    /// A sweep that looks only for events that are too old.
    func sweep(at now: Instant) -> RetentionSweep { RetentionSweep(nil, retention, now: wall(now)) }
}
