// The tools of a dialect: scanners and buffers that are reused from body to body. Each worker has one translator. `translate` promises that
// each line it produces is one event to the scanner.

public import Events

public struct Translator: ~Copyable, Sendable {
    public let limits: TranslationLimits
    var reader: EventReader
    var brackets = Brackets()
    var structure = Structure()
    /// One event as it was received, while it is edited.
    var scratch = ByteBuffer()
    /// Texts that edits insert, or from which a line is composed.
    var parts = ByteBuffer()
    /// The members that the events of a body have in common.
    var common = ByteBuffer()
    var edits = Edits()
    let members: SegmentMembers

    /// `wanted` lists the members that the rules name. A duplicate key stays as it is unless its path is one of them; then the last one
    /// wins.
    public init(wanted: [Path] = [], limits: TranslationLimits = TranslationLimits()) {
        self.limits = limits
        let paths = PathTrie(SegmentMembers.paths + wanted)
        members = SegmentMembers(paths)
        reader = EventReader(paths, limits)
    }

    /// Translates one body. The translation is emptied first.
    public mutating func translate(
        _ body: UnsafeRawBufferPointer, from dialect: any Dialect, _ context: RequestContext, into translation: inout Translation
    ) {
        translation.removeAll()
        guard body.count < Block.most else { return translation.refuse(.tooMuch(Block.most), at: Block.most) }
        dialect.translate(body, context: context, translator: &self, into: &translation)
        assert(
            translation.lines.bytes.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 } == translation.lineCount,
            "a line is not ended, or holds more than one event")
        assert(translation.results.count == translation.lineCount + translation.faults.count, "an event has no result, or two")
    }
}

extension Translator {
    /// Returns true if the text is an event or can be repaired to be one.
    mutating func isEvent(_ text: Bytes, start: Int, end: Int) -> Bool {
        scratch.removeAll()
        let isStrict = reader.isStrict
        reader.isStrict = false
        defer { reader.isStrict = isStrict }
        return reader.read(text, start: start, end: end, into: &scratch) != nil
    }
}

extension Translator {
    /// Refuses the element [start, end) of a list, which is not an event, for the reason of the reader. Returns false if the end of the element
    /// is not certain, and the body is therefore refused.
    mutating func refuseElement(
        _ text: Bytes, start: Int, end: Int, limit: Int, quoted: Bool = true, into translation: inout Translation
    ) -> Bool {
        let next = skipBlanks(text, start: end, limit: limit)
        guard structure.isCertain(text, start: start, end: end, next: next < limit ? text[next] : nil) else {
            translation.refuse(.uncertain, at: reader.offset)
            return false
        }
        translation.refuseEvent(reader.reason, at: reader.offset, text: quoted ? start..<end : 0..<0)
        return true
    }
}

extension Translation {
    /// Returns true if one more event is accepted. Otherwise the body is refused from here on.
    mutating func hasRoom(_ limits: TranslationLimits, at offset: Int) -> Bool {
        if results.count < limits.events { return true }
        refuse(.tooManyEvents(limits.events), at: offset)
        return false
    }

    /// Completes the text in `lines` from `begin` on as the next event, or refuses it if it exceeds a limit.
    mutating func endLine(from begin: Int, _ limits: TranslationLimits, at offset: Int) {
        assert(lines.count > begin, "an event has no text")
        guard lines.count - begin <= limits.line else { return refuseLine(.tooLarge(limits.line), from: begin, at: offset) }
        guard lines.count < limits.output else { return refuseLine(.tooMuch(limits.output), from: begin, at: offset) }
        lines.append(UInt8(ascii: "\n"))
        results.append(.line(lineCount))
        lineCount += 1
    }

    private mutating func refuseLine(_ reason: EventFault.Reason, from begin: Int, at offset: Int) {
        lines.truncate(to: begin)
        refuseEvent(reason, at: offset)
    }

    mutating func refuseEvent(_ reason: EventFault.Reason, at offset: Int, text: Range<Int> = 0..<0) {
        let index = results.count
        results.append(.fault(faults.count))
        faults.append(EventFault(reason, index: index, offset: offset, text: text))
    }

    /// Refuses the body from this place on. Only the first such fault counts.
    mutating func refuse(_ reason: EventFault.Reason, at offset: Int) {
        if refusal == nil { refusal = EventFault(reason, index: results.count, offset: offset) }
    }
}

/// Returns the start of a body after a byte order mark and blanks, which JSON forbids and some libraries send.
func bodyStart(_ text: Bytes, _ count: Int) -> Int {
    let hasMark = count >= 3 && text[0] == 0xef && text[1] == 0xbb && text[2] == 0xbf
    return skipBlanks(text, start: hasMark ? 3 : 0, limit: count)
}
