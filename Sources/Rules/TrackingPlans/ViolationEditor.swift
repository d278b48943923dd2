// Makes the changed copy of an event that violates its plan: without a member, or with the member `context.switchyard.violation`. Everything
// else stays byte for byte. It is used only for such events.

internal import Document
internal import Events

struct ViolationEditor: ~Copyable {
    private let context: Int
    private let own: Int
    private let mark: Int
    private var scanner: Scanner
    /// The copy that was made last, and the one before it, from which it may be made.
    private var last = ByteBuffer()
    private var before = ByteBuffer()

    init(_ paths: PathTrie) {
        scanner = Scanner(paths, depth: Scanner.deepest)
        let keys = TrackingPlan.mark.keys
        func slot(_ count: Int) -> Int { paths.slot(of: Path(keys: Array(keys.prefix(count)))) ?? 0 }
        (context, own, mark) = (slot(1), slot(2), slot(3))
        assert(context > 0 && own > 0 && mark > 0, "the scanner does not look for the mark")
    }

    /// Returns the event without the member whose key begins at `key` and whose value ends before `end`.
    mutating func remove(_ member: (key: Bytes, end: Bytes), from event: ScannedEvent) -> ScannedEvent? {
        let (start, end) = (event.block + Int(event.start), event.block + Int(event.end))
        assert(member.key > start && member.end < end, "a member of another event is removed")
        var (from, to) = (member.key, member.end)
        let next = skipSpace(to)
        if next[0] == UInt8(ascii: ",") {
            to = skipSpace(next + 1)
        } else {
            var p = from - 1
            while p[0] <= 0x20 { p -= 1 }
            if p[0] == UInt8(ascii: ",") { from = p }
        }
        return make { buffer in
            buffer.append(start, from - start)
            buffer.append(to, end - to)
        }
    }

    /// Returns the event with the text as `context.switchyard.violation`.
    mutating func mark(_ event: ScannedEvent, _ text: String) -> ScannedEvent? {
        let value = JSONText.quoted(text)
        if event.slots[mark].isPresent { return replace(event.slots[mark], of: event, by: value) }
        let member = "\"violation\":" + value
        if event.slots[own].isPresent { return add(member, to: event.slots[own], of: event) }
        let inner = "\"switchyard\":{\(member)}"
        if event.slots[context].isPresent { return add(inner, to: event.slots[context], of: event) }
        return add("\"context\":{\(inner)}", to: event.slots[PathTrie.root], of: event)
    }

    /// Adds a member in front of those of an object. Another value is replaced by an object.
    private mutating func add(_ member: String, to slot: Slot, of event: ScannedEvent) -> ScannedEvent? {
        let at = event.block + Int(slot.start)
        guard at[0] == UInt8(ascii: "{") else { return replace(slot, of: event, by: "{\(member)}") }
        let isEmpty = skipSpace(at + 1)[0] == UInt8(ascii: "}")
        return write(event, from: at + 1, to: at + 1, member + (isEmpty ? "" : ","))
    }

    private mutating func replace(_ slot: Slot, of event: ScannedEvent, by text: String) -> ScannedEvent? {
        write(event, from: event.block + Int(slot.start), to: event.block + Int(slot.end), text)
    }

    private mutating func write(_ event: ScannedEvent, from: Bytes, to: Bytes, _ text: String) -> ScannedEvent? {
        let (start, end) = (event.block + Int(event.start), event.block + Int(event.end))
        let bytes = Array(text.utf8)
        return make { buffer in
            buffer.append(start, from - start)
            bytes.withUnsafeBufferPointer { buffer.append($0.baseAddress!, $0.count) }
            buffer.append(to, end - to)
        }
    }

    /// Scans what the body writes. Returns nil if it is not an event.
    private mutating func make(_ body: (inout ByteBuffer) -> Void) -> ScannedEvent? {
        // The event may lie in the last copy, so the next one is written to the other buffer.
        swap(&last, &before)
        last.removeAll()
        body(&last)
        last.append(UInt8(ascii: "\n"))
        last.reserve(Block.padding)
        (last.base + last.count).update(repeating: UInt8(ascii: "\n"), count: Block.padding)
        return scanner.scan(Bytes(last.base), 0)
    }
}
