// The schema of one setting: the subset of JSON Schema that the host checks and that `switchyard providers` prints. The first argument of
// each function is the description that `switchyard providers` shows.

public struct Schema: Sendable {
    let json: String
    let isRequired: Bool

    private init(_ json: String, required: Bool = false) {
        self.json = json
        self.isRequired = required
    }

    /// The same setting, but required.
    public var required: Schema { Schema(json, required: true) }

    /// The same setting, but a secret: its value is never shown.
    public var secret: Schema { Schema(String(json.dropLast()) + ",\"writeOnly\":true}", required: isRequired) }

    /// A text. `pattern` is an extended regular expression that must match the whole text.
    public static func text(_ about: String, default fallback: String? = nil, pattern: String? = nil) -> Schema {
        make("string", about: about, fallback: fallback.map(JSONText.string), rules: [("pattern", pattern.map(JSONText.string))])
    }

    public static func choice(_ about: String, of values: [String], default fallback: String? = nil) -> Schema {
        make("string", about: about, fallback: fallback.map(JSONText.string), rules: [("enum", JSONText.list(values.map(JSONText.string)))])
    }

    /// A size with a unit (16MB, 512KiB). The instance gets the number of bytes.
    public static func size(_ about: String, default fallback: String? = nil) -> Schema {
        make("string", about: about, fallback: fallback.map(JSONText.string), rules: [("format", "\"size\"")])
    }

    /// A duration with a unit (500ms, 24h). The instance gets the number of milliseconds.
    public static func duration(_ about: String, default fallback: String? = nil) -> Schema {
        make("string", about: about, fallback: fallback.map(JSONText.string), rules: [("format", "\"duration\"")])
    }

    /// What a name in an expression stands for.
    public enum Variable: String, Sendable {
        /// A value of any type.
        case any
        case integer
        case text
        /// A map from texts to texts.
        case texts
        /// A value that an expression can only put somewhere.
        case opaque
    }

    /// An expression in CEL. The host compiles it, so that `switchyard check` shows the place of a fault, and the instance gets its text.
    /// `names` are all names that it can use, besides `constants.NAME` for each text in the setting `constants`. If it is nil, they are the
    /// members of the event. A condition must be true or false.
    public static func expression(
        _ about: String, names: KeyValuePairs<String, Variable>? = nil, isCondition: Bool = false, default fallback: String? = nil
    ) -> Schema {
        let names = names.map { JSONText.object($0.map { ($0.key, JSONText.string($0.value.rawValue)) }) }
        return make(
            "string", about: about, fallback: fallback.map(JSONText.string),
            rules: [("format", isCondition ? "\"condition\"" : "\"expression\""), ("names", names)])
    }

    /// A value of one of several types. No two alternatives may have the same type in JSON.
    public static func either(_ about: String, _ choices: [Schema]) -> Schema {
        Schema(JSONText.object([("description", JSONText.string(about)), ("anyOf", JSONText.list(choices.map(\.json)))]))
    }

    public static func integer(_ about: String, default fallback: Int? = nil, minimum: Int? = nil, maximum: Int? = nil) -> Schema {
        make(
            "integer", about: about, fallback: fallback.map { "\($0)" },
            rules: [("minimum", minimum.map { "\($0)" }), ("maximum", maximum.map { "\($0)" })])
    }

    public static func number(_ about: String, default fallback: Double? = nil, minimum: Double? = nil, maximum: Double? = nil) -> Schema {
        make(
            "number", about: about, fallback: fallback.map { "\($0)" },
            rules: [("minimum", minimum.map { "\($0)" }), ("maximum", maximum.map { "\($0)" })])
    }

    public static func flag(_ about: String, default fallback: Bool? = nil) -> Schema {
        make("boolean", about: about, fallback: fallback.map { "\($0)" }, rules: [])
    }

    public static func list(_ about: String, of element: Schema) -> Schema {
        make("array", about: about, fallback: nil, rules: [("items", element.json)])
    }

    /// An object. `others` is the schema of members that are not listed. If it is nil, other members are not allowed.
    public static func object(_ about: String, _ members: KeyValuePairs<String, Schema>, others: Schema? = nil) -> Schema {
        object(about, members: Array(members), others: others)
    }

    static func object(_ about: String, members: [(key: String, value: Schema)], others: Schema?) -> Schema {
        let required = members.filter { $0.value.isRequired }.map { JSONText.string($0.key) }
        return make(
            "object", about: about, fallback: nil,
            rules: [
                ("properties", JSONText.object(members.map { ($0.key, $0.value.json) })),
                ("required", required.isEmpty ? nil : JSONText.list(required)),
                ("additionalProperties", others?.json ?? "false"),
            ])
    }

    private static func make(_ type: String, about: String, fallback: String?, rules: [(name: String, json: String?)]) -> Schema {
        let about = about.isEmpty ? nil : JSONText.string(about)
        return Schema(JSONText.object([("type", "\"\(type)\""), ("description", about)] + rules + [("default", fallback)]))
    }
}
