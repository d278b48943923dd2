// Composes a canonical event from a log record of either encoding. The mapping is in OTLPLogs.swift.

internal import Events

/// A record. Its values are JSON texts in `Translator.parts`.
struct LogRecord {
    var time: UInt64 = 0
    var observedTime: UInt64 = 0
    var severityNumber: Int64 = 0
    var flags: UInt64 = 0
    var droppedAttributes: UInt64 = 0
    var eventName: Range<Int>?
    var severityText: Range<Int>?
    var traceID: Range<Int>?
    var spanID: Range<Int>?
    var body: Range<Int>?
    /// The object of the attributes.
    var attributes: Range<Int>?
    var named = NamedAttributes()
}

/// The attributes that become members of the event.
struct NamedAttributes {
    var eventName: Range<Int>?
    var messageID: Range<Int>?
    var userID: Range<Int>?
    var endUserID: Range<Int>?
    var pseudonym: Range<Int>?

    /// Notes the attribute if it is one of them. `value` is its text, a string in quotes. An empty string identifies nobody and is ignored.
    mutating func note(_ text: Bytes, key: Range<Int>, value: Range<Int>) {
        guard value.count > 2 else { return }
        if isKey(text, key: key, word: "event.name") { eventName = value }
        if isKey(text, key: key, word: "log.record.uid") { messageID = value }
        if isKey(text, key: key, word: "user.id") { userID = value }
        if isKey(text, key: key, word: "enduser.id") { endUserID = value }
        if isKey(text, key: key, word: "enduser.pseudo.id") { pseudonym = value }
    }
}

struct LogWriter {
    let receivedAt: Int64
    /// The client's address. It is nil unless the configuration asks for it.
    let ip: String?
    /// True if Global Privacy Control is on for the request.
    let isPrivate: Bool

    /// Appends the event or its fault to the translation. `offset` is the place of the record in the body. `resource` and `scope` are
    /// objects in `Translator.common`.
    func write(
        _ record: LogRecord, resource: Range<Int>?, scope: Range<Int>?, at offset: Int, _ translator: inout Translator,
        into translation: inout Translation
    ) {
        let begin = translation.lines.count
        guard begin + translator.parts.count + translator.common.count <= translator.limits.output else {
            return translation.refuseEvent(.tooMuch(translator.limits.output), at: offset)
        }
        event(record, resource: resource, scope: scope, parts: translator.parts, common: translator.common, into: &translation.lines)
        guard translator.reader.prove(&translation.lines, from: begin) else {
            return translation.refuseEvent(translator.reader.reason, at: offset)
        }
        translation.endLine(from: begin, translator.limits, at: offset)
    }

    private func event(
        _ record: LogRecord, resource: Range<Int>?, scope: Range<Int>?, parts: borrowing ByteBuffer,
        common: borrowing ByteBuffer, into out: inout ByteBuffer
    ) {
        let name = record.eventName ?? record.named.eventName
        out.append(name == nil ? "{\"type\":\"log\"" : "{\"type\":\"track\"")
        put(",\"event\":", value: name, texts: parts, into: &out)
        put(",\"messageId\":", value: record.named.messageID, texts: parts, into: &out)
        put(",\"userId\":", value: record.named.userID ?? record.named.endUserID, texts: parts, into: &out)
        put(",\"anonymousId\":", value: record.named.pseudonym, texts: parts, into: &out)
        out.append(",\"timestamp\":")
        Times.write(time(record.time) ?? time(record.observedTime) ?? receivedAt, into: &out)
        out.append(",\"receivedAt\":")
        Times.write(receivedAt - receivedAt % 1_000_000, into: &out)
        put(",\"properties\":", value: record.attributes, texts: parts, into: &out)
        put(",\"body\":", value: record.body, texts: parts, into: &out)
        out.append(",\"context\":{")
        if let ip {
            out.append("\"ip\":")
            JSONText.string(ip, into: &out)
            out.append(",")
        }
        if isPrivate { out.append("\"gpc\":true,") }
        out.append("\"otlp\":{")
        // As in the JSON of protocol buffers, 64-bit integers are strings.
        if record.time != 0 { put(",\"timeUnixNano\":", "\"\(record.time)\"", into: &out) }
        if record.observedTime != 0 { put(",\"observedTimeUnixNano\":", "\"\(record.observedTime)\"", into: &out) }
        if record.severityNumber != 0 { put(",\"severityNumber\":", String(record.severityNumber), into: &out) }
        put(",\"severityText\":", value: record.severityText, texts: parts, into: &out)
        put(",\"traceId\":", value: record.traceID, texts: parts, into: &out)
        put(",\"spanId\":", value: record.spanID, texts: parts, into: &out)
        if record.flags != 0 { put(",\"flags\":", String(record.flags), into: &out) }
        if record.droppedAttributes != 0 { put(",\"droppedAttributesCount\":", String(record.droppedAttributes), into: &out) }
        put(",\"resource\":", value: resource, texts: common, into: &out)
        put(",\"scope\":", value: scope, texts: common, into: &out)
        out.append("}}}")
    }

    private func put(_ key: StaticString, value: Range<Int>?, texts: borrowing ByteBuffer, into out: inout ByteBuffer) {
        guard let value else { return }
        assert(value.upperBound <= texts.count, "a value lies outside the texts")
        put(key, into: &out)
        out.append(texts.base + value.lowerBound, value.count)
    }

    private func put(_ key: StaticString, _ value: String, into out: inout ByteBuffer) {
        put(key, into: &out)
        out.append(value)
    }

    /// Begins a member. The comma is omitted for the first member of an object.
    private func put(_ key: StaticString, into out: inout ByteBuffer) {
        assert(!out.isEmpty && key.utf8Start[0] == UInt8(ascii: ","), "a member begins outside an object, or its key without a comma")
        let comma = out.base[out.count - 1] == UInt8(ascii: "{") ? 1 : 0
        out.append(key.utf8Start + comma, key.utf8CodeUnitCount - comma)
    }

    /// Returns the time, or nil for 0, which means an unknown time.
    private func time(_ time: UInt64) -> Int64? { time == 0 ? nil : Int64(exactly: time) }
}
