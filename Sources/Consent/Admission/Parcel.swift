// The events that a worker edited for one lane from one block. A lane takes only parcels, and only an `Admitted` puts an event into one. So
// no event reaches a provider without passing the consent gate.

public import Events

/// A 128-bit keyed hash of a subject's id.
public struct SubjectKey: Hashable, Sendable, BitwiseCopyable {
    public var high: UInt64
    public var low: UInt64
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// The facts that a lane needs about an event without parsing it again.
public struct Entry: Sendable, BitwiseCopyable {
    /// The offset one past the event's line end, from the start of the parcel or batch.
    public var end: UInt32
    /// The route that sent the event, by its number in the run's `RunNames`.
    public var route: UInt16
    /// True if the event must not wait until its batch is full.
    public var isImmediate: Bool
    /// The level that was demanded when the event was admitted, also by the members that it kept, as an `EntryLevel`.
    public var level: UInt8
    /// The number of the event's subjects, and the index of the first among the parcel's subjects.
    public var subjectCount: UInt8
    public var firstSubject: UInt32
    /// The offset and the length of the event's `messageId`, without quotes, from the start of the event. The length is 0 if the event has
    /// none, if no rule of the plan needs its place, or if a transform made it.
    public var messageIDOffset: UInt32
    public var messageIDCount: UInt32
    /// The arrival time of its block, in nanoseconds since 1970.
    public var arrival: Int64

    @inlinable init(
        end: UInt32, route: UInt16, isImmediate: Bool, level: UInt8 = EntryLevel.none, subjectCount: UInt8, firstSubject: UInt32,
        messageIDOffset: UInt32, messageIDCount: UInt32, arrival: Int64
    ) {
        self.end = end
        self.route = route
        self.isImmediate = isImmediate
        self.level = level
        self.subjectCount = subjectCount
        self.firstSubject = firstSubject
        self.messageIDOffset = messageIDOffset
        self.messageIDCount = messageIDCount
        self.arrival = arrival
    }
}

/// Edited events for one lane, contiguous, each ended by a newline.
public struct Parcel: ~Copyable, Sendable {
    public internal(set) var bytes: ByteBuffer
    @usableFromInline var entryColumn: Column<Entry>
    @usableFromInline var subjectColumn: Column<SubjectKey>
    /// The marks of the sources that want to know when these events have come to their end.
    public private(set) var marks: [EndMark] = []

    public init() {
        bytes = ByteBuffer()
        entryColumn = Column()
        subjectColumn = Column()
    }

    /// Makes an empty parcel with space for `times` the content of another one, and a little more.
    public init(roomFor other: borrowing Parcel, times: Int = 1) {
        func room(_ count: Int) -> Int { count * times + count / 8 }
        bytes = ByteBuffer(capacity: room(other.bytes.count))
        entryColumn = Column(capacity: room(other.entryColumn.count))
        subjectColumn = Column(capacity: room(other.subjectColumn.count))
    }

    public init(roomFor batches: [Batch]) {
        bytes = ByteBuffer(capacity: batches.reduce(0) { $0 + $1.bytes.count })
        entryColumn = Column(capacity: batches.reduce(0) { $0 + $1.count })
        subjectColumn = Column(capacity: batches.reduce(0) { $0 + $1.subjects.count })
    }

    /// The entries, one for each event. They are valid until the parcel changes.
    public var entries: UnsafeBufferPointer<Entry> { entryColumn.all }
    /// The subjects of all events. They are valid until the parcel changes.
    public var subjects: UnsafeBufferPointer<SubjectKey> { subjectColumn.all }

    public var isEmpty: Bool { entryColumn.count == 0 }
    public var byteCount: Int { bytes.count }

    public mutating func removeAll() {
        bytes.removeAll()
        entryColumn.removeAll()
        subjectColumn.removeAll()
        if !marks.isEmpty { marks = [] }
    }

    /// Lets a mark follow the events of the parcel.
    public mutating func attach(_ mark: EndMark) { marks.add([mark]) }

    /// Lets the marks of another parcel follow the events of this one. Call it where events are copied from there.
    public mutating func attach(_ others: [EndMark]) { if !others.isEmpty { marks.add(others) } }

    /// An event's line in the parcel that it was first written to. It is valid until that parcel changes.
    public struct Line {
        public let text: ByteRun
        @usableFromInline let messageID: MessageIDPlace

        @inlinable init(text: ByteRun, messageID: MessageIDPlace) {
            self.text = text
            self.messageID = messageID
        }
    }

    /// The place of an event's `messageId` in its line, without quotes. A count of 0 means that no `messageId` is known.
    public struct MessageIDPlace: BitwiseCopyable {
        public var offset: UInt32
        public var count: UInt32

        public init(offset: UInt32 = 0, count: UInt32 = 0) {
            self.offset = offset
            self.count = count
        }
    }

    /// The facts that the judge knows about an edited event besides its bytes.
    public struct Note {
        public var route: UInt16
        public var isImmediate: Bool
        public var arrival: Int64
        public var subjects: UnsafeBufferPointer<SubjectKey>

        public init(route: UInt16, isImmediate: Bool, arrival: Int64, subjects: UnsafeBufferPointer<SubjectKey>) {
            self.route = route
            self.isImmediate = isImmediate
            self.arrival = arrival
            self.subjects = subjects
        }
    }

    /// Returns a place after the last event for a line of at most `room` bytes, including its line end. What is written there becomes an
    /// event only through `append`. The place is valid until the parcel changes.
    @inline(__always) public mutating func place(forLineOf room: Int) -> UnsafeMutablePointer<UInt8> {
        bytes.reserve(room)
        return bytes.base + bytes.count
    }

    /// Appends an admitted event, whose line was written at the place that `place(forLineOf:)` gave.
    @inlinable @inline(__always) public mutating func append(
        _ admitted: borrowing Admitted, _ note: Note, lineOf count: Int, messageID: MessageIDPlace
    ) -> Line {
        let first = bytes.base + bytes.count
        precondition(count > 0 && bytes.count &+ count <= bytes.capacity, "the line does not fit into the reserved space")
        assert(first[count - 1] == UInt8(ascii: "\n"), "the line does not end with a newline")
        assert(Int(messageID.offset) + Int(messageID.count) < count, "the message id is outside its line")
        extend(by: count)
        append(admitted.entryLevel, note: note, messageID: messageID)
        return Line(text: ByteRun(base: Bytes(first), count: count), messageID: messageID)
    }

    /// Appends a copy of a line that another parcel of the same route already has.
    @inline(__always) public mutating func append(_ admitted: borrowing Admitted, _ note: Note, copyOf line: Line) {
        bytes.append(line.text.base, line.text.count)
        append(admitted.entryLevel, note: note, messageID: line.messageID)
    }

    /// Only this module sets `bytes`, also where `append` is inlined into another one.
    @usableFromInline mutating func extend(by count: Int) { bytes.extend(by: count) }

    @inlinable @inline(__always) mutating func append(_ level: UInt8, note: Note, messageID: MessageIDPlace) {
        assert(note.subjects.count <= Int(UInt8.max), "an event has more subjects than its entry can count")
        assert(bytes.count > Int(entries.last?.end ?? 0), "an event has no bytes")
        // A block is smaller than 4 GB, and the number of an event's subjects was limited before. The conversion of the end traps if a
        // parcel reaches 4 GB.
        entryColumn.append(
            Entry(
                end: UInt32(bytes.count), route: note.route, isImmediate: note.isImmediate, level: level,
                subjectCount: UInt8(truncatingIfNeeded: note.subjects.count),
                firstSubject: UInt32(truncatingIfNeeded: subjectColumn.count),
                messageIDOffset: messageID.offset, messageIDCount: messageID.count, arrival: note.arrival))
        for subject in note.subjects { subjectColumn.append(subject) }
    }
}

// MARK: - Moving admitted events between parcels

extension Parcel {
    /// Copies one event of another parcel to the end of this one. The event was admitted when it was put into the other parcel.
    public mutating func append(copying index: Int, of other: borrowing Parcel) {
        append(copying: index..<index + 1, of: other)
    }

    /// Copies a run of events of another parcel to the end of this one.
    public mutating func append(copying range: Range<Int>, of other: borrowing Parcel) {
        guard let last = range.last else { return }
        assert(range.lowerBound >= 0 && last < other.entries.count, "an event is copied that the other parcel lacks")
        let entries = other.entries
        let from = range.lowerBound == 0 ? 0 : Int(entries[range.lowerBound - 1].end)
        let to = Int(entries[last].end)
        assert(from < to && to <= other.bytes.count, "an event lies outside the bytes of its parcel")
        let shift = UInt32(bytes.count) &- UInt32(from)
        bytes.append(UnsafePointer(other.bytes.base + from), to - from)
        for entry in entries[range] {
            var moved = entry
            moved.end = entry.end &+ shift
            moved.firstSubject = UInt32(subjectColumn.count)
            let first = Int(entry.firstSubject)
            for subject in other.subjects[first..<first + Int(entry.subjectCount)] { subjectColumn.append(subject) }
            entryColumn.append(moved)
        }
    }
}
