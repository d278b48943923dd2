// The format of a stored batch: the events as they are, and an index with what the lane knows about each event. Reading a batch back skips
// the gate, because the events were admitted before they were stored. Only the spool may therefore use these functions (`@_spi(Spool)`).

public import Events

/// The size of an entry on disk. It has these little-endian fields: the end of the event (4 bytes); its route by the file's own number (2);
/// a byte whose lowest bit is `isImmediate` and whose other bits are the level by the file's own number (1); the number of its subjects
/// (1); the offset and the length of its message id (4, 4); its arrival time (8). The subjects follow all entries, 16 bytes each.
private let recordSize = 24

extension Batch {
    /// Appends the index. `route` and `level` return the file's numbers for those of the run.
    @_spi(Spool) public func appendIndex(
        to out: inout ByteBuffer, route: (UInt16) -> UInt16, level: (UInt8) -> UInt8
    ) {
        let begin = out.count
        out.reserve(entries.count * recordSize + subjects.count * 16)
        func put<T: FixedWidthInteger>(_ value: T) {
            withUnsafeBytes(of: value.littleEndian) { out.append(contentsOf: $0) }
        }
        for entry in entries {
            put(entry.end)
            put(route(entry.route))
            assert(level(entry.level) <= EntryLevel.highest, "an entry level has more than seven bits")
            put((entry.isImmediate ? 1 : 0) | level(entry.level) << 1)
            put(entry.subjectCount)
            put(entry.messageIDOffset)
            put(entry.messageIDCount)
            put(entry.arrival)
        }
        for entry in entries {
            for subject in subjects[Int(entry.firstSubject)..<Int(entry.firstSubject) + Int(entry.subjectCount)] {
                put(subject.high)
                put(subject.low)
            }
        }
        assert(out.count - begin == entries.count * recordSize + subjects.count * 16, "the index has another size than its entries demand")
        assert(isReadBack(out.bytes[begin...]), "the index cannot be read back")
    }

    private func isReadBack(_ index: Slice<UnsafeRawBufferPointer>) -> Bool {
        let read = BatchIndex(UnsafeRawBufferPointer(rebasing: index), count: count, route: { $0 }, level: { $0 })
        return read.map { $0.subjects.elementsEqual(subjects) && $0.entries.map(\.end) == entries.map(\.end) } ?? false
    }

    /// Restores a stored batch. Returns nil if the bytes are not consistent.
    @_spi(Spool) public convenience init?(
        restoring payload: UnsafeRawBufferPointer, index: UnsafeRawBufferPointer, count: Int, route: (UInt16) -> UInt16?,
        level: (UInt8) -> UInt8
    ) {
        guard payload.last == UInt8(ascii: "\n"), let index = BatchIndex(index, count: count, route: route, level: level) else {
            return nil
        }
        var parcel = Parcel()
        var start: UInt32 = 0
        for entry in index.entries {
            guard Int(entry.end) <= payload.count, payload[Int(entry.end) - 1] == UInt8(ascii: "\n"),
                UInt64(entry.messageIDOffset) + UInt64(entry.messageIDCount) < UInt64(entry.end - start)
            else { return nil }
            start = entry.end
            parcel.entryColumn.append(entry)
        }
        guard Int(start) == payload.count else { return nil }
        for subject in index.subjects { parcel.subjectColumn.append(subject) }
        parcel.bytes.append(contentsOf: payload)
        self.init(parcel)
    }
}

/// The index of a stored batch: enough to find the events of a subject without reading the events.
@_spi(Spool) public struct BatchIndex {
    public private(set) var entries: [Entry] = []
    public private(set) var subjects: [SubjectKey] = []

    /// Returns nil if the bytes are not consistent.
    public init?(_ index: UnsafeRawBufferPointer, count: Int, route: (UInt16) -> UInt16?, level: (UInt8) -> UInt8) {
        guard count > 0, count <= index.count / recordSize else { return nil }
        var subjectsAt = count * recordSize
        var end: UInt32 = 0
        entries.reserveCapacity(count)
        for number in 0..<count {
            func read<T: FixedWidthInteger>(_ offset: Int, as: T.Type) -> T {
                T(littleEndian: index.loadUnaligned(fromByteOffset: number * recordSize + offset, as: T.self))
            }
            let start = end
            end = read(0, as: UInt32.self)
            guard end > start, let route = route(read(4, as: UInt16.self)) else { return nil }
            let flags = read(6, as: UInt8.self)
            let subjectCount = read(7, as: UInt8.self)
            guard subjectsAt + Int(subjectCount) * 16 <= index.count else { return nil }
            entries.append(
                Entry(
                    end: end, route: route, isImmediate: flags & 1 == 1, level: level(flags >> 1), subjectCount: subjectCount,
                    firstSubject: UInt32(truncatingIfNeeded: subjects.count), messageIDOffset: read(8, as: UInt32.self),
                    messageIDCount: read(12, as: UInt32.self), arrival: read(16, as: Int64.self)))
            for _ in 0..<subjectCount {
                let high = UInt64(littleEndian: index.loadUnaligned(fromByteOffset: subjectsAt, as: UInt64.self))
                let low = UInt64(littleEndian: index.loadUnaligned(fromByteOffset: subjectsAt + 8, as: UInt64.self))
                subjects.append(SubjectKey(high: high, low: low))
                subjectsAt += 16
            }
        }
        guard subjectsAt == index.count else { return nil }
        assert(entries.count == count, "an entry of the index is missing")
    }

    /// True if an event belongs to one of these subjects.
    public func holds(_ subjects: Set<SubjectKey>) -> Bool { self.subjects.contains(where: subjects.contains) }
}
