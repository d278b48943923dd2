// Destroys events that wait longer than `retention` allows, in memory and on disk. It does so when the lane begins and each time the next
// event is due. Deliveries in flight continue. This file is a part of the pure lane state.

internal import ConsentGate
internal import Plans
internal import Platform

extension LaneState {
    var retention: Retention { Retention(all: plan.retention?.nanoseconds, routes: routeRetention) }

    /// Sets the maximum age of events by route, and checks everything that waits.
    mutating func adopt(routeRetention routes: [UInt16: Int64], at now: Instant) {
        routeRetention = routes
        lookForAged(at: now)
    }

    mutating func lookForAged(at now: Instant) {
        ageDue = nil
        guard retention.shortest != nil else { return }
        sweepMemory(checkedBy: nil, at: now)
        guard canStore else { return }
        if sweeping == nil {
            sweeping = Sweeping(row: backlog.position, swept: Swept(), done: [])
        } else {
            // A withdrawal is already sweeping the disk and checked its first rows at an earlier time, so another search follows soon.
            noteDue(wall(now), at: now)
        }
    }

    /// Schedules a search for events that come in now. None of them is too old before that search.
    mutating func noteArrival(at now: Instant) {
        if plan.retention == nil, routeRetention.isEmpty { return }
        guard let shortest = retention.shortest else { return }
        let due = now + .nanoseconds(shortest)
        ageDue = ageDue.map { min($0, due) } ?? due
    }

    /// Schedules a search at the time `due`. Two searches are at least a hundredth of the shortest maximum age apart, but never forced to
    /// be more than a minute apart. Thus a stream whose events are due one by one is not searched for each of them.
    mutating func noteDue(_ due: Int64?, at now: Instant) {
        guard let due, let shortest = retention.shortest else { return }
        let next = now + .nanoseconds(min(max(1_000_000, shortest / 100), 60_000_000_000))
        let at = max(Instant(nanoseconds: due.subtractingReportingOverflow(epoch).partialValue), next)
        ageDue = ageDue.map { min($0, at) } ?? at
    }

    /// A sweep that looks only for events that are too old.
    func ageSweep(at now: Instant) -> RetentionSweep { RetentionSweep(nil, retention, now: wall(now)) }

    func wall(_ now: Instant) -> Int64 { epoch + now.nanoseconds }
}
