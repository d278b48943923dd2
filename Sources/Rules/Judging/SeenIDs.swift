// The message ids that came lately, so that an event which comes twice is taken once. It promises to remember every id for
// the time and the number that it was made for, no longer, in memory that never grows; it holds hashes, never ids.

public import Admission
internal import Events
public import Plans
internal import Platform

public final class SeenIDs: Sendable {
    /// A hash of an id, and when it came, in nanoseconds since 1970.
    public struct Sighting: Sendable, Equatable, BitwiseCopyable {
        public var key: SubjectKey
        public var time: Int64
        public init(key: SubjectKey, time: Int64) {
            self.key = key
            self.time = time
        }
    }

    private let window: Int64
    private let hashKey: SipKey
    private let ring: Monitor<Ring>

    /// `key`, sixteen bytes, must be that of the sightings that are told by `recall`.
    public init(_ plan: MessageIDPlan.Deduplication, key: [UInt8]) {
        window = plan.window.nanoseconds
        hashKey = SipKey(key)
        ring = Monitor(Ring(capacity: plan.most))
    }

    /// Ids that were seen before, oldest first.
    public func recall(_ sightings: some Sequence<Sighting>) {
        ring.withLock { ring in
            for sighting in sightings { _ = ring.note(sighting, window: window) }
        }
    }

    /// What was noted is as if it had never come: its events go back to whoever sent them.
    public func forget(_ sightings: some Sequence<Sighting>) {
        ring.withLock { ring in
            for sighting in sightings { ring.forget(sighting.key) }
        }
    }

    /// Notes the id; nil: it was there already.
    func note(_ id: ByteRun, at time: Int64) -> Sighting? {
        let (low, high) = hashKey.hash128(id)
        let sighting = Sighting(key: SubjectKey(high: high, low: low), time: time)
        return ring.withLock { $0.note(sighting, window: window) } ? sighting : nil
    }
}

/// Sightings in the order in which they came, the oldest giving way to the newest, and a table to find them by.
private struct Ring: ~Copyable {
    private let sightings: UnsafeMutablePointer<SeenIDs.Sighting>
    /// Open addressing: one more than the sighting's place in the ring; 0: free.
    private let table: UnsafeMutablePointer<UInt32>
    private let mask: Int
    private let capacity: Int
    private var oldest = 0
    private var count = 0
    private var latest = Int64.min

    init(capacity: Int) {
        self.capacity = capacity
        var size = 16
        while size < capacity * 3 / 2 { size *= 2 }
        mask = size - 1
        sightings = .allocate(capacity: capacity)
        table = .allocate(capacity: size)
        table.initialize(repeating: 0, count: size)
    }

    deinit {
        sightings.deallocate()
        table.deallocate()
    }

    /// False: it is there already.
    mutating func note(_ sighting: SeenIDs.Sighting, window: Int64) -> Bool {
        // A clock that goes back makes no id older than it is.
        latest = max(latest, sighting.time)
        while count > 0, latest - sightings[oldest].time >= window { forgetOldest() }
        var at = home(sighting.key)
        while table[at] != 0 {
            if sightings[Int(table[at]) - 1].key == sighting.key { return false }
            at = (at + 1) & mask
        }
        if count == capacity {
            forgetOldest()
            // To forget may have moved what stood on the way.
            at = home(sighting.key)
            while table[at] != 0 { at = (at + 1) & mask }
        }
        let place = (oldest + count) % capacity
        sightings[place] = SeenIDs.Sighting(key: sighting.key, time: latest)
        table[at] = UInt32(truncatingIfNeeded: place + 1)
        count += 1
        return true
    }

    private func home(_ key: SubjectKey) -> Int { Int(truncatingIfNeeded: key.low) & mask }

    private mutating func forgetOldest() {
        if sightings[oldest].key != Ring.nobody { empty(oldest) }
        oldest = (oldest + 1) % capacity
        count -= 1
    }

    /// Its place in the ring goes on as nobody's.
    mutating func forget(_ key: SubjectKey) {
        var at = home(key)
        while table[at] != 0 {
            let place = Int(table[at]) - 1
            if sightings[place].key == key {
                empty(place)
                sightings[place].key = Ring.nobody
                return
            }
            at = (at + 1) & mask
        }
    }

    /// No id has this hash, but by a chance of one in 2 to the 128th.
    private static let nobody = SubjectKey(high: 0, low: 0)

    /// Takes the sighting of the ring's place out of the table.
    private func empty(_ place: Int) {
        var hole = home(sightings[place].key)
        while Int(table[hole]) != place + 1 { hole = (hole + 1) & mask }
        // What would not be found any more past the hole moves into it.
        var at = (hole + 1) & mask
        while table[at] != 0 {
            let wanted = home(sightings[Int(table[at]) - 1].key)
            if (at - wanted) & mask >= (at - hole) & mask {
                table[hole] = table[at]
                hole = at
            }
            at = (at + 1) & mask
        }
        table[hole] = 0
    }
}

/// Whether an event came before, by its `messageId`.
public enum Repetition: Sendable, Equatable {
    /// It has no id to tell by.
    case none
    case new(SeenIDs.Sighting)
    case duplicate
}
