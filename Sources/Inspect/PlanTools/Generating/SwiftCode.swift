// `switchyard plan swift`: an enum of the events of a plan, with a structure for the members of each. The code needs no library.

internal import Document

public enum PlanCode {
    /// Returns the source text in the language.
    public static func text(_ plan: PlanDocument, in language: CodeLanguage) -> String {
        switch language {
        case .swift: SwiftCode.text(plan)
        case .python: PythonCode.text(plan)
        case .typescript: TypeScriptCode.text(plan)
        }
    }
}

enum SwiftCode {
    private static let typesTaken: Set<String> = [
        "PlannedEvent", "JSONValue", "String", "Int", "Double", "Bool", "Array", "Optional", "Sendable", "Character", "Swift",
    ]
    private static let casesTaken: Set<String> = ["name", "version", "json", "init", "self", "none", "some", "hash"]

    static func text(_ plan: PlanDocument) -> String {
        let model = CodeModel(plan, typesTaken: typesTaken, casesTaken: casesTaken, versionPath: plan.versionPath)
        var text = """
            // The events of a tracking plan. Written by `switchyard plan swift`; changes are lost when it is written again.


            """
        text += events(model)
        for declaration in model.declarations {
            text += "\n"
            switch declaration {
            case .record(let record): text += self.record(record)
            case .choice(let choice): text += self.choice(choice)
            }
        }
        return text + "\n" + support
    }

    private static func quoted(_ text: String) -> String { CodeText.quoted(text) { "\\u{\(CodeText.hex($0, 1))}" } }

    private static func comments(_ texts: [String]) -> String { texts.map { "/// \(CodeText.comment($0))\n" }.joined() }

    private static func type(_ type: CodeType) -> String {
        guard type.kinds.count == 1 else { return "JSONValue" }
        let name =
            switch type.kinds[0] {
            case .any: "JSONValue"
            case .string: "String"
            case .integer: "Int"
            case .number: "Double"
            case .boolean: "Bool"
            case .object: "[String: JSONValue]"
            case .list(let item): "[\(self.type(item))]"
            case .named(let name): name
            }
        return type.isNullable ? name + "?" : name
    }

    /// The expression that makes JSON of a value of the type.
    private static func json(_ value: String, _ type: CodeType) -> String {
        if type.kinds.count != 1 { return value }
        if type.isNullable {
            var inner = type
            inner.isNullable = false
            return "(\(value)).map { \(self.json("$0", inner)) } ?? .null"
        }
        switch type.kinds[0] {
        case .any: return value
        case .string: return ".string(\(value))"
        case .integer: return ".integer(\(value))"
        case .number: return ".number(\(value))"
        case .boolean: return ".bool(\(value))"
        case .object: return ".object(\(value).map { ($0.key, $0.value) })"
        case .list(let item): return ".array(\(value).map { \(json("$0", item)) })"
        case .named: return "\(value).json"
        }
    }

    // MARK: - Declarations

    private static func events(_ model: CodeModel) -> String {
        if model.events.isEmpty { return "public enum PlannedEvent: Sendable {}\n" }
        var cases = ""
        var bodies = ""
        for event in model.events {
            let values = event.members.map { "\($0.name): \(type($0.type))" }
            cases +=
                comments(event.comments) + "case \(event.caseName)" + (values.isEmpty ? "" : "(\(values.joined(separator: ", ")))") + "\n"
            var members = ["(\(quoted(event.nameMember)), .string(\(quoted(event.event))))"]
            if let version = event.version, let first = model.version.first {
                let inner = model.version.dropFirst().reversed().reduce(".string(\(quoted(version)))") {
                    ".object([(\(quoted($1)), \($0))])"
                }
                members.append("(\(quoted(first)), \(inner))")
            }
            members += event.members.map { "(\(quoted($0.name)), \(self.json($0.name, $0.type)))" }
            let names = event.members.map { "let \($0.name)" }.joined(separator: ", ")
            bodies +=
                "case .\(event.caseName)\(names.isEmpty ? "" : "(\(names))"):\n    .object([\(members.joined(separator: ", "))])\n"
        }
        let json = """
            /// The event as JSON: its name, its version and its members. The caller adds ids and the time.
            public var json: JSONValue {
                switch self {
            \(String(bodies.dropLast()).indented())
                }
            }

            """
        return "/// An event of the plan.\npublic enum PlannedEvent: Sendable {\n" + cases.indented() + "\n" + json.indented() + "}\n"
    }

    private static func record(_ record: CodeRecord) -> String {
        var fields = ""
        var parameters: [String] = []
        var puts = ""
        for field in record.fields {
            // A member that may be absent is left out if it is nil.
            let base = type(field.type)
            let isOptional = !field.isRequired && !base.hasSuffix("?")
            let name = isOptional ? base + "?" : base
            fields += comments(field.comments) + "public var \(field.name): \(name)\n"
            parameters.append("\(field.name): \(name)\(field.isRequired ? "" : " = nil")")
            var inner = field.type
            if !field.isRequired { inner.isNullable = false }
            if field.isRequired {
                puts += "members.append((\(quoted(field.key)), \(json("self.\(field.name)", inner))))\n"
            } else {
                puts += "if let value = self.\(field.name) { members.append((\(quoted(field.key)), \(json("value", inner)))) }\n"
            }
        }
        let assignments = record.fields.map { "self.\($0.name) = \($0.name)\n" }.joined()
        let body =
            fields + "\npublic init(\(parameters.joined(separator: ", "))) {\n" + assignments.indented() + "}\n\n"
            + "public var json: JSONValue {\n    \(puts.isEmpty ? "let" : "var") members: [(String, JSONValue)] = []\n" + puts.indented()
            + "    return .object(members)\n}\n"
        return comments(record.comments) + "public struct \(record.name): Sendable {\n" + body.indented() + "}\n"
    }

    private static func choice(_ choice: CodeChoice) -> String {
        let cases = choice.cases.map { "case \($0.name) = \(quoted($0.value))\n" }.joined()
        return "public enum \(choice.name): String, Sendable {\n" + cases.indented()
            + "\n    public var json: JSONValue { .string(rawValue) }\n}\n"
    }

    private static let support = #"""
        /// A value of JSON, for members whose type the plan leaves open.
        public indirect enum JSONValue: Sendable {
            case null
            case bool(Bool)
            case integer(Int)
            case number(Double)
            case string(String)
            case array([JSONValue])
            case object([(String, JSONValue)])

            /// The value as JSON text. A number that is not finite is null.
            public var text: String {
                switch self {
                case .null: return "null"
                case .bool(let value): return value ? "true" : "false"
                case .integer(let value): return "\(value)"
                case .number(let value): return value.isFinite ? "\(value)" : "null"
                case .string(let value): return JSONValue.quoted(value)
                case .array(let items): return "[" + items.map(\.text).joined(separator: ",") + "]"
                case .object(let members):
                    return "{" + members.map { JSONValue.quoted($0.0) + ":" + $0.1.text }.joined(separator: ",") + "}"
                }
            }

            private static func quoted(_ text: String) -> String {
                var result = "\""
                for scalar in text.unicodeScalars {
                    switch scalar {
                    case "\"", "\\": result += "\\\(scalar)"
                    case _ where scalar.value < 0x20:
                        let digits = String(scalar.value, radix: 16)
                        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                    default: result.unicodeScalars.append(scalar)
                    }
                }
                return result + "\""
            }
        }

        """#
}
