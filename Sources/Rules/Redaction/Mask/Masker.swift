// `mask`: in the decoded text of strings, puts a text in the place of each match of a pattern. Keys stay. A match of nothing
// changes nothing, and bytes that no match covers stay as they are, escapes included.

public import Events
internal import Expressions

public struct Masker: ~Copyable {
    /// What becomes of the event that was masked last.
    public private(set) var replacements = Replacements()

    private let mask: Mask
    private let strings = Strings()
    private var unescaped = Unescaped()
    /// Where a match and its groups begin and end.
    private let spans: UnsafeMutablePointer<Int>
    private let spanCount: Int

    public init(_ mask: Mask) {
        self.mask = mask
        spanCount = mask.spans
        spans = .allocate(capacity: 2 * spanCount)
    }

    deinit { spans.deallocate() }

    /// Masks the strings in the values of these slots, or of the whole event when there are none; true when something changes,
    /// and then `replacements` holds what becomes of the event. The string in the slot `spared` stays as it is; 0: none does.
    public mutating func mask(_ event: ScannedEvent, in slots: UnsafeBufferPointer<Int>, sparing spared: Int = 0) -> Bool {
        replacements.removeAll()
        let sparedStart = event.slots[spared].isPresent ? Int(event.slots[spared].start) : -1
        if slots.isEmpty {
            look(event.block, Int(event.start), Int(event.end), sparedStart)
        } else {
            var at: UInt32 = 0
            while let slot = Spans.next(event, slots, at) {
                look(event.block, Int(slot.start), Int(slot.end), sparedStart)
                at = slot.end
            }
        }
        return !replacements.isEmpty
    }

    private mutating func look(_ block: Bytes, _ start: Int, _ end: Int, _ spared: Int) {
        var i = start
        while let span = strings.next(block, &i, end) {
            if span.start == spared || span.isKey(block) { continue }
            if span.seen.contains(.escape) {
                unescaped.decode(block, span.bodyStart, span.bodyEnd)
                replaceMatches(unescaped.text, span)
            } else {
                replaceMatches(Subject(base: block + span.bodyStart, count: span.bodyEnd - span.bodyStart), span)
            }
        }
    }

    private mutating func replaceMatches(_ text: Subject, _ span: StringSpan) {
        let isEscaped = span.seen.contains(.escape)
        let spans = spans
        var from = 0
        while from < text.count, mask.pattern.find(text.base, text.count, from: from, spans, spanCount) {
            let (start, end) = (spans[0], spans[1])
            from = end
            if start == end {
                // Past the character, so that the search goes on.
                repeat { from += 1 } while text[from] & 0xc0 == 0x80
                continue
            }
            let begun = replacements.textEnd
            putText(text)
            replacements.append(
                isEscaped ? unescaped.place(start) : span.bodyStart + start, isEscaped ? unescaped.place(end) : span.bodyStart + end,
                textSince: begun)
        }
    }

    /// The most bytes that are put into one event: a pattern could make terabytes of a long line.
    static let mostText = 64 << 20

    /// Writes the new text of the match in `spans`. A group that took no part is empty, and so is what would be too much.
    private mutating func putText(_ text: Subject) {
        for piece in mask.pieces {
            if replacements.textEnd > Masker.mostText { return }
            if piece.group < 0 {
                piece.bytes.withUnsafeBufferPointer { replacements.put($0.baseAddress!, $0.count) }
            } else if spans[2 * piece.group] >= 0 {
                for i in spans[2 * piece.group]..<spans[2 * piece.group + 1] where replacements.textEnd <= Masker.mostText {
                    JSONText.escape(text[i]) { replacements.put($0) }
                }
            }
        }
    }
}
