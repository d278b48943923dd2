// A path names a member by its keys: `context.ip`, or `properties["a.b"].c` when a key holds a dot, quote or bracket.
// Two paths are the same when their keys are the same bytes, as keys of JSON are.

public struct Path: Hashable, Sendable, CustomStringConvertible {
    public let keys: [String]

    public init(keys: [String]) { self.keys = keys }

    /// Reads the text form.
    public init(parsing text: String) throws(PathFault) {
        var parser = PathParser(text)
        keys = try parser.keys()
    }

    /// Swift's strings compare by canonical equivalence; keys compare by their bytes.
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

    /// The text form, which `Path(parsing:)` reads back.
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

    /// Whether the key needs no quoting.
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

/// Why a text is no path, and where.
public struct PathFault: Error, Hashable, Sendable, CustomStringConvertible {
    public var message: String
    /// Counted in bytes from the start of the text.
    public var offset: Int
    public var description: String { message }

    public init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }
}
