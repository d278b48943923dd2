// A value of a file with its place and its path: what the checks read.

struct Node {
    enum Value {
        case null
        case bool(Bool)
        /// As the file writes it.
        case number(String)
        case text(Text)
        case list([Node])
        case object([Entry])
    }

    struct Entry {
        var key: Key
        var node: Node
    }

    struct Key {
        var name: String
        /// The token with its quotes.
        var range: Range<Int>
        /// Whether an offset in the name is an offset in the file.
        var isPlain: Bool
    }

    /// A string, its placeholders resolved.
    struct Text {
        var value: String
        /// As the file writes it, with its placeholders.
        var written: String
        /// It holds what came from the environment or a file, and never shows.
        var isTainted: Bool
        /// What came from there, one for each placeholder.
        var insertions: [String] = []
        /// Whether an offset in the value is an offset in the file.
        var isPlain: Bool
        /// Whether the file's own bytes mean the value.
        var isVerbatim: Bool
        /// A placeholder in it did not resolve, which has been told: there is nothing more to say of it.
        var isBroken = false
    }

    var value: Value
    /// In the text; a string's with its quotes.
    var range: Range<Int>
    var trail: Trail

    var offset: Int { range.lowerBound }
    var entries: [Entry]? { if case .object(let entries) = value { entries } else { nil } }
    var items: [Node]? { if case .list(let items) = value { items } else { nil } }
    var text: Text? { if case .text(let text) = value { text } else { nil } }

    subscript(key: String) -> Node? { entries?.first { $0.key.name == key }?.node }

    /// What it is, in a word.
    var kind: String {
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
final class Trail: CustomStringConvertible {
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

    static func root() -> Trail { Trail(nil, .root) }
    func key(_ key: String) -> Trail { Trail(self, .key(key)) }
    func index(_ index: Int) -> Trail { Trail(self, .index(index)) }

    var isRoot: Bool { parent == nil }

    /// `routes[1].sample.rate`; keys that need it are quoted.
    var description: String {
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
