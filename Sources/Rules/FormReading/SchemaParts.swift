// The parts of the JSON Schema that many forms share, each with its name under $defs. A schema checks the file before placeholders are
// resolved. Therefore it never refuses a text that a placeholder may make valid.

internal import Document

public enum SchemaParts {
    /// A string, and any value, in which all placeholders are well formed.
    public static let text = ref("text")
    public static let value = ref("value")
    /// A text that holds a placeholder.
    public static let placeholder = ref("placeholder")
    /// A name: as a string, and as the key of an object, where no placeholder is resolved.
    public static let name = ref("name")
    public static let key = ref("key")
    public static let path = ref("path")
    public static let pathKey = ref("pathKey")
    public static let glob = ref("glob")
    public static let globKey = ref("globKey")
    public static let size = ref("size")
    public static let time = ref("time")
    public static let rate = ref("rate")
    public static let delivery = ref("delivery")
    public static let provider = ref("provider")

    public static func ref(_ name: String) -> String { "{\"$ref\":\"#/$defs/\(name)\"}" }

    public static func anyOf(_ schemas: [String]) -> String { "{\"anyOf\":\(JSONText.list(schemas))}" }
    /// Returns the schema of a string that matches `schema` or holds a placeholder.
    public static func orPlaceholder(_ schema: String) -> String { text.dropLast() + ",\"anyOf\":\(JSONText.list([schema, placeholder]))}" }

    public static func pattern(_ pattern: String) -> String { "{\"type\":\"string\",\"pattern\":\(JSONText.quoted(pattern))}" }

    public static func choice(_ words: [String]) -> String { orPlaceholder("{\"enum\":\(JSONText.list(words.map(JSONText.quoted)))}") }

    public static var definitions: [(name: String, json: String)] {
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

    /// The pattern of the texts that `Path(parsing:)` accepts.
    private static let pathPattern: String = {
        let plain = #"[^\u0000-\u001f\u007f.\[\]"'\\]+"#
        let escape = #"\\(?:["'\\`?/abfnrtv]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"#
        let quoted = #"\[(?:"(?:[^"\\]|\#(escape))*"|'(?:[^'\\]|\#(escape))*')\]"#
        return "^(?:\(plain)|\(quoted))(?:\\.\(plain)|\(quoted))*$"
    }()
}
