// What a worker has edited for one lane from one block. A lane takes parcels and nothing else, and only an `Admitted`
// gets an event into one, so that no event reaches a provider without having passed the consent gate.

public import Events

/// A 128-bit keyed value that stands for a subject's id.
public struct SubjectKey: Hashable, Sendable {
    public var high: UInt64
    public var low: UInt64
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// What a lane must know of one event without parsing it again.
public struct Entry: Sendable {
    /// One past the event's line end, counted from the start of the parcel or batch.
    public var end: UInt32
    /// The route that sent it: an index into the plan's routes.
    public var route: UInt16
    /// Whether it must not wait for its batch to fill.
    public var isImmediate: Bool
    /// How many of the parcel's subjects are this event's, and where they begin.
    public var subjectCount: UInt8
    public var firstSubject: UInt32
    /// The event's `messageId` as it stands in its bytes, without quotes, from the start of the event; count 0: it has none.
    public var messageIDOffset: UInt32
    public var messageIDCount: UInt32
    /// When its block came in, in nanoseconds since 1970.
    public var arrival: Int64
}

/// Edited events for one lane, contiguous, each ended by a newline.
public struct Parcel: ~Copyable, Sendable {
    public internal(set) var bytes: ByteBuffer
    public internal(set) var entries: [Entry] = []
    public internal(set) var subjects: [SubjectKey] = []

    public init(capacity: Int = 0) { bytes = ByteBuffer(capacity: capacity) }

    public var isEmpty: Bool { entries.isEmpty }
    public var byteCount: Int { bytes.count }

    public mutating func removeAll() {
        bytes.removeAll()
        entries.removeAll(keepingCapacity: true)
        subjects.removeAll(keepingCapacity: true)
    }
}

// MARK: - Moving admitted events between parcels

extension Parcel {
    /// Copies one event of another parcel to the end of this one. It was admitted when it got into that one.
    public mutating func append(copying index: Int, of other: borrowing Parcel) {
        append(copying: index..<index + 1, of: other)
    }

    /// Copies a run of events of another parcel to the end of this one.
    public mutating func append(copying range: Range<Int>, of other: borrowing Parcel) {
        guard let last = range.last else { return }
        let from = range.lowerBound == 0 ? 0 : Int(other.entries[range.lowerBound - 1].end)
        let to = Int(other.entries[last].end)
        let shift = UInt32(bytes.count) &- UInt32(from)
        bytes.append(UnsafePointer(other.bytes.base + from), to - from)
        for entry in other.entries[range] {
            var moved = entry
            moved.end = entry.end &+ shift
            moved.firstSubject = UInt32(subjects.count)
            let first = Int(entry.firstSubject)
            subjects.append(contentsOf: other.subjects[first..<first + Int(entry.subjectCount)])
            entries.append(moved)
        }
    }
}
