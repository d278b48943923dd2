// Cuts JSON text into tokens. It never fails: jansson reports what is wrong with a token. It serves to find the places of values, which
// jansson does not report, and to bound the text before a recursive function reads it.

public struct Token {
    public enum Kind { case open, close, comma, colon, string, number, word, other }
    public var kind: Kind
    public var range: Range<Int>
}

public struct Lexer {
    public let bytes: [UInt8]
    public private(set) var offset = 0

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public mutating func next() -> Token? {
        while offset < bytes.count, Lexer.isSpace(bytes[offset]) { offset += 1 }
        guard offset < bytes.count else { return nil }
        let start = offset
        let kind = take()
        assert(offset > start && offset <= bytes.count, "a token is empty, or ends after the text")
        return Token(kind: kind, range: start..<offset)
    }

    private mutating func take() -> Token.Kind {
        let first = bytes[offset]
        offset += 1
        switch first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return .open
        case UInt8(ascii: "}"), UInt8(ascii: "]"): return .close
        case UInt8(ascii: ","): return .comma
        case UInt8(ascii: ":"): return .colon
        case UInt8(ascii: "\""):
            takeString()
            return .string
        case _ where Lexer.isNumeric(first):
            while offset < bytes.count, Lexer.isNumeric(bytes[offset]) || Lexer.isExponent(bytes[offset]) { offset += 1 }
            return .number
        case _ where Lexer.isLetter(first):
            while offset < bytes.count, Lexer.isLetter(bytes[offset]) { offset += 1 }
            return .word
        default:
            // The token includes all bytes of the character.
            while first >= 0x80, offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset += 1 }
            return .other
        }
    }

    /// Advances past the closing quote, or to the end of the line if there is none.
    private mutating func takeString() {
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                return
            case UInt8(ascii: "\n"): return
            case UInt8(ascii: "\\") where offset + 1 < bytes.count && bytes[offset + 1] != UInt8(ascii: "\n"): offset += 2
            default: offset += 1
            }
        }
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
    public static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isNumeric(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
    }
    private static func isExponent(_ byte: UInt8) -> Bool { byte | 0x20 == UInt8(ascii: "e") }
    private static func isLetter(_ byte: UInt8) -> Bool { byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z") }

    /// Returns true if the bytes are a number as RFC 8259 defines it.
    static func isNumber(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        func digits() -> Bool {
            let count = rest.prefix(while: isDigit).count
            rest = rest.dropFirst(count)
            return count > 0
        }
        if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
        if rest.first == UInt8(ascii: "0") { rest = rest.dropFirst() } else if !digits() { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            if !digits() { return false }
        }
        if let byte = rest.first, isExponent(byte) {
            rest = rest.dropFirst()
            if let sign = rest.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { rest = rest.dropFirst() }
            if !digits() { return false }
        }
        return rest.isEmpty
    }
}
