// The HTTP API of Segment and RudderStack: single calls, `batch` and `import`.
//
// - A single call without a `type` takes it from the path. A batch is an object with a list `batch`; the members of its `context`
//   and `integrations` go to the events that lack them, and its other members to none.
// - `writeKey` is taken out, of the batch and of each event. `receivedAt` is ours, whatever came.
// - `timestamp` becomes receivedAt - (sentAt - timestamp), which corrects the client's clock, and `originalTimestamp` what it was;
//   then an event's own `sentAt` goes, so that nobody corrects it again. Where `sentAt` says nothing it stays as it is; where there
//   are both a timestamp and an original one, someone has corrected it already; where there is none it is `receivedAt`.
// - `context.ip` is the client's address if it is asked for and the client has not said otherwise.

internal import Events

public struct Segment: Dialect {
    /// The last part of the request's path.
    public enum Call: String, Sendable, CaseIterable {
        case track, identify, page, screen, group, alias, batch, `import`
    }

    public let call: Call

    public init(_ call: Call) { self.call = call }

    public func translate(
        _ body: UnsafeRawBufferPointer, _ context: RequestContext, _ translator: inout Translator, into translation: inout Translation
    ) {
        guard let text = body.bindMemory(to: UInt8.self).baseAddress else {
            return translation.refuse(.expected("an object"), at: 0)
        }
        let start = bodyStart(text, body.count)
        guard start < body.count, text[start] == UInt8(ascii: "{") else { return translation.refuse(.expected("an object"), at: start) }
        var editor = SegmentEditor(context, &translator)
        switch call {
        case .batch, .import: batch(text, start, body.count, &editor, &translator, into: &translation)
        default:
            editor.type = call
            var end = body.count
            while isBlank(text[end - 1]) { end -= 1 }
            editor.event(text, start, end, &translator, into: &translation)
        }
    }

    /// The batch's own members may stand before or behind its events, so that they are found first.
    private func batch(
        _ text: Bytes, _ start: Int, _ count: Int, _ editor: inout SegmentEditor, _ translator: inout Translator,
        into translation: inout Translation
    ) {
        var envelope = MemberCursor(start, limit: count)
        var events: Int?
        while let member = envelope.next(text, &translator.brackets) {
            let value = member.value
            if isKey(text, member.key, "batch") {
                guard text[value.lowerBound] == UInt8(ascii: "[") else {
                    return translation.refuse(.form("batch must be a list"), at: value.lowerBound)
                }
                events = value.lowerBound
            } else if isKey(text, member.key, "sentAt") {
                editor.sentAt = SegmentEditor.time(text, value)
            } else if isKey(text, member.key, "writeKey") {
                translation.writeKey = SegmentEditor.text(text, value)
            } else if isKey(text, member.key, "context") || isKey(text, member.key, "integrations") {
                // Consent can stand in what is common: without it no event may go.
                if let problem = editor.share(text, member, &translator) {
                    return translation.refuse(problem, at: translator.reader.offset)
                }
            }
        }
        // A batch that is cut off, or broken by one of its events, still has those before that.
        if !envelope.isClosed, events == nil, let list = openList(text, start, count, &translator.brackets) { events = list }
        guard let events else { return translation.refuse(.expected("a list named batch"), at: envelope.at) }
        var list = ListCursor(events, limit: count)
        while let (start, extent) = list.next(text, &translator.brackets) {
            guard translation.hasRoom(translator.limits, at: start) else { return }
            editor.event(text, start, extent.end, &translator, into: &translation)
        }
        if !list.isClosed {
            translation.refuse(.unclosed, at: list.at)
        } else if !envelope.isClosed {
            translation.refuse(.expected("a member, or the end of the batch's object"), at: min(envelope.at, count))
        } else if skipBlanks(text, envelope.at, count) < count {
            translation.refuse(.expected("the end of the body after the batch"), at: skipBlanks(text, envelope.at, count))
        }
    }

    /// Where the list `batch` opens that does not end.
    private func openList(_ text: Bytes, _ start: Int, _ count: Int, _ brackets: inout Brackets) -> Int? {
        var envelope = MemberCursor(start, limit: count)
        var at = start + 1
        while let member = envelope.next(text, &brackets) { at = member.value.upperBound }
        at = skipBlanks(text, at, count)
        if at < count, text[at] == UInt8(ascii: ",") { at = skipBlanks(text, at + 1, count) }
        guard at < count, text[at] == UInt8(ascii: "\""), let keyEnd = stringEnd(text, at, count), isKey(text, at + 1..<keyEnd - 1, "batch")
        else { return nil }
        at = skipBlanks(text, keyEnd, count)
        guard at < count, text[at] == UInt8(ascii: ":") else { return nil }
        at = skipBlanks(text, at + 1, count)
        return at < count && text[at] == UInt8(ascii: "[") ? at : nil
    }
}
