// Writes the edited copy of an event: runs of its own bytes, and between them what the edits put in their place.
// What no edit touches is copied byte for byte. A member that is dropped goes with its comma and the spaces up to the
// next member; a member that is added stands behind the last one that stays.

internal import Events
internal import Glibc

/// Copies runs of an event and notes where its message id comes to lie.
struct EditWriter {
    let block: Bytes
    var out: UnsafeMutablePointer<UInt8>
    /// Where the message id begins in the block; UInt32.max: nobody asks.
    let id: UInt32
    var idAt: UnsafeMutablePointer<UInt8>?

    @inline(__always) mutating func copy(_ from: UInt32, _ to: UInt32) {
        let count = to &- from
        if id &- from < count { idAt = out + Int(id &- from) }
        memcpy(out, block + Int(from), Int(count))
        out += Int(count)
    }

    @inline(__always) mutating func put(_ text: ByteRun) {
        memcpy(out, text.base, text.count)
        out += text.count
    }

    @inline(__always) mutating func put(_ byte: UInt8) {
        out[0] = byte
        out += 1
    }
}

struct Editor: ~Copyable {
    private let edits: UnsafeBufferPointer<Edit>
    private let gains: UnsafeBufferPointer<Int>
    private var digests: Digests
    /// The members of one object in the order of the event: an index into `edits` each. A stack, as objects nest.
    private let order: UnsafeMutablePointer<Int>

    init(edits: UnsafeBufferPointer<Edit>, growth: UnsafeBufferPointer<Int>, digests: consuming Digests) {
        self.edits = edits
        gains = growth
        self.digests = digests
        order = .allocate(capacity: max(1, edits.count))
        order.initialize(repeating: 0, count: max(1, edits.count))
    }

    deinit { order.deallocate() }

    /// The most bytes that an event can gain by the edits from the root at this index; -1: nothing is edited.
    @inline(__always) func growth(_ root: Int) -> Int { root < 0 ? 0 : gains[root] }

    /// Writes the event, edited from the root at index `root`, to the writer, which has room for it.
    mutating func write(_ event: ScannedEvent, root: Int, turn: UInt64, to writer: inout EditWriter) {
        let slot = event.slots[PathTrie.root]
        writer.copy(event.start, slot.start)
        object(edits[root], event, turn, order, &writer)
        writer.copy(slot.end, event.end)
    }

    private mutating func object(
        _ edit: Edit, _ event: ScannedEvent, _ turn: UInt64, _ order: UnsafeMutablePointer<Int>, _ writer: inout EditWriter
    ) {
        let slots = event.slots
        let slot = slots[edit.slot]
        var count = 0
        var kept = Int(slot.members)
        for i in edit.first..<(edit.first + edit.count) {
            let at = slots[edits[i].slot]
            guard at.end != 0 else { continue }
            if edits[i].kind == .drop { kept -= 1 }
            var j = count
            while j > 0, slots[edits[order[j - 1]].slot].start > at.start {
                order[j] = order[j - 1]
                j -= 1
            }
            order[j] = i
            count += 1
        }

        var at = slot.start
        var i = 0
        while i < count {
            let member = edits[order[i]]
            let value = slots[member.slot]
            switch member.kind {
            case .drop:
                let (start, end) = run(order, &i, count, event)
                writer.copy(at, start)
                at = end
            case .constant:
                writer.copy(at, value.start)
                writer.put(member.value)
                at = value.end
            case .object:
                if event.block[Int(value.start)] == UInt8(ascii: "{") {
                    writer.copy(at, value.start)
                    object(member, event, turn, order + count, &writer)
                    at = value.end
                } else if member.value.count > 0 {
                    writer.copy(at, value.start)
                    writer.put(member.value)
                    at = value.end
                }
            case .digest:
                if event.block[Int(value.start)] != UInt8(ascii: "n") {
                    writer.copy(at, value.start)
                    writer.put(digests.text(member.digest, event, turn))
                    at = value.end
                }
            case .digestOfEdit:
                if event.block[Int(value.start)] != UInt8(ascii: "n") || member.value.count > 0 {
                    writer.copy(at, value.start)
                    digestOfEdit(member, value, event, turn, order + count, &writer)
                    at = value.end
                }
            }
            i += 1
        }
        if edit.adds { add(edit, event, hasMembers: kept > 0, &at, &writer) }
        writer.copy(at, slot.end)
    }

    /// The bytes that go with a run of neighbours that are all dropped, the first of them at `order[i]`; leaves `i` at
    /// the last. Up to the next member's key, or, when no member follows, from the comma before on.
    @inline(__always) private func run(
        _ order: UnsafeMutablePointer<Int>, _ i: inout Int, _ count: Int, _ event: ScannedEvent
    ) -> (start: UInt32, end: UInt32) {
        let block = event.block
        let first = event.slots[edits[order[i]].slot]
        var end = first.end
        while true {
            let behind = skipSpace(block + Int(end))
            guard behind[0] == UInt8(ascii: ",") else { break }
            let next = UInt32(truncatingIfNeeded: skipSpace(behind + 1) - block)
            guard i + 1 < count, edits[order[i + 1]].kind == .drop, event.slots[edits[order[i + 1]].slot].key == next else {
                return (first.key, next)
            }
            i += 1
            end = event.slots[edits[order[i]].slot].end
        }
        var before = Int(first.key) - 1
        while block[before] <= 0x20 { before -= 1 }
        return (block[before] == UInt8(ascii: ",") ? UInt32(truncatingIfNeeded: before) : first.key, end)
    }

    /// Adds the members that the event lacks behind the last one that stays.
    private func add(
        _ edit: Edit, _ event: ScannedEvent, hasMembers: Bool, _ at: inout UInt32, _ writer: inout EditWriter
    ) {
        var tail = event.slots[edit.slot].end - 1
        while event.block[Int(tail) - 1] <= 0x20 { tail -= 1 }
        if at < tail {
            writer.copy(at, tail)
            at = tail
        }
        var needsComma = hasMembers
        for i in edit.first..<(edit.first + edit.count) {
            let member = edits[i].member
            guard member.count > 0, event.slots[edits[i].slot].end == 0 else { continue }
            if needsComma { writer.put(UInt8(ascii: ",")) }
            writer.put(member)
            needsComma = true
        }
    }

    /// A rare case: a member is edited and then hashed. The edited value is written aside first.
    @inline(never) private mutating func digestOfEdit(
        _ edit: Edit, _ slot: Slot, _ event: ScannedEvent, _ turn: UInt64, _ order: UnsafeMutablePointer<Int>,
        _ writer: inout EditWriter
    ) {
        let inner = edits[edit.first]
        let room = UnsafeMutablePointer<UInt8>.allocate(capacity: Int(slot.end - slot.start) + growth(of: inner))
        defer { room.deallocate() }
        var aside = EditWriter(block: event.block, out: room, id: .max)
        switch inner.kind {
        case .digest: aside.put(digests.text(inner.digest, event, turn))
        case .digestOfEdit: digestOfEdit(inner, slot, event, turn, order, &aside)
        case .object where event.block[Int(slot.start)] == UInt8(ascii: "{"): object(inner, event, turn, order, &aside)
        case .object where inner.value.count > 0: aside.put(inner.value)
        case .object, .drop, .constant: aside.copy(slot.start, slot.end)
        }
        digests.write(ByteRun(base: Bytes(room), count: aside.out - room), key: edit.digest, to: writer.out)
        writer.out += Digests.length
    }

    /// The most bytes that an edit adds.
    private func growth(of edit: Edit) -> Int {
        var sum = edit.member.count + 1 + Digests.length
        guard edit.kind == .object || edit.kind == .digestOfEdit else { return sum }
        let inner = edit.kind == .object ? edit.count : 1
        for i in edit.first..<(edit.first + inner) { sum += growth(of: edits[i]) }
        return sum
    }
}
