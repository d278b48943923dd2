// The keys of one event's subjects. With them, a lane can find the events of a person without holding an id. A member that is there and
// holds no usable id is broken: nobody knows whose event it is.

public import Admission
public import Events

extension SubjectKey {
    /// Makes the key of an id, given without quotes and escapes, with a hash key of sixteen bytes.
    public init(of id: [UInt8], under key: [UInt8]) {
        let (low, high) = id.withUnsafeBufferPointer { text in
            SipKey(key).hash128(ByteRun(base: text.baseAddress ?? UnsafePointer(bitPattern: 1)!, count: text.count))
        }
        self.init(high: high, low: low)
    }
}

public struct Subjects: ~Copyable {
    /// The maximum number of ids that one event can carry, because an entry counts them in one byte.
    public static let most = 255

    private let slots: UnsafeBufferPointer<Int>
    private let key: SipKey
    private var keys: UnsafeMutablePointer<SubjectKey>
    /// The number of the event's subjects, and their keys: in `keys`, or where `expect` found them. The number is negative if they were not
    /// read yet.
    private var count = -1
    private var found: UnsafeMutablePointer<SubjectKey>
    /// The subjects that `expect` found, for the event that is judged next and the one after it, in turn.
    private let expected: UnsafeMutablePointer<Expected>
    private var expectedTurn = 0
    /// The subjects of an event that no longer carries its original ids. It is nil if the events carry their ids.
    private var known: [SubjectKey]?
    private var decoder = Decoder()
    private var otherDecoder = Decoder()
    /// True if a member of the event holds something that is no id. It is valid after `read`.
    public private(set) var isBroken = false
    /// The numbers of the members that were broken in the events so far.
    private var brokenSoFar: Set<Int> = []

    /// The form of a usable id, as it reads after "must be".
    static let form = "a non-empty string or a whole number"

    /// The subjects of an event that were found before its turn. The event is recognized by its address, so this must not outlive the
    /// event.
    private struct Expected: BitwiseCopyable {
        /// The address of the event's first byte. It is nil if there is no event.
        var line: Bytes?
        var count = 0
        var isBroken = false
        let keys: UnsafeMutablePointer<SubjectKey>
    }

    public init(slots: UnsafeBufferPointer<Int>, key: SipKey) {
        self.slots = slots
        self.key = key
        keys = Subjects.allocateKeys(slots.count)
        found = keys
        expected = .allocate(capacity: 2)
        for index in 0..<2 { (expected + index).initialize(to: Expected(line: nil, keys: Subjects.allocateKeys(slots.count))) }
    }

    private static func allocateKeys(_ count: Int) -> UnsafeMutablePointer<SubjectKey> {
        let keys = UnsafeMutablePointer<SubjectKey>.allocate(capacity: max(1, count))
        keys.initialize(repeating: SubjectKey(high: 0, low: 0), count: max(1, count))
        return keys
    }

    deinit {
        keys.deallocate()
        for index in 0..<2 { expected[index].keys.deallocate() }
        expected.deallocate()
    }

    public mutating func forget() { count = -1 }

    /// Sets the subjects of all later events, whatever ids they carry.
    public mutating func know(_ subjects: [SubjectKey]) {
        if known == nil {
            keys.deallocate()
            keys = Subjects.allocateKeys(Subjects.most)
        }
        known = Array(subjects.prefix(Subjects.most))
        forget()
    }

    /// Returns one key for each configured id that the event carries: a string that is not empty, or a whole number. The same id has the
    /// same key in every member. `isBroken` then tells if a member holds anything else.
    @inline(__always) public mutating func read(_ event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> {
        if count < 0 { settle(event) }
        return UnsafeBufferPointer(start: found, count: count)
    }

    private mutating func settle(_ event: ScannedEvent) {
        found = keys
        if let known {
            for (index, subject) in known.enumerated() { keys[index] = subject }
            count = known.count
            isBroken = false
            return
        }
        let line = event.block + Int(event.start)
        for index in 0..<2 where expected[index].line == line {
            count = expected[index].count
            found = expected[index].keys
            isBroken = expected[index].isBroken
            assert(
                find(event, into: keys) == (count, isBroken) && (0..<count).allSatisfy { keys[$0] == found[$0] },
                "the subjects were found in another event")
            return
        }
        (count, isBroken) = find(event, into: keys)
    }

    /// Finds the subjects of an event before its turn.
    public mutating func expect(_ event: ScannedEvent) -> UnsafeBufferPointer<SubjectKey> {
        guard known == nil else { return UnsafeBufferPointer(start: nil, count: 0) }
        expectedTurn ^= 1
        let keys = expected[expectedTurn].keys
        let (count, isBroken) = find(event, into: keys)
        expected[expectedTurn] = Expected(line: event.block + Int(event.start), count: count, isBroken: isBroken, keys: keys)
        return UnsafeBufferPointer(start: keys, count: count)
    }

    public mutating func expectNothing() {
        for index in 0..<2 { expected[index].line = nil }
    }

    private mutating func find(_ event: ScannedEvent, into keys: UnsafeMutablePointer<SubjectKey>) -> (count: Int, isBroken: Bool) {
        var count = 0
        var isBroken = false
        func note(_ hash: (low: UInt64, high: UInt64)) {
            keys[count] = SubjectKey(high: hash.high, low: hash.low)
            count &+= 1
        }
        // Two ids are hashed at a time.
        var waiting: ByteRun?
        for slot in slots {
            guard let first = waiting else {
                waiting = decoder.subject(event.slots[slot], in: event.block)
                if waiting == nil { isBroken = isBroken || noteBroken(slot, event) }
                continue
            }
            guard let second = otherDecoder.subject(event.slots[slot], in: event.block) else {
                isBroken = isBroken || noteBroken(slot, event)
                continue
            }
            let (a, b) = key.hash128(first, second)
            note(a)
            note(b)
            waiting = nil
        }
        if let waiting { note(key.hash128(waiting)) }
        assert(count <= slots.count, "an event has more ids than members for them")
        return (count, isBroken)
    }

    // MARK: - Broken members

    /// Notes a member without an id. Returns false if it only says that there is none.
    private mutating func noteBroken(_ slot: Int, _ event: ScannedEvent) -> Bool {
        guard event.slots[slot].isBrokenSubject(in: event.block) else { return false }
        if let number = slots.firstIndex(of: slot) { brokenSoFar.insert(number) }
        return true
    }

    /// Returns the numbers of the members that are broken in this event.
    func broken(in event: ScannedEvent) -> [Int] {
        known == nil ? slots.indices.filter { event.slots[slots[$0]].isBrokenSubject(in: event.block) } : []
    }

    /// Returns the numbers of the members that were broken in the events so far, and forgets them.
    mutating func takeBroken() -> Set<Int> {
        defer { if !brokenSoFar.isEmpty { brokenSoFar = [] } }
        return brokenSoFar
    }
}

extension Decoder {
    /// Returns the id in a member for subjects, as it identifies a person: the text of a string, or a whole number as it is written.
    /// Returns nil if the member is missing, empty or null, or holds anything else.
    @inline(__always) mutating func subject(_ slot: Slot, in block: Bytes) -> ByteRun? {
        guard let id = identity(slot, in: block, booleans: false) else { return nil }
        return slot.value(in: block).base[0] == UInt8(ascii: "\"") || id.isWholeNumber ? id : nil
    }
}

extension Slot {
    /// True if a member for subjects holds something that is not an id: a list, an object, true, false, a number with a fraction or an
    /// exponent, or a string that is no text. Null and the empty string say that there is no id.
    func isBrokenSubject(in block: Bytes) -> Bool {
        guard isPresent else { return false }
        let value = value(in: block)
        if value.isNull || value.base[0] == UInt8(ascii: "\"") && value.count == 2 { return false }
        var decoder = Decoder()
        return decoder.subject(self, in: block) == nil
    }
}

extension ByteRun {
    /// True if a number is written with digits only. The same id must not have two forms, so `-0` and `42.0` are none.
    fileprivate var isWholeNumber: Bool {
        let digits = bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]
        if digits.count < bytes.count, digits.elementsEqual([UInt8(ascii: "0")]) { return false }
        return digits.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    }
}
