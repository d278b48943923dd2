// `switchyard plan diff`: what two plans allow differently, and whom that breaks. A sender is taken to send the members that the old plan
// names; where it allows others, a sender may send those too, and it breaks when they are forbidden. A reader is taken to rely on the old plan.

internal import Document
internal import Events
internal import TrackingPlans

public struct PlanComparison {
    public enum Party: String, CaseIterable, Sendable {
        /// An event that fits the old plan may violate the new one.
        case senders
        /// An event that fits the new plan may be something that the old one excluded.
        case readers
        /// Nobody breaks.
        case nobody
    }

    public struct Change: Sendable {
        public var party: Party
        /// The event, or nil for what the plan says of all events.
        public var event: String?
        public var version: String?
        /// The member, or empty for the whole event.
        public var place: String
        public var text: String
    }

    public private(set) var changes: [Change] = []

    public init(old: PlanDocument, new: PlanDocument) {
        compareRules(old, new)
        for event in new.events {
            if let before = old.events.first(where: { sameText($0.name, event.name) }) {
                compare(before, event)
            } else {
                add(.nobody, event.name, "", "the event is new")
            }
        }
        for event in old.events where !new.events.contains(where: { sameText($0.name, event.name) }) {
            if let action = new.unplanned {
                add(.senders, event.name, "", "the event is no longer in the plan: \(action.words)")
            } else {
                add(.readers, event.name, "", "the event is no longer in the plan: it passes, and nothing checks its members")
            }
        }
    }

    private mutating func add(_ party: Party, _ event: String?, _ place: String, _ text: String, version: String? = nil) {
        changes.append(Change(party: party, event: event, version: version, place: place, text: text))
    }

    // MARK: - The plan

    private mutating func compareRules(_ old: PlanDocument, _ new: PlanDocument) {
        if old.names != new.names {
            if new.names != nil { add(.senders, nil, "", "names of events must match another expression now") }
            if old.names != nil { add(.readers, nil, "", "names of events may be others now") }
        }
        if !sameText(old.version, new.version) {
            add(.senders, nil, "", "the version of an event is in \(new.version) now, it was in \(old.version)")
        }
        compareRequired(old.required, new.required, of: nil)
        compareActions(old.unplanned, new.unplanned, of: nil)
    }

    private mutating func compareRequired(_ old: [String], _ new: [String], of event: String?) {
        for path in new where !old.contains(path) { add(.senders, event, path, "is required now") }
        for path in old where !new.contains(path) { add(.readers, event, path, "may be absent now") }
    }

    private mutating func compareActions(_ old: ViolationAction?, _ new: ViolationAction?, of event: String?) {
        guard old != new else { return }
        let what = event == nil ? "an event that the plan does not name" : "an event that violates the plan"
        let text = "\(what): \(new?.words ?? "it passes") now, before: \(old?.words ?? "it passes")"
        add((new?.strictness ?? -1) > (old?.strictness ?? -1) ? .senders : .readers, event, "", text)
    }

    // MARK: - An event

    private mutating func compare(_ old: PlanDocument.Event, _ new: PlanDocument.Event) {
        compareActions(old.action, new.action, of: new.name)
        compareRequired(old.required, new.required, of: new.name)
        if let plain = old.plain {
            if let after = new.plain {
                compare(plain, after, of: new.name)
            } else {
                add(.senders, new.name, "", "an event without a version violates the plan now")
            }
        } else if new.plain != nil, !new.versions.isEmpty {
            add(.readers, new.name, "", "an event may come without a version now")
        }
        if old.versions.isEmpty, !new.versions.isEmpty {
            let listed = new.versions.compactMap(\.version).joined(separator: ", ")
            add(.senders, new.name, "", "an event with a version must have one of these now: \(listed)")
        }
        for version in old.versions {
            let after = new.versions.first { sameText($0.version!, version.version!) } ?? (new.versions.isEmpty ? new.plain : nil)
            if let after {
                compare(version, after, of: new.name)
            } else {
                add(.senders, new.name, "", "this version is no longer in the plan", version: version.version)
            }
        }
        for version in new.versions where !old.versions.contains(where: { sameText($0.version!, version.version!) }) {
            add(.nobody, new.name, "", "the version is new", version: version.version)
        }
        if !old.versions.isEmpty, new.versions.isEmpty { add(.readers, new.name, "", "any version may come now") }
    }

    private mutating func compare(_ old: PlanDocument.Schemas, _ new: PlanDocument.Schemas, of event: String) {
        compare(old.properties, new.properties, "properties", event, old.version)
        compare(old.traits, new.traits, "traits", event, old.version)
    }

    private mutating func compare(_ old: SchemaShape?, _ new: SchemaShape?, _ member: String, _ event: String, _ version: String?) {
        guard old != nil || new != nil else { return }
        var open = SchemaShape()
        open.types = ["object"]
        var toNew = NarrowingSearch()
        toNew.search(old ?? open, new ?? SchemaShape(), at: [member])
        var toOld = NarrowingSearch()
        toOld.search(new ?? open, old ?? SchemaShape(), at: [member])
        func name(_ place: [String]) -> String {
            place.split(separator: NarrowingSearch.items).map { Path(keys: Array($0)).description }.joined(separator: "[].")
                + (place.last == NarrowingSearch.items ? "[]" : "")
        }
        for found in toNew.found { add(.senders, event, name(found.place), found.kind.forSenders, version: version) }
        for found in toOld.found {
            // A member that the old plan excluded by its name only is a new one.
            if case .forbidden = found.kind, old?.shape(at: found.place.dropFirst()) == nil {
                add(.nobody, event, name(found.place), "is new", version: version)
            } else {
                add(.readers, event, name(found.place), found.kind.forReaders, version: version)
            }
        }
        for place in toNew.named { add(.nobody, event, name(place), "is new", version: version) }
        for place in toOld.named { add(.readers, event, name(place), "is no longer in the plan", version: version) }
        comparePrivate(old, new, [member], event, version)
    }

    private mutating func comparePrivate(_ old: SchemaShape?, _ new: SchemaShape?, _ place: [String], _ event: String, _ version: String?) {
        guard let old, let new else { return }
        if old.isPrivate != new.isPrivate {
            let text = new.isPrivate ? "is private now: it does not leave as it came" : "is no longer private: it may leave as it came"
            add(.readers, event, Path(keys: place).description, text, version: version)
        }
        for member in new.members { comparePrivate(old.member(member.name), member.shape, place + [member.name], event, version) }
    }

    // MARK: - Output

    /// Returns true if the change breaks the party, or anybody if the party is nil.
    public func breaks(_ party: Party?) -> Bool { changes.contains { $0.party != .nobody && (party == nil || $0.party == party) } }

    /// The changes for a person: a line for each event, and one for each change below it.
    public func text(for party: Party?) -> String {
        let shown = changes.filter { party == nil || $0.party == party || $0.party == .nobody }
        var text = ""
        var heading: String?
        for change in shown {
            let title = (change.event ?? "the plan") + (change.version.map { ", version \($0)" } ?? "")
            if heading != title { text += Words.visible(title) + "\n" }
            heading = title
            let who = change.party == .nobody ? "" : "\(change.party.rawValue): "
            let line = change.place.isEmpty ? change.text : "\(change.place) \(change.text)"
            text += "    \(Words.visible(who + line))\n"
        }
        return text
    }

    public func json(for party: Party?) -> String {
        let listed = changes.filter { party == nil || $0.party == party || $0.party == .nobody }.map { change in
            JSONText.object([
                ("breaks", JSONText.quoted(change.party.rawValue)), ("event", change.event.map(JSONText.quoted) ?? "null"),
                ("version", change.version.map(JSONText.quoted) ?? "null"), ("place", JSONText.quoted(change.place)),
                ("change", JSONText.quoted(change.text)),
            ])
        }
        return JSONText.object([("breaks", "\(breaks(party))"), ("changes", JSONText.list(listed))])
    }
}

extension SchemaShape {
    /// Returns the schema of a member of members.
    fileprivate func shape(at place: ArraySlice<String>) -> SchemaShape? {
        guard let name = place.first else { return self }
        return member(name)?.shape(at: place.dropFirst())
    }
}

extension Narrowing.Kind {
    fileprivate var forSenders: String {
        switch self {
        case .required: "is required now"
        case .type(let type): "may no longer be \(Self.article(type))"
        case .choice(let value): "may no longer be \(value)"
        case .choices: "must be one of a few values now"
        case .forbidden: "is forbidden now"
        case .othersForbidden: "may have no other members now"
        case .othersShaped: "has a schema for other members now"
        case .items: "has a schema for its items now"
        case .bound(let keyword, let narrow, let wide): "has \(keyword) \(narrow) now\(wide.map { ", before: \($0)" } ?? "")"
        case .rule(let keyword): "has another rule \(keyword) now, which is not compared"
        }
    }

    fileprivate var forReaders: String {
        switch self {
        case .required: "may be absent now"
        case .type(let type): "may be \(Self.article(type)) now"
        case .choice(let value): "may be \(value) now"
        case .choices: "may be any value now"
        case .forbidden: "may come now"
        case .othersForbidden: "may have other members now"
        case .othersShaped: "may have any other members now"
        case .items: "may have any items now"
        case .bound(let keyword, let narrow, let wide):
            wide.map { "has \(keyword) \($0) now, before: \(narrow)" } ?? "no longer has \(keyword) \(narrow)"
        case .rule(let keyword): "no longer has the rule \(keyword), which is not compared"
        }
    }

    private static func article(_ type: String) -> String {
        switch type {
        case "null": "null"
        case "integer", "object", "array": "an \(type)"
        default: "a \(type)"
        }
    }
}
