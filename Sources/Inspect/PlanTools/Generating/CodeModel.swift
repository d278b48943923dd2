// The declarations that a plan needs in a typed language: records with fields, lists of texts, and the calls of events. Every name is a lawful
// identifier of ASCII and unique. What types cannot say is kept as a comment of one line.

internal import Document
internal import TrackingPlans

public enum CodeLanguage: String, CaseIterable, Sendable { case swift, python, typescript }

/// The type of a value: one of several kinds, or null.
struct CodeType {
    indirect enum Kind {
        case any, string, integer, number, boolean, object
        case list(CodeType)
        /// A record or a list of texts, by its name.
        case named(String)
    }

    var kinds: [Kind]
    var isNullable = false

    static let any = CodeType(kinds: [.any])
}

struct CodeField {
    /// The key in the event.
    var key: String
    /// The identifier.
    var name: String
    var type: CodeType
    var isRequired: Bool
    var comments: [String]
}

struct CodeRecord {
    var name: String
    var fields: [CodeField]
    var comments: [String]
}

struct CodeChoice {
    var name: String
    var cases: [(name: String, value: String)]
}

enum CodeDeclaration {
    case record(CodeRecord)
    case choice(CodeChoice)
}

struct CodeEvent {
    /// The name of the event, and that of its type and its case in code.
    var event: String
    var typeName: String
    var caseName: String
    var version: String?
    /// `properties` and `traits`, if the plan has a schema for them.
    var members: [(name: String, type: CodeType)]
    var comments: [String]

    /// The member that has the name: events of these types have no name of their own.
    var nameMember: String { ["identify", "group", "alias", "page", "screen"].contains(event) ? "type" : "event" }
}

struct CodeModel {
    /// Inner declarations come before those that use them.
    private(set) var declarations: [CodeDeclaration] = []
    private(set) var events: [CodeEvent] = []
    let version: [String]
    private var types: Identifiers
    private var cases: Identifiers

    init(_ plan: PlanDocument, typesTaken: Set<String>, casesTaken: Set<String>, versionPath: [String]) {
        types = Identifiers(taken: typesTaken)
        cases = Identifiers(taken: casesTaken)
        version = versionPath
        for event in plan.events {
            for schemas in event.all { add(event, schemas) }
        }
    }

    private mutating func add(_ event: PlanDocument.Event, _ schemas: PlanDocument.Schemas) {
        let words = event.name + (schemas.version.map { " v\($0)" } ?? "")
        let typeName = types.unique(Identifiers.upperCamel(words))
        var comments = [event.description].compactMap(\.self)
        if let owner = event.owner { comments.append("Owner: \(owner).") }
        comments.append("If it violates the plan, \(event.action.words).")
        if !event.required.isEmpty { comments.append("It must also have: \(event.required.joined(separator: ", ")).") }
        let members = schemas.members.map { member in
            (name: member.name, type: type(of: member.shape, named: typeName + " " + member.name))
        }
        events.append(
            CodeEvent(
                event: event.name, typeName: typeName, caseName: cases.unique(Identifiers.lowerCamel(words)), version: schemas.version,
                members: members, comments: comments))
    }

    // MARK: - Types

    private mutating func type(of shape: SchemaShape, named words: String) -> CodeType {
        if let choices = shape.choices {
            let texts = choices.filter { $0.hasPrefix("\"") }
            let isNullable = choices.contains("null")
            guard !texts.isEmpty, texts.count + (isNullable ? 1 : 0) == choices.count else { return .any }
            return CodeType(kinds: [.named(choice(texts, words))], isNullable: isNullable)
        }
        let listed = shape.types ?? (shape.members.isEmpty && shape.required.isEmpty ? SchemaShape.allTypes : ["object"])
        if listed.count == SchemaShape.allTypes.count || shape.isNever { return .any }
        var kinds: [CodeType.Kind] = []
        for type in listed where type != "null" {
            switch type {
            case "string": kinds.append(.string)
            case "integer": if !listed.contains("number") { kinds.append(.integer) }
            case "number": kinds.append(.number)
            case "boolean": kinds.append(.boolean)
            case "array": kinds.append(.list(shape.items.first.map { self.type(of: $0, named: words + " item") } ?? .any))
            default: kinds.append(isRecord(shape) ? .named(record(shape, words)) : .object)
            }
        }
        return kinds.isEmpty ? .any : CodeType(kinds: kinds, isNullable: listed.contains("null"))
    }

    /// An object without named members has any, unless all are forbidden.
    private func isRecord(_ shape: SchemaShape) -> Bool {
        if case .closed = shape.others { return true }
        return !shape.members.isEmpty || !shape.required.isEmpty
    }

    private mutating func choice(_ texts: [String], _ words: String) -> String {
        let name = types.unique(Identifiers.upperCamel(words))
        var names = Identifiers(taken: ["init", "self", "rawValue", "hash", "hashValue"])
        let values = texts.compactMap { json in try? Outline.read(Source(Array(json.utf8)), resolving: nil).root.text?.value }
        let cases = values.map { (name: names.unique(Identifiers.lowerCamel($0)), value: $0) }
        declarations.append(.choice(CodeChoice(name: name, cases: cases)))
        return name
    }

    private mutating func record(_ shape: SchemaShape, _ words: String) -> String {
        let name = types.unique(Identifiers.upperCamel(words))
        var names = Identifiers(taken: ["init", "self", "json"])
        var fields: [CodeField] = []
        for member in shape.members where !member.shape.isNever {
            fields.append(
                CodeField(
                    key: member.name, name: names.unique(Identifiers.lowerCamel(member.name)),
                    type: type(of: member.shape, named: words + " " + member.name), isRequired: shape.requires(member.name),
                    comments: CodeModel.comments(member.shape)))
        }
        for key in shape.required where shape.member(key) == nil {
            fields.append(
                CodeField(key: key, name: names.unique(Identifiers.lowerCamel(key)), type: .any, isRequired: true, comments: []))
        }
        declarations.append(.record(CodeRecord(name: name, fields: fields, comments: CodeModel.comments(shape))))
        return name
    }

    /// What the schema says and the types do not.
    private static func comments(_ shape: SchemaShape) -> [String] {
        var comments = [shape.description].compactMap(\.self)
        if shape.isPrivate { comments.append("Private: it never leaves the router as it came.") }
        var rules = shape.bounds + shape.rest
        if let format = shape.format { rules.insert(SchemaShape.Rule(keyword: "format", json: format), at: 0) }
        if let choices = shape.choices, !choices.allSatisfy({ $0.hasPrefix("\"") || $0 == "null" }) {
            rules.append(SchemaShape.Rule(keyword: "enum", json: choices.joined(separator: ", ")))
        }
        if let items = shape.items.first { rules += items.bounds.map { SchemaShape.Rule(keyword: "items: " + $0.keyword, json: $0.json) } }
        if !rules.isEmpty { comments.append("Not checked here: " + rules.map { "\($0.keyword) \($0.json)" }.joined(separator: "; ")) }
        return comments
    }
}
