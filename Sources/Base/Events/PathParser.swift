// Parses the text of a path: keys that are joined by dots, or written in brackets and quotes with the escapes of CEL.

struct PathParser {
    private let text: [UInt8]
    private var at = 0

    init(_ text: String) { self.text = Array(text.utf8) }

    mutating func keys() throws(PathFault) -> [String] {
        guard !text.isEmpty else { throw PathFault("a path needs a key", at: 0) }
        var keys: [String] = []
        while at < text.count {
            if text[at] == UInt8(ascii: "[") {
                keys.append(try quotedKey())
                continue
            }
            if !keys.isEmpty {
                guard text[at] == UInt8(ascii: ".") else { throw PathFault("expected '.' or '[' between two keys", at: at) }
                at += 1
            }
            keys.append(try plainKey())
        }
        return keys
    }

    private mutating func plainKey() throws(PathFault) -> String {
        let start = at
        while at < text.count && Path.isPlain(text[at]) { at += 1 }
        if at == start {
            throw PathFault(at < text.count && text[at] != UInt8(ascii: ".") ? "write this key as [\"…\"]" : "expected a key", at: at)
        }
        if at < text.count && text[at] != UInt8(ascii: ".") && text[at] != UInt8(ascii: "[") {
            throw PathFault("a key that holds this character is written as [\"…\"]", at: at)
        }
        return String(decoding: text[start..<at], as: UTF8.self)
    }

    private mutating func quotedKey() throws(PathFault) -> String {
        at += 1
        guard at < text.count, text[at] == UInt8(ascii: "\"") || text[at] == UInt8(ascii: "'") else {
            throw PathFault("expected a key in quotes after '['", at: at)
        }
        let opening = at
        let quote = text[at]
        var key: [UInt8] = []
        at += 1
        while true {
            guard at < text.count else { throw PathFault("this quote is not closed", at: opening) }
            if text[at] == quote { break }
            if text[at] == UInt8(ascii: "\\") {
                key += String(Character(try escape())).utf8
            } else {
                key.append(text[at])
                at += 1
            }
        }
        at += 1
        guard at < text.count, text[at] == UInt8(ascii: "]") else { throw PathFault("expected ']' after the key", at: at) }
        at += 1
        return String(decoding: key, as: UTF8.self)
    }

    private mutating func escape() throws(PathFault) -> UnicodeScalar {
        assert(text[at] == UInt8(ascii: "\\"), "an escape begins with another byte than a backslash")
        let start = at
        guard at + 1 < text.count else { throw PathFault("an escape needs a character after '\\'", at: start) }
        let letter = text[at + 1]
        at += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "`"), UInt8(ascii: "?"), UInt8(ascii: "/"):
            return UnicodeScalar(letter)
        case UInt8(ascii: "a"): return "\u{7}"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "v"): return "\u{b}"
        case UInt8(ascii: "x"), UInt8(ascii: "X"): return try code(2, radix: 16, from: start)
        case UInt8(ascii: "u"): return try code(4, radix: 16, from: start)
        case UInt8(ascii: "U"): return try code(8, radix: 16, from: start)
        case 0x30...0x33:
            at -= 1
            return try code(3, radix: 8, from: start)
        default: throw PathFault("there is no such escape", at: start)
        }
    }

    private mutating func code(_ count: Int, radix: UInt32, from start: Int) throws(PathFault) -> UnicodeScalar {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard at < text.count, let digit = hexDigit(text[at]), digit < radix else {
                throw PathFault("this escape needs \(count) \(radix == 16 ? "hexadecimal" : "octal") digits", at: start)
            }
            value = value &* radix | digit
            at += 1
        }
        guard let scalar = UnicodeScalar(value) else { throw PathFault("this escape names no character", at: start) }
        return scalar
    }
}
