// The JSON Schema of routes.json, for editors. It is built from the forms that read the file and from the settings that installed modules
// describe. `check` refuses everything that the schema refuses. Rules that compare parts of the file may be left to `check`.

internal import Document
internal import FormReading
public import Plans

extension RoutesFile {
    /// Returns a JSON Schema (2020-12): one object without spaces between its tokens.
    public static func schema(for modules: [ModuleDescription]) -> String {
        let root = JSONText.list([coverage])
        let providers = modules.filter(\.offersProvider)
        let sources = modules.compactMap(\.source)
        let definitions =
            [("provider", provider(providers)), ("source", source(sources)), ("delivery", DeliveryForm.form.schema)]
            + ShapeForms.definitions + providers.map { (name: definition(of: $0), json: provider($0)) }
            + sources.map { (name: definition(of: $0), json: source($0)) } + SchemaParts.definitions
        return #"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"routes.json","#
            + RootForm.root.schema.dropFirst().dropLast() + ",\"allOf\":\(root),\"$defs\":\(JSONText.object(definitions))}"
    }

    /// With a consent section, every route needs its own `consent` or the default of the section. Without one, no route may have `consent`.
    private static let coverage =
        #"{"if":{"required":["consent"]},"#
        + #""then":{"if":{"properties":{"consent":{"required":["default"]}}},"else":{"properties":{"routes":{"items":{"required":["consent"]}}}}},"#
        + #""else":{"properties":{"routes":{"items":{"properties":{"consent":false}}}}}}"#

    private static func definition(of module: ModuleDescription) -> String { "provider-\(module.name)" }

    /// Returns the schema of any provider. Its module decides which other keys it may have.
    private static func provider(_ modules: [ModuleDescription]) -> String {
        let plugin = modules.isEmpty ? SchemaParts.pattern("^[a-z0-9_-]+$") : SchemaParts.choice(modules.map(\.name))
        let choices = modules.map { module in
            #"{"if":{"properties":{"plugin":{"const":\#(JSONText.quoted(module.name))}},"required":["plugin"]},"#
                + #""then":\#(SchemaParts.ref(definition(of: module)))}"#
        }
        let own = JSONText.object(own(plugin: plugin, delivery: SchemaParts.delivery))
        return #"{"type":"object","properties":\#(own),"required":["plugin"]"#
            + (choices.isEmpty ? "}" : ",\"allOf\":\(JSONText.list(choices))}")
    }

    /// Returns the schema of a provider of one module: the module's settings and the router's own keys.
    private static func provider(_ module: ModuleDescription) -> String {
        var rules = module.settings
        if rules.about.isEmpty { rules.about = module.summary }
        let plugin = "{\"const\":\(JSONText.quoted(module.name))}"
        var delivery = SchemaParts.delivery
        if let most = module.limits.events {
            delivery = delivery.dropLast() + #","properties":{"batch":{"properties":{"events":{"maximum":\#(most)}}}}}"#
        }
        return rules.schema(beside: own(plugin: plugin, delivery: delivery))
    }

    private static func definition(of source: SourceDescription) -> String { "source-\(source.name)" }

    /// Returns the schema of any source of a module. Its module decides which other keys it may have.
    private static func source(_ sources: [SourceDescription]) -> String {
        let own = SchemaParts.choice(SourceForms.Kind.allCases.map(\.rawValue))
        let plugin =
            sources.isEmpty
            ? #"{"type":"string","pattern":"^[a-z0-9_-]+$","not":\#(own)}"# : SchemaParts.choice(sources.map(\.name))
        let choices = sources.map { source in
            #"{"if":{"properties":{"plugin":{"const":\#(JSONText.quoted(source.name))}},"required":["plugin"]},"#
                + #""then":\#(SchemaParts.ref(definition(of: source)))}"#
        }
        let shown = described(plugin, "The module.", JSONText.quoted(sources.first?.name ?? "exec"))
        return #"{"type":"object","properties":{"plugin":\#(shown)},"required":["plugin"]"#
            + (choices.isEmpty ? "}" : ",\"allOf\":\(JSONText.list(choices))}")
    }

    /// Returns the schema of a source of one module: the module's settings and the router's own keys.
    private static func source(_ source: SourceDescription) -> String {
        var rules = source.settings
        if rules.about.isEmpty { rules.about = source.summary }
        let plugin = described("{\"const\":\(JSONText.quoted(source.name))}", "The module.", JSONText.quoted(source.name))
        return rules.schema(beside: [(name: "plugin", json: plugin)] + ModuleSourceForms.shownMembers)
    }

    /// Returns the router's own keys of a provider.
    private static func own(plugin: String, delivery: String) -> [(name: String, json: String)] {
        [
            ("plugin", described(plugin, "The module.", #""file""#)),
            (
                "delivery",
                described(delivery, "How its lane delivers; as its module or the router says when left out.", #"{"queue":{"disk":"1GB"}}"#)
            ),
            (
                "isolate",
                described(
                    ProviderForms.isolation.schema,
                    "Whether the module runs in a process of its own, and the limits of that process; false when left out.", "true")
            ),
        ]
            + zip(
                ShapeForms.members,
                [
                    (
                        "Which of its events the module gets, decided when they are handed over; all when left out.",
                        #"{"events":["order_*"]}"#
                    ),
                    ("Changes to each event when it is handed over, in this order; none when left out.", #"[{"drop":["context.ip"]}]"#),
                ]
            ).map { ($0.name, described($0.json, $1.0, $1.1)) }
            + [
                (
                    "lint",
                    described(
                        LintForms.section.schema, "Findings of switchyard lint that are meant to be so in this object; none when left out.",
                        #"{"allow":["SY0201"]}"#)
                )
            ]
    }

    /// Returns the schema with a description and an example.
    private static func described(_ schema: String, _ about: String, _ example: String) -> String {
        #"{"description":\#(JSONText.quoted(about)),"examples":[\#(example)],"# + schema.dropFirst()
    }
}

extension SettingsSchema {
    /// The JSON Schema of the settings as the file writes them: sizes and times with units, and placeholders not resolved.
    fileprivate var schema: String {
        switch self {
        case .string(let rules): rules.schema
        case .number(let rules): rules.schema
        case .boolean(let rules):
            SettingsSchema.described(
                [
                    ("type", "\"boolean\""), ("default", rules.fallback.map { "\($0)" }),
                    ("examples", rules.fallback == true ? "[false]" : "[true]"),
                ],
                rules.about)
        case .list(let item, let about): SettingsSchema.described([("type", "\"array\""), ("items", item.schema)], about)
        case .object(let rules): rules.schema(beside: [])
        case .either(let choices, let about):
            SettingsSchema.described([("anyOf", JSONText.list(choices.map(\.schema))), ("default", fallback)], about)
        }
    }

    /// The default of one of several alternatives, as the file writes it.
    private var fallback: String? {
        switch self {
        case .string(let rules): rules.fallback.map(JSONText.quoted)
        case .either(let choices, _): choices.lazy.compactMap(\.fallback).first
        default: nil
        }
    }

    fileprivate static func described(_ members: [(name: String, json: String?)], _ about: String) -> String {
        let description: [(name: String, json: String?)] = [("description", about.isEmpty ? nil : JSONText.quoted(about))]
        return JSONText.object((description + members).compactMap { member in member.json.map { (member.name, $0) } })
    }
}

extension SettingsSchema.StringRules {
    fileprivate var schema: String {
        let rule =
            switch format {
            case .size: SchemaParts.size
            case .duration: SchemaParts.time
            case .expression, .condition: ExpressionForms.schema
            case .plain where !oneOf.isEmpty: SchemaParts.choice(oneOf)
            case .plain:
                pattern.flatMap(Pattern.portable).map {
                    // The module's pattern matches bytes, a schema's pattern characters. They agree only on printable ASCII.
                    SchemaParts.orPlaceholder(SchemaParts.anyOf([SchemaParts.pattern($0), SchemaParts.pattern("[^ -~]")]))
                } ?? SchemaParts.text
            }
        let rest = SettingsSchema.described(
            [("default", fallback.map(JSONText.quoted)), ("examples", example.map { "[\(JSONText.quoted($0))]" })], about
        ).dropFirst()
        return rest == "}" ? rule : rule.dropLast() + "," + rest
    }
}

extension SettingsSchema.StringRules {
    /// A value for editors. It is nil for text of which only the module knows what it may be.
    private var example: String? {
        if isSecret { return "${env:SECRET}" }
        switch format {
        case .size: return fallback ?? "16MB"
        case .duration: return fallback ?? "30s"
        case .expression: return names == nil ? "properties.price * 2" : nil
        case .condition: return names == nil ? "properties.price > 10" : nil
        case .plain: return oneOf.last ?? fallback
        }
    }
}

extension SettingsSchema.NumberRules {
    fileprivate var schema: String {
        func text(_ value: Double) -> String { Int(exactly: value).map { "\($0)" } ?? "\(value)" }
        return SettingsSchema.described(
            [
                ("type", integer ? "\"integer\"" : "\"number\""), ("minimum", minimum.map(text)), ("maximum", maximum.map(text)),
                ("default", fallback.map(text)), ("examples", "[\(text(fallback ?? minimum ?? min(maximum ?? 1, 1)))]"),
            ], about)
    }
}

extension SettingsSchema.ObjectRules {
    /// Returns the schema of the object. `others` are keys that do not belong to the module.
    fileprivate func schema(beside others: [(name: String, json: String)]) -> String {
        // A member with a default may be left out.
        let required = members.filter { $0.required && !$0.schema.hasFallback }.map(\.name)
        return SettingsSchema.described(
            [
                ("type", "\"object\""),
                ("properties", JSONText.object(others + members.map { (name: $0.name, json: $0.schema.schema) })),
                ("required", required.isEmpty ? nil : JSONText.list(required.map(JSONText.quoted))),
                ("additionalProperties", self.others?.schema ?? "false"),
            ], about)
    }
}

extension SettingsSchema {
    fileprivate var hasFallback: Bool {
        switch self {
        case .string(let rules): rules.fallback != nil
        case .number(let rules): rules.fallback != nil
        case .boolean(let rules): rules.fallback != nil
        case .list, .object: false
        case .either(let choices, _): choices.contains { $0.hasFallback }
        }
    }
}

extension Pattern {
    /// Returns the pattern in the dialect of JSON Schema, anchored. Returns nil if the two dialects may read it differently.
    fileprivate static func portable(_ pattern: String) -> String? {
        var isInBrackets = false
        var before: UInt8 = 0
        for byte in pattern.utf8 {
            switch byte {
            // The dialects differ on these inside brackets: a class such as [:alpha:], a bracket, and a backslash.
            case UInt8(ascii: "["), UInt8(ascii: "\\"): if isInBrackets { return nil }
            case UInt8(ascii: "]"): if isInBrackets, before == UInt8(ascii: "[") || before == UInt8(ascii: "^") { return nil }
            case 0..<0x20, 0x7f...: return nil
            default: break
            }
            // An escaped letter or digit has a different meaning in each dialect.
            if before == UInt8(ascii: "\\"), byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a { return nil }
            if before != UInt8(ascii: "\\") {
                if byte == UInt8(ascii: "[") { isInBrackets = true }
                if byte == UInt8(ascii: "]") { isInBrackets = false }
            }
            before = before == UInt8(ascii: "\\") ? 0 : byte
        }
        return "^(?:\(pattern))$"
    }
}
