// The parts of the JSON Schema that many forms share, each by its name under $defs. A schema judges what the file writes, before
// placeholders are resolved: so it refuses nothing that a placeholder may yet make right.

internal import Document

enum SchemaParts {
    /// A string, and any value, whose placeholders are well written.
    static let text = ref("text")
    static let value = ref("value")
    /// A text that holds a placeholder.
    static let placeholder = ref("placeholder")
    /// Names: as a string, and as the key of an object, where nothing is resolved.
    static let name = ref("name")
    static let key = ref("key")
    static let path = ref("path")
    static let pathKey = ref("pathKey")
    static let glob = ref("glob")
    static let globKey = ref("globKey")
    static let size = ref("size")
    static let time = ref("time")
    static let rate = ref("rate")
    static let delivery = ref("delivery")
    static let provider = ref("provider")

    static func ref(_ name: String) -> String { "{\"$ref\":\"#/$defs/\(name)\"}" }

    static func anyOf(_ schemas: [String]) -> String { "{\"anyOf\":\(JSONText.list(schemas))}" }
    /// What a string must be, unless a placeholder makes it.
    static func orPlaceholder(_ schema: String) -> String { text.dropLast() + ",\"anyOf\":\(JSONText.list([schema, placeholder]))}" }

    static func pattern(_ pattern: String) -> String { "{\"type\":\"string\",\"pattern\":\(JSONText.quoted(pattern))}" }

    static func choice(_ words: [String]) -> String { orPlaceholder("{\"enum\":\(JSONText.list(words.map(JSONText.quoted)))}") }

    static var definitions: [(name: String, json: String)] {
        [
            ("text", pattern(#"^(?:\$\$\{|\$\{(?:env|file):[^}]+\}|\$(?!\$?\{)|[^$])*$"#)),
            (
                "value",
                anyOf([
                    text, #"{"type":["number","boolean","null"]}"#, #"{"type":"array","items":\#(value)}"#,
                    #"{"type":"object","additionalProperties":\#(value)}"#,
                ])
            ),
            ("placeholder", pattern(#"(?:^|[^$])\$\{"#).dropLast() + ",\"$ref\":\"#/$defs/text\"}"),
            ("name", orPlaceholder(key)),
            ("key", #"{"type":"string","minLength":1,"maxLength":200,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$"}"#),
            ("path", orPlaceholder(pathKey)),
            ("pathKey", pattern(pathPattern)),
            ("glob", orPlaceholder(globKey)),
            ("globKey", #"{"type":"string","minLength":1,"maxLength":1000}"#),
            ("size", orPlaceholder(quantity(.size))),
            ("time", orPlaceholder(quantity(.time))),
            ("rate", orPlaceholder(quantity(.rate))),
        ]
    }

    private static func quantity(_ quantity: Quantity) -> String {
        pattern(#"^[0-9]+(\.[0-9]+)?(\#(quantity.units.map(\.name).joined(separator: "|")))$"#)
    }

    /// What `Path(parsing:)` reads.
    private static let pathPattern: String = {
        let plain = #"[^\u0000-\u001f\u007f.\[\]"'\\]+"#
        let escape = #"\\(?:["'\\`?/abfnrtv]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"#
        let quoted = #"\[(?:"(?:[^"\\]|\#(escape))*"|'(?:[^'\\]|\#(escape))*')\]"#
        return "^(?:\(plain)|\(quoted))(?:\\.\(plain)|\(quoted))*$"
    }()
}
