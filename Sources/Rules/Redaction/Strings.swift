// Finds the strings of valid JSON and notes, in the same pass, which classes of bytes each one holds. Most strings hold no byte with
// which a find could begin. They are skipped without a second pass.

internal import Events

/// The classes of bytes that a string holds.
struct Seen: OptionSet {
    let rawValue: UInt8

    @inline(__always) static var quote: Seen { Seen(rawValue: 1) }
    @inline(__always) static var escape: Seen { Seen(rawValue: 2) }
    /// `@`, or `%`, which can begin its escape in a URL.
    @inline(__always) static var at: Seen { Seen(rawValue: 4) }
    @inline(__always) static var digit: Seen { Seen(rawValue: 8) }
    /// A colon, or `=`, which also separates a name from its value.
    @inline(__always) static var colon: Seen { Seen(rawValue: 16) }
    @inline(__always) static var dot: Seen { Seen(rawValue: 32) }
    /// The `J` of a web token.
    @inline(__always) static var upperJ: Seen { Seen(rawValue: 64) }
    /// A blank, or `+` or `%`, which can represent a blank in a URL.
    @inline(__always) static var blank: Seen { Seen(rawValue: 128) }
}

/// A string, from its opening quote to the position after its closing quote.
struct StringSpan {
    let start: Int
    let end: Int
    let seen: Seen

    var bodyStart: Int { start + 1 }
    var bodyEnd: Int { end - 1 }

    /// Returns true if the string is the key of a member. In an event, the byte after a value is never a colon.
    func isKey(_ text: Bytes) -> Bool {
        var i = end
        while text[i] == 0x20 || text[i] == 0x09 { i += 1 }
        return text[i] == UInt8(ascii: ":")
    }
}

struct Strings: ~Copyable {
    private let sorts: UnsafeMutablePointer<UInt8>

    init() {
        sorts = .allocate(capacity: 256)
        for byte in UInt8.min...UInt8.max { sorts[Int(byte)] = Strings.sort(byte).rawValue }
    }

    deinit { sorts.deallocate() }

    /// Returns the next string at or after i and before `end`, and moves i past it. It is nil if there is none.
    @inline(__always) func next(_ text: Bytes, i: inout Int, end: Int) -> StringSpan? {
        while i < end, text[i] != UInt8(ascii: "\"") { i &+= 1 }
        guard i < end else { return nil }
        let start = i
        let sorts = sorts
        var seen: UInt8 = 0
        repeat {
            i &+= 1
            seen |= sorts[Int(text[i])]
        } while seen & Strings.stops == 0
        if seen & Seen.quote.rawValue == 0 { i = Strings.rest(text, start: i, sorts: sorts, seen: &seen) }
        i &+= 1
        assert(i - start >= 2 && text[i &- 1] == UInt8(ascii: "\""), "a string has no closing quote")
        return StringSpan(start: start, end: i, seen: Seen(rawValue: seen))
    }

    /// Returns true if the text can hold an escape of a URL. The classes alone show a percent sign only where there is no `@` and no blank.
    @inline(__always) static func canHoldPercent(_ seen: Seen) -> Bool { seen.isSuperset(of: [.at, .blank]) }

    /// Returns the classes of bytes that a decoded text holds.
    func seen(_ text: Subject) -> Seen {
        var seen: UInt8 = 0
        for i in 0..<text.count { seen |= sorts[Int(text.base[i])] }
        return Seen(rawValue: seen)
    }

    @inline(__always) private static var stops: UInt8 { Seen.quote.rawValue | Seen.escape.rawValue }

    /// Reads a string from its first backslash on, and returns the position of its closing quote.
    @inline(never) private static func rest(_ text: Bytes, start: Int, sorts: UnsafeMutablePointer<UInt8>, seen: inout UInt8) -> Int {
        var i = start
        while text[i] != UInt8(ascii: "\"") {
            seen |= sorts[Int(text[i])]
            i += text[i] == UInt8(ascii: "\\") ? 2 : 1
        }
        return i
    }

    private static func sort(_ byte: UInt8) -> Seen {
        switch byte {
        case UInt8(ascii: "\""): .quote
        case UInt8(ascii: "\\"): .escape
        case UInt8(ascii: "@"): .at
        case UInt8(ascii: "%"): [.at, .blank]
        case UInt8(ascii: "0")...UInt8(ascii: "9"): .digit
        case UInt8(ascii: ":"), UInt8(ascii: "="): .colon
        case UInt8(ascii: "."): .dot
        case UInt8(ascii: "J"): .upperJ
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "+"): .blank
        default: []
        }
    }
}
