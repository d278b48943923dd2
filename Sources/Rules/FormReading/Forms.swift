// The basic forms from which the forms of all sections are built.

public import Document
public import Events

public enum Forms {
    public static let string = Form<Node.Text>(SchemaParts.text) { node, reading in
        guard let text = node.text else {
            reading.refuseType(node, "a string")
            return nil
        }
        return text.isBroken ? nil : text
    }.showing(#""text""#)

    /// A name that people read in messages and accounts.
    public static let name = Form<String>(SchemaParts.name) { node, reading in
        guard let text = string.read(node, reading) else { return nil }
        if let must = nameFault(text.value) {
            reading.refuse(node, must)
            return nil
        }
        return text.value
    }.showing(#""product""#)

    public static func nameFault(_ name: String) -> String? {
        if name.isEmpty { return "a name, not empty" }
        if name.utf8.count > 200 { return "a name of at most 200 bytes" }
        return name == Words.visible(name) ? nil : "a name without control characters"
    }

    public static let boolean = Form<Bool>(#"{"type":"boolean"}"#) { node, reading in
        if case .bool(let value) = node.value { return value }
        reading.refuseType(node, "true or false")
        return nil
    }.writing { "\($0)" }.showing("true")

    public static func integer(_ range: ClosedRange<Int>) -> Form<Int> {
        let most = range.upperBound == .max ? "" : #","maximum":\#(range.upperBound)"#
        return Form(#"{"type":"integer","minimum":\#(range.lowerBound)\#(most)}"#) {
            node, reading in
            guard case .number(let text) = node.value, let value = Int(text) else {
                reading.refuseType(node, "a whole number")
                return nil
            }
            guard range.contains(value) else {
                reading.refuse(node, bounds("\(range.lowerBound)", range.upperBound == .max ? nil : "\(range.upperBound)"))
                return nil
            }
            return value
        }.writing { range.contains($0) ? "\($0)" : nil }.showing(
            "\(range.contains(100) ? 100 : range.lowerBound + (range.upperBound - range.lowerBound) / 2)")
    }

    public static func number(_ range: ClosedRange<Int>) -> Form<Double> {
        Form(#"{"type":"number","minimum":\#(range.lowerBound),"maximum":\#(range.upperBound)}"#) { node, reading in
            guard case .number(let text) = node.value, let value = Double(text) else {
                reading.refuseType(node, "a number between \(range.lowerBound) and \(range.upperBound)")
                return nil
            }
            guard value >= Double(range.lowerBound), value <= Double(range.upperBound) else {
                reading.refuse(node, bounds("\(range.lowerBound)", "\(range.upperBound)"))
                return nil
            }
            return value
        }.writing { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" }.showing(range == 0...1 ? "0.25" : "\(range.upperBound)")
    }

    /// Returns the form of a size. Its value is in bytes.
    public static func size(_ range: ClosedRange<Int>) -> Form<Int> { quantity(.size, range: range, schema: SchemaParts.size) }
    /// Returns the form of a time. The range is in milliseconds.
    public static func time(_ range: ClosedRange<Int>) -> Form<Duration> {
        quantity(.time, range: range, schema: SchemaParts.time).then { value, _, _ in Duration.milliseconds(value) }.writing { time in
            let milliseconds = Int(time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000)
            return JSONText.quoted(Quantity.time.text(milliseconds))
        }
    }

    public static func quantity(_ quantity: Quantity, range: ClosedRange<Int>, schema: String) -> Form<Int> {
        Form(schema) { node, reading in
            guard let value = reading.quantity(quantity, node, in: range) else { return nil }
            guard range.contains(value) else {
                reading.refuse(
                    node, bounds(quantity.text(range.lowerBound), range.upperBound == .max ? nil : quantity.text(range.upperBound)))
                return nil
            }
            return value
        }.writing { JSONText.quoted(quantity.text($0)) }.showing(JSONText.quoted(quantity.shown(in: range)))
    }

    public static func bounds(_ least: String, _ most: String?) -> String {
        most.map { "between \(least) and \($0)" } ?? "at least \(least)"
    }

    public static func choice<Choice: RawRepresentable & CaseIterable & Sendable>(_: Choice.Type) -> Form<Choice>
    where Choice.RawValue == String {
        let words = Choice.allCases.map(\.rawValue)
        return Form(SchemaParts.choice(words)) { node, reading in
            guard let text = node.text, let choice = Choice(rawValue: text.value) else {
                reading.refuseChoice(node, words)
                return nil
            }
            return choice
        }.writing { JSONText.quoted($0.rawValue) }.showing(JSONText.quoted(words[words.count - 1]))
    }

    public static let path = Form<Path>(SchemaParts.path) { node, reading in
        guard let text = string.read(node, reading) else { return nil }
        do throws(PathFault) {
            return try Path(parsing: text.value)
        } catch {
            if text.isTainted {
                reading.refuse(node, "a path such as context.ip")
            } else {
                reading.fault(
                    node, at: text.isPlain ? node.offset + 1 + error.offset : node.offset,
                    "\(Words.quoted(text.value)) is not a path: \(error.message)")
            }
            return nil
        }
    }.writing { JSONText.quoted($0.description) }.showing(#""properties.price""#)

    /// Returns the form of a list of items; messages call them `noun`. `check` gets all valid items with their nodes, even if other items
    /// are invalid.
    public static func list<Item>(
        _ noun: String, of item: Form<Item>, least: Int = 1, most: Int = .max,
        check: @escaping @Sendable ([(value: Item, node: Node)], Reading) -> Void = { _, _ in }
    ) -> Form<[Item]> {
        let minimum = least > 0 ? #","minItems":\#(least)"# : ""
        let maximum = most < .max ? #","maxItems":\#(most)"# : ""
        let form = Form<[Item]>(#"{"type":"array","items":\#(item.schema)\#(minimum)\#(maximum)}"#) { node, reading in
            guard let nodes = node.items else {
                reading.refuseType(node, "a list of \(noun)")
                return nil
            }
            guard reading.accept(node, count: nodes.count, in: least...most, of: noun, as: "a list") else { return nil }
            let items = nodes.compactMap { node in item.read(node, reading).map { (value: $0, node: node) } }
            check(items, reading)
            return items.map(\.value)
        }.showing(item.example.map { "[\($0)]" })
        guard let write = item.write else { return form }
        return form.writing { items in
            let written = items.compactMap(write)
            return written.count == items.count ? JSONText.list(written) : nil
        }
    }

    /// Returns the form of a list without duplicates.
    public static func set<Item: Hashable & Sendable>(_ noun: String, of item: Form<Item>, least: Int = 1) -> Form<[Item]> {
        list(noun, of: item, least: least) { items, reading in
            var seen: Set<Item> = []
            for (value, node) in items where !seen.insert(value).inserted {
                reading.fault(node, "\(Reading.named(node)) is there twice, expected once")
            }
        }.with(#""uniqueItems":true"#)
    }

    /// Returns the form of an object whose keys the user chooses.
    public static func table<Key: Hashable & Sendable, Item>(_ noun: String, by key: KeyForm<Key>, of item: Form<Item>, most: Int = .max)
        -> Form<
            [(key: Key, value: Item)]
        >
    {
        let maximum = most < .max ? #","maxProperties":\#(most)"# : ""
        return Form<[(key: Key, value: Item)]>(
            #"{"type":"object","propertyNames":\#(key.schema),"additionalProperties":\#(item.schema),"minProperties":1\#(maximum)}"#
        ) { node, reading in
            guard let entries = node.entries else {
                reading.refuseType(node, "an object of \(noun)")
                return nil
            }
            guard reading.accept(node, count: entries.count, in: 1...most, of: noun, as: "an object") else { return nil }
            var table: [(key: Key, value: Item)] = []
            var seen: Set<Key> = []
            for entry in entries {
                let key = key.read(entry.key, node, reading)
                let value = item.read(entry.node, reading)
                if let key, !seen.insert(key).inserted {
                    reading.fault(node, at: entry.key.range.lowerBound, "\(Words.quoted("\(key)")) is there twice, expected once")
                }
                if let key, let value { table.append((key, value)) }
            }
            return table
        }.showing(
            key.example.flatMap { name in item.example.map { "{\(JSONText.quoted(name)):\($0)}" } })
    }
}

/// The form of the keys of a table.
public struct KeyForm<Key: Hashable & Sendable>: Sendable {
    /// The JSON Schema of a key.
    public var schema: String
    public var read: @Sendable (Node.Key, Node, Reading) -> Key?
    /// A key for examples. It is nil if no example is shown.
    public var example: String?

    public init(schema: String, example: String? = nil, read: @escaping @Sendable (Node.Key, Node, Reading) -> Key?) {
        self.schema = schema
        self.example = example
        self.read = read
    }
}

extension Forms {
    /// Returns the form for the name of a key of `keys`. Its value is the index of the key; messages call the key `what`.
    public static func key(_ what: String) -> Form<Int> {
        Form<Int>(SchemaParts.text) { node, reading in
            guard let text = string.read(node, reading) else { return nil }
            if let index = reading.keys[text.value] { return index }
            let names = reading.keys.keys.sorted()
            reading.unknown(
                what, node, among: names,
                otherwise: names.isEmpty ? "expected a name from 'keys', which is empty" : "expected \(Words.either(names))")
            return nil
        }.showing(#""ids""#)
    }

    public static let anyKey = KeyForm<String>(schema: SchemaParts.key, example: "main") { key, node, reading in
        guard let must = nameFault(key.name) else { return key.name }
        reading.fault(node, at: key.range.lowerBound, "the key \(Words.quoted(key.name)) must be \(must)")
        return nil
    }

    public static let pathKey = KeyForm<Path>(schema: SchemaParts.pathKey, example: "properties.price") { key, node, reading in
        do throws(PathFault) {
            return try Path(parsing: key.name)
        } catch {
            let offset = key.isPlain ? key.range.lowerBound + 1 + error.offset : key.range.lowerBound
            reading.fault(node, at: offset, "the key \(Words.quoted(key.name)) is not a path: \(error.message)")
            return nil
        }
    }
}

extension Reading {
    /// Reads a quantity. The range limits only what a fault suggests, not the value.
    public func quantity(_ quantity: Quantity, _ node: Node, in range: ClosedRange<Int> = 1 ... .max) -> Int? {
        let must = "a \(quantity.name) such as \(quantity.examples)"
        switch node.value {
        case .text(let text):
            if text.isBroken { return nil }
            do throws(Quantity.Fault) {
                return try quantity.parse(text.value, in: range)
            } catch {
                refuse(node, must, hint: error.hint)
            }
        case .number(let text): refuse(node, must, hint: quantity.hint(forUnitless: text, in: range))
        default: refuseType(node, must)
        }
        return nil
    }

    public func refuseChoice(_ node: Node, _ words: [String]) {
        let must = Words.either(words.map { "\"\($0)\"" })
        guard let text = node.text else { return refuseType(node, must) }
        refuse(node, must, hint: Words.nearest(text.value, among: words).map { ", did you mean \"\($0)\"?" } ?? "")
    }

    public func accept(_ node: Node, count: Int, in range: ClosedRange<Int>, of noun: String, as container: String) -> Bool {
        if count < range.lowerBound {
            fault(node, "must not be empty, expected \(container) of \(noun)")
        } else if count > range.upperBound {
            fault(node, "must hold at most \(range.upperBound) \(noun), holds \(count)")
        }
        return range.contains(count)
    }
}
