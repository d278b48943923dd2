// What a worker has edited for one lane from one block. A lane takes parcels and nothing else, and only an `Admitted`
// gets an event into one, so that no event reaches a provider without having passed the consent gate.

public import Events

/// A 128-bit keyed value that stands for a subject's id.
public struct SubjectKey: Hashable, Sendable, BitwiseCopyable {
    public var high: UInt64
    public var low: UInt64
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// What a lane must know of one event without parsing it again.
public struct Entry: Sendable, BitwiseCopyable {
    /// One past the event's line end, counted from the start of the parcel or batch.
    public var end: UInt32
    /// The route that sent it, by its number in the run's `RunNames`.
    public var route: UInt16
    /// Whether it must not wait for its batch to fill.
    public var isImmediate: Bool
    /// The level that it demanded when it was admitted, with what it still holds, as `EntryLevel` writes it.
    public var level = EntryLevel.none
    /// How many of the parcel's subjects are this event's, and where they begin.
    public var subjectCount: UInt8
    public var firstSubject: UInt32
    /// The event's `messageId` as it stands in its bytes, without quotes, from the start of the event; count 0: it has
    /// none, or no rule of the plan asked where it stands, or a transform made it.
    public var messageIDOffset: UInt32
    public var messageIDCount: UInt32
    /// When its block came in, in nanoseconds since 1970.
    public var arrival: Int64
}

/// Edited events for one lane, contiguous, each ended by a newline.
public struct Parcel: ~Copyable, Sendable {
    public internal(set) var bytes: ByteBuffer
    var entryColumn: Column<Entry>
    var subjectColumn: Column<SubjectKey>

    public init() {
        bytes = ByteBuffer()
        entryColumn = Column()
        subjectColumn = Column()
    }

    /// An empty one with room for so many times what another one holds, and a little more.
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

    /// One for each event. Valid until the parcel changes.
    public var entries: UnsafeBufferPointer<Entry> { entryColumn.all }
    /// Those of all events. Valid until the parcel changes.
    public var subjects: UnsafeBufferPointer<SubjectKey> { subjectColumn.all }

    public var isEmpty: Bool { entryColumn.count == 0 }
    public var byteCount: Int { bytes.count }

    public mutating func removeAll() {
        bytes.removeAll()
        entryColumn.removeAll()
        subjectColumn.removeAll()
    }

    /// An event's line in the parcel that its copy was first written to. Valid until that parcel changes.
    public struct Line {
        public let text: ByteRun
        let messageID: MessageIDPlace
    }

    /// Where an event's `messageId` stands in its line, without quotes; a count of 0: it has none that is known.
    public struct MessageIDPlace: BitwiseCopyable {
        public var offset: UInt32
        public var count: UInt32

        public init(offset: UInt32 = 0, count: UInt32 = 0) {
            self.offset = offset
            self.count = count
        }
    }

    /// What the judge knows of a copy besides its bytes.
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

    /// A place behind the last event where a line of at most `room` bytes, with its line end, can be written. What is written there is no
    /// event before `append` makes it one. Valid until the parcel changes.
    @inline(__always) public mutating func place(forLineOf room: Int) -> UnsafeMutablePointer<UInt8> {
        bytes.reserve(room)
        return bytes.base + bytes.count
    }

    /// Appends an admitted event, whose line was written at the place that `place(forLineOf:)` gave.
    @inline(__always) public mutating func append(
        _ admitted: borrowing Admitted, _ note: Note, lineOf count: Int, messageID: MessageIDPlace
    ) -> Line {
        let first = bytes.base + bytes.count
        precondition(count > 0 && bytes.count &+ count <= bytes.capacity, "a line fits the room that was made for it")
        assert(first[count - 1] == UInt8(ascii: "\n"), "a line ends")
        bytes.extend(by: count)
        append(admitted.entryLevel, note, messageID)
        return Line(text: ByteRun(base: Bytes(first), count: count), messageID: messageID)
    }

    /// Appends a copy of a line that another parcel of the same route has got.
    @inline(__always) public mutating func append(_ admitted: borrowing Admitted, _ note: Note, copyOf line: Line) {
        bytes.append(line.text.base, line.text.count)
        append(admitted.entryLevel, note, line.messageID)
    }

    @inline(__always) private mutating func append(_ level: UInt8, _ note: Note, _ messageID: MessageIDPlace) {
        // Events and routes were counted before, and a block is under 4 GB; a parcel that outgrows it must not go on.
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
    /// Copies one event of another parcel to the end of this one. It was admitted when it got into that one.
    public mutating func append(copying index: Int, of other: borrowing Parcel) {
        append(copying: index..<index + 1, of: other)
    }

    /// Copies a run of events of another parcel to the end of this one.
    public mutating func append(copying range: Range<Int>, of other: borrowing Parcel) {
        guard let last = range.last else { return }
        let entries = other.entries
        let from = range.lowerBound == 0 ? 0 : Int(entries[range.lowerBound - 1].end)
        let to = Int(entries[last].end)
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
