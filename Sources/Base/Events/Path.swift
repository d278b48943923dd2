// A path names a member by its keys: `context.ip`, or `properties["a.b"].c` if a key contains a dot, quote or bracket. Two paths are equal
// if their keys consist of the same bytes, as keys of JSON are.

public struct Path: Hashable, Sendable, CustomStringConvertible {
    public let keys: [String]

    public init(keys: [String]) { self.keys = keys }

    /// Parses the text form.
    public init(parsing text: String) throws(PathFault) {
        var parser = PathParser(text)
        keys = try parser.keys()
    }

    /// Strings of Swift compare by canonical equivalence, but keys compare by their bytes.
    public static func == (a: Path, b: Path) -> Bool {
        a.keys.elementsEqual(b.keys) { $0.utf8.elementsEqual($1.utf8) }
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(keys.count)
        for key in keys {
            hasher.combine(key.utf8.count)
            for byte in key.utf8 { hasher.combine(byte) }
        }
    }

    /// The text form, which `Path(parsing:)` can parse.
    public var description: String {
        var text = ""
        for key in keys {
            if Path.isPlain(key) {
                text += text.isEmpty ? key : "." + key
            } else {
                text += "[\"" + Path.quoted(key) + "\"]"
            }
        }
        return text
    }

    /// Returns true if the key needs no quotes.
    static func isPlain(_ key: String) -> Bool { !key.isEmpty && key.utf8.allSatisfy(isPlain) }

    static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f && !".[]\"'\\".utf8.contains(byte) }

    private static func quoted(_ key: String) -> String {
        var text = ""
        for scalar in key.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\n": text += "\\n"
            case "\t": text += "\\t"
            case "\r": text += "\\r"
            case "\0"..<" ", "\u{7f}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

/// The reason why a text is not a path, and the place.
public struct PathFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var message: String
    /// The place in bytes from the start of the text.
    public var offset: Int
    public var description: String { message }

    public init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }
}
