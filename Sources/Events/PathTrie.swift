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

    /// The table of one object's wanted keys: `1 << (64 - shift)` entries from `first`.
    struct Node {
        /// A bit for the length and first byte of each wanted key: most others end here.
        var filter: UInt64
        var multiplier: UInt64
        var shift: UInt64
        var first: Int
    }

    /// One wanted key. A key of up to sixteen bytes is wholly in its first and last word, so most need no further comparison.
    struct Entry {
        var first: UInt64 = 0
        var last: UInt64 = 0
        var count = -1
        var slot: Int32 = 0
        /// Where the whole key lies in `texts`.
        var text: Int32 = 0
        /// The next entry of the same place, 0 for none: only for keys that no multiplier tells apart.
        var next: Int32 = 0
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
    let keys: [String]
    var nodes: [PathTrie.Node] = []
    var entries: [PathTrie.Entry] = []
    var texts: [UInt8] = []
    var offsets: [Int] = []

    init(keys: [String]) {
        self.keys = keys
        for key in keys {
            offsets.append(texts.count)
            texts += key.utf8
        }
        // A key's first word is loaded whole, however short the key.
        texts += Array(repeating: 0, count: 8)
    }

    /// Adds the table of one node's wanted keys, with the first multiplier that gives each a place of its own.
    mutating func add(_ slots: [Int]) {
        let wanted = slots.map(entry)
        var bits: UInt64 = 1
        while 1 << bits < wanted.count * 2 { bits += 1 }
        var multiplier: UInt64 = 0x9e37_79b9_7f4a_7c15
        // Many keys cannot each have a place of their own; then a few places hold two.
        for attempt in 1..<256 where wanted.count <= 32 && collides(wanted, multiplier, 64 - bits) {
            multiplier = multiplier &* 0xd134_2543_de82_ef95 | 1
            if attempt % 64 == 0 { bits += 1 }
        }
        let first = entries.count
        entries += Array(repeating: PathTrie.Entry(), count: 1 << Int(bits))
        for entry in wanted {
            let place = first + placeOf(entry.first, entry.last, entry.count, multiplier, 64 - bits)
            if entries[place].count < 0 {
                entries[place] = entry
            } else {
                overflow.append((place, entry))
            }
        }
        for (place, entry) in overflow {
            var added = entry
            added.next = entries[place].next
            entries[place].next = Int32(entries.count)
            entries.append(added)
        }
        overflow.removeAll()
        let filter = wanted.reduce(0) { $0 | filterBit($1.count == 0 ? UInt8(ascii: "\"") : UInt8(truncatingIfNeeded: $1.first), $1.count) }
        nodes.append(PathTrie.Node(filter: filter, multiplier: multiplier, shift: 64 - bits, first: first))
    }

    private var overflow: [(Int, PathTrie.Entry)] = []

    private func entry(_ slot: Int) -> PathTrie.Entry {
        texts.withUnsafeBufferPointer { texts in
            let key = texts.baseAddress! + offsets[slot]
            let count = keys[slot].utf8.count
            let (first, last) = endWords(key, count)
            return PathTrie.Entry(first: first, last: last, count: count, slot: Int32(slot), text: Int32(offsets[slot]))
        }
    }

    private func collides(_ wanted: [PathTrie.Entry], _ multiplier: UInt64, _ shift: UInt64) -> Bool {
        var taken: Set<Int> = []
        return !wanted.allSatisfy { taken.insert(placeOf($0.first, $0.last, $0.count, multiplier, shift)).inserted }
    }

    func finish() -> (UnsafeMutablePointer<PathTrie.Node>, UnsafeMutablePointer<PathTrie.Entry>, UnsafeMutablePointer<UInt8>) {
        (copy(nodes), copy(entries), copy(texts))
    }

    private func copy<Element>(_ elements: [Element]) -> UnsafeMutablePointer<Element> {
        let memory = UnsafeMutablePointer<Element>.allocate(capacity: elements.count)
        _ = UnsafeMutableBufferPointer(start: memory, count: elements.count).initialize(from: elements)
        return memory
    }
}

/// The first and the last eight bytes of a key; of a shorter key twice the same, with zeros behind. Eight bytes are readable at p.
@inline(__always) func endWords(_ p: Bytes, _ count: Int) -> (first: UInt64, last: UInt64) {
    let mask: UInt64 = count >= 8 ? .max : (1 &<< UInt64(truncatingIfNeeded: count &* 8)) &- 1
    return (load64(p) & mask, load64(p + max(count &- 8, 0)) & mask)
}

@inline(__always) private func placeOf(_ first: UInt64, _ last: UInt64, _ count: Int, _ multiplier: UInt64, _ shift: UInt64) -> Int {
    let sum = first &+ last &+ UInt64(truncatingIfNeeded: count)
    return Int(truncatingIfNeeded: (sum &* multiplier) &>> shift)
}

@inline(__always) private func filterBit(_ firstByte: UInt8, _ count: Int) -> UInt64 {
    1 &<< (UInt64(firstByte) &+ 7 &* UInt64(truncatingIfNeeded: count))
}

/// What the scanner holds of a trie: pointers, so that no reference is counted for each event.
struct KeyLookup {
    let nodes: UnsafePointer<PathTrie.Node>
    let entries: UnsafePointer<PathTrie.Entry>
    let texts: Bytes

    init(_ trie: PathTrie) {
        nodes = UnsafePointer(trie.nodes)
        entries = UnsafePointer(trie.entries)
        texts = Bytes(trie.texts)
    }

    /// The slot of the member with the key [p, p + count) in the object of `slot`; 0 when it is not wanted.
    /// Eight bytes from the key's first are readable.
    @inline(__always) func child(_ slot: Int, _ p: Bytes, _ count: Int) -> Int {
        let node = nodes + slot
        // Of an empty key this is the quote behind it.
        return node.pointee.filter & filterBit(p[0], count) == 0 ? 0 : filtered(node, p, count)
    }

    @inline(__always) private func filtered(_ node: UnsafePointer<PathTrie.Node>, _ p: Bytes, _ count: Int) -> Int {
        let (first, last) = endWords(p, count)
        var place = node.pointee.first &+ placeOf(first, last, count, node.pointee.multiplier, node.pointee.shift)
        while true {
            let entry = entries + place
            let difference = (entry.pointee.first ^ first) | (entry.pointee.last ^ last)
            if difference | UInt64(truncatingIfNeeded: entry.pointee.count ^ count) == 0, count <= 16 || isSameMiddle(entry, p, count) {
                return Int(entry.pointee.slot)
            }
            if entry.pointee.next == 0 { return 0 }
            place = Int(entry.pointee.next)
        }
    }

    @inline(never) private func isSameMiddle(_ entry: UnsafePointer<PathTrie.Entry>, _ p: Bytes, _ count: Int) -> Bool {
        let text = texts + Int(entry.pointee.text)
        var i = 8
        while i < count - 8 {
            if text[i] != p[i] { return false }
            i += 1
        }
        return true
    }
}
