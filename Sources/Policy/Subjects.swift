// The keys of one event's subjects: what a lane needs to find the events of a person, without holding an id.

internal import Configuration
internal import Events

struct Subjects: ~Copyable {
    /// The most ids that one event can carry, since an entry counts them in a byte.
    static let most = 255

    private let slots: UnsafeBufferPointer<Int>
    private let key: SipKey
    private let keys: UnsafeMutablePointer<SubjectKey>
    private var count = -1
    private var decoder = Decoder()

    init(slots: UnsafeBufferPointer<Int>, key: SipKey) {
        self.slots = slots
        self.key = key
        keys = .allocate(capacity: max(1, slots.count))
        keys.initialize(repeating: SubjectKey(high: 0, low: 0), count: max(1, slots.count))
    }

    deinit { keys.deallocate() }

    mutating func forget() { count = -1 }

    /// One key for each configured id that the event carries: a string that is not empty, or a number. The same id has
    /// the same key wherever it stands.
    @inline(__always) mutating func read(_ event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> {
        if count < 0 { find(event) }
        return UnsafeBufferPointer(start: keys, count: count)
    }

    private mutating func find(_ event: ScannedEvent) {
        count = 0
        for slot in slots {
            guard let id = decoder.identity(event.slots[slot], in: event.block, booleans: false) else { continue }
            let (low, high) = key.hash128(id)
            keys[count] = SubjectKey(high: high, low: low)
            count += 1
        }
    }
}
