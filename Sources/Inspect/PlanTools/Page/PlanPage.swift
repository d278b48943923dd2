// `switchyard plan docs`: one page of all events of a plan, as HTML or Markdown. Texts of the plan are shown as text, whatever they contain:
// markup is escaped, and control characters become visible escapes. The page loads nothing and has no scripts.

internal import Document
internal import TrackingPlans

public enum PlanPage {
    public enum Format: String, CaseIterable, Sendable { case html, markdown }

    /// Returns the page.
    public static func text(_ plan: PlanDocument, as format: Format) -> String {
        switch format {
        case .html: write(plan, HTMLPage())
        case .markdown: write(plan, MarkdownPage())
        }
    }

    private static func write(_ plan: PlanDocument, _ empty: some PageWriter) -> String {
        var page = empty
        page.heading("Tracking plan", level: 1, anchor: nil)
        page.list(facts(of: plan))
        if plan.events.count > 1 { page.links(plan.events.enumerated().map { ($0.element.name, "event-\($0.offset + 1)") }) }
        for (index, event) in plan.events.enumerated() {
            page.heading(event.name, level: 2, anchor: "event-\(index + 1)")
            if let description = event.description { page.paragraph(description) }
            page.list(facts(of: event))
            for schemas in event.all {
                if let version = schemas.version {
                    page.heading("Version \(version)", level: 3, anchor: nil)
                } else if !event.versions.isEmpty {
                    page.heading("Without a version", level: 3, anchor: nil)
                }
                let rows = schemas.members.flatMap { SchemaRows.of($0.shape, at: $0.name) }
                if rows.isEmpty {
                    page.paragraph("The plan names no members.")
                } else {
                    page.table(["Member", "Type", "Required", "Rules", "Description"], rows.map(\.cells))
                }
            }
        }
        return page.finish()
    }

    private static func facts(of plan: PlanDocument) -> [(name: String, text: String)] {
        var facts: [(name: String, text: String)] = [("Events", "\(plan.events.count)")]
        if let names = plan.names { facts.append(("Names match", names)) }
        if !plan.required.isEmpty { facts.append(("Every event has", plan.required.joined(separator: ", "))) }
        facts.append(("Version of an event", plan.version))
        facts.append(("An event that the plan does not name", plan.unplanned?.words ?? "it passes"))
        return facts
    }

    private static func facts(of event: PlanDocument.Event) -> [(name: String, text: String)] {
        var facts: [(name: String, text: String)] = []
        if let owner = event.owner { facts.append(("Owner", owner)) }
        facts.append(("If it violates the plan", event.action.words))
        if !event.required.isEmpty { facts.append(("Must also have", event.required.joined(separator: ", "))) }
        let versions = event.versions.compactMap(\.version)
        if !versions.isEmpty { facts.append(("Versions", versions.joined(separator: ", "))) }
        return facts
    }
}

/// A row of the table of an event: a member, and what its schema says.
struct SchemaRows {
    var place: String
    var type: String
    var isRequired: Bool
    var rules: [String]
    var description: String

    var cells: [String] { [place, type, isRequired ? "yes" : "no", rules.joined(separator: "; "), description] }

    /// The rows of the members of a schema, those of inner objects after their own.
    static func of(_ shape: SchemaShape, at place: String) -> [SchemaRows] {
        var rows: [SchemaRows] = []
        // The member itself has a row only if its schema says more than which members it has.
        let own = rules(of: shape)
        if !own.isEmpty || shape.description != nil { rows.append(row(shape, place, isRequired: false)) }
        return rows + inner(shape, place)
    }

    private static func inner(_ shape: SchemaShape, _ place: String) -> [SchemaRows] {
        var rows: [SchemaRows] = []
        for member in shape.members {
            let name = place + "." + member.name
            rows.append(row(member.shape, name, isRequired: shape.requires(member.name)))
            rows += inner(member.shape, name)
        }
        for name in shape.required where shape.member(name) == nil {
            rows.append(SchemaRows(place: place + "." + name, type: "any", isRequired: true, rules: [], description: ""))
        }
        if let items = shape.items.first {
            if !rules(of: items).isEmpty { rows.append(row(items, place + "[]", isRequired: false)) }
            rows += inner(items, place + "[]")
        }
        return rows
    }

    private static func row(_ shape: SchemaShape, _ place: String, isRequired: Bool) -> SchemaRows {
        SchemaRows(
            place: place, type: type(of: shape), isRequired: isRequired, rules: rules(of: shape), description: shape.description ?? "")
    }

    static func type(of shape: SchemaShape) -> String {
        if shape.isNever { return "none" }
        guard let types = shape.types else { return "any" }
        if types == ["array"], let items = shape.items.first { return "array of " + type(of: items) }
        return types.isEmpty ? "none" : types.joined(separator: " or ")
    }

    /// What a schema says besides its type, in words. A rule that has no words is shown as JSON.
    static func rules(of shape: SchemaShape) -> [String] {
        var rules: [String] = []
        if shape.isPrivate { rules.append("private: it never leaves as it came") }
        if let choices = shape.choices { rules.append("one of " + choices.joined(separator: ", ")) }
        if let format = shape.format { rules.append("format \(format)") }
        rules += shape.bounds.map { "\($0.keyword) \($0.json)" }
        switch shape.others {
        case .open: break
        case .closed: rules.append("no other members")
        case .shaped(let others): rules.append("other members are \(type(of: others[0]))")
        }
        rules += shape.rest.map { "\($0.keyword) \($0.json)" }
        return rules
    }
}
