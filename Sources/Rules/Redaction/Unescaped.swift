// The decoded text of a string with escapes, and the position of each of its bytes in the event. Its memory is reused for every string.

internal import Events

struct Unescaped: ~Copyable {
    /// The text, and bytes after it that can be read.
    private var buffer: UnsafeMutablePointer<UInt8>
    /// The position of each byte, and the end of the string.
    private(set) var places: UnsafeMutablePointer<UInt32>
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

    /// Decodes the body of a valid string. A lone surrogate is not a character and becomes U+FFFD.
    mutating func decode(_ block: Bytes, start: Int, end: Int) {
        if end - start > capacity { grow(end - start) }
        count = 0
        var i = start
        while i < end {
            let at = i
            if block[i] != UInt8(ascii: "\\") {
                put(block[i], at)
                i += 1
            } else if block[i + 1] == UInt8(ascii: "u") {
                putCharacter(Unescaped.code(block, i: &i, end: end), at)
            } else {
                put(Unescaped.plain(block[i + 1]), at)
                i += 2
            }
        }
        places[count] = UInt32(truncatingIfNeeded: end)
        assert(i == end, "an escape goes beyond the end of its string")
    }

    @inline(__always) private mutating func put(_ byte: UInt8, _ place: Int) {
        assert(count < capacity, "a decoded text is longer than its escaped form")
        buffer[count] = byte
        places[count] = UInt32(truncatingIfNeeded: place)
        count += 1
    }

    private mutating func putCharacter(_ code: UInt32, _ place: Int) {
        guard let encoded = UTF8.encode(Unicode.Scalar(code) ?? "\u{fffd}") else { return }
        for byte in encoded { put(byte, place) }
    }

    /// Returns the character of the `\u` escape at i and moves i past it. A pair of surrogates is one character.
    private static func code(_ block: Bytes, i: inout Int, end: Int) -> UInt32 {
        let first = hex(block + i + 2)
        i += 6
        let isHalf = first & 0xfc00 == 0xd800
        guard isHalf, i + 6 <= end, block[i] == UInt8(ascii: "\\"), block[i + 1] == UInt8(ascii: "u") else { return first }
        let second = hex(block + i + 2)
        guard second & 0xfc00 == 0xdc00 else { return first }
        i += 6
        return 0x10000 + (first & 0x3ff) << 10 + (second & 0x3ff)
    }

    private static func hex(_ p: Bytes) -> UInt32 {
        var value: UInt32 = 0
        for i in 0..<4 { value = value << 4 | UInt32(Byte.isDigit(p[i]) ? p[i] - 0x30 : (p[i] | 0x20) - 0x57) }
        return value
    }

    private static func plain(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }

    private mutating func grow(_ wanted: Int) {
        buffer.deallocate()
        places.deallocate()
        capacity = max(wanted, capacity * 2)
        buffer = .allocate(capacity: capacity + Starts.slack)
        places = .allocate(capacity: capacity + 1)
    }
}
