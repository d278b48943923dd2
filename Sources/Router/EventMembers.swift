// The members of one event that the rules name, copied out of it: for explaining, never for routing.

internal import Events

struct EventMembers {
    private struct Member {
        var text: [UInt8]
        /// Counted from the start of the event's line.
        var start: Int
    }

    private var members: [Path: Member] = [:]
    /// Those that a copy holds twice: a step can make a key that is there already.
    private(set) var doubled: Set<Path> = []

    init(_ event: ScannedEvent, _ paths: PathTrie) {
        for slot in PathTrie.root + 1..<max(PathTrie.root + 1, paths.count) where event.slots[slot].isPresent {
            let value = event.slots[slot]
            let text = UnsafeBufferPointer(start: event.block + Int(value.start), count: Int(value.end - value.start))
            members[paths.path(of: slot)] = Member(text: Array(text), start: Int(value.start - event.start))
        }
    }

    /// Of a line that the editor has written: an event, whatever it nests.
    init(of line: [UInt8], _ paths: PathTrie) {
        var block = Block(capacity: line.count)
        line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        var doubled: Set<Path> = []
        while true {
            let once = doubled.isEmpty ? paths : paths.without(doubled)
            var scanner = Scanner(once, depth: Scanner.deepest)
            if let event = scanner.scan(block.bytes, 0) {
                self.init(event, once)
                self.doubled = doubled
                return
            }
            guard let member = scanner.fault.member, doubled.insert(member).inserted else {
                preconditionFailure("what the editor writes is an event")
            }
        }
    }

    /// The value as written; nil when the event lacks the member.
    subscript(path: Path) -> [UInt8]? { members[path]?.text }

    /// Where the digests at these paths begin.
    func digests(_ paths: [Path]) -> Set<Int> {
        Set(paths.compactMap { members[$0] }.filter { Self.isDigest($0.text) }.map(\.start))
    }

    /// Sixty-four hex digits in quotes.
    static func isDigest(_ text: [UInt8]) -> Bool {
        text.count == 66 && text[0] == UInt8(ascii: "\"")
            && text[1..<65].allSatisfy { $0 &- 0x30 < 10 || $0 &- UInt8(ascii: "a") < 6 }
    }
}

extension PathTrie {
    fileprivate func without(_ some: Set<Path>) -> PathTrie {
        PathTrie((PathTrie.root + 1..<max(PathTrie.root + 1, count)).map(path).filter { path in !some.contains { $0.holds(path) } })
    }
}
