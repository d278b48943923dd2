// A path names a member by its keys: `context.ip`, or `properties["a.b"].c` when a key holds a dot, quote or bracket.

public struct Path: Hashable, Sendable, CustomStringConvertible {
    public let keys: [String]

    public init(keys: [String]) { self.keys = keys }

    /// The text form, which `Path(parsing:)` reads back.
    public var description: String {
        var text = ""
        for key in keys {
            if Path.isPlain(key) {
                text += text.isEmpty ? key : "." + key
            } else {
                text += "[\""
                for character in key {
                    if character == "\"" || character == "\\" { text.append("\\") }
                    text.append(character)
                }
                text += "\"]"
            }
        }
        return text
    }

    /// Whether the key needs no quoting.
    static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && !key.utf8.contains { ".[]\"'\\".utf8.contains($0) }
    }
}
