// Finds the members of each event of a batch in one pass over its bytes.

internal import Events
internal import HTTPKit
internal import PluginKit

/// The members that the reader looks for, and how they lie in one another.
final class EventShape: @unchecked Sendable {
    let trie: PathTrie
    /// The slot of each member that a vendor has named.
    let places: UnsafeMutablePointer<Int32>
    /// The slots of the members of each object, one list after another, and where the list of each slot begins.
    let children: UnsafeMutablePointer<Int32>
    let firstChild: UnsafeMutablePointer<Int32>

    init(_ named: [Path]) {
        let trie = PathTrie(CanonicalEvent.Place.paths + named)
        self.trie = trie
        assert(trie.slot(of: Path(keys: ["context"])) == CanonicalEvent.Place.context, "a member of the shape has another slot")
        places = .allocate(capacity: named.count + 1)
        for (index, path) in named.enumerated() { places[index] = Int32(trie.slot(of: path)!) }
        children = .allocate(capacity: trie.count)
        firstChild = .allocate(capacity: trie.count + 1)
        var at: Int32 = 0
        for slot in 0..<trie.count {
            firstChild[slot] = at
            for child in trie.children(of: slot) {
                children[Int(at)] = Int32(child)
                at += 1
            }
        }
        firstChild[trie.count] = at
    }

    deinit {
        places.deallocate()
        children.deallocate()
        firstChild.deallocate()
    }

    func children(of slot: Int) -> UnsafeBufferPointer<Int32> {
        UnsafeBufferPointer(start: children + Int(firstChild[slot]), count: Int(firstChild[slot + 1] - firstChild[slot]))
    }
}

struct EventReader: ~Copyable {
    private let shape: EventShape
    private var scanner: Scanner
    private var lines = PaddedLines()

    init(_ shape: EventShape) {
        self.shape = shape
        scanner = Scanner(shape.trie, depth: Scanner.deepest)
    }

    /// Begins a batch, whose memory must outlive the reading.
    mutating func begin(_ lines: Lines) { self.lines.begin(lines) }

    /// Returns an event of the batch, valid until the next but one, or nil if it cannot be read: `fault` says why.
    mutating func event(_ index: Int, arrival: Int64, now: Int64) -> CanonicalEvent? {
        guard let line = lines.line(index), let scanned = scanner.scan(line, 0) else { return nil }
        return CanonicalEvent(scanned, places: shape.places, arrival: arrival, now: now)
    }

    var fault: String { scanner.fault.message }
}
