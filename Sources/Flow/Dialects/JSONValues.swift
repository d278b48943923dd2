// Reads a record of OTLP and its values from JSON that has been validated. Strings are copied as they are written, including escapes.

internal import Events

/// A value has not the form that OTLP gives it.
struct FormFault: Error { var what: StaticText }

/// True if the value is null.
func isNull(_ text: Bytes, _ value: Range<Int>) -> Bool { isKey(text, key: value, word: "null") }

/// The values of OTLP in JSON that has been validated.
struct JSONValues {
    let text: Bytes

    func record(_ range: Range<Int>, brackets: inout Brackets, parts: inout ByteBuffer) throws(FormFault) -> LogRecord {
        var record = LogRecord()
        parts.append("{}")
        record.attributes = 0..<2
        var cursor = MemberCursor(range.lowerBound, limit: range.upperBound)
        while let member = cursor.next(text, &brackets) {
            let value = member.value
            if isNull(text, value) { continue }
            func isNamed(_ name: StaticString, _ original: StaticString) -> Bool {
                isKey(text, key: member.key, word: name) || isKey(text, key: member.key, word: original)
            }
            if isNamed("attributes", "attributes") {
                let begin = parts.count
                try attributes(value, depth: 0, brackets: &brackets, into: &parts, named: &record.named)
                record.attributes = begin..<parts.count
            } else if isNamed("body", "body") {
                let begin = parts.count
                try any(value, depth: 0, brackets: &brackets, into: &parts)
                record.body = begin..<parts.count
            } else if isNamed("timeUnixNano", "time_unix_nano") {
                record.time = try unsigned(value, "timeUnixNano must be an integer of 64 bits")
            } else if isNamed("observedTimeUnixNano", "observed_time_unix_nano") {
                record.observedTime = try unsigned(value, "observedTimeUnixNano must be an integer of 64 bits")
            } else if isNamed("severityNumber", "severity_number") {
                // It may be a name, as protocol buffers allow. severityText then carries the rest of the information.
                if let number = Int64(digits(value)) { record.severityNumber = number } else { record.severityNumber = try severity(value) }
            } else if isNamed("flags", "flags") {
                record.flags = try unsigned(value, "flags must be an integer")
            } else if isNamed("droppedAttributesCount", "dropped_attributes_count") {
                record.droppedAttributes = try unsigned(value, "droppedAttributesCount must be an integer")
            } else if isNamed("severityText", "severity_text") {
                record.severityText = try string(value, into: &parts, what: "severityText must be a string")
            } else if isNamed("eventName", "event_name") {
                record.eventName = try string(value, into: &parts, what: "eventName must be a string")
            } else if isNamed("traceId", "trace_id") {
                record.traceID = try string(value, into: &parts, what: "traceId must be a string")
            } else if isNamed("spanId", "span_id") {
                record.spanID = try string(value, into: &parts, what: "spanId must be a string")
            }
        }
        return record
    }

    /// Writes a list of KeyValues as an object.
    func attributes(
        _ range: Range<Int>, depth: Int, brackets: inout Brackets, into out: inout ByteBuffer, named: inout NamedAttributes
    ) throws(FormFault) {
        guard text[range.lowerBound] == UInt8(ascii: "[") else { throw FormFault(what: "attributes must be a list of keys and values") }
        let begin = out.count
        out.append("{")
        var cursor = ListCursor(range.lowerBound, limit: range.upperBound)
        while let (start, extent) = cursor.next(text, &brackets) {
            guard text[start] == UInt8(ascii: "{") else { throw FormFault(what: "attributes must be a list of keys and values") }
            var key: Range<Int>?
            var value: Range<Int>?
            var pair = MemberCursor(start, limit: extent.end)
            while let member = pair.next(text, &brackets) {
                if isKey(text, key: member.key, word: "key"), text[member.value.lowerBound] == UInt8(ascii: "\"") { key = member.value }
                if isKey(text, key: member.key, word: "value") { value = member.value }
            }
            separate(from: begin, &out)
            let name = key.map { $0.lowerBound + 1..<$0.upperBound - 1 } ?? start..<start
            self.key(name, &out)
            guard let value else {
                out.append("null")
                continue
            }
            let first = out.count
            if try any(value, depth: depth, brackets: &brackets, into: &out), depth == 0 {
                named.note(text, key: name, value: first..<out.count)
            }
        }
        out.append("}")
    }

    /// Writes an AnyValue. Returns true if it is a text.
    @discardableResult
    func any(_ range: Range<Int>, depth: Int, brackets: inout Brackets, into out: inout ByteBuffer) throws(FormFault) -> Bool {
        guard depth < OTLPLogs.deepest else { throw FormFault(what: "a value nests deeper than 32 levels") }
        let begin = out.count
        if isNull(text, range) {
            out.append("null")
            return false
        }
        guard text[range.lowerBound] == UInt8(ascii: "{") else {
            throw FormFault(what: "a value must be an object such as {\"stringValue\":\"…\"}")
        }
        var isText = false
        var cursor = MemberCursor(range.lowerBound, limit: range.upperBound)
        while let member = cursor.next(text, &brackets) {
            func isNamed(_ name: StaticString, _ original: StaticString) -> Bool {
                isKey(text, key: member.key, word: name) || isKey(text, key: member.key, word: original)
            }
            let value = member.value
            if isNull(text, value) { continue }
            let isKnown =
                isNamed("stringValue", "string_value") || isNamed("boolValue", "bool_value") || isNamed("intValue", "int_value")
                || isNamed("doubleValue", "double_value") || isNamed("arrayValue", "array_value")
                || isNamed("kvlistValue", "kvlist_value") || isNamed("bytesValue", "bytes_value")
            guard isKnown else { continue }
            // Only one of them may be set. If several are, the last one counts.
            out.truncate(to: begin)
            isText = false
            switch text[member.key.lowerBound] {
            case UInt8(ascii: "s"):
                try copyString(value, into: &out, what: "stringValue must be a string")
                isText = true
            case UInt8(ascii: "i"):
                let digits = digits(value)
                guard Int64(digits) != nil else { throw FormFault(what: "intValue must be an integer of 64 bits") }
                out.append(digits)
            case UInt8(ascii: "d"): try double(value, &out)
            case UInt8(ascii: "a"): try array(value, depth: depth + 1, brackets: &brackets, into: &out)
            case UInt8(ascii: "k"): try map(value, depth: depth + 1, brackets: &brackets, into: &out)
            default:
                if isNamed("bytesValue", "bytes_value") {
                    try bytes(value, into: &out)
                } else {
                    guard [UInt8(ascii: "t"), UInt8(ascii: "f")].contains(text[value.lowerBound]) else {
                        throw FormFault(what: "boolValue must be true or false")
                    }
                    out.append(text + value.lowerBound, value.count)
                }
            }
        }
        if out.count == begin { out.append("null") }
        return isText
    }

    private func bytes(_ value: Range<Int>, into out: inout ByteBuffer) throws(FormFault) {
        var decoded = ByteBuffer()
        guard text[value.lowerBound] == UInt8(ascii: "\""), Base64Text.decode(text, value, into: &decoded) else {
            throw FormFault(what: "bytesValue must be a string in base64")
        }
        JSONText.bytesValue(UnsafePointer(decoded.base), decoded.count, into: &out)
    }

    private func array(_ range: Range<Int>, depth: Int, brackets: inout Brackets, into out: inout ByteBuffer) throws(FormFault) {
        let begin = out.count
        out.append("[")
        if let list = try values(of: range, "arrayValue must be an object with values", &brackets) {
            var cursor = ListCursor(list.lowerBound, limit: list.upperBound)
            while let (start, extent) = cursor.next(text, &brackets) {
                separate(from: begin, &out)
                try any(start..<extent.end, depth: depth, brackets: &brackets, into: &out)
            }
        }
        out.append("]")
    }

    private func map(_ range: Range<Int>, depth: Int, brackets: inout Brackets, into out: inout ByteBuffer) throws(FormFault) {
        var named = NamedAttributes()
        guard let list = try values(of: range, "kvlistValue must be an object with values", &brackets) else { return out.append("{}") }
        try attributes(list, depth: depth, brackets: &brackets, into: &out, named: &named)
    }

    private func values(of range: Range<Int>, _ what: StaticText, _ brackets: inout Brackets) throws(FormFault) -> Range<Int>? {
        guard text[range.lowerBound] == UInt8(ascii: "{") else { throw FormFault(what: what) }
        var found: Range<Int>?
        var cursor = MemberCursor(range.lowerBound, limit: range.upperBound)
        while let member = cursor.next(text, &brackets) {
            guard isKey(text, key: member.key, word: "values"), !isNull(text, member.value) else { continue }
            guard text[member.value.lowerBound] == UInt8(ascii: "[") else { throw FormFault(what: what) }
            found = member.value
        }
        return found
    }

    /// Returns the text of a number, or of a string that contains one, without its quotes.
    private func digits(_ value: Range<Int>) -> String {
        let isQuoted = text[value.lowerBound] == UInt8(ascii: "\"")
        let body = isQuoted ? value.lowerBound + 1..<value.upperBound - 1 : value
        return String(decoding: UnsafeBufferPointer(start: text + body.lowerBound, count: body.count), as: UTF8.self)
    }

    private func unsigned(_ value: Range<Int>, _ what: StaticText) throws(FormFault) -> UInt64 {
        guard let number = UInt64(digits(value)) else { throw FormFault(what: what) }
        return number
    }

    private func double(_ value: Range<Int>, _ out: inout ByteBuffer) throws(FormFault) {
        // A number is copied as it is written. A string may also contain a value that JSON cannot represent.
        if text[value.lowerBound] != UInt8(ascii: "\"") {
            guard text[value.lowerBound] == UInt8(ascii: "-") || text[value.lowerBound] &- 0x30 < 10 else {
                throw FormFault(what: "doubleValue must be a number")
            }
            return out.append(text + value.lowerBound, value.count)
        }
        guard let number = Double(digits(value)) else { throw FormFault(what: "doubleValue must be a number") }
        JSONText.double(number, into: &out)
    }

    private func severity(_ value: Range<Int>) throws(FormFault) -> Int64 {
        let name = digits(value)
        let prefix = "SEVERITY_NUMBER_"
        for (i, level) in ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"].enumerated() {
            for step in 0..<4 where name == prefix + level + (step == 0 ? "" : "\(step + 1)") { return Int64(i * 4 + step + 1) }
        }
        guard name == prefix + "UNSPECIFIED" else { throw FormFault(what: "severityNumber must be an integer") }
        return 0
    }

    private func copyString(_ value: Range<Int>, into out: inout ByteBuffer, what: StaticText) throws(FormFault) {
        guard text[value.lowerBound] == UInt8(ascii: "\"") else { throw FormFault(what: what) }
        out.append(text + value.lowerBound, value.count)
    }

    /// Writes a string. Returns nil for an empty one, which means an absent one.
    private func string(_ value: Range<Int>, into out: inout ByteBuffer, what: StaticText) throws(FormFault) -> Range<Int>? {
        let begin = out.count
        try copyString(value, into: &out, what: what)
        return value.count > 2 ? begin..<out.count : nil
    }

    /// Appends a comma unless this is the first member or element of the object or list that opened at `begin`.
    func separate(from begin: Int, _ out: inout ByteBuffer) {
        if out.count > begin + 1 { out.append(UInt8(ascii: ",")) }
    }

    func key(_ key: Range<Int>, _ out: inout ByteBuffer) {
        out.append(UInt8(ascii: "\""))
        out.append(text + key.lowerBound, key.count)
        out.append("\":")
    }
}
