// Writes the edited copy of an event. It copies the bytes that no edit changes as they are, and inserts the new text of each edit between
// them. A dropped member loses its comma and the spaces up to the next member. An added member follows the last member that is kept.

public import Events

/// Copies runs of an event and records where its message id is in the copy. The caller provides `Words.slack` bytes of memory after
/// everything that is written.
public struct EditWriter {
    public let block: Bytes
    public var out: UnsafeMutablePointer<UInt8>
    /// The offset of the message id in the block. It is UInt32.max if the position is not needed.
    public let id: UInt32
    public var idAt: UnsafeMutablePointer<UInt8>?

    @inlinable @inline(__always) public init(block: Bytes, out: UnsafeMutablePointer<UInt8>, id: UInt32) {
        self.block = block
        self.out = out
        self.id = id
    }

    @inlinable @inline(__always) public mutating func copy(_ from: UInt32, _ to: UInt32) {
        let count = to &- from
        if id &- from < count { idAt = out + Int(id &- from) }
        put(block + Int(from), Int(count))
    }

    @inlinable @inline(__always) public mutating func put(_ text: ByteRun) { put(text.base, text.count) }

    /// Copies the text. `Words.slack` bytes after it must be readable, as they are after a block, a text of a store and a digest.
    @inlinable @inline(__always) mutating func put(_ text: Bytes, _ count: Int) {
        Words.copy(text, to: out, count)
        out += count
    }

    @inlinable @inline(__always) public mutating func put(_ byte: UInt8) {
        out[0] = byte
        out += 1
    }
}

public struct Editor: ~Copyable {
    /// The edit of one range of the event.
    private struct Splice: BitwiseCopyable {
        /// The offset of the key of a dropped member, of the value that is replaced, or of the place where a member is added.
        var start: UInt32
        var end: UInt32
        var text: Bytes
        /// The number of bytes of `text`. It is -1 if the member is dropped.
        var count: Int

        @inline(__always) init(drop slot: Slot) {
            start = slot.key
            end = slot.end
            text = Bytes(bitPattern: 1)!
            count = -1
        }

        @inline(__always) init(_ start: UInt32, end: UInt32, text: ByteRun) {
            self.start = start
            self.end = end
            self.text = text.base
            count = text.count
        }

        @inline(__always) var isDrop: Bool { count < 0 }
    }

    private let edits: UnsafeBufferPointer<Edit>
    private let gains: UnsafeBufferPointer<Int>
    private var digests: Digests
    /// The splices of one event, in the order of the event. An edit makes at most one splice.
    private let splices: UnsafeMutablePointer<Splice>

    public init(edits: UnsafeBufferPointer<Edit>, growth: UnsafeBufferPointer<Int>, digests: consuming Digests) {
        self.edits = edits
        gains = growth
        self.digests = digests
        splices = .allocate(capacity: max(1, edits.count))
    }

    deinit { splices.deallocate() }

    /// Returns the most bytes that an event can gain by the edits from the root at this index. The root -1 edits nothing.
    @inline(__always) public func growth(_ root: Int) -> Int { root < 0 ? 0 : gains[root] }

    /// Writes the event to the writer with the edits from the root at index `root`. The writer must have enough memory for it.
    public mutating func write(_ event: ScannedEvent, root: Int, turn: UInt64, to writer: inout EditWriter) {
        var count = 0
        gather(root, event: event, turn: turn, splices: splices, count: &count)
        emit(event, start: event.start, end: event.end, splices: splices, count: count, writer: &writer)
    }

    // MARK: - Gathering splices

    /// Inserts the splices of an object's members into the list, which stays in the order of the event.
    private mutating func gather(
        _ index: Int, event: ScannedEvent, turn: UInt64, splices: UnsafeMutablePointer<Splice>, count: inout Int
    ) {
        let edit = edits.baseAddress! + index
        let slots = event.slots
        var kept = Int(slots[edit.pointee.slot].members)
        for i in edit.pointee.first..<(edit.pointee.first + edit.pointee.count) {
            let member = edits.baseAddress! + i
            let slot = slots[member.pointee.slot]
            guard slot.end != 0 else { continue }
            let first = event.block[Int(slot.start)]
            switch member.pointee.kind {
            case .drop:
                if !member.pointee.isDeeper { kept -= 1 }
                insert(Splice(drop: slot), splices: splices, count: &count)
            case .constant: insert(Splice(slot.start, end: slot.end, text: member.pointee.value), splices: splices, count: &count)
            case .object:
                if first == UInt8(ascii: "{") {
                    gather(i, event: event, turn: turn, splices: splices, count: &count)
                } else if member.pointee.value.count > 0 {
                    insert(Splice(slot.start, end: slot.end, text: member.pointee.value), splices: splices, count: &count)
                }
            case .digest:
                if first == UInt8(ascii: "n") { continue }
                insert(
                    Splice(slot.start, end: slot.end, text: digests.text(member.pointee.digest, event: event, turn: turn)),
                    splices: splices, count: &count)
            case .digestOfEdit:
                if first == UInt8(ascii: "n"), member.pointee.value.count == 0 { continue }
                let text = digestOfEdit(i, slot: slot, event: event, turn: turn, splices: splices + count)
                insert(Splice(slot.start, end: slot.end, text: text), splices: splices, count: &count)
            }
        }
        if edit.pointee.adds { add(edit, event: event, hasMembers: kept > 0, splices: splices, count: &count) }
    }

    @inline(__always) private func insert(_ splice: Splice, splices: UnsafeMutablePointer<Splice>, count: inout Int) {
        var j = count
        while j > 0, splices[j - 1].start > splice.start {
            splices[j] = splices[j - 1]
            j -= 1
        }
        splices[j] = splice
        count += 1
    }

    /// Adds the members that the event lacks after the last member of their object.
    @inline(__always) private func add(
        _ edit: UnsafePointer<Edit>, event: ScannedEvent, hasMembers: Bool, splices: UnsafeMutablePointer<Splice>,
        count: inout Int
    ) {
        var tail = event.slots[edit.pointee.slot].end - 1
        while event.block[Int(tail) - 1] <= 0x20 { tail -= 1 }
        var needsComma = hasMembers
        for i in edit.pointee.first..<(edit.pointee.first + edit.pointee.count) {
            let member = edits.baseAddress! + i
            guard member.pointee.member.count > 0, event.slots[member.pointee.slot].end == 0 else { continue }
            insert(
                Splice(tail, end: tail, text: needsComma ? member.pointee.member : member.pointee.firstMember), splices: splices,
                count: &count)
            needsComma = true
        }
    }

    /// Returns the digest of a member that is edited and then hashed, which is rare. The edited value is first written to a temporary
    /// buffer.
    @inline(never) private mutating func digestOfEdit(
        _ index: Int, slot: Slot, event: ScannedEvent, turn: UInt64, splices: UnsafeMutablePointer<Splice>
    ) -> ByteRun {
        let edit = edits[index]
        let inner = edits[edit.first]
        let most = Int(slot.end - slot.start) + growth(of: inner)
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: most + Words.slack)
        defer { buffer.deallocate() }
        var aside = EditWriter(block: event.block, out: buffer, id: .max)
        switch inner.kind {
        case .digest: aside.put(digests.text(inner.digest, event: event, turn: turn))
        case .digestOfEdit: aside.put(digestOfEdit(edit.first, slot: slot, event: event, turn: turn, splices: splices))
        case .object where event.block[Int(slot.start)] == UInt8(ascii: "{"):
            var count = 0
            gather(edit.first, event: event, turn: turn, splices: splices, count: &count)
            emit(event, start: slot.start, end: slot.end, splices: splices, count: count, writer: &aside)
        case .object where inner.value.count > 0: aside.put(inner.value)
        case .object, .drop, .constant: aside.copy(slot.start, slot.end)
        }
        return digests.write(ByteRun(base: Bytes(buffer), count: aside.out - buffer), key: edit.digest, aside: edit.editedDigest)
    }

    /// Returns the most bytes that an edit adds.
    private func growth(of edit: Edit) -> Int {
        var sum = edit.member.count + Digests.length
        guard edit.kind == .object || edit.kind == .digestOfEdit else { return sum }
        let inner = edit.kind == .object ? edit.count : 1
        for i in edit.first..<(edit.first + inner) { sum += growth(of: edits[i]) }
        return sum
    }

    // MARK: - Applying splices

    /// Writes the event's bytes from `start` to `end` with the splices applied.
    @inline(__always) private func emit(
        _ event: ScannedEvent, start: UInt32, end: UInt32, splices: UnsafeMutablePointer<Splice>, count: Int,
        writer: inout EditWriter
    ) {
        var at = start
        var i = 0
        while i < count {
            let splice = splices[i]
            if splice.isDrop {
                let (from, to) = run(splices, i: &i, count: count, block: event.block)
                writer.copy(at, from)
                at = to
            } else {
                writer.copy(at, splice.start)
                writer.put(ByteRun(base: splice.text, count: splice.count))
                at = splice.end
            }
            i += 1
        }
        writer.copy(at, end)
    }

    /// Returns the range of bytes that a run of adjacent dropped members removes. The run begins at splice `i`; on return, `i` is its
    /// last splice. The range ends at the key of the next member. If no member follows, it begins at the comma before the run.
    @inline(__always) private func run(
        _ splices: UnsafeMutablePointer<Splice>, i: inout Int, count: Int, block: Bytes
    ) -> (start: UInt32, end: UInt32) {
        let first = splices[i].start
        while true {
            let behind = skipSpace(block + Int(splices[i].end))
            guard behind[0] == UInt8(ascii: ",") else { break }
            let next = UInt32(truncatingIfNeeded: skipSpace(behind + 1) - block)
            guard i + 1 < count, splices[i + 1].isDrop, splices[i + 1].start == next else { return (first, next) }
            i += 1
        }
        var before = Int(first) - 1
        while block[before] <= 0x20 { before -= 1 }
        return (block[before] == UInt8(ascii: ",") ? UInt32(truncatingIfNeeded: before) : first, splices[i].end)
    }
}
