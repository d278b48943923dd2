// Finds the values of some paths in the order of the event. Each byte is visited once, even if one path lies inside another.

internal import Events

enum Spans {
    /// Returns the first of the slots that are present and begin at or after `at`. No two values begin at the same position.
    static func next(_ event: ScannedEvent, slots: UnsafeBufferPointer<Int>, at: UInt32) -> Slot? {
        var next: Slot?
        for index in slots {
            let slot = event.slots[index]
            guard slot.isPresent, slot.start >= at else { continue }
            assert(next.map { $0.start != slot.start || $0.end == slot.end } ?? true, "two values begin at the same place")
            if let other = next, other.start <= slot.start { continue }
            next = slot
        }
        return next
    }

    /// Calls `body` with the start and the end of each of these values, or of the whole event if there are no slots.
    @inline(__always)
    static func forEach(_ event: ScannedEvent, in slots: UnsafeBufferPointer<Int>, _ body: (_ start: Int, _ end: Int) -> Void) {
        if slots.isEmpty { return body(Int(event.start), Int(event.end)) }
        var at: UInt32 = 0
        while let slot = next(event, slots: slots, at: at) {
            body(Int(slot.start), Int(slot.end))
            at = slot.end
        }
    }
}
