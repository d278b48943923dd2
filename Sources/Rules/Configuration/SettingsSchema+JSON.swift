// Reads the JSON Schema of a module's settings. An unknown keyword is a fault: if it were accepted, nothing would check it.

internal import Document
internal import FormReading
internal import Plans

enum SchemaForms {
    static let settings = Form<SettingsSchema.ObjectRules>(#"{"type":"object"}"#) { node, reading in
        guard let schema = any.read(node, reading) else { return nil }
        guard case .object(let rules) = schema else {
            reading.fault(node, "must be a schema of the type object")
            return nil
        }
        for entry in node["properties"]?.entries ?? [] where ProviderForms.ownKeys.contains(entry.key.name) {
            reading.fault(entry.node, "the router has a key of this name, expected another")
        }
        return rules
    }

    private enum Kind: String, CaseIterable { case string, integer, number, boolean, array, object }

    static let any: Form<SettingsSchema> = Form(#"{"type":"object"}"#) { node, reading in
        guard node.entries != nil else {
            reading.refuseType(node, "a schema object")
            return nil
        }
        if node["anyOf"] != nil { return either.read(node, reading).map { .either($0.choices, about: $0.about) } }
        guard let type = node["type"] else {
            reading.fault(node, "lacks 'type', expected \(Words.either(Kind.allCases.map(\.rawValue)))")
            return nil
        }
        guard let kind = Forms.choice(Kind.self).read(type, reading) else { return nil }
        switch kind {
        case .string: return string.read(node, reading).map { .string($0) }
        case .integer, .number: return number.read(node, reading).map { .number($0) }
        case .boolean: return boolean.read(node, reading).map { .boolean($0) }
        case .array: return list.read(node, reading).flatMap { rules in rules.items.map { .list(of: $0, about: rules.about) } }
        case .object: return object.read(node, reading).map { .object($0) }
        }
    }

    private static func type<Whole>() -> Member<Whole> { Member("type", Forms.choice(Kind.self), "The type.") }

    // MARK: - Strings

    private static let string: Form<SettingsSchema.StringRules> = Form<SettingsSchema.StringRules>.object(
        SettingsSchema.StringRules(),
        [
            type(),
            Member("description", DescriptionForm.text, "What it is for.", into: \.about),
            Member("format", format, "How it is written.", into: \.format),
            Member("names", names, "The names that an expression can use, each with its type.", into: \.names),
            Member("enum", Forms.list("strings", of: plain, most: 1000), "The choices.", into: \.oneOf),
            Member("pattern", pattern, "An anchored extended regular expression.", into: \.pattern),
            Member("default", plain, "The value when it is left out.", into: \.fallback),
            Member("writeOnly", Forms.boolean, "True for a secret, whose value is never shown.", into: \.isSecret),
        ], called: "keyword"
    ).then { rules, node, reading -> SettingsSchema.StringRules? in
        if rules.names != nil, !rules.format.isExpression {
            reading.fault(node, at: node["names"]?.offset, "'names' is only for the formats expression and condition")
        }
        guard rules.format == .plain else {
            for name in ["enum", "pattern"] where node[name] != nil {
                reading.fault(node, at: node[name]?.offset, "\(Words.quoted(name)) cannot be used together with 'format'")
            }
            checkDefault(node, schema: .string(rules), reading: reading)
            return rules
        }
        checkDefault(node, schema: .string(rules), reading: reading)
        return rules
    }

    private static let plain = DescriptionForm.text

    private enum Format: String, CaseIterable { case size, duration, expression, condition }
    private static let format = Forms.choice(Format.self).then { format, _, _ in
        SettingsSchema.StringRules.Format(rawValue: format.rawValue)
    }

    private static let names = Form<[(name: String, type: SettingsSchema.StringRules.VariableType)]?>(#"{"type":"object"}"#) {
        node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object of names and their types")
            return nil
        }
        let type = Forms.choice(SettingsSchema.StringRules.VariableType.self)
        return .some(entries.compactMap { entry in type.read(entry.node, reading).map { (entry.key.name, $0) } })
    }

    private static let pattern = Forms.string.then { text, node, reading -> String? in
        guard let must = Pattern.fault(text.value) else { return text.value }
        reading.refuse(node, must)
        return nil
    }

    // MARK: - Numbers and booleans

    private static let double = Form<Double>(#"{"type":"number"}"#) { node, reading in
        if case .number(let text) = node.value, let value = Double(text), value.isFinite { return value }
        reading.refuseType(node, "a number")
        return nil
    }

    private static let number: Form<SettingsSchema.NumberRules> = Form<SettingsSchema.NumberRules>.object(
        SettingsSchema.NumberRules(),
        [
            type(),
            Member("description", DescriptionForm.text, "What it is for.", into: \.about),
            Member("minimum", double, "The smallest value.", into: \.minimum),
            Member("maximum", double, "The largest value.", into: \.maximum),
            Member("default", double, "The value when it is left out.", into: \.fallback),
        ], called: "keyword"
    ).then { rules, node, reading -> SettingsSchema.NumberRules? in
        var rules = rules
        rules.integer = node["type"]?.text?.value == Kind.integer.rawValue
        if let least = rules.minimum, let most = rules.maximum, least > most {
            reading.fault(node, "no number is between minimum and maximum")
        }
        checkDefault(node, schema: .number(rules), reading: reading)
        return rules
    }

    private static let boolean = Form<SettingsSchema.BooleanRules>.object(
        SettingsSchema.BooleanRules(),
        [
            type(),
            Member("description", DescriptionForm.text, "What it is for.", into: \.about),
            Member("default", Forms.boolean, "The value when it is left out.", into: \.fallback),
        ], called: "keyword")

    // MARK: - Lists and objects

    private struct ListRules: Sendable {
        var about = ""
        var items: SettingsSchema?
    }

    /// Refers to `any` only when it reads, since `any` itself refers to this form.
    private static let nested: Form<SettingsSchema> = Form(#"{"type":"object"}"#) { node, reading in any.read(node, reading) }

    private static let list = Form<ListRules>.object(
        ListRules(),
        [
            type(),
            Member("description", DescriptionForm.text, "What it is for.", into: \.about),
            Member("items", nested, required: true, "The schema of its items.", into: \.items),
        ], called: "keyword")

    private struct EitherRules: Sendable {
        var about = ""
        var choices: [SettingsSchema] = []
    }

    private static let either = Form<EitherRules>.object(
        EitherRules(),
        [
            Member("description", DescriptionForm.text, "What it is for.", into: \.about),
            Member(
                "anyOf", Forms.list("schemas", of: nested, least: 2), required: true, "The alternatives, each of another type.",
                into: \.choices),
        ], called: "keyword"
    ).then { rules, node, reading -> EitherRules? in
        let kinds = rules.choices.map(\.kind)
        guard Set(kinds).count == kinds.count, !kinds.contains(nil) else {
            reading.fault(node, "the alternatives of 'anyOf' must have different types")
            return nil
        }
        return rules
    }

    private static let others = Form<SettingsSchema?>(#"{"type":["boolean","object"]}"#) { node, reading in
        if case .bool(false) = node.value { return .some(nil) }
        if node.entries != nil { return nested.read(node, reading) }
        reading.refuse(node, "false or a schema object")
        return nil
    }

    private struct ObjectDraft: Sendable {
        var about = ""
        var properties: [(name: String, schema: SettingsSchema)] = []
        var required: [String] = []
        var others: SettingsSchema?
    }

    private static let properties = Form<[(name: String, schema: SettingsSchema)]>(#"{"type":"object"}"#) { node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object of schemas")
            return nil
        }
        for entry in entries {
            guard let must = Forms.nameFault(entry.key.name) else { continue }
            reading.fault(node, at: entry.key.range.lowerBound, "the key \(Words.quoted(entry.key.name)) must be \(must)")
        }
        return entries.compactMap { entry in nested.read(entry.node, reading).map { (entry.key.name, $0) } }
    }

    private static let object: Form<SettingsSchema.ObjectRules> = Form<ObjectDraft>.object(
        ObjectDraft(),
        [
            type(),
            Member("description", DescriptionForm.text, "What it is for.", into: \.about),
            Member("properties", properties, "Its members.", into: \.properties),
            Member("required", Forms.list("names", of: plain, least: 0), "The members that must be there.", into: \.required),
            Member("additionalProperties", others, "The schema of other members, or false.", into: \.others),
        ], called: "keyword"
    ).then { draft, node, reading -> SettingsSchema.ObjectRules? in
        let names = node["properties"]?.entries?.map(\.key.name) ?? []
        for item in node["required"]?.items ?? [] {
            guard let name = item.text?.value, !names.contains(name) else { continue }
            reading.unknown("property", item, among: names, otherwise: "expected one of 'properties'")
        }
        var rules = SettingsSchema.ObjectRules()
        rules.about = draft.about
        rules.members = draft.properties.map { ($0.name, $0.schema, draft.required.contains($0.name)) }
        rules.others = draft.others
        return rules
    }

    /// Checks a default against the rules of its own schema.
    private static func checkDefault(_ node: Node, schema: SettingsSchema, reading: Reading) {
        guard let fallback = node["default"], fallback.text != nil || fallback.kind == "a number" else { return }
        _ = SettingsCheck(reading: reading).value(fallback, schema)
    }
}

extension SettingsSchema {
    /// The type in JSON. It is nil for a schema of several types.
    fileprivate var kind: String? {
        switch self {
        case .string: "string"
        case .number: "number"
        case .boolean: "boolean"
        case .list: "array"
        case .object: "object"
        case .either: nil
        }
    }
}
