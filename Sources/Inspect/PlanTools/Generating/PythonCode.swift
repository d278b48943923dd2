// `switchyard plan python`: a dataclass for each event of a plan, and a TypedDict for each object in it. The code needs Python 3.11.

internal import Document

enum PythonCode {
    private static let typesTaken: Set<String> = [
        "PlannedEvent", "Any", "Literal", "NotRequired", "Required", "TypedDict", "Union", "Optional", "dataclass", "Mapping",
        "annotations",
    ]

    static func text(_ plan: PlanDocument) -> String {
        let model = CodeModel(plan, typesTaken: typesTaken, casesTaken: [], versionPath: plan.versionPath)
        var text = """
            # The events of a tracking plan. Written by `switchyard plan python`; changes are lost when it is written again.

            from dataclasses import dataclass
            from typing import Any, Literal, NotRequired, TypedDict, Union


            """
        for declaration in model.declarations {
            switch declaration {
            case .record(let record): text += self.record(record)
            case .choice(let choice):
                text += "\(choice.name) = Literal[\(choice.cases.map { quoted($0.value) }.joined(separator: ", "))]\n"
            }
        }
        for event in model.events { text += self.event(event, model) }
        let names = model.events.map(\.typeName)
        return text + "\n\nPlannedEvent = " + (names.isEmpty ? "None" : "Union[\(names.joined(separator: ", "))]") + "\n"
    }

    private static func quoted(_ text: String) -> String {
        CodeText.quoted(text) { $0 < 0x10000 ? "\\u\(CodeText.hex($0, 4))" : "\\U\(CodeText.hex($0, 8))" }
    }

    private static func comments(_ texts: [String], _ indent: String) -> String {
        texts.map { "\(indent)# \(CodeText.comment($0))\n" }.joined()
    }

    private static func type(_ type: CodeType) -> String {
        var names = type.kinds.map { kind in
            switch kind {
            case .any: "Any"
            case .string: "str"
            case .integer: "int"
            case .number: "float"
            case .boolean: "bool"
            case .object: "dict[str, Any]"
            case .list(let item): "list[\(self.type(item))]"
            case .named(let name): name
            }
        }
        if type.isNullable { names.append("None") }
        return names.count == 1 ? names[0] : "Union[\(names.joined(separator: ", "))]"
    }

    private static func record(_ record: CodeRecord) -> String {
        // This form of a TypedDict takes any text as a key.
        var text = comments(record.comments, "") + "\(record.name) = TypedDict(\(quoted(record.name)), {\n"
        for field in record.fields {
            let name = type(field.type)
            text += comments(field.comments, "    ") + "    \(quoted(field.key)): \(field.isRequired ? name : "NotRequired[\(name)]"),\n"
        }
        return text + "})\n"
    }

    private static func event(_ event: CodeEvent, _ model: CodeModel) -> String {
        var members = ["\(quoted(event.nameMember)): \(quoted(event.event))"]
        if let version = event.version, let first = model.version.first {
            let inner = model.version.dropFirst().reversed().reduce(quoted(version)) { "{\(quoted($1)): \($0)}" }
            members.append("\(quoted(first)): \(inner)")
        }
        members += event.members.map { "\(quoted($0.name)): self.\($0.name)" }
        let fields = event.members.map { "    \($0.name): \(type($0.type))\n" }.joined()
        return "\n\n" + comments(event.comments, "") + "@dataclass(frozen=True)\nclass \(event.typeName):\n\(fields)"
            + "\(fields.isEmpty ? "" : "\n")    def json(self) -> dict[str, Any]:\n        return {\(members.joined(separator: ", "))}\n"
    }
}
