// `mask`: replaces each match of a pattern in the decoded text of strings. It never changes keys. An empty match changes nothing. Bytes
// that no match covers stay as they are, including escapes. If the steps of the event do not suffice to search a string, the whole string is
// replaced, so that nothing passes that was not looked at.

public import Events
public import Expressions

public struct Masker: ~Copyable {
    /// The changes to the event that was masked last.
    public private(set) var replacements = Replacements()
    /// The number of its strings that were replaced whole, because too few steps were left to search them.
    public private(set) var unsearched = 0

    private let mask: Mask
    private let strings = Strings()
    private var unescaped = DecodedText()
    /// The positions at which a match and its groups begin and end.
    private let spans: UnsafeMutablePointer<Int>
    private let spanCount: Int

    public init(_ mask: Mask) {
        self.mask = mask
        spanCount = mask.spans
        precondition((1...CompiledPattern.mostSpans).contains(spanCount), "a match has more groups than there is space for")
        spans = .allocate(capacity: 2 * spanCount)
    }

    deinit { spans.deallocate() }

    /// Masks the strings in the values of these slots, or in the whole event if there are no slots. Returns true if something changes. Then
    /// `replacements` holds the changes. The string in the slot `spared` stays as it is. If `spared` is 0, no string is spared. If `steps`
    /// is nil, the search is not limited.
    public mutating func mask(
        _ event: ScannedEvent, in slots: UnsafeBufferPointer<Int>, sparing spared: Int = 0, steps: EventSteps? = nil
    ) -> Bool {
        replacements.removeAll()
        unsearched = 0
        let sparedStart = event.slots[spared].isPresent ? Int(event.slots[spared].start) : -1
        Spans.forEach(event, in: slots) { start, end in look(event.block, start: start, end: end, spared: sparedStart, steps) }
        return !replacements.isEmpty
    }

    private mutating func look(_ block: Bytes, start: Int, end: Int, spared: Int, _ steps: EventSteps?) {
        var i = start
        while let span = strings.next(block, i: &i, end: end) {
            if span.start == spared || span.isKey(block) { continue }
            let isSearched: Bool
            if span.seen.contains(.escape) {
                JSONEscapes.decode(block, start: span.bodyStart, end: span.bodyEnd, into: &unescaped)
                isSearched = replaceMatches(unescaped.text, span, steps)
            } else {
                isSearched = replaceMatches(Subject(base: block + span.bodyStart, count: span.bodyEnd - span.bodyStart), span, steps)
            }
            if !isSearched { replaceWhole(span) }
        }
    }

    /// Returns false if too few steps are left to search the whole text.
    private mutating func replaceMatches(_ text: Subject, _ span: StringSpan, _ steps: EventSteps?) -> Bool {
        let isEscaped = span.seen.contains(.escape)
        let (spans, pattern) = (spans, mask.pattern)
        func take(_ count: Int) -> Bool { steps?.take(count) ?? true }
        guard take(pattern.steps(toMask: text.count)) else { return false }
        var from = 0
        while from < text.count {
            guard take(pattern.steps(toSearch: text.count - from)) else { return false }
            guard pattern.find(text.base, length: text.count, from: from, spans: spans, count: spanCount) else { return true }
            let (start, end) = (spans[0], spans[1])
            assert(from <= start && start <= end && end <= text.count, "a match lies outside the text")
            guard take(pattern.steps(toMatch: end - from)) else { return false }
            from = end
            if start == end {
                // Skip one character, so that the search makes progress.
                repeat { from += 1 } while text[from] & 0xc0 == 0x80
                continue
            }
            let begun = replacements.textEnd
            putText(text)
            replacements.append(
                isEscaped ? unescaped.place(start) : span.bodyStart + start, isEscaped ? unescaped.place(end) : span.bodyStart + end,
                textSince: begun)
        }
        return true
    }

    /// Replaces the whole string by the new text, in which every group is empty.
    private mutating func replaceWhole(_ span: StringSpan) {
        unsearched += 1
        replacements.removeLast(from: span.bodyStart)
        let begun = replacements.textEnd
        for case .bytes(let bytes) in mask.pieces { bytes.withUnsafeBufferPointer { replacements.put($0.baseAddress!, $0.count) } }
        replacements.append(span.bodyStart, span.bodyEnd, textSince: begun)
    }

    /// The most bytes of new text in one event. Without a limit, a pattern could make terabytes from a long line.
    static let mostText = 64 << 20

    /// Writes the new text for the match in `spans`. A group that is not part of the match is empty. Text beyond the limit is left out.
    private mutating func putText(_ text: Subject) {
        for piece in mask.pieces {
            if replacements.textEnd > Masker.mostText { return }
            switch piece {
            case .bytes(let bytes): bytes.withUnsafeBufferPointer { replacements.put($0.baseAddress!, $0.count) }
            case .group(let number):
                // The span of a group that is not part of the match is negative.
                guard spans[2 * number] >= 0 else { continue }
                for i in spans[2 * number]..<spans[2 * number + 1] where replacements.textEnd <= Masker.mostText {
                    JSONText.escape(text[i]) { replacements.put($0) }
                }
            }
        }
    }
}
