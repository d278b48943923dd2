// The router's own dialect: NDJSON, a JSON array of objects, or one object, recognized by their first bytes. Valid events stay byte for
// byte as they were received, except that newlines between tokens become spaces. `receivedAt` and `context.ip` are added if they are
// configured and missing, and `context.gpc` becomes true if the request says so. Events that need repair are repaired as in EventRepair.swift, or
// refused if the client asks for that.

internal import Events

public struct Native: Dialect {
    /// True if an event without `receivedAt` gets one.
    public let addsReceivedAt: Bool

    /// True if an event that needs repair is refused, as it is on standard input.
    public let isStrict: Bool

    public init(addsReceivedAt: Bool = false, isStrict: Bool = false) {
        self.addsReceivedAt = addsReceivedAt
        self.isStrict = isStrict
    }

    public func translate(
        _ body: UnsafeRawBufferPointer, context: RequestContext, translator: inout Translator, into translation: inout Translation
    ) {
        guard let text = body.bindMemory(to: UInt8.self).baseAddress else { return }
        translator.reader.isStrict = isStrict
        defer { translator.reader.isStrict = false }
        let stamps = addsReceivedAt || context.ip != nil || context.isPrivate
        var stamper = Stamper(editor: stamps ? SegmentEditor(context, &translator) : nil, addsReceivedAt: addsReceivedAt)
        let start = bodyStart(text, body.count)
        guard start < body.count else { return }
        if text[start] == UInt8(ascii: "[") {
            array(text, start: start, count: body.count, stamper: &stamper, translator: &translator, into: &translation)
        } else {
            let rest = objects(text, start: start, count: body.count, stamper: &stamper, translator: &translator, into: &translation)
            lines(
                text, start: rest == start ? start - indent(text, start) : rest, count: body.count, stamper: &stamper,
                translator: &translator, into: &translation)
        }
    }

    /// Returns the number of blanks before the first event on its line. They belong to the event.
    private func indent(_ text: Bytes, _ start: Int) -> Int {
        var n = 0
        while n < start, text[start - n - 1] != 0x0a, isBlank(text[start - n - 1]) { n += 1 }
        return n
    }

    /// Translates one event per line, independently of the lines before it.
    private func lines(
        _ text: Bytes, start: Int, count: Int, stamper: inout Stamper, translator: inout Translator,
        into translation: inout Translation
    ) {
        var i = start
        while i < count {
            let newline = lineEnd(text, start: i, limit: count)
            let next = newline + 1
            // A line of blanks is not an event.
            if skipBlanks(text, start: i, limit: newline) < newline {
                guard translation.hasRoom(translator.limits, at: i) else { return }
                let end = text[newline - 1] == UInt8(ascii: "\r") ? newline - 1 : newline
                stamper.event(text, start: i, end: end, translator: &translator, into: &translation)
            }
            i = next
        }
    }

    /// Translates objects that are written over several lines, if the first one is. Returns the place from which each line is read as one
    /// event. It is `start` if the first line is an event of its own, or if the object that begins there is not an event either.
    private func objects(
        _ text: Bytes, start: Int, count: Int, stamper: inout Stamper, translator: inout Translator,
        into translation: inout Translation
    ) -> Int {
        guard text[start] == UInt8(ascii: "{") else { return start }
        let firstLine = lineEnd(text, start: start, limit: count)
        let inLine = translator.brackets.container(text, start: start, limit: firstLine)
        if inLine.isClosed || firstLine == count { return start }
        var i = start
        while i < count {
            let extent =
                text[i] == UInt8(ascii: "{") ? translator.brackets.container(text, start: i, limit: count) : Extent(end: i, isClosed: false)
            guard extent.isClosed else { return i }
            guard translation.hasRoom(translator.limits, at: i) else { return count }
            // If the first line was cut off, the object would include the lines after it.
            if i == start, !translator.isEvent(text, start: i, end: extent.end) { return start }
            stamper.event(text, start: i, end: extent.end, translator: &translator, into: &translation)
            i = skipBlanks(text, start: extent.end, limit: count)
        }
        return i
    }

    private func array(
        _ text: Bytes, start: Int, count: Int, stamper: inout Stamper, translator: inout Translator,
        into translation: inout Translation
    ) {
        var list = ListCursor(start, limit: count)
        while let (start, extent) = list.next(text, &translator.brackets) {
            guard translation.hasRoom(translator.limits, at: start) else { return }
            guard extent.isClosed else { return translation.refuse(extent.end < count ? .uncertain : .unclosed, at: extent.end) }
            let isTaken = stamper.take(text, start: start, end: extent.end, translator: &translator, into: &translation)
            if !isTaken, !translator.refuseElement(text, start: start, end: extent.end, limit: count, into: &translation) { return }
        }
        let rest = skipBlanks(text, start: list.at, limit: count)
        if !list.isClosed {
            translation.refuse(.unclosed, at: rest)
        } else if rest < count {
            translation.refuse(.expected("the end of the body after the array"), at: rest)
        }
    }
}

/// Appends an event as it was received, or with the configured members.
private struct Stamper {
    var editor: SegmentEditor?
    let addsReceivedAt: Bool

    /// Appends the event, or refuses it alone.
    mutating func event(
        _ text: Bytes, start: Int, end: Int, translator: inout Translator, into translation: inout Translation
    ) {
        if take(text, start: start, end: end, translator: &translator, into: &translation) { return }
        translation.refuseEvent(translator.reader.reason, at: translator.reader.offset, text: start..<end)
    }

    /// Appends the event. Returns false and appends nothing if the text is not an event.
    mutating func take(
        _ text: Bytes, start: Int, end: Int, translator: inout Translator, into translation: inout Translation
    ) -> Bool {
        if editor != nil {
            return editor?.stamp(
                text, start: start, end: end, receivedAt: addsReceivedAt, translator: &translator, into: &translation) ?? false
        }
        let begin = translation.lines.count
        guard translator.reader.read(text, start: start, end: end, into: &translation.lines) != nil else { return false }
        translation.endLine(from: begin, translator.limits, at: start)
        return true
    }
}
