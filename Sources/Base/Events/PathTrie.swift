// The members that the compiled rules name, as a trie of object keys. The scanner notes the places of exactly these members. The cost of a
// look-up hardly depends on the number of wanted keys in an object. The trie never changes after its creation.

public final class PathTrie: @unchecked Sendable {
    /// The slot of the event itself. Slot 0 means "not wanted".
    public static let root = 1

    /// The number of slots of an event: one for each path, its ancestors, the root, and slot 0.
    public let count: Int
    /// The slot of the object whose members are listed (`ListedMembers`), or 0 if there is none.
    public let listed: Int

    let nodes: UnsafeMutablePointer<Node>
    let entries: UnsafeMutablePointer<Entry>
    let texts: UnsafeMutablePointer<UInt8>

    private let paths: [Path]
    private let keyTexts: [String]
    private let parents: [Int]
    private let childLists: [[Int]]
    private let slots: [Path: Int]

    /// The wanted keys of one object: a table of `1 << (32 - shift)` entries.
    struct Node {
        /// One bit for the first byte and length of each wanted key. It excludes most other keys without access to the table.
        var filter: UInt64
        var table: UnsafePointer<Entry>
        var multiplier: UInt32
        var shift: UInt32
        /// The slot of the empty key, which the table cannot hold.
        var empty = 0
    }

    /// The last place in a key where its second word may begin. A key of an event can be shorter than the wanted key that it is compared
    /// with. Then the second word is read from the bytes after the key, and only the padding of a line is sure to be readable.
    static let farthest = Block.padding - 8

    /// One wanted key. Its two words contain a key of up to sixteen bytes completely, so most keys need no further comparison.
    struct Entry {
        var first: UInt64 = 0
        var last: UInt64 = 0
        /// The mask of the bytes in the words that belong to the key.
        var mask: UInt64 = 0
        /// The length of the key. It is 0 for an unused entry.
        var count = 0
        /// The place in the key where the second word begins: eight bytes before its end, but not after `farthest`.
        var offset = 0
        var slot = 0
        /// The place of the whole key in `texts`.
        var text = 0
        /// The distance to the next entry with the same place in the table, or 0 if there is none. It is needed only for keys that no
        /// multiplier separates.
        var next = 0
    }

    /// `listing` is one of the paths: the scanner lists all members of the object there, wanted or not.
    public init(_ wanted: [Path], listing: Path? = nil) {
        var paths = [Path(keys: []), Path(keys: [])]
        var keys = ["", ""]
        var parents = [0, 0]
        var children: [[Int]] = [[], []]
        var slots = [paths[1]: PathTrie.root]
        for path in wanted {
            var at = PathTrie.root
            for depth in path.keys.indices {
                let prefix = Path(keys: Array(path.keys[...depth]))
                if let known = slots[prefix] {
                    at = known
                    continue
                }
                slots[prefix] = paths.count
                children[at].append(paths.count)
                parents.append(at)
                at = paths.count
                paths.append(prefix)
                keys.append(path.keys[depth])
                children.append([])
            }
        }
        var table = KeyTables(keys: keys)
        for list in children { table.add(list) }
        (nodes, entries, texts) = table.finish()
        self.count = paths.count
        self.paths = paths
        self.keyTexts = keys
        self.parents = parents
        self.childLists = children
        self.slots = slots
        listed = listing.flatMap { slots[$0] } ?? 0
        assert(listing == nil || listed > PathTrie.root, "the members of an object are listed that is not wanted")
        assert(parents.enumerated().dropFirst(2).allSatisfy { $1 >= PathTrie.root && $1 < $0 }, "a member comes before its object")
        assert((2..<count).allSatisfy(isFound), "a wanted key cannot be looked up")
    }

    deinit {
        nodes.deallocate()
        entries.deallocate()
        texts.deallocate()
    }

    private func isFound(_ slot: Int) -> Bool {
        let key = keyTexts[slot].utf8
        let quoted = [UInt8(ascii: "\"")] + key + [UInt8(ascii: "\"")] + [UInt8](repeating: 0, count: Block.padding)
        return quoted.withUnsafeBufferPointer {
            KeyLookup(self).child(parents[slot], key: $0.baseAddress.unsafelyUnwrapped + 1, count: key.count) == slot
        }
    }

    /// Returns the slot of a path with which the trie was created, or of an ancestor of one. Returns nil for any other path.
    public func slot(of path: Path) -> Int? { slots[path] }
    /// Returns the path of a slot.
    public func path(of slot: Int) -> Path { paths[slot] }
    /// Returns the slot of the object that contains the member, or 0 for the root.
    public func parent(of slot: Int) -> Int { parents[slot] }
    /// Returns the slots of the wanted members of an object, in the order in which the paths first named them.
    public func children(of slot: Int) -> [Int] { childLists[slot] }
    /// Returns the last key of the slot's path. It is empty for the root.
    public func key(of slot: Int) -> String { keyTexts[slot] }
}

/// Builds the tables of all nodes.
private struct KeyTables {
    private struct Shape {
        var filter: UInt64
        var first: Int
        var multiplier: UInt32
        var shift: UInt32
        var empty: Int
    }

    private let keys: [String]
    private var shapes: [Shape] = []
    private var entries: [PathTrie.Entry] = []
    private var texts: [UInt8] = [0]
    private var offsets: [Int] = []

    init(keys: [String]) {
        self.keys = keys
        for key in keys {
            // The keys are stored with quotes, as in an event, because the place of a short key depends on its quotes.
            texts.append(UInt8(ascii: "\""))
            offsets.append(texts.count)
            texts += key.utf8
            texts.append(UInt8(ascii: "\""))
        }
        // The first word of a key is always read completely, even if the key is shorter.
        texts += Array(repeating: 0, count: 8)
    }

    /// Adds the table of one node's wanted keys, with the first multiplier that gives each key a separate place.
    mutating func add(_ slots: [Int]) {
        let wanted = slots.filter { !keys[$0].isEmpty }
        let seeds = wanted.map(seed)
        var bits: UInt32 = 1
        while 1 << bits < wanted.count * 2 { bits += 1 }
        var multiplier: UInt32 = 0x9e37_79b1
        // A large number of keys cannot all have separate places. Then some keys share a place.
        var taken = PlaceMarks()
        for attempt in 1..<256
        where wanted.count <= 32 && !taken.areApart(seeds, multiplier: multiplier, bits: bits) {
            multiplier = multiplier &* 0x915f_77f5 &+ 0x6a09_e667 | 1
            if attempt % 64 == 0 { bits += 1 }
        }
        let first = entries.count
        assert((1...31).contains(bits), "the table of an object has no size")
        entries += Array(repeating: PathTrie.Entry(), count: 1 << Int(bits))
        for (slot, seed) in zip(wanted, seeds) {
            let at = first + place(seed, multiplier: multiplier, shift: 32 - bits)
            if entries[at].count == 0 {
                entries[at] = entry(slot)
                continue
            }
            var last = at
            while entries[last].next != 0 { last += entries[last].next }
            entries[last].next = entries.count - last
            entries.append(entry(slot))
        }
        let empty = slots.first { keys[$0].isEmpty }
        // The first byte after the opening quote of an empty key is its closing quote.
        var filter = empty == nil ? 0 : filterBit(UInt8(ascii: "\""), 0)
        for slot in wanted { filter |= filterBit(keys[slot].utf8.first ?? 0, keys[slot].utf8.count) }
        shapes.append(Shape(filter: filter, first: first, multiplier: multiplier, shift: 32 - bits, empty: empty ?? 0))
    }

    private func seed(_ slot: Int) -> UInt32 {
        texts.withUnsafeBufferPointer { keySeed($0.baseAddress! + offsets[slot], keys[slot].utf8.count) }
    }

    private func entry(_ slot: Int) -> PathTrie.Entry {
        texts.withUnsafeBufferPointer { texts in
            let key = texts.baseAddress! + offsets[slot]
            let count = keys[slot].utf8.count
            let mask: UInt64 = count >= 8 ? .max : 1 << UInt64(count * 8) - 1
            let offset = min(max(count - 8, 0), PathTrie.farthest)
            return PathTrie.Entry(
                first: load64(key) & mask, last: load64(key + offset) & mask, mask: mask, count: count, offset: offset, slot: slot,
                text: offsets[slot])
        }
    }

    func finish() -> (UnsafeMutablePointer<PathTrie.Node>, UnsafeMutablePointer<PathTrie.Entry>, UnsafeMutablePointer<UInt8>) {
        precondition(shapes.count == keys.count, "a slot has no table of keys")
        let table = copy(entries)
        let nodes = shapes.map { shape in
            PathTrie.Node(
                filter: shape.filter, table: UnsafePointer(table + shape.first), multiplier: shape.multiplier, shift: shape.shift,
                empty: shape.empty)
        }
        return (copy(nodes), table, copy(texts))
    }

    private func copy<Element>(_ elements: [Element]) -> UnsafeMutablePointer<Element> {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: elements.count)
        _ = UnsafeMutableBufferPointer(start: memory, count: elements.count).initialize(from: elements)
        return memory
    }
}

/// Marks the places in a table that keys have taken. It is used again for each multiplier, without clearing.
private struct PlaceMarks {
    /// The number of the attempt that took each place last.
    private var marks: [UInt32] = []
    private var attempt: UInt32 = 0

    /// Returns true if the multiplier gives each seed a place of its own in a table of `1 << bits` places.
    mutating func areApart(_ seeds: [UInt32], multiplier: UInt32, bits: UInt32) -> Bool {
        if marks.count < 1 << Int(bits) { marks = Array(repeating: attempt, count: 1 << Int(bits)) }
        attempt += 1
        for seed in seeds {
            let at = place(seed, multiplier: multiplier, shift: 32 - bits)
            if marks[at] == attempt { return false }
            marks[at] = attempt
        }
        return true
    }
}

/// Returns the value that determines a key's place: its first two and last two bytes and its length. A key of one byte includes its quotes.
@inline(__always) private func keySeed(_ key: Bytes, _ count: Int) -> UInt32 {
    UInt32(load16(key)) &+ UInt32(load16(key + (count &- 2))) &<< 16 &+ UInt32(truncatingIfNeeded: count)
}

@inline(__always) private func filterBit(_ first: UInt8, _ count: Int) -> UInt64 {
    1 &<< (UInt64(first) &+ 7 &* UInt64(truncatingIfNeeded: count))
}

@inline(__always) private func place(_ seed: UInt32, multiplier: UInt32, shift: UInt32) -> Int {
    Int((seed &* multiplier) &>> shift)
}

/// The scanner's view of a trie. It uses pointers, so that no reference is counted for each event.
struct KeyLookup {
    private let nodes: UnsafePointer<PathTrie.Node>
    private let texts: Bytes

    init(_ trie: PathTrie) {
        nodes = UnsafePointer(trie.nodes)
        texts = Bytes(trie.texts)
    }

    /// Returns the slot of the member with the key [key, key + count) in the object of `slot`, or 0 if it is not wanted. The key must be
    /// enclosed in quotes, and 64 bytes from its first byte must be readable.
    @inline(__always) func child(_ slot: Int, key: Bytes, count: Int) -> Int {
        let node = nodes + slot
        if node.pointee.filter & filterBit(key[0], count) == 0 { return 0 }
        if count == 0 { return node.pointee.empty }
        var entry = node.pointee.table + place(keySeed(key, count), multiplier: node.pointee.multiplier, shift: node.pointee.shift)
        while true {
            let first = load64(key) ^ entry.pointee.first
            let last = load64(key + entry.pointee.offset) ^ entry.pointee.last
            if (first | last) & entry.pointee.mask == 0, entry.pointee.count == count,
                count <= 16 || isSameRest(entry, key: key, count: count)
            {
                return entry.pointee.slot
            }
            if entry.pointee.next == 0 { return 0 }
            entry += entry.pointee.next
        }
    }

    /// Returns true if the bytes after the first word are the same.
    @inline(never) private func isSameRest(_ entry: UnsafePointer<PathTrie.Entry>, key: Bytes, count: Int) -> Bool {
        let text = texts + entry.pointee.text
        var i = 8
        while i < count {
            if text[i] != key[i] { return false }
            i += 1
        }
        return true
    }
}
