// The events of one delivery as they are lent to a module: a lane's batch, or events in memory of their own.
// The lender must keep the memory unchanged until the delivery has ended.

public import Admission

public protocol BorrowedBatch: AnyObject, Sendable {
    /// The events as NDJSON.
    var bytes: UnsafeRawBufferPointer { get }
    /// The offset after the newline of each event.
    var ends: UnsafeBufferPointer<UInt64> { get }
    /// The arrival time of each event, in nanoseconds since 1970.
    var arrivals: UnsafeBufferPointer<Int64> { get }
}

extension BorrowedBatch {
    public var count: Int { ends.count }
}

extension Batch: BorrowedBatch {}

/// Events that do not come from a lane. The contract and the tests use them.
public final class OwnBatch: BorrowedBatch, @unchecked Sendable {
    public let bytes: UnsafeRawBufferPointer
    public let ends: UnsafeBufferPointer<UInt64>
    public let arrivals: UnsafeBufferPointer<Int64>

    /// `ends` must rise, and its last value must be the size of `ndjson`. There must be one arrival for each event.
    public init(ndjson: some Collection<UInt8>, ends: [UInt64], arrivals: [Int64]) {
        precondition(ends.count == arrivals.count && ends.last ?? 0 == UInt64(ndjson.count), "the events do not cover the bytes")
        assert(zip(ends, ends.dropFirst()).allSatisfy { $0 < $1 }, "an event ends before it begins")
        let text = UnsafeMutableRawBufferPointer.allocate(byteCount: ndjson.count, alignment: 1)
        text.copyBytes(from: ndjson)
        bytes = UnsafeRawBufferPointer(text)
        let places = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: ends.count)
        _ = places.initialize(from: ends)
        self.ends = UnsafeBufferPointer(places)
        let times = UnsafeMutableBufferPointer<Int64>.allocate(capacity: arrivals.count)
        _ = times.initialize(from: arrivals)
        self.arrivals = UnsafeBufferPointer(times)
    }

    /// Makes a batch of lines that have no newlines and that all have the same arrival time.
    public convenience init(_ lines: [String], arrival: Int64) {
        var ndjson: [UInt8] = []
        let ends = lines.map { line in
            ndjson += Array(line.utf8) + [UInt8(ascii: "\n")]
            return UInt64(ndjson.count)
        }
        self.init(ndjson: ndjson, ends: ends, arrivals: lines.map { _ in arrival })
    }

    deinit {
        bytes.deallocate()
        ends.deallocate()
        arrivals.deallocate()
    }
}
