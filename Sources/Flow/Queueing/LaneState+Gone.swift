// Handles a spool that is removed or moved away while its lane runs. The lane takes no more events and acknowledges nothing. It still
// delivers what it has, also from the open files, for as long as the router allows. The rest is lost with the files, and the lane reports
// this. This file is a part of the pure lane state.

internal import Admission
public import Platform
public import Spool

extension LaneState {
    /// Asks the thread that has the store to check whether the files are in their place.
    public mutating func checkPlace() { storeHealth.mustCheckPlace = storeHealth.canStore }

    public mutating func storeGone(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        guard !storeHealth.isGone else { return [] }
        storeHealth.noteGone(fault)
        // The senders of these events get no acknowledgement and can send them again.
        receipts.removeAll()
        for row in backlog.takeUnstored(at: now) { lose(row.batch, mayHaveArrived: row.mayHaveArrived) }
        toDrop = 0
        return [.gone(fault)]
    }

    /// Refuses a parcel. Its events are counted as lost, and their receipt is not settled.
    mutating func refuse(_ parcel: inout Parcel) {
        account.lost += parcel.entries.count
        settle(&parcel, .undelivered)
    }

    /// Counts events as lost that are only in memory and cannot be stored any more.
    mutating func lose(_ batch: Batch, mayHaveArrived: Bool) {
        account.lost += batch.count
        batch.noteLoss()
        settle(batch, mayHaveArrived ? .unknown : .undelivered)
    }

    /// Reports everything that still waits as lost, because it was in the store that is now closed.
    mutating func loseRest() -> [Effect] {
        let left = account.totalWaiting
        guard left > 0 else { return [] }
        var routes: [UInt16: Int] = [:]
        for route in account.taken.indices where account.waiting(route: route) > 0 {
            routes[UInt16(route)] = account.waiting(route: route)
        }
        for (route, count) in routes { account.settle(route, fate: .damaged, count: count) }
        let what = left == 1 ? "an event that waited is" : "\(grouped(left)) events that waited are"
        return [
            .damaged(SpoolLoss(routes: routes, bytes: 0, words: "\(what) lost with the files of its queue, unless those were only moved"))
        ]
    }
}
