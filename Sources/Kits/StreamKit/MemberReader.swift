// Finds members of each event of a batch in one pass over its bytes, for providers that write to a log: the id, the parts of a name, a key.
// It promises that an event stays byte for byte as it is; only the values that are read are decoded.

package import Events
internal import HTTPKit
package import PluginKit

/// The members that a provider reads of each event, in the order in which they were added.
package struct MemberList: Sendable {
    package private(set) var paths: [Path] = []

    package init() {}

    /// Adds a member and returns its number. A member that is already in the list keeps its number.
    package mutating func add(_ path: Path) -> Int {
        if let known = paths.firstIndex(of: path) { return known }
        paths.append(path)
        return paths.count - 1
    }
}

/// Reads one event after another. It belongs to one thread.
package struct MemberReader: ~Copyable {
    private let slots: [Int]
    private var scanner: Scanner
    private var lines = PaddedLines()

    package init(_ members: MemberList) {
        let trie = PathTrie(members.paths)
        slots = members.paths.map { trie.slot(of: $0)! }
        scanner = Scanner(trie, depth: Scanner.deepest)
    }

    /// Begins a batch, whose memory must outlive the reading.
    package mutating func begin(_ lines: Lines) { self.lines.begin(lines) }

    /// The reason why the last event could not be read.
    package var fault: String { scanner.fault.message }

    /// Returns an event of the batch, valid until the next one is read, or nil if it is not valid JSON.
    package mutating func event(_ index: Int) -> ReadEvent? {
        guard let line = lines.line(index), let scanned = scanner.scan(line, 0) else { return nil }
        return ReadEvent(scanned: scanned, slots: slots)
    }
}

/// The members of one event.
package struct ReadEvent {
    let scanned: ScannedEvent
    let slots: [Int]

    /// The bytes of the event.
    package var json: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: scanned.block + Int(scanned.start), count: Int(scanned.end - scanned.start))
    }

    /// Appends the value of a member: the text of a string, or a number or flag as it is written. Appends nothing and returns false if the
    /// event does not have the member, if its value is of another type, or if the string is not valid text.
    package func append(_ member: Int, to buffer: inout ByteBuffer) -> Bool {
        let slot = scanned.slots[slots[member]]
        guard slot.isPresent else { return false }
        let (start, count) = (scanned.block + Int(slot.start), Int(slot.end - slot.start))
        switch start[0] {
        case UInt8(ascii: "\""): return Text.append(scanned.block, slot, to: &buffer)
        case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "n"): return false
        default:
            buffer.append(start, count)
            return true
        }
    }
}
