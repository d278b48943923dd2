// The HTTP API of Segment and RudderStack: single calls, `batch` and `import`.
//
// - A single call without a `type` takes it from the path. A batch is an object with a list `batch`. The members of its `context` and
//   `integrations` are added to the events that lack them. Its other members are not added to events. An event can make the consent in the
//   context of its batch stricter, and never looser (StrictConsent.swift).
// - Two lists, a list that does not end, and an envelope that does not end refuse the whole body.
// - `writeKey` is removed from the batch and from each event. The router always sets `receivedAt` itself.
// - `timestamp` becomes receivedAt - (sentAt - timestamp), which corrects the client's clock, and `originalTimestamp` keeps the old value.
//   Then the event's own `sentAt` is removed, so that nobody corrects it again. Without a readable `sentAt` the timestamp stays as it is.
//   If an event has both a timestamp and an original one, it was corrected before. If it has neither, `timestamp` becomes `receivedAt`.
// - `context.gpc` becomes true if the head of the request has `Sec-GPC: 1`.
// - `context.ip` becomes the client's address if that is configured and the client has set no other.

internal import Events

public struct Segment: Dialect {
    /// The last part of the path of the request.
    public enum Call: String, Sendable, CaseIterable {
        case track, identify, page, screen, group, alias, batch, `import`
    }

    public let call: Call

    public init(_ call: Call) { self.call = call }

    public func translate(
        _ body: UnsafeRawBufferPointer, context: RequestContext, translator: inout Translator, into translation: inout Translation
    ) {
        guard let text = body.bindMemory(to: UInt8.self).baseAddress else {
            return translation.refuse(.expected("an object"), at: 0)
        }
        let start = bodyStart(text, body.count)
        guard start < body.count, text[start] == UInt8(ascii: "{") else { return translation.refuse(.expected("an object"), at: start) }
        var editor = SegmentEditor(context, &translator)
        switch call {
        case .batch, .import: batch(text, start: start, count: body.count, editor: &editor, translator: &translator, into: &translation)
        default:
            editor.type = call
            var end = body.count
            while isBlank(text[end - 1]) { end -= 1 }
            editor.event(text, start: start, end: end, translator: &translator, into: &translation)
        }
    }

    /// Translates a batch. Its own members may come before or after its events, so they are read first.
    private func batch(
        _ text: Bytes, start: Int, count: Int, editor: inout SegmentEditor, translator: inout Translator,
        into translation: inout Translation
    ) {
        var envelope = MemberCursor(start, limit: count)
        var events: Int?
        while let member = envelope.next(text, &translator.brackets) {
            let value = member.value
            if isKey(text, key: member.key, word: "batch") {
                guard events == nil else { return translation.refuse(.form("batch is there twice"), at: member.key.lowerBound - 1) }
                guard text[value.lowerBound] == UInt8(ascii: "[") else {
                    return translation.refuse(.form("batch must be a list"), at: value.lowerBound)
                }
                events = value.lowerBound
            } else if isKey(text, key: member.key, word: "sentAt") {
                editor.sentAt = SegmentEditor.time(text, value)
            } else if isKey(text, key: member.key, word: "writeKey") {
                translation.writeKey = SegmentEditor.text(text, value)
            } else if isKey(text, key: member.key, word: "context") || isKey(text, key: member.key, word: "integrations") {
                // The common members can contain consent. Without them no event may be sent.
                if let problem = editor.share(text, member: member, translator: &translator) {
                    return translation.refuse(problem.reason, at: problem.offset)
                }
            }
        }
        guard envelope.isClosed else {
            let isCut = envelope.at >= count
            return translation.refuse(
                isCut ? .unclosed : .expected("a member, or the end of the batch's object"), at: min(envelope.at, count))
        }
        let rest = skipBlanks(text, start: envelope.at, limit: count)
        guard rest == count else { return translation.refuse(.expected("the end of the body after the batch"), at: rest) }
        guard let events else { return translation.refuse(.expected("a list named batch"), at: envelope.at) }
        var list = ListCursor(events, limit: count)
        while let (start, extent) = list.next(text, &translator.brackets) {
            guard translation.hasRoom(translator.limits, at: start) else { return }
            guard extent.isClosed else { return translation.refuse(.uncertain, at: extent.end) }
            let isTaken = editor.take(text, start: start, end: extent.end, translator: &translator, into: &translation)
            if !isTaken, !translator.refuseElement(text, start: start, end: extent.end, limit: count, into: &translation) { return }
        }
        if !list.isClosed { translation.refuse(.unclosed, at: list.at) }
    }
}
