// The provider `otlp`: logs of OpenTelemetry over HTTP, as protocol buffers or as JSON. Each event becomes one log record. A server that
// takes only some records of a request does not say which, so such a request never counts as delivered. docs/providers/otlp.md has the
// mapping and says what is lost.

public import VendorKit

package struct OTLP: Vendor {
    /// `own` is the member of the event that has the attribute's name itself. Then it stays, and the other one is left to the rest.
    private typealias Attribute = (name: StaticString, member: Member, own: Member, takesObject: Bool)

    private let endpoint: Endpoint.ID
    private let writer: MessageWriter
    private let rejectsAll: Bool
    private let resource: [(name: String, value: String)]
    private let services: [(name: StaticString, member: Member, own: Member, bit: Int)]
    private let attributes: [Attribute]
    private let resourceAttributes: Member
    private let body: (any: Member, texts: [Member])
    private let severity: (number: Member, text: Member, levels: [Member])
    private let times: (own: Member, observed: Member)
    private let traces, spans: [Member]
    private let flags: Member

    package init(_ setup: inout Setup) throws(SettingsFault) {
        writer = MessageWriter(isJSON: setup.settings.get("encoding") == "json")
        rejectsAll = setup.settings.get("partial_success") == "reject"
        let given = setup.settings.get("resource", as: Settings.self)
        let resource = try (given?.names ?? []).map { (name) throws(SettingsFault) in
            guard !name.isEmpty, let value: String = given?.get(name) else { throw SettingsFault("resource must have names and texts") }
            return (name: name, value: value)
        }
        self.resource = resource
        var logs = Endpoint(
            "http://localhost:4318", path: "/v1/logs", envelope: writer.envelope, limits: .init(body: 20 << 20))
        logs.isJSON = writer.isJSON
        logs.contentType = writer.isJSON ? "application/json" : "application/x-protobuf"
        logs.headers = try setup.settings.get("headers", as: Settings.self).map(Header.read) ?? []
        for header in logs.headers {
            if header.isNamed("Content-Type") { throw SettingsFault("headers.Content-Type cannot be set: set 'encoding' instead") }
            setup.hide(header.value)
            for part in header.value.split(separator: " ").dropFirst() { setup.hide(String(part)) }
        }
        endpoint = setup.endpoint(logs)
        setup.credentialsRemedy = "correct headers"

        func members(_ paths: String...) -> [Member] { paths.map { setup.member($0) } }
        // Of two members for one attribute the first one counts, and the settings count before both.
        var names: [String] = []
        services = OTLP.services.compactMap { path, name in
            let name = (own: "\(name)", text: name)
            if names.firstIndex(of: name.own) == nil { names.append(name.own) }
            if resource.contains(where: { $0.name == name.own }) { return nil }
            let own = setup.member("context.otlp.resource.attributes[\"\(name.own)\"]")
            return (name.text, setup.member("\(path)"), own, 1 << (names.firstIndex(of: name.own) ?? 0))
        }
        attributes = OTLP.attributes.map { path, name in
            (name, setup.member("\(path)"), setup.member("properties[\"\(name)\"]"), "\(path)" == "traits")
        }
        resourceAttributes = setup.member("context.otlp.resource.attributes")
        setup.reserve("switchyard_unmapped", in: "properties")
        body = (setup.member("body"), members("properties.message", "message"))
        severity = (
            setup.member("context.otlp.severityNumber"), setup.member("context.otlp.severityText"),
            members("properties.level", "properties.severity", "level", "severity")
        )
        times = (setup.member("context.otlp.timeUnixNano"), setup.member("context.otlp.observedTimeUnixNano"))
        func ids(_ name: String, _ other: String) -> [Member] {
            [setup.member("context.otlp.\(name)")]
                + ["context.", "properties.", ""].flatMap { [setup.member($0 + name), setup.member($0 + other)] }
        }
        traces = ids("traceId", "trace_id")
        spans = ids("spanId", "span_id")
        flags = setup.member("context.otlp.flags")
    }

    // MARK: - Mapping

    package func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        wire.begin(endpoint)
        writer.element(.resource, to: &wire) { wire in
            writer.list(.resourceAttributes, to: &wire) { writeResource(of: event, to: &$0) }
        }
        wire.endGroup()
        writer.element(.logRecord, to: &wire) { wire in
            writeTimes(of: event, to: &wire)
            writeSeverity(of: event, to: &wire)
            writeNames(of: event, to: &wire)
            if let id = OTLP.id(of: event, traces, digits: 32) { writer.hex(.traceID, id, to: &wire) }
            if let id = OTLP.id(of: event, spans, digits: 16) { writer.hex(.spanID, id, to: &wire) }
            if let value = event[flags], let flags = value.event.integer.flatMap({ UInt32(exactly: $0) }) {
                writer.fixed32(.flags, flags, to: &wire)
                wire.take(value)
            }
            writer.list(.attributes, to: &wire) { writeAttributes(of: event, to: &$0) }
        }
        wire.end()
    }

    /// Writes the attributes of the resource. Those of the settings come first, and no name comes twice.
    private func writeResource(of event: CanonicalEvent, to wire: inout WireEvents) {
        for (name, value) in resource {
            writer.attribute(name, in: .resourceAttributes, to: &wire) { writer.text(.string, string: value, to: &$0) }
        }
        if let given = event[resourceAttributes], given.isObject {
            var isWhole = true
            for (key, value) in given.members {
                let isSet = key.count == 2 || resource.contains { $0.name == key.text }
                if isSet { isWhole = false } else { writer.attribute(key, value, in: .resourceAttributes, to: &wire) }
            }
            if isWhole { wire.take(given) }
        }
        var written = 0
        for service in services where written & service.bit == 0 && event[service.own] == nil {
            guard let value = event[service.member], value.isText, value.isIdentity else { continue }
            writer.attribute(constant: service.name, in: .resourceAttributes, to: &wire) { writer.text(.string, value, to: &$0) }
            written |= service.bit
        }
    }

    private func writeTimes(of event: CanonicalEvent, to wire: inout WireEvents) {
        // 0 stands for an unknown time, and there is no time before 1970.
        if let time = UInt64(exactly: event.time), time > 0 {
            writer.fixed64(.time, time, to: &wire)
            wire.take(event.timestamp)
            if let own = event[times.own], OTLP.nanoseconds(own) == time { wire.take(own) }
        }
        if let own = event[times.observed], let time = OTLP.nanoseconds(own) {
            writer.fixed64(.observedTime, time, to: &wire)
            wire.take(own)
        } else if let time = UInt64(exactly: event.arrival), time > 0 {
            writer.fixed64(.observedTime, time, to: &wire)
        }
    }

    private func writeSeverity(of event: CanonicalEvent, to wire: inout WireEvents) {
        let own = event.text(of: [severity.text])
        let level = own ?? severity.levels.lazy.compactMap { event[$0] }.first { LoggerLevel($0) != nil }
        if let value = event[severity.number], let number = value.event.integer, (1...24).contains(number) {
            writer.varint(.severityNumber, number, to: &wire)
            wire.take(value)
            // A level elsewhere in the event may say something else than the number.
            if let own { writer.text(.severityText, own, to: &wire) }
        } else if let level {
            if let level = LoggerLevel(level) { writer.varint(.severityNumber, OTLP.number(of: level), to: &wire) }
            writer.text(.severityText, level, to: &wire)
        }
    }

    /// OpenTelemetry has four numbers for each level. This is the first one.
    private static func number(of level: LoggerLevel) -> Int { 1 + 4 * level.rawValue }

    /// Writes the name of the event and the body. A name that is the body too counts as written only once.
    private func writeNames(of event: CanonicalEvent, to wire: inout WireEvents) {
        let isOwn = event.kind == .track || event.kind == .other
        if let name = isOwn && event.event != nil ? event.event : event.kind == .other ? nil : event.type {
            writer.text(.eventName, name, to: &wire)
        }
        if let value = event[body.any], !value.isNull {
            writer.value(.body, value, to: &wire)
        } else if let text = event.text(of: body.texts) {
            writer.value(.body, text, to: &wire)
        } else if let name = event.event ?? event.name ?? event.type {
            writer.message(.body, to: &wire) { writer.text(.string, name, isCopy: true, to: &$0) }
        }
    }

    private func writeAttributes(of event: CanonicalEvent, to wire: inout WireEvents) {
        for row in attributes where event[row.own] == nil {
            guard let value = event[row.member], value.isIdentity || row.takesObject && value.isObject else { continue }
            writer.attribute(constant: row.name, to: &wire) { wire in
                if value.isObject { writer.any(value, to: &wire) } else { writer.text(.string, value, to: &wire) }
            }
            wire.take(value)
        }
        wire.withRest(of: event.properties, in: event) { wire, properties in
            for (key, value) in properties.members {
                if key.count > 2 {
                    writer.attribute(key, value, to: &wire)
                } else {
                    // An attribute must have a name.
                    writer.attribute(constant: "empty_name", to: &wire) { writer.any(value, to: &$0) }
                }
            }
        }
        wire.withRest(of: event.whole, in: event) { wire, rest in
            writer.attribute(constant: "switchyard_unmapped", to: &wire) { writer.any(rest, to: &$0) }
        }
    }

    /// Returns the first member that is so many hexadecimal digits, and not all zeros.
    private static func id(of event: CanonicalEvent, _ members: [Member], digits: Int) -> Value? {
        for member in members {
            guard let value = event[member], value.body.count == digits else { continue }
            let isHex = value.body.allSatisfy { $0 &- 0x30 < 10 || ($0 | 0x20) &- 0x61 < 6 }
            if isHex, value.body.contains(where: { $0 != 0x30 }) { return value }
        }
        return nil
    }

    /// Returns a time that is written as in the JSON of OTLP, unless it is 0.
    private static func nanoseconds(_ value: Value) -> UInt64? { value.text.flatMap { UInt64($0) }.flatMap { $0 == 0 ? nil : $0 } }

    // MARK: - Answers

    package func judge(_ reply: Reply, to request: SentRequest) -> Judgement {
        switch reply.status {
        case 200..<300: return taken(reply, request)
        // OTLP allows only these to be sent again. Other answers of 5xx say that the request itself is at fault.
        case 429, 502, 503, 504: return .standard
        case 400, 409, 413, 422, 500..<600:
            guard let words = Answer.failure(reply) else { return reply.status < 500 ? .standard : refused(reply.status, "") }
            return refused(reply.status, words)
        default: return .standard
        }
    }

    private func refused(_ status: Int, _ words: String) -> Judgement {
        .whole(.rejected(code: status, "the server answered \(status)" + (words.isEmpty ? "" : ": \(words.prefix(300))")))
    }

    private func taken(_ reply: Reply, _ request: SentRequest) -> Judgement {
        if reply.isCut { return .whole(.unknown(code: reply.status, "the answer is too long to be one of OTLP")) }
        guard let answer = Answer.success(reply) else {
            return .whole(.fault(code: reply.status, "the server gave no answer of OTLP; correct url"))
        }
        guard answer.rejected > 0 else { return .standard }
        let words = answer.message.isEmpty ? "" : ": \(answer.message.prefix(300))"
        if answer.rejected >= request.count { return .each(.rejected(code: reply.status, "the server rejected the record" + words)) }
        let outcome = Outcome.rejected(code: reply.status, "the server rejected some records of a request" + words)
        return rejectsAll ? .each(outcome) : .whole(outcome)
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(VendorProvider<OTLP>.self) }
