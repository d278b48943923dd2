// Makes ids for events that came without a `messageId`: a random UUID, the same for every copy of the event, so that a receiver recognizes
// a repeated event. Each judge has one.

internal import Editing
internal import Events

struct MessageIDs: ~Copyable {
    /// The length of an id: 36 characters and two quotes.
    static let length = 38
    /// The most bytes that an event gains: `,"messageId":` and the id.
    static let growth = 13 + length

    private let key: SipKey
    private let text: UnsafeMutablePointer<UInt8>
    private var turn: UInt64 = 0

    init(key: SipKey) {
        self.key = key
        text = .allocate(capacity: MessageIDs.length + Words.slack)
        text.initialize(repeating: UInt8(ascii: "\""), count: MessageIDs.length + Words.slack)
    }

    deinit { text.deallocate() }

    /// Returns true if the event has no id: no member, null, or an empty string. Any other value of the sender counts as an id.
    @inline(__always) static func lacks(_ slot: Slot, in block: Bytes) -> Bool {
        guard slot.end != 0 else { return true }
        let first = block[Int(slot.start)]
        return first == UInt8(ascii: "n") || first == UInt8(ascii: "\"") && slot.end - slot.start == 2
    }

    /// Returns the id of the event of this turn, in quotes. It is valid until the id of another turn is made.
    mutating func text(_ turn: UInt64) -> ByteRun {
        if turn != self.turn { make(turn) }
        return ByteRun(base: Bytes(text), count: MessageIDs.length)
    }

    /// Makes a UUID of version 4, which means only that it is random.
    private mutating func make(_ turn: UInt64) {
        self.turn = turn
        var number = turn
        let (low, high) = withUnsafeBytes(of: &number) { number in
            key.hash128(ByteRun(base: number.baseAddress!.assumingMemoryBound(to: UInt8.self), count: 8))
        }
        UUIDText.write(high & 0xffff_ffff_ffff_0fff | 0x4000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000, to: text + 1)
    }
}

extension EditWriter {
    /// Writes the id in place of the copy's null or empty string of `width` bytes, or else behind its last member. Returns where the text
    /// of the id begins, behind its quote.
    @inline(never) mutating func add(id: ByteRun, width: Int) -> UnsafeMutablePointer<UInt8> {
        assert(id.count == MessageIDs.length, "an id has a fixed length")
        if let at = idAt {
            let rest = at + width
            let left = out - rest
            (at + id.count).update(from: rest, count: left)
            at.update(from: id.base, count: id.count)
            out = at + id.count + left
            return at + 1
        }
        assert(out[-1] == UInt8(ascii: "}"), "a copy ends with its brace")
        out -= 1
        var last = out - 1
        while last[0] <= 0x20 { last -= 1 }
        if last[0] != UInt8(ascii: "{") { put(UInt8(ascii: ",")) }
        for byte in StaticString("\"messageId\":").utf8 { put(byte) }
        let at = out
        put(id)
        put(UInt8(ascii: "}"))
        return at + 1
    }
}

extension StaticString {
    fileprivate var utf8: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}
