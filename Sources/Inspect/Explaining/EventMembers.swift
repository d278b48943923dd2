// Copies of the members of one event that the rules name. They are used for explaining, never for routing.

internal import Events

struct EventMembers {
    private struct Member {
        var text: [UInt8]
        /// The offset of the value from the start of the event's line.
        var start: Int
    }

    private var members: [Path: Member] = [:]
    /// The members that the event holds twice. A step can add a key that already exists.
    private(set) var doubled: Set<Path> = []

    init(_ event: ScannedEvent, _ paths: PathTrie) {
        for slot in PathTrie.root + 1..<max(PathTrie.root + 1, paths.count) where event.slots[slot].isPresent {
            let value = event.slots[slot]
            assert(value.start >= event.start && value.end <= event.end && value.start < value.end, "a member lies outside its event")
            let text = UnsafeBufferPointer(start: event.block + Int(value.start), count: Int(value.end - value.start))
            members[paths.path(of: slot)] = Member(text: Array(text), start: Int(value.start - event.start))
        }
    }

    /// Reads a line that the editor has written. It is an event of any depth.
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
                preconditionFailure("the editor must write an event")
            }
        }
    }

    /// The value as written. It is nil if the event lacks the member.
    subscript(path: Path) -> [UInt8]? { members[path]?.text }

    /// Returns true if the line can be read as an event of any depth.
    static func isEvent(_ line: [UInt8]) -> Bool {
        var block = Block(capacity: line.count)
        line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        var scanner = Scanner(PathTrie([]), depth: Scanner.deepest)
        return scanner.scan(block.bytes, 0) != nil
    }

    /// Returns the places of the values of these members.
    func ranges(of paths: [Path]) -> [Range<Int>] {
        paths.compactMap { path in members[path].map { $0.start..<$0.start + $0.text.count } }
    }

    /// Returns the places of the hashes of these members.
    func hashRanges(_ hashed: [HashedMember]) -> [Range<Int>] {
        hashed.compactMap { one in
            members[one.path].flatMap { one.isHash($0.text) ? $0.start..<$0.start + $0.text.count : nil }
        }
    }

    /// Returns the offsets at which the hashes of these members begin.
    func digests(_ hashed: [HashedMember]) -> Set<Int> {
        Set(hashed.compactMap { one in members[one.path].flatMap { one.isHash($0.text) ? $0.start : nil } })
    }
}

extension PathTrie {
    private var paths: [Path] { (PathTrie.root + 1..<max(PathTrie.root + 1, count)).map(path) }

    func with(_ others: [Path]) -> PathTrie { PathTrie(paths + others) }

    fileprivate func without(_ some: Set<Path>) -> PathTrie {
        PathTrie(paths.filter { path in !some.contains { $0.holds(path) } })
    }
}
