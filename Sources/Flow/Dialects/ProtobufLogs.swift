// Reads ExportLogsServiceRequest as a protocol buffer. Field numbers are those of opentelemetry/proto/{logs,common,resource}/v1.

internal import Events

struct ProtobufLogs {
    let text: Bytes
    let writer: LogWriter

    func read(_ request: Range<Int>, _ translator: inout Translator, into translation: inout Translation) {
        do throws(ProtobufFault) {
            var fields = ProtobufReader(text, request)
            while let field = try fields.next() {
                guard field.number == 1 else { continue }
                guard try resourceLogs(try message(field), &translator, into: &translation) else { return }
            }
        } catch {
            translation.refuse(.protobuf(error.what), at: error.offset)
        }
    }

    /// Returns false if the body is refused from here on.
    private func resourceLogs(
        _ range: Range<Int>, _ translator: inout Translator, into translation: inout Translation
    ) throws(ProtobufFault) -> Bool {
        translator.common.removeAll()
        // A resource may come after the logs that it describes.
        let resource = try described(range, by: 1, into: &translator.common, write: resourceFields)
        let end = translator.common.count
        var fields = ProtobufReader(text, range)
        while let field = try fields.next() {
            guard field.number == 2 else { continue }
            let logs = try message(field)
            translator.common.truncate(to: end)
            let scope = try described(logs, by: 1, into: &translator.common, write: scopeFields)
            var records = ProtobufReader(text, logs)
            while let record = try records.next() {
                guard record.number == 2 else { continue }
                guard translation.hasRoom(translator.limits, at: record.offset) else { return false }
                let range = try message(record)
                do throws(ProtobufFault) {
                    let read = try self.record(range, &translator.parts)
                    writer.write(read, resource: resource, scope: scope, at: record.offset, &translator, into: &translation)
                } catch {
                    translation.refuseEvent(.protobuf(error.what), at: error.offset)
                }
            }
        }
        return true
    }

    /// Writes a resource or a scope with the URL of its schema as an object. Returns nil if there is nothing to write.
    private func described(
        _ logs: Range<Int>, by number: UInt64, into out: inout ByteBuffer,
        write: (Range<Int>, inout ByteBuffer) throws(ProtobufFault) -> Void
    ) throws(ProtobufFault) -> Range<Int>? {
        let begin = out.count
        var fields = ProtobufReader(text, logs)
        var description: Range<Int>?
        var schema: Range<Int>?
        while let field = try fields.next() {
            if field.number == number { description = try message(field) }
            if field.number == 3 { schema = try message(field) }
        }
        out.append("{")
        if let description { try write(description, &out) }
        if let schema, !schema.isEmpty { string("schemaUrl", range: schema, begin: begin, into: &out) }
        out.append("}")
        if out.count == begin + 2 {
            out.truncate(to: begin)
            return nil
        }
        return begin..<out.count
    }

    private func resourceFields(_ range: Range<Int>, _ out: inout ByteBuffer) throws(ProtobufFault) {
        let begin = out.count - 1
        var named = NamedAttributes()
        key("attributes", begin: begin, into: &out)
        _ = try attributes(range, number: 1, into: &out, named: &named)
        var fields = ProtobufReader(text, range)
        var entities: [Range<Int>] = []
        while let field = try fields.next() {
            if field.number == 2, case .varint(let count) = field.value, count != 0 {
                number("droppedAttributesCount", value: count, begin: begin, into: &out)
            }
            if field.number == 3 { entities.append(try message(field)) }
        }
        guard !entities.isEmpty else { return }
        // Other fields may stand between them.
        key("entityRefs", begin: begin, into: &out)
        for (i, range) in entities.enumerated() {
            out.append(i == 0 ? "[{" : ",{")
            try entity(range, &out)
            out.append("}")
        }
        out.append("]")
    }

    private func entity(_ range: Range<Int>, _ out: inout ByteBuffer) throws(ProtobufFault) {
        let begin = out.count - 1
        var fields = ProtobufReader(text, range)
        var lists: (ids: [Range<Int>], descriptions: [Range<Int>]) = ([], [])
        while let field = try fields.next() {
            switch field.number {
            case 1: string("schemaUrl", range: try message(field), begin: begin, into: &out)
            case 2: string("type", range: try message(field), begin: begin, into: &out)
            case 3: lists.ids.append(try message(field))
            case 4: lists.descriptions.append(try message(field))
            default: break
            }
        }
        for (name, list) in [("idKeys" as StaticString, lists.ids), ("descriptionKeys", lists.descriptions)] where !list.isEmpty {
            key(name, begin: begin, into: &out)
            out.append("[")
            for (i, range) in list.enumerated() {
                if i > 0 { out.append(UInt8(ascii: ",")) }
                JSONText.string(text + range.lowerBound, range.count, into: &out)
            }
            out.append("]")
        }
    }

    private func scopeFields(_ range: Range<Int>, _ out: inout ByteBuffer) throws(ProtobufFault) {
        let begin = out.count - 1
        var fields = ProtobufReader(text, range)
        var hasAttributes = false
        while let field = try fields.next() {
            switch field.number {
            case 1: string("name", range: try message(field), begin: begin, into: &out)
            case 2: string("version", range: try message(field), begin: begin, into: &out)
            case 3: hasAttributes = true
            case 4:
                if case .varint(let count) = field.value, count != 0 {
                    number("droppedAttributesCount", value: count, begin: begin, into: &out)
                }
            default: break
            }
        }
        if hasAttributes {
            var named = NamedAttributes()
            key("attributes", begin: begin, into: &out)
            _ = try attributes(range, number: 3, into: &out, named: &named)
        }
    }

    private func record(_ range: Range<Int>, _ parts: inout ByteBuffer) throws(ProtobufFault) -> LogRecord {
        parts.removeAll()
        var record = LogRecord()
        record.attributes = try attributes(range, number: 6, into: &parts, named: &record.named)
        var fields = ProtobufReader(text, range)
        while let field = try fields.next() {
            switch (field.number, field.value) {
            case (1, .fixed64(let time)): record.time = time
            case (11, .fixed64(let time)): record.observedTime = time
            case (2, .varint(let number)): record.severityNumber = Int64(bitPattern: number)
            case (7, .varint(let count)): record.droppedAttributes = count
            case (8, .fixed32(let flags)): record.flags = UInt64(flags)
            case (3, .bytes(let text)): record.severityText = string(text, &parts)
            case (12, .bytes(let text)): record.eventName = string(text, &parts)
            case (5, .bytes(let value)):
                let begin = parts.count
                try self.value(value, depth: 0, into: &parts)
                record.body = begin..<parts.count
            case (9, .bytes(let id)): record.traceID = hex(id, &parts)
            case (10, .bytes(let id)): record.spanID = hex(id, &parts)
            default: break
            }
        }
        return record
    }

    /// Writes the KeyValues of one field as an object.
    private func attributes(
        _ range: Range<Int>, number: UInt64, into out: inout ByteBuffer, named: inout NamedAttributes
    ) throws(ProtobufFault) -> Range<Int> {
        let begin = out.count
        out.append("{")
        var fields = ProtobufReader(text, range)
        while let field = try fields.next() {
            guard field.number == number else { continue }
            if out.count > begin + 1 { out.append(UInt8(ascii: ",")) }
            try pair(try message(field), depth: 0, into: &out, named: &named)
        }
        out.append("}")
        return begin..<out.count
    }

    private func pair(
        _ range: Range<Int>, depth: Int, into out: inout ByteBuffer, named: inout NamedAttributes
    ) throws(ProtobufFault) {
        var key = range.lowerBound..<range.lowerBound
        var value: Range<Int>?
        var fields = ProtobufReader(text, range)
        while let field = try fields.next() {
            if field.number == 1 { key = try message(field) }
            if field.number == 2 { value = try message(field) }
        }
        JSONText.string(text + key.lowerBound, key.count, into: &out)
        out.append(UInt8(ascii: ":"))
        guard let value else { return out.append("null") }
        let begin = out.count
        if try self.value(value, depth: depth, into: &out), depth == 0 { named.note(text, key: key, value: begin..<out.count) }
    }

    /// Writes an AnyValue. Returns true if it is a text.
    @discardableResult
    private func value(_ range: Range<Int>, depth: Int, into out: inout ByteBuffer) throws(ProtobufFault) -> Bool {
        guard depth < OTLPLogs.deepest else { throw ProtobufFault(what: "a value nests deeper than 32 levels", offset: range.lowerBound) }
        let begin = out.count
        var isText = false
        var fields = ProtobufReader(text, range)
        while let field = try fields.next() {
            guard (1...7).contains(field.number) else { continue }
            // Only one of them may be set. If several are, the last one counts.
            out.truncate(to: begin)
            isText = false
            switch (field.number, field.value) {
            case (1, .bytes(let range)):
                JSONText.string(text + range.lowerBound, range.count, into: &out)
                isText = true
            case (2, .varint(let value)): out.append(value == 0 ? "false" : "true")
            case (3, .varint(let value)): JSONText.integer(Int64(bitPattern: value), into: &out)
            case (4, .fixed64(let bits)): JSONText.double(Double(bitPattern: bits), into: &out)
            case (5, .bytes(let list)):
                out.append("[")
                var values = ProtobufReader(text, list)
                while let element = try values.next() {
                    guard element.number == 1 else { continue }
                    if out.count > begin + 1 { out.append(UInt8(ascii: ",")) }
                    try value(try message(element), depth: depth + 1, into: &out)
                }
                out.append("]")
            case (6, .bytes(let list)):
                out.append("{")
                var named = NamedAttributes()
                var pairs = ProtobufReader(text, list)
                while let element = try pairs.next() {
                    guard element.number == 1 else { continue }
                    if out.count > begin + 1 { out.append(UInt8(ascii: ",")) }
                    try pair(try message(element), depth: depth + 1, into: &out, named: &named)
                }
                out.append("}")
            case (7, .bytes(let range)): JSONText.bytesValue(text + range.lowerBound, range.count, into: &out)
            default: throw ProtobufFault(what: "a value has the wrong type for its field", offset: field.offset)
            }
        }
        if out.count == begin { out.append("null") }
        return isText
    }

    /// Returns the bytes of a field that must be a text or a message.
    private func message(_ field: ProtobufReader.Field) throws(ProtobufFault) -> Range<Int> {
        guard case .bytes(let range) = field.value else {
            throw ProtobufFault(what: "a field has the wrong type for its number", offset: field.offset)
        }
        return range
    }

    /// Begins a member of the object that opened at `begin`.
    private func key(_ key: StaticString, begin: Int, into out: inout ByteBuffer) {
        if out.count > begin + 1 { out.append(UInt8(ascii: ",")) }
        out.append(UInt8(ascii: "\""))
        out.append(key.utf8Start, key.utf8CodeUnitCount)
        out.append("\":")
    }

    private func number(_ name: StaticString, value: UInt64, begin: Int, into out: inout ByteBuffer) {
        key(name, begin: begin, into: &out)
        JSONText.integer(value, into: &out)
    }

    private func string(_ name: StaticString, range: Range<Int>, begin: Int, into out: inout ByteBuffer) {
        key(name, begin: begin, into: &out)
        JSONText.string(text + range.lowerBound, range.count, into: &out)
    }

    /// Writes the text of a field. Returns nil for an empty text, which means an absent one.
    private func string(_ range: Range<Int>, _ out: inout ByteBuffer) -> Range<Int>? {
        guard !range.isEmpty else { return nil }
        let begin = out.count
        JSONText.string(text + range.lowerBound, range.count, into: &out)
        return begin..<out.count
    }

    private func hex(_ range: Range<Int>, _ out: inout ByteBuffer) -> Range<Int>? {
        guard !range.isEmpty else { return nil }
        let begin = out.count
        out.append(UInt8(ascii: "\""))
        for i in range { JSONText.hex(text[i], into: &out) }
        out.append(UInt8(ascii: "\""))
        return begin..<out.count
    }
}
