// Writes what was inferred as a tracking plan, and as a report for the person who will correct it.

internal import Document
internal import Events
internal import TrackingPlans

/// How much a plan says. A plan that would be too large for the router says less.
private enum Detail: CaseIterable {
    case full
    /// Without enums and frequencies.
    case types
    /// The names of events only.
    case names
}

extension PlanInference {
    /// The plan as JSON in one line, and the lines of the report.
    public var result: (plan: String, report: [String]) {
        for detail in Detail.allCases {
            var writer = InferredWriter(detail: detail)
            let plan = text(&writer)
            if plan.utf8.count <= InferenceLimits.file || detail == .names { return (plan, counts + writer.report(detail)) }
        }
        preconditionFailure("no detail is left")
    }

    private func text(_ writer: inout InferredWriter) -> String {
        var members: [(name: String, json: String)] = []
        if version != TrackingPlan.defaultVersion { members.append(("version", JSONText.quoted(version.description))) }
        var events: [(name: String, json: String)] = []
        for (name, shape) in names.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let name = String(decoding: name, as: UTF8.self)
            events.append((name, writer.event(shape, name)))
        }
        members.append(("events", JSONText.object(events)))
        return JSONText.object(members)
    }

    private var counts: [String] {
        let versions = names.values.reduce(0) { $0 + $1.versions.count }
        func events(_ count: Int) -> String { count == 1 ? "1 event" : "\(count) events" }
        func counted(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
        let seen = "\(events(self.events)), \(counted(names.count, "name"))"
        var lines = [versions == 0 ? seen : seen + ", \(counted(versions, "version"))"]
        if let firstFault {
            lines.append("\(invalid == 1 ? "1 line is" : "\(invalid) lines are") not valid; line \(firstFault.line): \(firstFault.message)")
        }
        if nameless > 0 { lines.append("\(events(nameless)) without a name and a type: no plan checks them") }
        if unnamed > 0 { lines.append("\(events(unnamed)) left out, since their names look like identifiers") }
        if beyond > 0 { lines.append("\(events(beyond)) left out, since a plan gets \(InferenceLimits.events) names at most") }
        return lines
    }
}

private struct InferredWriter {
    let detail: Detail
    private var notes: [String] = []
    private var omitted = 0

    init(detail: Detail) { self.detail = detail }

    func report(_ detail: Detail) -> [String] {
        var lines = notes
        if omitted > 0 { lines.append("\(omitted) more places are not listed") }
        switch detail {
        case .full: break
        case .types: lines.append("enums and frequencies are left out, since the plan would have more than 1 MB")
        case .names: lines.append("schemas are left out, since the plan would have more than 1 MB")
        }
        return lines
    }

    private mutating func note(_ text: String) {
        if notes.count < InferenceLimits.notes { notes.append(text) } else { omitted += 1 }
    }

    mutating func event(_ shape: NamedShape, _ name: String) -> String {
        var members = [("description", JSONText.quoted(shape.count == 1 ? "Seen once." : "Seen \(shape.count) times."))]
        if shape.hasOpenVersions {
            note("\(name): nothing is said of its members, since it has too many versions, or one that no plan can list")
        } else if detail != .names {
            var plain = shape.plain.map { schemas($0, name) } ?? []
            // Without a schema beside the versions, an event without a version would violate the plan.
            if shape.plain != nil, !shape.versions.isEmpty, plain.isEmpty { plain = [("properties", "{}")] }
            members += plain
            if !shape.versions.isEmpty {
                let versions = shape.versions.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { version, shape in
                    let version = String(decoding: version, as: UTF8.self)
                    return (name: version, json: JSONText.object(schemas(shape, "\(name) \(version)").map { (name: $0.0, json: $0.1) }))
                }
                members.append(("versions", JSONText.object(versions)))
            }
        }
        return JSONText.object(members.map { (name: $0.0, json: $0.1) })
    }

    private mutating func schemas(_ event: EventShape, _ name: String) -> [(String, String)] {
        var members: [(String, String)] = []
        for (word, shape) in [("properties", event.properties), ("traits", event.traits)] where shape.count > 0 {
            // An event without the member is checked as if the member had no members.
            let absent = event.count - shape.count
            if absent > 0 { shape.types.insert(.object) }
            members.append((word, schema(shape, at: "\(name): \(word)", key: word, absent: absent, frequency: nil)))
        }
        return members
    }

    /// Returns the schema of a place. `absent` is the number of objects that are missing there and count as empty ones.
    private mutating func schema(_ shape: ValueShape, at place: String, key: String, absent: Int, frequency: String?) -> String {
        let types = shape.types.words.map(JSONText.quoted)
        var members = [(name: "type", json: types.count == 1 ? types[0] : JSONText.list(types))]
        if let frequency, detail == .full { members.append(("description", JSONText.quoted(frequency))) }
        if let openness = shape.openness { note("\(place): anything is allowed there, since \(openness.reason)") }
        let onlyText = shape.types.isSubset(of: [.string, .null])
        if detail == .full, onlyText, !IdentifierLooks.namesPerson(key), let choices = shape.strings.choices {
            let null = shape.types.contains(.null) ? ["null"] : []
            members.append(("enum", JSONText.list(choices.map(JSONText.quoted) + null)))
        }
        if let format = shape.strings.format {
            members.append(("format", JSONText.quoted(format)))
            if format == "email" { note("\(place): holds addresses for mail; \"private\": true keeps them from leaving as they came") }
        }
        if shape.openness == nil, !shape.order.isEmpty {
            let all = shape.objects + absent
            let required = shape.order.filter { shape.members[$0]!.count == all }.map { String(decoding: $0, as: UTF8.self) }
            if !required.isEmpty { members.append(("required", JSONText.list(required.map(JSONText.quoted)))) }
            var inner: [(name: String, json: String)] = []
            for name in shape.order {
                let member = shape.members[name]!
                let name = String(decoding: name, as: UTF8.self)
                let frequency = member.count == all ? nil : "In \(member.count) of \(all)."
                inner.append((name, schema(member.shape, at: "\(place).\(name)", key: name, absent: 0, frequency: frequency)))
            }
            members.append(("properties", JSONText.object(inner)))
        }
        if shape.openness == nil, let items = shape.items, items.count > 0 {
            members.append(("items", schema(items, at: "\(place)[]", key: key, absent: 0, frequency: nil)))
        }
        return JSONText.object(members)
    }
}
