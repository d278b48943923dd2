// Reads from the configuration the operations of a transform that read the event as the preceding operations have left it.

internal import Document
internal import Events
internal import Expressions
internal import Plans

enum StepForms {
    static let operations: [(name: String, form: Form<TransformPlan>)] = [
        ("keep", keep), ("rename", rename), ("move", move), ("default", defaults), ("bin", bin), ("round", round), ("ip", ip),
        ("limit", limit), ("lower", lower), ("geo", geo), ("flatten", flatten),
        ("scrub", TextForms.scrub), ("mask", TextForms.mask),
    ]

    private static let paths = Forms.list("paths", of: Forms.path)

    private static let keep = paths.then { paths, _, _ in TransformPlan.step(.keep(paths)) }
    private static let lower = paths.then { paths, _, _ in TransformPlan.step(.change(paths, .lower)) }
    private static let flatten = paths.then { paths, _, _ in TransformPlan.step(.change(paths, .flatten)) }

    // MARK: - Values

    /// A constant, or `{"cel": …}`.
    static let value = Form<ComputedValue>(SchemaParts.value) { node, reading in
        guard let entries = node.entries, entries.count == 1, entries[0].key.name == "cel" else {
            return .json(JSONText.of(node, in: reading.source))
        }
        return ExpressionForms.value.read(entries[0].node, reading).map(ComputedValue.expression)
    }

    private static let defaults = Forms.table("paths with values", by: Forms.pathKey, of: value).then { table, _, _ in
        TransformPlan.step(.compute(table.map { (path: $0.key, value: $0.value) }, onlyWhereLacking: true))
    }

    // MARK: - Places

    private static let memberName = Form<String>(#"{"type":"string","minLength":1}"#) { node, reading in
        guard let text = Forms.string.read(node, reading) else { return nil }
        guard !text.value.isEmpty else {
            reading.refuse(node, "the name of a member, not empty")
            return nil
        }
        return text.value
    }

    private static let rename = Forms.table("paths with names", by: Forms.pathKey, of: memberName).then { table, _, _ in
        TransformPlan.step(.move(table.map { (from: $0.key, to: Path(keys: $0.key.keys.dropLast() + [$0.value])) }))
    }

    private static let move = Forms.table("paths with paths", by: Forms.pathKey, of: Forms.path).then { table, node, reading in
        for entry in table where entry.value.keys.count > entry.key.keys.count && entry.value.keys.starts(with: entry.key.keys) {
            let place = node.entries?.first { (try? Path(parsing: $0.key.name)) == entry.key }?.node ?? node
            reading.fault(place, "\(Reading.named(place)) is inside the member that is moved, expected a place outside it")
        }
        return TransformPlan.step(.move(table.map { (from: $0.key, to: $0.value) }))
    }

    // MARK: - Coarser values

    private static let bounds = Form<[String]>(#"{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":1000}"#) {
        node, reading in
        guard let items = node.items else {
            reading.refuseType(node, "a list of rising numbers")
            return nil
        }
        guard reading.accept(node, count: items.count, in: 1...1000, of: "rising numbers", as: "a list") else { return nil }
        var texts: [String] = []
        for item in items {
            guard case .number(let text) = item.value, let number = Double(text), number.isFinite else {
                reading.refuseType(item, "a number")
                return nil
            }
            if let last = texts.last, Double(last)! >= number {
                reading.refuse(item, "greater than \(last), the number before it")
                return nil
            }
            texts.append(text)
        }
        return texts
    }

    private static let bin = Forms.table("paths with bounds", by: Forms.pathKey, of: bounds).then { table, _, _ in
        StepForms.steps(table) { .bin($0) }
    }

    private static let roundTo = Form<ValueChange>(
        SchemaParts.anyOf([
            #"{"type":"number","exclusiveMinimum":0}"#, SchemaParts.choice(ValueChange.TimeUnit.allCases.map(\.rawValue)),
        ])
    ) { node, reading in
        guard case .number(let text) = node.value else {
            if node.text != nil { return Forms.choice(ValueChange.TimeUnit.self).read(node, reading).map(ValueChange.roundTime) }
            reading.refuseType(node, "a number, or \"minute\", \"hour\" or \"day\"")
            return nil
        }
        let digits = text.utf8.firstIndex(of: UInt8(ascii: ".")).map { text.utf8.distance(from: $0, to: text.utf8.endIndex) - 1 } ?? 0
        guard let step = Double(text), step > 0, step < 1e15, digits <= 9, !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "e") })
        else {
            reading.refuse(node, "above 0, written without an exponent, with at most 9 digits after the decimal point")
            return nil
        }
        return .round(text)
    }

    private static let round = Forms.table("paths with steps", by: Forms.pathKey, of: roundTo).then { table, _, _ in
        StepForms.steps(table) { $0 }
    }

    private static let characters = Form<ValueChange>(Forms.integer(0...1_000_000).schema) { node, reading in
        Forms.integer(0...1_000_000).read(node, reading).map(ValueChange.limit)
    }

    private static let limit = Forms.table("paths with lengths", by: Forms.pathKey, of: characters).then { table, _, _ in
        StepForms.steps(table) { $0 }
    }

    /// Returns a step with one change for each member, in the order of the file.
    private static func steps<Value>(_ table: [(key: Path, value: Value)], _ change: (Value) -> ValueChange) -> TransformPlan {
        .step(.changes(table.map { (path: $0.key, change: change($0.value)) }))
    }

    // MARK: - Fields with settings

    private struct Addresses: Sendable {
        var fields: [Path] = []
        var v4 = 24
        var v6 = 48
    }

    private static let addresses = Form<Addresses>.object(
        Addresses(),
        [
            Member("fields", paths, required: true, "The members that hold addresses.", into: \.fields),
            Member("v4", Forms.integer(0...32), "How many leading bits of an IPv4 address are kept; 24 when left out.", into: \.v4),
            Member("v6", Forms.integer(0...128), "How many leading bits of an IPv6 address are kept; 48 when left out.", into: \.v6),
        ])

    private static let ip = either(addresses) { Addresses(fields: $0) }.then { plan, _, _ in
        TransformPlan.step(.change(plan.fields, .truncateIP(v4: plan.v4, v6: plan.v6)))
    }

    private struct Geography: Sendable {
        var fields: [Path] = []
        var keep = ["country"]
    }

    private static let geography = Form<Geography>.object(
        Geography(),
        [
            Member("fields", paths, required: true, "The objects that say where somebody is.", into: \.fields),
            Member("keep", Forms.set("names", of: memberName), "The members that stay; country when left out.", into: \.keep),
        ])

    private static let geo = either(geography) { Geography(fields: $0) }.then { plan, _, _ in
        TransformPlan.step(.change(plan.fields, .pick(plan.keep)))
    }

    /// Returns a form that accepts a list of paths, or an object with more settings.
    private static func either<Plan: Sendable>(_ object: Form<Plan>, _ make: @escaping @Sendable ([Path]) -> Plan) -> Form<Plan> {
        Form<Plan>(SchemaParts.anyOf([paths.schema, object.schema])) { node, reading in
            if node.items != nil { return paths.read(node, reading).map(make) }
            guard node.entries != nil else {
                reading.refuseType(node, "a list of paths, or an object with 'fields'")
                return nil
            }
            return object.read(node, reading)
        }
    }
}
