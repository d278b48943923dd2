// The conditions that must hold at every step, whenever the disk is idle, and at the end of every life.

@testable import Queueing

extension World {
    /// Requires that the account equals the counts of the model. Only the account counts dropped events, so they are not compared.
    func checkAccount() throws {
        let account = life.state.account
        try require(account.totalTaken == life.taken, "the account has \(account.totalTaken) taken, the model \(life.taken)")
        try require(account.totalResumed == life.resumed, "the account has \(account.totalResumed) resumed, the model \(life.resumed)")
        for fate in LaneAccount.Fate.allCases where fate != .dropped {
            try require(
                account.total(fate) == life.settled[fate, default: 0],
                "the account has \(account.total(fate)) \(fate), the model \(life.settled[fate, default: 0])")
        }
        try require(drops || account.total(.dropped) == 0, "events were dropped, which the plan does not ask for")
        try require(account.totalWaiting >= 0, "the account does not balance")
        try require(life.state.heldBytes >= 0, "\(life.state.heldBytes) bytes are held")
    }

    /// Requires that the stored events are exactly the owed ones, if nothing is left to store or to record.
    func checkIdle() throws {
        guard setup.kind == .durable, !drops, life.state.storeHealth.fault == nil, life.burials.isEmpty, life.disk == nil else { return }
        guard life.state.backlog.unstoredBytes == 0 else { return }
        let stored = Set(store.events.filter { !events[$0].isUnburied })
        let owed = Set(events.indices.filter { events[$0].isOwed })
        if stored != owed {
            throw Breach(
                words: "the disk is idle; stored and not owed: \(stored.subtracting(owed).sorted()), owed and not stored: "
                    + "\(owed.subtracting(stored).sorted())")
        }
    }

    /// Requires that no promised event is missing after a life has ended, regularly or by a kill.
    func checkEnd(killed: Bool) throws {
        let stored = Set(store.events)
        try require(stored.count == store.events.count, "events are stored twice: \(store.events)")
        let dropped = life.state.account.total(.dropped)
        let missing = events.indices.filter { events[$0].isOwed && !stored.contains($0) }
        if killed {
            guard setup.kind == .durable else { return }
            let promised = missing.filter { events[$0].isAcknowledged }
            try require(promised.count <= dropped, "acknowledged and lost: \(promised)")
        } else {
            let isWell = life.state.storeHealth.fault == nil
            try require(isWell ? missing.count == dropped : missing.count <= dropped, "lost: \(missing), dropped \(dropped)")
            // While the disk fails, the fate of an event cannot be recorded, so the event may arrive twice.
            guard isWell else { return }
            if !drops {
                let resent = stored.filter { events[$0].fate != nil && !events[$0].isUnburied }
                try require(resent.isEmpty, "still stored after their end: \(resent.sorted())")
            }
            let waiting = life.state.account.totalWaiting
            let unburied = stored.filter { events[$0].isUnburied }.count
            try require(waiting == stored.count - unburied, "\(waiting) wait by the account, \(stored.count) are stored")
            for number in events.indices where events[number].isTaken && events[number].takenIn == lives && !drops {
                try require(
                    events[number].isAcknowledged || events[number].isGone || life.state.storeHealth.fault != nil,
                    "event \(number) was never acknowledged")
            }
        }
    }
}
