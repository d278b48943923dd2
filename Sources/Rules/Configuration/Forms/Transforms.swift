// The form of a route's `transform`: a list of objects with one operation each. `drop`, `set` and `hash` are here; the other operations
// are in `StepForms` and `TextForms`.

internal import Document
internal import Events
internal import Plans

enum Transforms {
    static let steps = Forms.list("operations", of: step, least: 0, check: refuseHashingTwice)

    /// Refuses a second hash of a member. A hash of a hash would differ from every other route's hash of that member.
    private static func refuseHashingTwice(_ steps: [(value: TransformPlan, node: Node)], _ reading: Reading) {
        var hashed: Set<Path> = []
        for (_, step) in steps {
            for field in step["hash"]?["fields"]?.items ?? [] {
                guard let text = field.text, let path = try? Path(parsing: text.value), !hashed.insert(path).inserted else { continue }
                reading.fault(field, "\(Reading.named(field)) is hashed already in this route, expected once")
            }
        }
    }

    private static let operations: [(name: String, form: Form<TransformPlan>)] =
        [("drop", drop), ("set", set), ("hash", hash)] + StepForms.operations

    private static let step = Form<TransformPlan>(
        "{\"anyOf\":" + JSONText.list(operations.map { schema(of: $0.name, $0.form) }) + "}"
    ) { node, reading in
        guard let entries = node.entries else {
            reading.refuseType(node, "an object of one operation")
            return nil
        }
        let names = operations.map(\.name)
        reading.refuseUnknownKeys(of: node, known: names, called: "operation")
        let known = entries.filter { names.contains($0.key.name) }
        if entries.isEmpty { reading.fault(node, "must not be empty, expected one of \(Words.either(names))") }
        if known.count > 1 {
            reading.fault(
                node, "holds \(Words.all(known.map(\.key.name))), expected one operation in each object, since their order matters")
        }
        let plans = known.map { entry in operations.first { $0.name == entry.key.name }!.form.read(entry.node, reading) }
        return plans.first ?? nil
    }

    private static func schema(of name: String, _ form: Form<TransformPlan>) -> String {
        #"{"type":"object","properties":{"\#(name)":\#(form.schema)},"required":["\#(name)"],"additionalProperties":false}"#
    }

    static let drop = Forms.list("paths", of: Forms.path).then { paths, _, _ in TransformPlan.drop(paths) }

    private static let set = Forms.table("paths with values", by: Forms.pathKey, of: StepForms.value).then { table, _, _ -> TransformPlan in
        let constants = table.compactMap { entry -> (path: Path, json: String)? in
            if case .json(let json) = entry.value { (path: entry.key, json: json) } else { nil }
        }
        if constants.count == table.count { return .set(constants) }
        return .step(.compute(table.map { (path: $0.key, value: $0.value) }, onlyWhereLacking: false))
    }

    private struct Hash: Sendable {
        var fields: [Path] = []
        var key = 0
        var isNamed = false
        var digits: Int?
    }

    /// Returns the form for the name of a key of `keys`. Its value is the index of the key; messages call the key `what`.
    static func key(_ what: String) -> Form<Int> {
        Form<Int>(SchemaParts.text) { node, reading in
            guard let text = Forms.string.read(node, reading) else { return nil }
            if let index = reading.keys[text.value] { return index }
            let names = reading.keys.keys.sorted()
            reading.unknown(
                what, node, among: names,
                otherwise: names.isEmpty ? "expected a name from 'keys', which is empty" : "expected \(Words.either(names))")
            return nil
        }
    }

    private static let hash = Form<Hash>.object(
        Hash(),
        [
            Member("fields", Forms.list("paths", of: Forms.path), required: true, "The members to hash.", into: \.fields),
            Member("key", key("hashing key"), required: true, "The name of a key of 'keys'.", into: \.key),
            Member(
                "name", Forms.boolean, "Whether the key's name is written before the digits, so that the key can be replaced.",
                into: \.isNamed),
            Member("length", Forms.integer(8...64), "How many hex digits are kept; 64 when left out.", into: \.digits),
        ]
    ).then { hash, _, reading -> TransformPlan in
        guard hash.isNamed || hash.digits != nil else { return .hash(hash.fields, key: hash.key) }
        let name = hash.isNamed ? reading.keys.first { $0.value == hash.key }?.key : nil
        return .step(.change(hash.fields, .hash(key: hash.key, name: name, digits: hash.digits ?? 64)))
    }
}
