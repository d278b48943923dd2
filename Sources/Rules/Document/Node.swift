// A value of a file with its place and its path: what the checks read.

public struct Node {
    public enum Value {
        case null
        case bool(Bool)
        /// As the file writes it.
        case number(String)
        case text(Text)
        case list([Node])
        case object([Entry])
    }

    public struct Entry {
        public var key: Key
        public var node: Node
    }

    public struct Key {
        public var name: String
        /// The token with its quotes.
        public var range: Range<Int>
        /// Whether an offset in the name is an offset in the file.
        public var isPlain: Bool
    }

    /// A string, its placeholders resolved.
    public struct Text {
        public var value: String
        /// As the file writes it, with its placeholders.
        public var written: String
        /// It holds what came from the environment or a file, and never shows.
        public var isTainted: Bool
        /// What came from there, one for each placeholder.
        var insertions: [String] = []
        /// Whether an offset in the value is an offset in the file.
        public var isPlain: Bool
        /// Whether the file's own bytes mean the value.
        public var isVerbatim: Bool
        /// A placeholder in it did not resolve, which has been told: there is nothing more to say of it.
        public var isBroken = false
    }

    public var value: Value
    /// In the text; a string's with its quotes.
    public var range: Range<Int>
    public var trail: Trail

    public var offset: Int { range.lowerBound }
    public var entries: [Entry]? { if case .object(let entries) = value { entries } else { nil } }
    public var items: [Node]? { if case .list(let items) = value { items } else { nil } }
    public var text: Text? { if case .text(let text) = value { text } else { nil } }

    public subscript(key: String) -> Node? { entries?.first { $0.key.name == key }?.node }

    /// What it is, in a word.
    public var kind: String {
        switch value {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .text: "a string"
        case .list: "a list"
        case .object: "an object"
        }
    }
}

/// The way from the root to a value. Kept as steps and written only for a message, so that a long key costs once.
public final class Trail: CustomStringConvertible {
    private enum Step {
        case root
        case key(String)
        case index(Int)
    }
    private let parent: Trail?
    private let step: Step

    private init(_ parent: Trail?, _ step: Step) {
        self.parent = parent
        self.step = step
    }

    public static func root() -> Trail { Trail(nil, .root) }
    public func key(_ key: String) -> Trail { Trail(self, .key(key)) }
    public func index(_ index: Int) -> Trail { Trail(self, .index(index)) }

    public var isRoot: Bool { parent == nil }

    /// `routes[1].sample.rate`; keys that need it are quoted.
    public var description: String {
        var steps: [Step] = []
        var next: Trail? = self
        while let trail = next {
            steps.append(trail.step)
            next = trail.parent
        }
        var text = ""
        for step in steps.reversed() {
            switch step {
            case .root: break
            case .index(let index): text += "[\(index)]"
            case .key(let key) where Trail.isPlain(key): text += text.isEmpty ? key : "." + key
            case .key(let key): text += "[\(JSONText.quoted(Words.shortened(key, 60)))]"
            }
        }
        return text
    }

    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.count <= 60 && !key.utf8.contains { " .[]\"'\\".utf8.contains($0) }
    }
}
