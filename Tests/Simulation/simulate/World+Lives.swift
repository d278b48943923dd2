// The lives of the simulated router: the end of one, by itself or by a kill, and the beginning of the next. A
// reload changes its plan within a life.

import Plans
import Platform
import Spool

@testable import Admission
@testable import Events
@testable import Queueing

extension World {
    /// Handles the regular end of a life. Begins the next life, or returns true if the simulation has ended.
    func rest() throws -> Bool {
        try checkEnd(killed: false)
        let isDone = events.count == setup.events && parcel == nil && isHealed
        if isDone, !setup.stores || store.rows.isEmpty { return true }
        begin()
        return false
    }

    func die() throws {
        tell("killed")
        if let (step, _) = life.disk, case .commit(let work) = step, roll(2) == 0, store.fault(work) == nil {
            // The commit was done, but the lane did not get the result.
            store.apply(work)
        }
        for token in life.deliveries.keys { letGo(token, excused: true) }
        try checkEnd(killed: true)
        begin()
    }

    func begin() {
        lives += 1
        let stored = store.events
        for number in events.indices {
            events[number].inHand = 0
            // These events were only in memory.
            if events[number].isOwed { events[number].isGone = true }
        }
        for number in stored {
            // The record of its fate was not stored, so it may correctly arrive twice.
            if events[number].fate != nil { events[number].excuses += 1 }
            events[number].fate = nil
            events[number].isUnburied = false
            events[number].isGone = false
        }
        let epoch = now - Int64(roll(1 << 40))
        let contents = store.contents
        life = Life(
            LaneState(
                plan, concurrency: concurrency, routes: 1, random: RandomSource(seed: random.next()),
                contents: setup.stores ? contents : nil, epoch: epoch), epoch: epoch)
        life.state.isSourceBusy = setup.pause < 1000
        life.resumed = contents.events
        lowest = 0
        tell("a new life with \(stored)")
    }

    func reloadPlan() {
        reloadsLeft.removeFirst()
        let isNew = roll(2) == 0
        (plan, concurrency) = setup.varied(&random)
        drops = drops || plan.drops
        isOrdered = isOrdered && plan.ordered
        roomiest = max(roomiest, plan.queue.memory + plan.batch.bytes)
        tell("a new plan: \(plan.batch), \(plan.queue), ordered \(plan.ordered), \(isNew ? "another provider" : "the same provider")")
        life.state.adopt(plan, concurrency: concurrency, isNewProvider: isNew)
        life.watchWake = 0
        wake()
    }
}
