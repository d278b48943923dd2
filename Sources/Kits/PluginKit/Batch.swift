// Events for one delivery, in the host's memory. Nothing is copied: what is read here is borrowed until the delivery ends.

/// A batch is never empty-handed: each event is one line of `ndjson`, ended by its newline.
public struct Batch: ~Copyable, @unchecked Sendable {
    /// 1 for the first time that these events are tried.
    public let attempt: Int
    /// When each event came in, in nanoseconds since 1970.
    public let arrivals: UnsafeBufferPointer<Int64>
    /// All events. The memory is the host's: it must not be kept beyond the delivery.
    public let lines: Lines

    public var count: Int { lines.count }
    /// The events as they lie, one a line.
    public var ndjson: UnsafeRawBufferPointer { lines.bytes }

    init(_ raw: UnsafePointer<switchyard_batch>) {
        let batch = raw.pointee
        attempt = Int(batch.attempt)
        arrivals = UnsafeBufferPointer(start: batch.arrivals, count: batch.count)
        lines = Lines(
            bytes: UnsafeRawBufferPointer(start: batch.ndjson.data, count: batch.ndjson.size),
            ends: UnsafeBufferPointer(start: batch.ends, count: batch.count))
    }

    /// A batch of these lines, for the test of an adapter.
    public static func with<R>(
        _ events: [String], arrivals: [Int64]? = nil, attempt: UInt32 = 1, _ body: (borrowing Batch) throws -> R
    ) rethrows -> R {
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
                    return try body(Batch(&raw))
                }
            }
        }
    }
}

/// Whole lines that lie one after the other in borrowed memory.
public struct Lines: @unchecked Sendable {
    public let bytes: UnsafeRawBufferPointer
    /// One past the newline of each line, counted from the beginning of the batch that they are part of.
    private let ends: UnsafeBufferPointer<UInt64>
    private let base: Int

    public init(bytes: UnsafeRawBufferPointer, ends: UnsafeBufferPointer<UInt64>) {
        self.init(bytes: bytes, ends: ends, base: 0)
    }

    private init(bytes: UnsafeRawBufferPointer, ends: UnsafeBufferPointer<UInt64>, base: Int) {
        self.bytes = bytes
        self.ends = ends
        self.base = base
    }

    public var count: Int { ends.count }
    public var isEmpty: Bool { ends.isEmpty }

    /// Where a line ends in `bytes`, its newline included.
    public func end(of line: Int) -> Int { Int(ends[line]) - base }

    /// Where a line begins in `bytes`.
    public func start(of line: Int) -> Int { line == 0 ? 0 : end(of: line - 1) }

    /// A line without its newline.
    public func text(of line: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[start(of: line)..<max(start(of: line), end(of: line) - 1)])
    }

    /// Some of the lines, in the same memory.
    public subscript(range: Range<Int>) -> Lines {
        guard !range.isEmpty else {
            return Lines(bytes: .init(start: nil, count: 0), ends: .init(start: nil, count: 0), base: 0)
        }
        let span = start(of: range.lowerBound)..<end(of: range.upperBound - 1)
        return Lines(
            bytes: UnsafeRawBufferPointer(rebasing: bytes[span]), ends: UnsafeBufferPointer(rebasing: ends[range]),
            base: base + span.lowerBound)
    }

    /// How many lines end within the first `size` bytes.
    public func whole(within size: Int) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if end(of: middle) <= size { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
