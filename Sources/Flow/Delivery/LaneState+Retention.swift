// What a lane destroys for its age: every event that waits longer than `retention` allows, in memory and on disk, when the lane begins and
// at the moment when the next of them falls due. What is in the provider's hands stays there. Pure, like the rest of the state.

internal import ConsentGate
internal import Plans
internal import Platform

extension LaneState {
    var retention: Retention { Retention(all: plan.retention?.nanoseconds, routes: routeRetention) }

    /// From now on events of these routes may get so old; whatever waits is looked through.
    mutating func adopt(routeRetention routes: [UInt16: Int64], at now: Instant) {
        routeRetention = routes
        lookForAged(at: now)
    }

    mutating func lookForAged(at now: Instant) {
        ageDue = nil
        guard retention.shortest != nil else { return }
        sweepMemory(broom(nil, at: now), at: now)
        guard canStore else { return }
        if sweeping == nil {
            sweeping = Sweeping(row: backlog.position, swept: Swept(), done: [])
        } else {
            // A withdrawal has been looking through the disk for a while, with the time of day; it tells what falls due next.
            noteDue(wall(now), at: now)
        }
    }

    /// Events come in: none of them is too old before this.
    mutating func noteArrival(at now: Instant) {
        if plan.retention == nil, routeRetention.isEmpty { return }
        guard let shortest = retention.shortest else { return }
        let due = now + .nanoseconds(shortest)
        ageDue = ageDue.map { min($0, due) } ?? due
    }

    /// Looks are apart by a hundredth of the shortest time, a minute at most, so that a stream that falls due event by event is not
    /// looked through for each.
    mutating func noteDue(_ due: Int64?, at now: Instant) {
        guard let due, let shortest = retention.shortest else { return }
        let next = now + .nanoseconds(min(max(1_000_000, shortest / 100), 60_000_000_000))
        let at = max(Instant(nanoseconds: due.subtractingReportingOverflow(epoch).partialValue), next)
        ageDue = ageDue.map { min($0, at) } ?? at
    }

    func broom(_ check: SecondCheck?, at now: Instant) -> RetentionSweep { RetentionSweep(check, retention, now: wall(now)) }

    private func wall(_ now: Instant) -> Int64 { epoch + now.nanoseconds }
}
