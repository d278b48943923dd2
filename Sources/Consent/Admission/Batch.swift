// Events for one provider that leave a lane together. All of them were admitted. A batch never changes after it was made.

internal import Events

public final class Batch: @unchecked Sendable {
    /// The events as NDJSON. The bytes live as long as the batch.
    public let bytes: UnsafeRawBufferPointer
    /// For each event, the offset one past its newline.
    public let ends: UnsafeBufferPointer<UInt64>
    /// For each event, its arrival time, in nanoseconds since 1970.
    public let arrivals: UnsafeBufferPointer<Int64>
    /// The entries, which also live as long as the batch.
    public let entries: UnsafeBufferPointer<Entry>
    public let subjects: UnsafeBufferPointer<SubjectKey>
    private let parcel: Parcel
    /// The marks of the sources that want to know when these events have come to their end. They live as long as the batch.
    var marks: [EndMark] { parcel.marks }

    public init(_ parcel: consuming Parcel) {
        entries = parcel.entries
        subjects = parcel.subjects
        bytes = parcel.bytes.bytes
        let ends = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: entries.count)
        let arrivals = UnsafeMutableBufferPointer<Int64>.allocate(capacity: entries.count)
        for (index, entry) in entries.enumerated() {
            ends[index] = UInt64(entry.end)
            arrivals[index] = entry.arrival
        }
        self.ends = UnsafeBufferPointer(ends)
        self.arrivals = UnsafeBufferPointer(arrivals)
        self.parcel = parcel
        assert(isSound, "the events of a batch do not follow each other, do not cover its bytes, or have subjects that it lacks")
    }

    deinit {
        ends.deallocate()
        arrivals.deallocate()
    }

    private var isSound: Bool {
        var end: UInt32 = 0
        for entry in entries {
            guard entry.end > end, Int(entry.firstSubject) + Int(entry.subjectCount) <= subjects.count else { return false }
            end = entry.end
        }
        return Int(end) == bytes.count
    }

    public var count: Int { entries.count }

    /// The bytes of one event, without its newline.
    public func event(_ index: Int) -> UnsafeRawBufferPointer {
        assert(entries.indices.contains(index), "the batch has no such event")
        let start = index == 0 ? 0 : Int(entries[index - 1].end)
        return UnsafeRawBufferPointer(rebasing: bytes[start..<Int(entries[index].end) - 1])
    }

    /// Joins the events of several batches, one batch after the other.
    public convenience init(joining batches: [Batch]) {
        var whole = Parcel(roomFor: batches)
        for batch in batches {
            whole.append(copying: 0..<batch.count, of: batch.parcel)
            whole.attach(batch.marks)
        }
        self.init(whole)
    }

    /// Returns a batch of only these events, in this order: what is left when the others have been settled.
    public func subset(_ indices: some Sequence<Int>) -> Batch {
        var part = Parcel()
        for index in indices { part.append(copying: index, of: parcel) }
        part.attach(marks)
        return Batch(part)
    }
}
