// The keys of one event's subjects: what a lane needs to find the events of a person, without holding an id.

internal import Configuration
internal import Events

extension SubjectKey {
    /// Of an id as it stands in an event, without quotes and escapes, under sixteen bytes.
    public init(of id: [UInt8], under key: [UInt8]) {
        let (low, high) = id.withUnsafeBufferPointer { text in
            SipKey(key).hash128(ByteRun(base: text.baseAddress ?? UnsafePointer(bitPattern: 1)!, count: text.count))
        }
        self.init(high: high, low: low)
    }
}

struct Subjects: ~Copyable {
    /// The most ids that one event can carry, since an entry counts them in a byte.
    static let most = 255

    private let slots: UnsafeBufferPointer<Int>
    private let key: SipKey
    private var keys: UnsafeMutablePointer<SubjectKey>
    private var count = -1
    /// Of an event that no longer carries its ids as they were; nil: it does.
    private var known: [SubjectKey]?
    private var decoder = Decoder()
    private var otherDecoder = Decoder()

    init(slots: UnsafeBufferPointer<Int>, key: SipKey) {
        self.slots = slots
        self.key = key
        keys = .allocate(capacity: max(1, slots.count))
        keys.initialize(repeating: SubjectKey(high: 0, low: 0), count: max(1, slots.count))
    }

    deinit { keys.deallocate() }

    mutating func forget() { count = -1 }

    /// The events from now on have these subjects, whatever ids they carry.
    mutating func know(_ subjects: [SubjectKey]) {
        if known == nil {
            keys.deallocate()
            keys = .allocate(capacity: Subjects.most)
            keys.initialize(repeating: SubjectKey(high: 0, low: 0), count: Subjects.most)
        }
        known = Array(subjects.prefix(Subjects.most))
        forget()
    }

    /// One key for each configured id that the event carries: a string that is not empty, or a number. The same id has
    /// the same key wherever it stands.
    @inline(__always) mutating func read(_ event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> {
        if count < 0 { find(event) }
        return UnsafeBufferPointer(start: keys, count: count)
    }

    private mutating func find(_ event: ScannedEvent) {
        count = 0
        if let known {
            for (index, subject) in known.enumerated() { keys[index] = subject }
            count = known.count
            return
        }
        // Ids are hashed in pairs.
        var waiting: ByteRun?
        for slot in slots {
            guard let first = waiting else {
                waiting = decoder.identity(event.slots[slot], in: event.block, booleans: false)
                continue
            }
            guard let second = otherDecoder.identity(event.slots[slot], in: event.block, booleans: false) else { continue }
            let (a, b) = key.hash128(first, second)
            note(a)
            note(b)
            waiting = nil
        }
        if let waiting { note(key.hash128(waiting)) }
    }

    @inline(__always) private mutating func note(_ hash: (low: UInt64, high: UInt64)) {
        keys[count] = SubjectKey(high: hash.high, low: hash.low)
        count &+= 1
    }
}
