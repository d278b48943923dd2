// A lane whose spool was removed or moved away while it runs. It takes nothing more and acknowledges nothing; what it has still leaves, also
// from the open files, for as long as the router gives it. What is left then is lost with them, and is told so. Pure, like the rest of the
// state.

internal import Admission
internal import Platform
internal import Spool

extension LaneState {
    /// Where its files are is to be looked at, by the thread that has the store.
    mutating func checkPlace() { mustCheckPlace = canStore }

    mutating func storeGone(_ fault: SpoolFault, at now: Instant) -> [Effect] {
        guard !isStoreGone else { return [] }
        isStoreGone = true
        (storeFault, storeAgain, storeFailures) = (fault, nil, 0)
        // Whoever waits for these is not told that they are safe, and can send them again.
        _ = receipts.removeAll()
        for row in backlog.takeUnstored(at: now) { lose(row.batch, mayHaveArrived: row.mayHaveArrived) }
        toDrop = 0
        return [.gone(fault)]
    }

    /// What comes in is not taken: it has no receipt, and is nowhere.
    mutating func refuse(_ parcel: inout Parcel) {
        account.lost += parcel.entries.count
        settle(&parcel, .undelivered)
    }

    /// What is in memory only has no place any more.
    mutating func lose(_ batch: Batch, mayHaveArrived: Bool) {
        account.lost += batch.count
        settle(batch, mayHaveArrived ? .unknown : .undelivered)
    }

    /// The store is closed: whatever still waits was in it.
    mutating func loseRest() -> [Effect] {
        let left = account.totalWaiting
        guard left > 0 else { return [] }
        var routes: [UInt16: Int] = [:]
        for route in account.taken.indices where account.waiting(route: route) > 0 {
            routes[UInt16(route)] = account.waiting(route: route)
        }
        for (route, count) in routes { account.settle(route, .damaged, count) }
        let what = left == 1 ? "an event that waited is" : "\(grouped(left)) events that waited are"
        return [
            .damaged(SpoolLoss(routes: routes, bytes: 0, words: "\(what) lost with the files of its queue, unless those were only moved"))
        ]
    }
}
