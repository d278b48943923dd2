// The events that a judge wants to hold until their subjects answer: each event as it came, and the routes that it waits for. The caller
// decides whether there is room, and where they wait. These events have not passed the gate, and no lane takes them.

public import Admission
public import Events

public struct HeldEvents: ~Copyable, Sendable {
    struct Entry: BitwiseCopyable {
        /// The offset of the id that the event was given. It equals `line` if it was given none.
        var start: Int
        var line: Int
        var end: Int
        var arrival: Int64
        /// The level that the original event demands by its name, if this event is an emitted one; otherwise 0.
        var level: Int
        /// The index one past its last subject, and one past its last route.
        var subjects: Int
        var routes: Int
    }

    private var bytes = ByteBuffer()
    private var entries = Column<Entry>()
    private var subjectColumn = Column<SubjectKey>()
    private var routeColumn = Column<Int>()

    public init() {}

    @inline(__always) public var count: Int { entries.count }

    public mutating func removeAll() {
        if count == 0 { return }
        bytes.removeAll()
        entries.removeAll()
        subjectColumn.removeAll()
        routeColumn.removeAll()
    }

    /// Appends an event. `id` is the messageId that it was given, in quotes, or nil if it was given none.
    public mutating func append(
        _ event: ScannedEvent, id: ByteRun?, arrival: Int64, level: Int, subjects: UnsafeBufferPointer<SubjectKey>, routes: [Int]
    ) {
        assert(!routes.isEmpty, "an event waits for no route")
        let start = bytes.count
        if let id { bytes.append(id.base, id.count) }
        let line = bytes.count
        bytes.append(event.block + Int(event.start), Int(event.end - event.start))
        let first = subjectColumn.count
        for subject in subjects where !subjectColumn.all[first...].contains(subject) { subjectColumn.append(subject) }
        for route in routes { routeColumn.append(route) }
        entries.append(
            Entry(
                start: start, line: line, end: bytes.count, arrival: arrival, level: level, subjects: subjectColumn.count,
                routes: routeColumn.count))
    }

    // MARK: - One event; results are valid until the judge continues

    /// Returns the id that the event was given, followed by the event.
    public func body(_ index: Int) -> UnsafeRawBufferPointer {
        let entry = entries.all[index]
        precondition(entry.start <= entry.line && entry.line <= entry.end && entry.end <= bytes.count, "an event lies outside the bytes")
        return UnsafeRawBufferPointer(rebasing: bytes.bytes[entry.start..<entry.end])
    }
    /// Returns the length of the id that the event was given, with its quotes. It is 0 if it was given none.
    public func idLength(_ index: Int) -> Int { entries.all[index].line - entries.all[index].start }
    public func arrival(_ index: Int) -> Int64 { entries.all[index].arrival }
    public func level(_ index: Int) -> Int { entries.all[index].level }

    /// Returns the event's subjects, without duplicates.
    public func subjects(_ index: Int) -> UnsafeBufferPointer<SubjectKey> {
        let first = index == 0 ? 0 : entries.all[index - 1].subjects
        return UnsafeBufferPointer(rebasing: subjectColumn.all[first..<entries.all[index].subjects])
    }

    /// Returns the indices of the routes that the event waits for.
    public func routes(_ index: Int) -> UnsafeBufferPointer<Int> {
        let first = index == 0 ? 0 : entries.all[index - 1].routes
        return UnsafeBufferPointer(rebasing: routeColumn.all[first..<entries.all[index].routes])
    }
}
