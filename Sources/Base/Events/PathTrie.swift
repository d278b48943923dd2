// The members that the compiled rules name, as a trie of object keys; the scanner notes where just these lie.
// It promises that a look-up costs the same however many keys an object's node wants. It never changes once made.

public final class PathTrie: @unchecked Sendable {
    /// The slot of the event itself. Slot 0 means "not wanted".
    public static let root = 1

    /// How many slots an event has: one for each path, its ancestors, the root, and slot 0.
    public let count: Int

    let nodes: UnsafeMutablePointer<Node>
    let entries: UnsafeMutablePointer<Entry>
    let texts: UnsafeMutablePointer<UInt8>

    private let paths: [Path]
    private let keyTexts: [String]
    private let parents: [Int]
    private let childLists: [[Int]]
    private let slots: [Path: Int]

    /// The wanted keys of one object: a table of `1 << (32 - shift)` places.
    struct Node {
        /// A bit for the first byte and length of each wanted key: most others end here, without waiting for the table.
        var filter: UInt64
        var table: UnsafePointer<Entry>
        var multiplier: UInt32
        var shift: UInt32
        /// The slot of the empty key, which the table cannot hold.
        var empty = 0
    }

    /// One wanted key. A key of up to sixteen bytes is wholly in its first and last word, so most need no further comparison.
    struct Entry {
        var first: UInt64 = 0
        var last: UInt64 = 0
        /// Which bytes of the words are the key's.
        var mask: UInt64 = 0
        /// 0 for an empty place.
        var count = 0
        /// Where the last word begins.
        var offset = 0
        var slot = 0
        /// Where the whole key lies in `texts`.
        var text = 0
        /// How many entries further the next one of the same place is, 0 for none: only for keys that no multiplier tells apart.
        var next = 0
    }

    public init(_ wanted: [Path]) {
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
    }

    deinit {
        nodes.deallocate()
        entries.deallocate()
        texts.deallocate()
    }

    /// The slot of a path that the trie was made with, or of an ancestor of one; nil for any other.
    public func slot(of path: Path) -> Int? { slots[path] }
    /// The path that a slot stands for.
    public func path(of slot: Int) -> Path { paths[slot] }
    /// The slot of the object that holds the member; 0 for the root.
    public func parent(of slot: Int) -> Int { parents[slot] }
    /// The slots of the wanted members of an object, in the order in which the paths first named them.
    public func children(of slot: Int) -> [Int] { childLists[slot] }
    /// The last key of the slot's path; empty for the root.
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
            // In quotes as in an event, since the place of a short key depends on them.
            texts.append(UInt8(ascii: "\""))
            offsets.append(texts.count)
            texts += key.utf8
            texts.append(UInt8(ascii: "\""))
        }
        // A key's first word is loaded whole, however short the key.
        texts += Array(repeating: 0, count: 8)
    }

    /// Adds the table of one node's wanted keys, with the first multiplier that gives each a place of its own.
    mutating func add(_ slots: [Int]) {
        let wanted = slots.filter { !keys[$0].isEmpty }
        let seeds = wanted.map(seed)
        var bits: UInt32 = 1
        while 1 << bits < wanted.count * 2 { bits += 1 }
        var multiplier: UInt32 = 0x9e37_79b1
        // Many keys cannot each have a place of their own; then a few places hold several.
        for attempt in 1..<256 where wanted.count <= 32 && Set(seeds.map { place($0, multiplier, 32 - bits) }).count < wanted.count {
            multiplier = multiplier &* 0x915f_77f5 &+ 0x6a09_e667 | 1
            if attempt % 64 == 0 { bits += 1 }
        }
        let first = entries.count
        entries += Array(repeating: PathTrie.Entry(), count: 1 << Int(bits))
        for (slot, seed) in zip(wanted, seeds) {
            let at = first + place(seed, multiplier, 32 - bits)
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
        // An empty key begins with the quote behind it.
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
            let offset = max(count - 8, 0)
            return PathTrie.Entry(
                first: load64(key) & mask, last: load64(key + offset) & mask, mask: mask, count: count, offset: offset, slot: slot,
                text: offsets[slot])
        }
    }

    func finish() -> (UnsafeMutablePointer<PathTrie.Node>, UnsafeMutablePointer<PathTrie.Entry>, UnsafeMutablePointer<UInt8>) {
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

/// What a key's place depends on: its first two and last two bytes and its length. A key of one byte borrows its quotes.
@inline(__always) private func keySeed(_ key: Bytes, _ count: Int) -> UInt32 {
    UInt32(load16(key)) &+ UInt32(load16(key + (count &- 2))) &<< 16 &+ UInt32(truncatingIfNeeded: count)
}

@inline(__always) private func filterBit(_ first: UInt8, _ count: Int) -> UInt64 {
    1 &<< (UInt64(first) &+ 7 &* UInt64(truncatingIfNeeded: count))
}

@inline(__always) private func place(_ seed: UInt32, _ multiplier: UInt32, _ shift: UInt32) -> Int {
    Int((seed &* multiplier) &>> shift)
}

/// What the scanner holds of a trie: pointers, so that no reference is counted for each event.
struct KeyLookup {
    private let nodes: UnsafePointer<PathTrie.Node>
    private let texts: Bytes

    init(_ trie: PathTrie) {
        nodes = UnsafePointer(trie.nodes)
        texts = Bytes(trie.texts)
    }

    /// The slot of the member with the key [key, key + count) in the object of `slot`; 0 when it is not wanted.
    /// The key stands in quotes, and eight bytes from its first are readable.
    @inline(__always) func child(_ slot: Int, _ key: Bytes, _ count: Int) -> Int {
        let node = nodes + slot
        if node.pointee.filter & filterBit(key[0], count) == 0 { return 0 }
        if count == 0 { return node.pointee.empty }
        var entry = node.pointee.table + place(keySeed(key, count), node.pointee.multiplier, node.pointee.shift)
        while true {
            let first = load64(key) ^ entry.pointee.first
            let last = load64(key + entry.pointee.offset) ^ entry.pointee.last
            if (first | last) & entry.pointee.mask == 0, entry.pointee.count == count, count <= 16 || isSameMiddle(entry, key, count) {
                return entry.pointee.slot
            }
            if entry.pointee.next == 0 { return 0 }
            entry += entry.pointee.next
        }
    }

    @inline(never) private func isSameMiddle(_ entry: UnsafePointer<PathTrie.Entry>, _ key: Bytes, _ count: Int) -> Bool {
        let text = texts + entry.pointee.text
        var i = 8
        while i < count - 8 {
            if text[i] != key[i] { return false }
            i += 1
        }
        return true
    }
}
