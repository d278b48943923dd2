// Events as a module is lent them, wherever they lie: in a lane's batch, or in memory of their own.
// Whoever lends keeps the memory as it is until the delivery has ended.

public import Admission

public protocol BorrowedBatch: AnyObject, Sendable {
    /// NDJSON.
    var bytes: UnsafeRawBufferPointer { get }
    /// For each event the offset one past its newline.
    var ends: UnsafeBufferPointer<UInt64> { get }
    /// For each event when it came in, in nanoseconds since 1970.
    var arrivals: UnsafeBufferPointer<Int64> { get }
}

extension BorrowedBatch {
    public var count: Int { ends.count }
}

extension Batch: BorrowedBatch {}

/// Events that came from no lane: through the pipe of a hosted module, or from the contract.
public final class OwnBatch: BorrowedBatch, @unchecked Sendable {
    public let bytes: UnsafeRawBufferPointer
    public let ends: UnsafeBufferPointer<UInt64>
    public let arrivals: UnsafeBufferPointer<Int64>

    /// `ends` rise and the last one is the size of `ndjson`; there is an arrival for each.
    public init(ndjson: some Collection<UInt8>, ends: [UInt64], arrivals: [Int64]) {
        precondition(ends.count == arrivals.count && ends.last ?? 0 == UInt64(ndjson.count))
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

    /// Lines without their newlines, which all came in at that time.
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
