// Destroys events that wait longer than `retention` allows, in memory and on disk. It does so when the lane begins and each time the next
// event is due. Deliveries in flight continue. This file is a part of the pure lane state.

public import Platform

extension LaneState {
    /// Sets the maximum age of events by route, and checks everything that waits.
    public mutating func adopt(routeRetention routes: [UInt16: Int64], at now: Instant) {
        ages.adopt(routes: routes)
        lookForAged(at: now)
    }

    mutating func lookForAged(at now: Instant) {
        guard ages.begin() else { return }
        sweepMemory(checkedBy: nil, at: now)
        guard storeHealth.canStore else { return }
        if withdrawals.sweeping == nil {
            withdrawals.sweeping = WithdrawalWork.Sweeping(progress: .row(backlog.position), swept: Swept(), done: [])
        } else {
            // A withdrawal is already sweeping the disk and checked its first rows at an earlier time, so another search follows soon.
            ages.noteDue(ages.wall(now), at: now)
        }
    }
}
