// Turns text that jansson has accepted into nodes: every key and value with its place, and with placeholders resolved. It reports duplicate
// keys, which jansson silently accepts.

public struct Outline {
    private var lexer: Lexer
    private let source: Source
    private let resolve: (inout Node.Text, Int) -> [LocatedFault]
    private var faults: [LocatedFault] = []

    /// Returns the tree and its faults. Throws if the syntax is invalid.
    public static func read(_ source: Source, resolving placeholders: Placeholders?) throws(LocatedFault) -> (
        root: Node, faults: [LocatedFault]
    ) {
        try Syntax.check(source)
        var outline = Outline(source) { text, offset in placeholders?.resolve(&text, at: offset) ?? [] }
        let root = outline.value(outline.take(), NodePath.root())
        return (root, outline.faults)
    }

    private init(_ source: Source, _ resolve: @escaping (inout Node.Text, Int) -> [LocatedFault]) {
        lexer = Lexer(source.bytes)
        self.source = source
        self.resolve = resolve
    }

    private mutating func take() -> Token {
        guard let token = lexer.next() else { preconditionFailure("the text ends inside a value that jansson accepted") }
        return token
    }

    private mutating func value(_ token: Token, _ path: NodePath) -> Node {
        let start = token.range.lowerBound
        switch token.kind {
        case .open where source.bytes[start] == UInt8(ascii: "{"): return object(from: start, path)
        case .open: return list(from: start, path)
        case .string: return Node(value: .text(text(token.range)), range: token.range, path: path)
        case .number: return Node(value: .number(source.text(token.range)), range: token.range, path: path)
        default:
            let value: Node.Value =
                switch source.bytes[start] {
                case UInt8(ascii: "t"): .bool(true)
                case UInt8(ascii: "f"): .bool(false)
                default: .null
                }
            return Node(value: value, range: token.range, path: path)
        }
    }

    private mutating func list(from start: Int, _ path: NodePath) -> Node {
        var items: [Node] = []
        while true {
            let token = take()
            switch token.kind {
            case .close: return Node(value: .list(items), range: start..<token.range.upperBound, path: path)
            case .comma: continue
            default: items.append(value(token, path.index(items.count)))
            }
        }
    }

    private mutating func object(from start: Int, _ path: NodePath) -> Node {
        var entries: [Node.Entry] = []
        // Keys are compared by their bytes: Swift takes some strings that look alike for equal, but in JSON they are different keys.
        var seen: [[UInt8]: Int] = [:]
        while true {
            let token = take()
            switch token.kind {
            case .close: return Node(value: .object(entries), range: start..<token.range.upperBound, path: path)
            case .comma: continue
            default: break
            }
            let name = Syntax.decode(source.bytes[token.range])
            assert(token.kind == .string, "jansson accepted a key that is no string")
            _ = take()
            let node = value(take(), path.key(name))
            if let first = seen[Array(name.utf8)] {
                let line = source.place(of: first).line
                let message =
                    "\(path.isRoot ? "" : "\(path): ")duplicate key \(Words.quoted(name)), expected once; the first is in line \(line)"
                faults.append(LocatedFault(offset: token.range.lowerBound, message: message))
                continue
            }
            seen[Array(name.utf8)] = token.range.lowerBound
            let key = Node.Key(name: name, range: token.range, isPlain: name.utf8.count == token.range.count - 2)
            entries.append(Node.Entry(key: key, node: node))
        }
    }

    private mutating func text(_ range: Range<Int>) -> Node.Text {
        let value = Syntax.decode(source.bytes[range])
        var text = Node.Text(
            value: value, written: value, isTainted: false, isPlain: value.utf8.count == range.count - 2, isVerbatim: true)
        faults += resolve(&text, range.lowerBound)
        return text
    }
}
