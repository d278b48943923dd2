// The events of one delivery, in the host's memory. Nothing is copied: the memory is borrowed until the delivery ends.

/// The events of one delivery. Each event is one line of `ndjson`, ended by its newline.
public struct Batch: ~Copyable, @unchecked Sendable {
    /// The number of this attempt. It is 1 for the first attempt to deliver these events.
    public let attempt: Int
    /// The arrival time of each event, in nanoseconds since 1970.
    public let arrivals: UnsafeBufferPointer<Int64>
    /// All events. The memory belongs to the host: it must not be used after the delivery has ended.
    public let lines: Lines

    /// Where to ask whether events may leave. It is nil for a batch that no host waits for, such as that of a preview.
    private let question: (link: HostLink, token: UInt64)?

    public var count: Int { lines.count }
    /// The bytes of all events, one event per line.
    public var ndjson: UnsafeRawBufferPointer { lines.bytes }

    init(_ raw: UnsafePointer<switchyard_batch>, askedOf link: HostLink? = nil) {
        let batch = raw.pointee
        question = link.map { ($0, batch.token) }
        attempt = Int(batch.attempt)
        arrivals = UnsafeBufferPointer(start: batch.arrivals, count: batch.count)
        lines = Lines(
            bytes: UnsafeRawBufferPointer(start: batch.ndjson.data, count: batch.ndjson.size),
            ends: UnsafeBufferPointer(start: batch.ends, count: batch.count))
    }

    /// A batch that has no arrivals, for lines that are none.
    init(lines: Lines) {
        attempt = 1
        question = nil
        arrivals = UnsafeBufferPointer(start: nil, count: 0)
        self.lines = lines
        assert(lines.isEmpty, "an event has no arrival time")
    }

    /// Returns true if all events of the batch may leave now. A provider that asks calls this, or one of the next two functions, immediately
    /// before bytes leave. If the answer is false, none of the events may leave. Then the provider sends nothing more of the delivery, and
    /// its outcome for all events that did not leave is `untried`.
    public func mayBegin() -> Bool { ask(nil) }

    /// Returns true if these events may leave now.
    public func mayBegin(_ events: Range<Int>) -> Bool { mayBegin(Array(events)) }

    public func mayBegin(_ events: [Int]) -> Bool {
        guard question != nil else { return true }
        return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: events.count) { list in
            _ = list.initialize(from: events.lazy.map { UInt64(clamping: $0) })
            return ask(UnsafeBufferPointer(list))
        }
    }

    private func ask(_ events: UnsafeBufferPointer<UInt64>?) -> Bool {
        guard let question else { return true }
        var isAllowed = false
        question.link.call { isAllowed = $0.mayBegin(question.token, events) }
        return isAllowed
    }

    /// Calls `body` with a batch of these events, for tests of an adapter. `mayBegin` answers the questions of the adapter, about events by
    /// their index or about all events.
    public static func with<R>(
        _ events: [String], arrivals: [Int64]? = nil, attempt: UInt32 = 1, mayBegin: (@Sendable ([Int]?) -> Bool)? = nil,
        _ body: (borrowing Batch) throws -> R
    ) rethrows -> R {
        let link = mayBegin.map { mayBegin in
            HostLink(
                log: { _, _ in }, closed: { _ in }, complete: { _, _ in },
                mayBegin: { _, events in mayBegin(events.map { $0.map { Int($0) } }) })
        }
        var bytes: [UInt8] = []
        let ends = events.map { event in
            bytes += Array(event.utf8) + [UInt8(ascii: "\n")]
            return UInt64(bytes.count)
        }
        return try bytes.withUnsafeBufferPointer { bytes in
            try ends.withUnsafeBufferPointer { ends in
                try (arrivals ?? events.map { _ in 0 }).withUnsafeBufferPointer { arrivals in
                    var raw = switchyard_batch()
                    raw.struct_size = UInt32(MemoryLayout<switchyard_batch>.size)
                    raw.attempt = attempt
                    raw.ndjson = switchyard_bytes(data: bytes.baseAddress, size: bytes.count)
                    raw.ends = ends.baseAddress
                    raw.arrivals = arrivals.baseAddress
                    raw.count = events.count
                    return try body(Batch(&raw, askedOf: link))
                }
            }
        }
    }
}

/// Whole, consecutive lines in borrowed memory.
public struct Lines: @unchecked Sendable {
    public let bytes: UnsafeRawBufferPointer
    /// The offset one past the newline of each line, counted from the beginning of the batch.
    private let ends: UnsafeBufferPointer<UInt64>
    private let base: Int

    public init(bytes: UnsafeRawBufferPointer, ends: UnsafeBufferPointer<UInt64>) {
        self.init(bytes: bytes, ends: ends, base: 0)
    }

    private init(bytes: UnsafeRawBufferPointer, ends: UnsafeBufferPointer<UInt64>, base: Int) {
        self.bytes = bytes
        self.ends = ends
        self.base = base
        assert(ends.isEmpty || Int(ends[ends.count - 1]) - base == bytes.count, "the lines do not cover their bytes")
    }

    /// No lines.
    static let none = Lines(bytes: .init(start: nil, count: 0), ends: .init(start: nil, count: 0), base: 0)

    public var count: Int { ends.count }
    public var isEmpty: Bool { ends.isEmpty }

    /// Returns the offset of the end of a line in `bytes`, after its newline.
    public func end(of line: Int) -> Int {
        assert(ends.indices.contains(line), "there is no such line")
        return Int(ends[line]) - base
    }

    /// Returns the offset of the beginning of a line in `bytes`.
    public func start(of line: Int) -> Int { line == 0 ? 0 : end(of: line - 1) }

    /// Returns a line without its newline.
    public func text(of line: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start(of: line)..<max(start(of: line), end(of: line) - 1)])
    }

    /// Returns a range of the lines, in the same memory.
    public subscript(range: Range<Int>) -> Lines {
        guard !range.isEmpty else { return .none }
        let span = start(of: range.lowerBound)..<end(of: range.upperBound - 1)
        assert(!span.isEmpty && span.upperBound <= bytes.count, "the lines lie outside their bytes")
        return Lines(
            bytes: UnsafeRawBufferPointer(rebasing: bytes[span]), ends: UnsafeBufferPointer(rebasing: ends[range]),
            base: base + span.lowerBound)
    }

    /// Returns the number of lines that end within the first `size` bytes.
    public func whole(within size: Int) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if end(of: middle) <= size { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
