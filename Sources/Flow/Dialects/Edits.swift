// Edits of one scanned event as splices. Everything that no edit names is copied byte for byte. The result is valid JSON if the texts are.

internal import Events

struct Edits {
    private struct Edit {
        enum Kind { case replace, remove, insert }
        var kind: Kind
        /// The bytes of the event that the edit replaces, as offsets into its block.
        var start: Int
        var end: Int
        /// The place of its text in `parts`.
        var text: Range<Int>
    }

    private var list: [Edit] = []

    mutating func removeAll() { list.removeAll(keepingCapacity: true) }

    /// Replaces the value of an existing member with this text.
    mutating func replace(_ slot: Slot, by text: Range<Int>) {
        assert(slot.isPresent, "a member is replaced that the event lacks")
        list.append(Edit(kind: .replace, start: Int(slot.start), end: Int(slot.end), text: text))
    }

    mutating func remove(_ slot: Slot) {
        assert(slot.isPresent && slot.key < slot.start, "a member is removed that the event lacks")
        list.append(Edit(kind: .remove, start: Int(slot.key), end: Int(slot.end), text: 0..<0))
    }

    /// Adds this member, written as `"key":value`, at the end of the object.
    mutating func insert(_ member: Range<Int>, into object: Slot) {
        assert(object.isPresent && object.end - object.start >= 2, "a member is added to something that is no object")
        list.append(Edit(kind: .insert, start: Int(object.end) - 1, end: Int(object.end) - 1, text: member))
    }

    /// Appends the edited event to `out`.
    mutating func apply(_ event: borrowing ScannedEvent, _ parts: borrowing ByteBuffer, into out: inout ByteBuffer) {
        // The edits are few and almost sorted. Edits at the same place keep the order in which they were added.
        for i in list.indices.dropFirst() {
            var at = i
            while at > 0, list[at - 1].start > list[at].start {
                list.swapAt(at - 1, at)
                at -= 1
            }
        }
        let text = event.block
        let end = Int(event.end)
        let begin = out.count
        var done = Int(event.start)
        for edit in list {
            assert(edit.start >= done && edit.end <= end, "two edits overlap, or an edit lies outside the event")
            assert(edit.text.upperBound <= parts.count, "an edit has a text that was not written")
            out.append(text + done, edit.start - done)
            done = edit.end
            switch edit.kind {
            case .replace: break
            case .remove:
                let next = skipBlanks(text, start: done, limit: end)
                if text[next] == UInt8(ascii: ",") {
                    done = skipBlanks(text, start: next + 1, limit: end)
                } else {
                    // It was the last member, so the comma before it is removed.
                    let last = lastMark(out, begin)
                    if out.base[last] == UInt8(ascii: ",") { out.truncate(to: last) }
                }
            case .insert:
                let last = lastMark(out, begin)
                if out.base[last] != UInt8(ascii: "{") {
                    out.truncate(to: last + 1)
                    out.append(UInt8(ascii: ","))
                }
            }
            out.append(parts.base + edit.text.lowerBound, edit.text.count)
        }
        out.append(text + done, end - done)
    }

    /// Returns the place of the last byte that is not a blank. The object's bracket always comes before it.
    private func lastMark(_ out: borrowing ByteBuffer, _ begin: Int) -> Int {
        var i = out.count - 1
        while i > begin, isBlank(out.base[i]) { i -= 1 }
        return i
    }
}
