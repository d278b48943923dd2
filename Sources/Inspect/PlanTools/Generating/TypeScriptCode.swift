// `switchyard plan typescript`: an interface for each event of a plan and for each object in it. The code is only types.

internal import Document

enum TypeScriptCode {
    private static let typesTaken: Set<String> = [
        "PlannedEvent", "Record", "Array", "Object", "String", "Number", "Boolean", "Function", "Symbol", "Promise", "Date", "Map", "Set",
    ]

    static func text(_ plan: PlanDocument) -> String {
        let model = CodeModel(plan, typesTaken: typesTaken, casesTaken: [], versionPath: plan.versionPath)
        var text = """
            // The events of a tracking plan. Written by `switchyard plan typescript`; changes are lost when it is written again.

            """
        for event in model.events { text += "\n" + self.event(event, model) }
        for declaration in model.declarations {
            text += "\n"
            switch declaration {
            case .record(let record): text += self.record(record)
            case .choice(let choice):
                text += "export type \(choice.name) = \(choice.cases.map { quoted($0.value) }.joined(separator: " | "));\n"
            }
        }
        let names = model.events.map(\.typeName)
        return text + "\nexport type PlannedEvent = \(names.isEmpty ? "never" : names.joined(separator: " | "));\n"
    }

    private static func quoted(_ text: String) -> String { CodeText.quoted(text) { "\\u{\(CodeText.hex($0, 1))}" } }

    private static func comments(_ texts: [String], _ indent: String = "") -> String {
        texts.map { "\(indent)// \(CodeText.comment($0))\n" }.joined()
    }

    private static func type(_ type: CodeType) -> String {
        var names = type.kinds.map { kind in
            switch kind {
            case .any: "unknown"
            case .string: "string"
            case .integer, .number: "number"
            case .boolean: "boolean"
            case .object: "Record<string, unknown>"
            case .list(let item): "Array<\(self.type(item))>"
            case .named(let name): name
            }
        }
        if type.isNullable { names.append("null") }
        return names.joined(separator: " | ")
    }

    private static func record(_ record: CodeRecord) -> String {
        var text = comments(record.comments) + "export interface \(record.name) {\n"
        for field in record.fields {
            text += comments(field.comments, "  ") + "  \(quoted(field.key))\(field.isRequired ? "" : "?"): \(type(field.type));\n"
        }
        return text + "}\n"
    }

    private static func event(_ event: CodeEvent, _ model: CodeModel) -> String {
        var text = comments(event.comments) + "export interface \(event.typeName) {\n  \(event.nameMember): \(quoted(event.event));\n"
        if let version = event.version, let first = model.version.first {
            let inner = model.version.dropFirst().reversed().reduce(quoted(version)) { "{ \(quoted($1)): \($0) }" }
            text += "  \(quoted(first)): \(inner);\n"
        }
        for member in event.members { text += "  \(member.name): \(type(member.type));\n" }
        return text + "}\n"
    }
}
