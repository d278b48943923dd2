// A value of a file with its place and its path. All checks read nodes.

public struct Node {
    public enum Value {
        case null
        case bool(Bool)
        /// The number as the file writes it.
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
        /// The range of the token, with its quotes.
        public var range: Range<Int>
        /// True if the name has no escapes, so that an offset in the name is an offset in the token.
        public var isPlain: Bool
    }

    /// A string with its placeholders resolved.
    public struct Text {
        public var value: String
        /// The string before its placeholders are resolved. Its JSON escapes are decoded.
        public var written: String
        /// True if it holds text from the environment or from another file. Such a string is never shown.
        public var isTainted: Bool
        /// The texts from there, one for each placeholder.
        var insertions: [String] = []
        /// True if an offset in the value is an offset in the token.
        public var isPlain: Bool
        /// True if the token in the file has exactly this value.
        public var isVerbatim: Bool
        /// True if a placeholder in it did not resolve. That is already reported, so no other fault of the string is.
        public var isBroken = false
    }

    public var value: Value
    /// The range in the text. For a string it includes the quotes.
    public var range: Range<Int>
    public var path: NodePath

    public var offset: Int { range.lowerBound }
    public var entries: [Entry]? { if case .object(let entries) = value { entries } else { nil } }
    public var items: [Node]? { if case .list(let items) = value { items } else { nil } }
    public var text: Text? { if case .text(let text) = value { text } else { nil } }

    public subscript(key: String) -> Node? { entries?.first { $0.key.name == key }?.node }

    /// The type of the value, in words.
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

/// The path from the root to a value. It is kept as steps and written only for a message, so that a long key is not copied for each value
/// below it.
public final class NodePath: CustomStringConvertible {
    private enum Step {
        case root
        case key(String)
        case index(Int)
    }
    private let parent: NodePath?
    private let step: Step

    private init(_ parent: NodePath?, _ step: Step) {
        self.parent = parent
        self.step = step
    }

    public static func root() -> NodePath { NodePath(nil, .root) }
    public func key(_ key: String) -> NodePath { NodePath(self, .key(key)) }
    public func index(_ index: Int) -> NodePath { NodePath(self, .index(index)) }

    public var isRoot: Bool { parent == nil }

    /// The path as messages show it, such as `routes[1].sample.rate`. Keys with special characters are quoted.
    public var description: String {
        var steps: [Step] = []
        var next: NodePath? = self
        while let path = next {
            steps.append(path.step)
            next = path.parent
        }
        var text = ""
        for step in steps.reversed() {
            switch step {
            case .root: break
            case .index(let index): text += "[\(index)]"
            case .key(let key) where NodePath.isPlain(key): text += text.isEmpty ? key : "." + key
            case .key(let key): text += "[\(JSONText.quoted(Words.shortened(key, 60)))]"
            }
        }
        return text
    }

    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && key.utf8.count <= 60 && !key.utf8.contains { " .[]\"'\\".utf8.contains($0) }
    }
}
