// The dead letters of a lane that are not in the dead-letter file yet. A thread may be writing them, or they could not be kept and the lane
// holds them (`dead_letters: block`). A pure value. It promises that every burial that began also ends, and `count >= unsettled >= 0`.

internal import Platform
internal import Spool

struct PendingLetters {
    /// The number of burials that were begun and not carried out.
    private(set) var count = 0
    /// The number of these burials that settle their events only when they are done.
    private(set) var unsettled = 0
    /// Events that were given up and cannot be kept as dead letters. Nothing is handed over until they are kept.
    private(set) var held = Deque<Burial>()
    /// The fault that prevents it.
    private(set) var fault: SpoolFault?
    private(set) var retry = RetryTimer()

    mutating func begin(_ burial: Burial) {
        count += 1
        if !burial.isSettled { unsettled += 1 }
    }

    /// Notes that a burial was carried out, whether its events could be kept or not.
    mutating func end(_ burial: Burial) {
        count -= 1
        if !burial.isSettled { unsettled -= 1 }
        assert(count >= unsettled && unsettled >= 0, "a burial ended that did not begin")
    }

    /// Notes that events could be kept.
    mutating func noteSuccess() {
        fault = nil
        retry.reset()
    }

    /// Holds the events of a burial that failed.
    mutating func hold(_ burial: Burial, _ fault: SpoolFault?, at now: Instant, _ backoff: Backoff, _ random: inout RandomSource) {
        assert(!burial.isSettled, "events that have their fate are held")
        self.fault = fault
        retry.fail(at: now, backoff, &random)
        held.append(burial)
    }

    mutating func takeHeld() -> [Burial] { held.removeAll() }

    /// Replaces the events that are held.
    mutating func keepHolding(_ burials: [Burial]) { for burial in burials { held.append(burial) } }
}
