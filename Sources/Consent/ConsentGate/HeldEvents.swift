// What a judge would have wait for its subjects' consent: the events as they came, and for which routes. Whether there is room for them,
// and where they wait, is for others to tell. Nothing of it has passed the gate, and no lane takes it.

public import Admission
public import Events

public struct HeldEvents: ~Copyable, Sendable {
    struct Entry: BitwiseCopyable {
        /// Where the id begins that the event was given, if it was, and the event behind it.
        var start: Int
        var line: Int
        var end: Int
        var arrival: Int64
        /// The level that it owes to the event that it was made of; 0: none.
        var level: Int
        /// One past its last subject and its last route.
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

    /// `id`: the messageId that it was given, in its quotes; nil: none was.
    public mutating func append(
        _ event: ScannedEvent, id: ByteRun?, arrival: Int64, level: Int, subjects: UnsafeBufferPointer<SubjectKey>, routes: [Int]
    ) {
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

    // MARK: - One event; what is given back is valid until the judge works on

    /// The id that it was given, and the event behind it.
    public func body(_ index: Int) -> UnsafeRawBufferPointer {
        let entry = entries.all[index]
        return UnsafeRawBufferPointer(rebasing: bytes.bytes[entry.start..<entry.end])
    }
    /// How long the id is that it was given, in its quotes; 0: none was.
    public func idLength(_ index: Int) -> Int { entries.all[index].line - entries.all[index].start }
    public func arrival(_ index: Int) -> Int64 { entries.all[index].arrival }
    public func level(_ index: Int) -> Int { entries.all[index].level }

    /// Each once.
    public func subjects(_ index: Int) -> UnsafeBufferPointer<SubjectKey> {
        let first = index == 0 ? 0 : entries.all[index - 1].subjects
        return UnsafeBufferPointer(rebasing: subjectColumn.all[first..<entries.all[index].subjects])
    }

    /// Those that it waits for, by their indices.
    public func routes(_ index: Int) -> UnsafeBufferPointer<Int> {
        let first = index == 0 ? 0 : entries.all[index - 1].routes
        return UnsafeBufferPointer(rebasing: routeColumn.all[first..<entries.all[index].routes])
    }
}
