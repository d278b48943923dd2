// The message ids of recent events, so that an event that comes twice is taken once. It promises to remember an id for the time and among
// the number of ids that it was made for, and no longer. Its memory never grows. It holds hashes, never ids.

public import Admission
internal import Events
public import Plans
internal import Platform

public final class SeenIDs: Sendable {
    /// The hash of an id, and the time when the id came, in nanoseconds since 1970.
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

    /// `key` has sixteen bytes. The sightings for `recall` must have been hashed under the same key.
    public init(_ plan: MessageIDPlan.Deduplication, key: [UInt8]) {
        window = plan.window.nanoseconds
        hashKey = SipKey(key)
        ring = Monitor(Ring(capacity: plan.most))
    }

    /// Adds ids that were seen before, oldest first.
    public func recall(_ sightings: some Sequence<Sighting>) {
        ring.withLock { ring in
            for sighting in sightings { _ = ring.note(sighting, window: window) }
        }
    }

    /// Removes ids as if they had never come, because their events go back to their sender.
    public func forget(_ sightings: some Sequence<Sighting>) {
        ring.withLock { ring in
            for sighting in sightings { ring.forget(sighting.key) }
        }
    }

    /// Notes the id and returns its sighting. Returns nil if the id is already there.
    func note(_ id: ByteRun, at time: Int64) -> Sighting? {
        let (low, high) = hashKey.hash128(id)
        let sighting = Sighting(key: SubjectKey(high: high, low: low), time: time)
        return ring.withLock { $0.note(sighting, window: window) } ? sighting : nil
    }
}

/// The sightings in the order in which they came, and a table to find them. If the ring is full, the newest replaces the oldest.
private struct Ring: ~Copyable {
    private let sightings: UnsafeMutablePointer<SeenIDs.Sighting>
    /// A table with open addressing. An entry is the sighting's place in the ring plus 1; 0 means free.
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

    /// Adds the sighting. Returns false if its id is already there.
    mutating func note(_ sighting: SeenIDs.Sighting, window: Int64) -> Bool {
        // A clock that goes back must not make an id older than it is.
        latest = max(latest, sighting.time)
        while count > 0, latest - sightings[oldest].time >= window { forgetOldest() }
        var at = home(sighting.key)
        while table[at] != 0 {
            if sightings[Int(table[at]) - 1].key == sighting.key { return false }
            at = (at + 1) & mask
        }
        if count == capacity {
            forgetOldest()
            // Forgetting an id may have moved other entries of the table.
            at = home(sighting.key)
            while table[at] != 0 { at = (at + 1) & mask }
        }
        let place = (oldest + count) % capacity
        sightings[place] = SeenIDs.Sighting(key: sighting.key, time: latest)
        table[at] = UInt32(truncatingIfNeeded: place + 1)
        count += 1
        assert(count <= capacity && Int(table[at]) - 1 < capacity, "the ring holds more ids than fit into it")
        return true
    }

    private func home(_ key: SubjectKey) -> Int { Int(truncatingIfNeeded: key.low) & mask }

    private mutating func forgetOldest() {
        assert(count > 0, "an empty ring has no oldest id")
        if sightings[oldest].key != Ring.nobody { empty(oldest) }
        oldest = (oldest + 1) % capacity
        count -= 1
    }

    /// Removes the id from the table. Its place in the ring stays taken, under a hash that no id has.
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

    /// A hash that no id has, except with a probability of one in 2 to the 128th.
    private static let nobody = SubjectKey(high: 0, low: 0)

    /// Removes the sighting at this place of the ring from the table.
    private func empty(_ place: Int) {
        var hole = home(sightings[place].key)
        while Int(table[hole]) != place + 1 {
            assert(table[hole] != 0, "an id of the ring is not in the table")
            hole = (hole + 1) & mask
        }
        // An entry that would not be found behind the hole moves into it.
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

/// The answer to whether an event with the same `messageId` came before.
public enum Repetition: Sendable, Equatable {
    /// The event has no id, so this is not known.
    case none
    case new(SeenIDs.Sighting)
    case duplicate
}
