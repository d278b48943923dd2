// The values of some paths in the order of the event, each byte once, though one path may lie inside another.

internal import Events

enum Spans {
    /// The first of the slots that are present and begin at or behind `at`: no two begin at one place.
    static func next(_ event: ScannedEvent, _ slots: UnsafeBufferPointer<Int>, _ at: UInt32) -> Slot? {
        var next: Slot?
        for index in slots {
            let slot = event.slots[index]
            guard slot.isPresent, slot.start >= at else { continue }
            if let other = next, other.start <= slot.start { continue }
            next = slot
        }
        return next
    }
}
