// Reads ExportLogsServiceRequest as the JSON of protocol buffers: lowerCamelCase or original names, 64-bit integers as strings or numbers,
// ids in hexadecimal, bytes in base64. Strings are copied as they are written, including escapes.

internal import Events

struct JSONLogs {
    let text: Bytes
    let writer: LogWriter

    func read(_ count: Int, _ translator: inout Translator, into translation: inout Translation) {
        let start = bodyStart(text, count)
        guard start < count, text[start] == UInt8(ascii: "{") else { return translation.refuse(.expected("an object"), at: start) }
        var request = MemberCursor(start, limit: count)
        while let member = request.next(text, &translator.brackets) {
            guard isKey(text, key: member.key, word: "resourceLogs") || isKey(text, key: member.key, word: "resource_logs"),
                !isNull(text, member.value)
            else {
                continue
            }
            guard each(member.value, translator: &translator, into: &translation, use: resourceLogs) else { return }
        }
        if !request.isClosed {
            translation.refuse(
                request.at >= count ? .unclosed : .expected("a member, or the end of the object"), at: min(request.at, count))
        } else if skipBlanks(text, start: request.at, limit: count) < count {
            translation.refuse(.expected("the end of the body after the object"), at: skipBlanks(text, start: request.at, limit: count))
        }
    }

    /// Calls `use` with each element of a list. Returns false if the body is refused from here on.
    private func each(
        _ list: Range<Int>, translator: inout Translator, into translation: inout Translation,
        use: (Range<Int>, inout Translator, inout Translation) -> Bool
    ) -> Bool {
        guard text[list.lowerBound] == UInt8(ascii: "[") else {
            translation.refuse(.expected("a list"), at: list.lowerBound)
            return false
        }
        var cursor = ListCursor(list.lowerBound, limit: list.upperBound)
        while let (start, extent) = cursor.next(text, &translator.brackets) {
            guard extent.isClosed else {
                translation.refuse(.uncertain, at: extent.end)
                return false
            }
            guard use(start..<extent.end, &translator, &translation) else { return false }
        }
        if !cursor.isClosed { translation.refuse(.unclosed, at: cursor.at) }
        return cursor.isClosed
    }

    private func resourceLogs(_ range: Range<Int>, translator: inout Translator, translation: inout Translation) -> Bool {
        translator.common.removeAll()
        return group(
            range, name: "resource", list: "scopeLogs", otherList: "scope_logs", translator: &translator, translation: &translation
        ) { resource, list, translator, translation in
            let end = translator.common.count
            return each(list, translator: &translator, into: &translation) { range, translator, translation in
                translator.common.truncate(to: end)
                return group(
                    range, name: "scope", list: "logRecords", otherList: "log_records", translator: &translator, translation: &translation
                ) {
                    scope, list, translator, translation in
                    each(list, translator: &translator, into: &translation) { range, translator, translation in
                        guard translation.hasRoom(translator.limits, at: range.lowerBound) else { return false }
                        return record(
                            range, limit: list.upperBound, resource: resource, scope: scope, translator: &translator,
                            translation: &translation)
                    }
                }
            }
        }
    }

    /// Reads a resource or a scope and the logs that it describes, in either order.
    private func group(
        _ range: Range<Int>, name: StaticString, list: StaticString, otherList: StaticString, translator: inout Translator,
        translation: inout Translation, use: (Range<Int>?, Range<Int>, inout Translator, inout Translation) -> Bool
    ) -> Bool {
        guard text[range.lowerBound] == UInt8(ascii: "{") else {
            translation.refuse(.expected("an object"), at: range.lowerBound)
            return false
        }
        var description: Range<Int>?
        var schema: Range<Int>?
        var logs: Range<Int>?
        var cursor = MemberCursor(range.lowerBound, limit: range.upperBound)
        while let member = cursor.next(text, &translator.brackets) {
            if isNull(text, member.value) { continue }
            if isKey(text, key: member.key, word: name) { description = member.value }
            if isKey(text, key: member.key, word: "schemaUrl") || isKey(text, key: member.key, word: "schema_url") { schema = member.value }
            if isKey(text, key: member.key, word: list) || isKey(text, key: member.key, word: otherList) {
                guard logs == nil else {
                    translation.refuse(.form("a list of logs is there twice"), at: member.key.lowerBound - 1)
                    return false
                }
                logs = member.value
            }
        }
        guard cursor.isClosed else {
            translation.refuse(.expected("a member, or the end of the object"), at: min(cursor.at, range.upperBound))
            return false
        }
        guard let logs else { return true }
        guard let common = describe(description, schema: schema, translator: &translator, translation: &translation) else { return false }
        return use(common.isEmpty ? nil : common, logs, &translator, &translation)
    }

    /// Writes a resource or scope as an object into `Translator.common`. The result is empty if there is nothing to write, and nil if it
    /// cannot be read.
    private func describe(
        _ description: Range<Int>?, schema: Range<Int>?, translator: inout Translator, translation: inout Translation
    ) -> Range<Int>? {
        let begin = translator.common.count
        translator.common.append("{")
        if let description {
            translator.scratch.removeAll()
            guard translator.reader.read(text, start: description.lowerBound, end: description.upperBound, into: &translator.scratch) != nil
            else {
                translation.refuse(translator.reader.reason, at: translator.reader.offset)
                return nil
            }
            let values = JSONValues(text: translator.scratch.base)
            var cursor = MemberCursor(skipBlanks(values.text, start: 0, limit: translator.scratch.count), limit: translator.scratch.count)
            while let member = cursor.next(values.text, &translator.brackets) {
                if isNull(values.text, member.value) { continue }
                values.separate(from: begin, &translator.common)
                values.key(member.key, &translator.common)
                if isKey(values.text, key: member.key, word: "attributes") {
                    var named = NamedAttributes()
                    do throws(FormFault) {
                        try values.attributes(
                            member.value, depth: 0, brackets: &translator.brackets, into: &translator.common, named: &named)
                    } catch {
                        translation.refuse(.form(error.what), at: description.lowerBound)
                        return nil
                    }
                } else {
                    translator.common.append(values.text + member.value.lowerBound, member.value.count)
                }
            }
        }
        if let schema, text[schema.lowerBound] == UInt8(ascii: "\""), schema.count > 2 {
            translator.scratch.removeAll()
            EventRepair.repair(text, start: schema.lowerBound, end: schema.upperBound, into: &translator.scratch)
            JSONValues(text: text).separate(from: begin, &translator.common)
            translator.common.append("\"schemaUrl\":")
            translator.common.append(contentsOf: translator.scratch.bytes)
        }
        translator.common.append("}")
        if translator.common.count == begin + 2 { translator.common.truncate(to: begin) }
        return begin..<translator.common.count
    }

    /// Appends the log record, or refuses it. Returns false if the body is refused from here on.
    private func record(
        _ range: Range<Int>, limit: Int, resource: Range<Int>?, scope: Range<Int>?, translator: inout Translator,
        translation: inout Translation
    ) -> Bool {
        translator.scratch.removeAll()
        translator.parts.removeAll()
        guard let event = translator.reader.read(text, start: range.lowerBound, end: range.upperBound, into: &translator.scratch) else {
            return translator.refuseElement(
                text, start: range.lowerBound, end: range.upperBound, limit: limit, quoted: false, into: &translation)
        }
        let root = event.slots[PathTrie.root]
        do throws(FormFault) {
            let values = JSONValues(text: translator.scratch.base)
            let record = try values.record(Int(root.start)..<Int(root.end), brackets: &translator.brackets, parts: &translator.parts)
            writer.write(record, resource: resource, scope: scope, at: range.lowerBound, &translator, into: &translation)
        } catch {
            translation.refuseEvent(.form(error.what), at: range.lowerBound)
        }
        return true
    }
}
