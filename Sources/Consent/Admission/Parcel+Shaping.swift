// Copies of admitted events that were changed after the gate. Such a copy is made only from an event of a batch, which was admitted, and it
// keeps the entry of that event: the route, the level, the subjects and the time of arrival. Only the module that shapes events at the
// hand-over may therefore use this function (`@_spi(Shaping)`).

internal import Events

extension Parcel {
    /// Appends a changed copy of an event of the batch. Its line was written at the place that `place(forLineOf:)` gave. Nothing is known of
    /// the place of its `messageId`.
    @_spi(Shaping) public mutating func append(copyOf index: Int, of batch: Batch, lineOf count: Int) {
        let first = bytes.base + bytes.count
        precondition(count > 1 && bytes.count &+ count <= bytes.capacity, "the line fits the reserved space")
        precondition(batch.entries.indices.contains(index), "a copy is made of an event that the batch lacks")
        assert(first[count - 1] == UInt8(ascii: "\n"), "the line ends with a newline")
        bytes.extend(by: count)
        var entry = batch.entries[index]
        let subjects = batch.subjects[Int(entry.firstSubject)..<Int(entry.firstSubject) + Int(entry.subjectCount)]
        // The conversion traps if a parcel reaches 4 GB.
        entry.end = UInt32(bytes.count)
        entry.firstSubject = UInt32(subjectColumn.count)
        (entry.messageIDOffset, entry.messageIDCount) = (0, 0)
        for subject in subjects { subjectColumn.append(subject) }
        entryColumn.append(entry)
    }
}
