// A glob on an event's name: `*` matches any run of characters, and everything else matches itself.

public struct Glob: Sendable, Hashable, CustomStringConvertible {
    public let pattern: String
    /// The literal pieces between the stars, in order. A glob without a star is one piece, and the whole name must equal it.
    public let pieces: [[UInt8]]

    public init(_ pattern: String) {
        self.pattern = pattern
        pieces = pattern.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
    }

    public var description: String { pattern }

    /// Returns what the text must be, or nil if it is a glob.
    public static func fault(_ text: String) -> String? {
        if text.isEmpty { return "a glob on the event's name, not empty" }
        return text.utf8.count > 1000 ? "a glob of at most 1000 bytes" : nil
    }
}
