// The text of a string in which the escapes of a URL are decoded, such as `%2B49%2089`, and the position of each of its bytes in the event.
// Its memory is reused for every string. An escape of a byte that is not a character of ASCII, nor half of a letter of two bytes in UTF-8,
// stays as it is.

internal import Events

struct PercentDecoded: ~Copyable {
    /// The text, and bytes after it that can be read.
    private var buffer: UnsafeMutablePointer<UInt8>
    private var places: UnsafeMutablePointer<UInt32>
    private var capacity = 256
    private var count = 0

    init() {
        buffer = .allocate(capacity: capacity + Starts.slack)
        places = .allocate(capacity: capacity + 1)
    }

    deinit {
        buffer.deallocate()
        places.deallocate()
    }

    var text: Subject { Subject(base: Bytes(buffer), count: count) }

    /// Returns the position in the event at which the character of byte i begins. For the end of the text, it is the end of the string.
    func place(_ i: Int) -> Int {
        assert((0...count).contains(i), "a place outside the text is asked for")
        return Int(places[i])
    }

    static func holdsEscape(_ text: Subject) -> Bool {
        for i in 0..<text.count where text.base[i] == UInt8(ascii: "%") && length(text, i) > 0 { return true }
        return false
    }

    /// Decodes a text. `place` gives the position in the event of each byte of the text, and of its end.
    mutating func decode(_ text: Subject, place: (Int) -> Int) {
        if text.count > capacity { grow(text.count) }
        count = 0
        var i = 0
        while i < text.count {
            let length = text.base[i] == UInt8(ascii: "%") ? PercentDecoded.length(text, i) : 0
            put(length > 0 ? PercentDecoded.value(text, i) : text.base[i], place(i))
            // Both bytes of one letter have the position at which it begins.
            if length == 6 { put(PercentDecoded.value(text, i + 3), place(i)) }
            i += max(1, length)
        }
        places[count] = UInt32(truncatingIfNeeded: place(text.count))
    }

    private mutating func put(_ byte: UInt8, _ place: Int) {
        assert(count < capacity, "a decoded text is longer than its escaped form")
        buffer[count] = byte
        places[count] = UInt32(truncatingIfNeeded: place)
        count += 1
    }

    /// Returns the length of the escape at i: 3 for a character of ASCII except NUL, 6 for a letter of two bytes, and 0 if there is none.
    private static func length(_ text: Subject, _ i: Int) -> Int {
        guard isEscape(text, i) else { return 0 }
        let first = value(text, i)
        if first < 0x80 { return first == 0 ? 0 : 3 }
        guard (0xc3...0xdf).contains(first), isEscape(text, i + 3), value(text, i + 3) & 0xc0 == 0x80 else { return 0 }
        return 6
    }

    private static func isEscape(_ text: Subject, _ i: Int) -> Bool {
        text[i] == UInt8(ascii: "%") && Byte.isHex(text[i + 1]) && Byte.isHex(text[i + 2])
    }

    private static func value(_ text: Subject, _ i: Int) -> UInt8 { nibble(text[i + 1]) << 4 | nibble(text[i + 2]) }

    private static func nibble(_ c: UInt8) -> UInt8 { Byte.isDigit(c) ? c - 0x30 : (c | 0x20) - 0x57 }

    private mutating func grow(_ wanted: Int) {
        buffer.deallocate()
        places.deallocate()
        capacity = max(wanted, capacity * 2)
        buffer = .allocate(capacity: capacity + Starts.slack)
        places = .allocate(capacity: capacity + 1)
    }
}
