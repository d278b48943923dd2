// Makes values for a schema: one that has all members, and others that differ from it in one place each: without a member that may be absent,
// with each other type of a union, each value of an enum, and the extremes that the schema declares. The schemas are bounded, and so are the
// values. What they do not consider, such as `anyOf`, may make a value invalid: the caller checks each event against the plan.

internal import Document
internal import Events
internal import Expressions

struct ExampleValues {
    struct Variant {
        var value: ExampleValue
        /// What differs from the value with all members, such as `without properties.coupon`. It is empty if nothing does.
        var note = ""
        /// The place that differs. It is nil if several do, or none.
        var place: [String]?
    }

    /// The most variants of one value, and the most levels.
    private static let most = 300
    private static let deepest = 8
    private static let longest = 300

    /// Returns the value with all members first. Returns nothing if no value is known to be valid.
    static func variants(_ shape: SchemaShape, at place: [String]) -> [Variant] {
        if shape.isNever || place.count > deepest { return [] }
        var all: [Variant] = []
        if let choices = shape.choices {
            all = choices.prefix(20).map { Variant(value: .json($0)) }
        } else {
            for type in shape.types ?? ["string", "integer", "boolean", "object", "array", "null"] {
                all += values(shape, type, place)
            }
        }
        let path = Path(keys: place).description
        for index in all.indices.dropFirst() where all[index].note.isEmpty {
            let json = all[index].value.json
            all[index].note = "where \(path) is \(json.utf8.count <= 40 ? json : "a long value")"
            all[index].place = place
        }
        return Array(all.prefix(most))
    }

    private static func values(_ shape: SchemaShape, _ type: String, _ place: [String]) -> [Variant] {
        switch type {
        case "object": objects(shape, place)
        case "array": arrays(shape, place)
        case "string": strings(shape).map { Variant(value: .json(JSONText.quoted($0))) }
        case "integer", "number": numbers(shape, isWhole: type == "integer").map { Variant(value: .json($0)) }
        case "boolean": [Variant(value: .json("true")), Variant(value: .json("false"))]
        default: [Variant(value: .json("null"))]
        }
    }

    // MARK: - Objects and lists

    private static func objects(_ shape: SchemaShape, _ place: [String]) -> [Variant] {
        var members: [(name: String, isRequired: Bool, variants: [Variant])] = []
        for member in shape.members where !member.shape.isNever {
            let isRequired = shape.requires(member.name)
            let variants = variants(member.shape, at: place + [member.name])
            if variants.isEmpty, isRequired { return [] }
            if !variants.isEmpty { members.append((member.name, isRequired, variants)) }
        }
        for name in shape.required where shape.member(name) == nil {
            members.append((name, true, [Variant(value: .json("\"text\""))]))
        }
        let whole = members.map { (key: $0.name, value: $0.variants[0].value) }
        var all = [Variant(value: .object(whole))]
        for (index, member) in members.enumerated() where !member.isRequired {
            var some = whole
            some.remove(at: index)
            let own = place + [member.name]
            all.append(Variant(value: .object(some), note: "without \(Path(keys: own))", place: own))
        }
        let least = members.filter(\.isRequired).map { (key: $0.name, value: $0.variants[0].value) }
        if whole.count - least.count > 1 {
            all.append(Variant(value: .object(least), note: "with what is required in \(Path(keys: place)) only"))
        }
        for (index, member) in members.enumerated() {
            for variant in member.variants.dropFirst() where all.count < most {
                var other = whole
                other[index].value = variant.value
                all.append(Variant(value: .object(other), note: variant.note, place: variant.place))
            }
        }
        return all
    }

    private static func arrays(_ shape: SchemaShape, _ place: [String]) -> [Variant] {
        let least = bound(shape, "minItems").map { Int($0) } ?? 0
        guard least <= 20 else { return [] }
        let items = shape.items.first.map { variants($0, at: place) } ?? [Variant(value: .json("\"text\""))]
        let isUnique = shape.bounds.contains { $0.keyword == "uniqueItems" && $0.json == "true" }
        func list(_ first: Variant) -> Variant {
            var values = [first.value]
            for index in 1..<max(2, least) where values.count < least {
                values.append(isUnique && index < items.count ? items[index].value : first.value)
            }
            return Variant(value: .json(JSONText.list(values.map(\.json))))
        }
        return items.map(list) + (least == 0 ? [Variant(value: .json("[]"))] : [])
    }

    // MARK: - Texts

    private static func strings(_ shape: SchemaShape) -> [String] {
        let least = bound(shape, "minLength").map { Int($0) } ?? 0
        let largest = bound(shape, "maxLength").map { Int($0) } ?? .max
        func fits(_ text: String) -> Bool { text.unicodeScalars.count >= least && text.unicodeScalars.count <= largest }
        if let format = shape.format, let texts = formats[format] { return texts.filter(fits) }
        if let pattern = shape.bounds.first(where: { $0.keyword == "pattern" })?.json { return matching(pattern).filter(fits) }
        guard least <= longest else { return [] }
        var texts = [fits("text") ? "text" : String(repeating: "x", count: max(least, min(4, largest)))]
        if least == 0 { texts.append("") }
        if largest <= longest { texts.append(String(repeating: "x", count: largest)) }
        return texts.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static let formats = [
        "date-time": ["2026-01-01T00:00:00Z"], "date": ["2026-01-01"], "time": ["00:00:00Z"], "duration": ["P1D"],
        "uuid": ["00000000-0000-4000-8000-000000000000"], "email": ["a@example.org"], "idn-email": ["a@example.org"],
        "hostname": ["example.org"], "idn-hostname": ["example.org"], "ipv4": ["192.0.2.1"], "ipv6": ["2001:db8::1"],
        "uri": ["https://example.org/"], "iri": ["https://example.org/"], "uri-reference": ["/"], "iri-reference": ["/"],
        "json-pointer": ["/a"], "regex": ["a"],
    ]

    /// Texts in which many patterns find something.
    private static let usual = [
        "text", "a", "A", "1", "12", "123", "1234", "12345", "EUR", "eur", "DE", "de", "de-DE", "en_US", "2026-01-01",
        "2026-01-01T00:00:00Z", "1.2.3",
        "1.5", "a-1", "a_1", "A-1", "A1", "o-1", "u-1", "id-1", "order-1", "192.0.2.1", "a@example.org", "https://example.org/",
        "00000000-0000-4000-8000-000000000000", "0123456789abcdef", "0123456789abcdef0123456789abcdef", "text text", "",
    ]

    private static func matching(_ json: String) -> [String] {
        guard let text = (try? Outline.read(Source(Array(json.utf8)), resolving: nil).root)?.text?.value,
            let pattern = try? CompiledPattern(Array(text.utf8))
        else { return [] }
        return Array(
            usual.filter { candidate in
                let bytes = Array(candidate.utf8) + [0]
                return bytes.withUnsafeBufferPointer { bytes in
                    withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { spans in
                        pattern.find(bytes.baseAddress!, length: bytes.count - 1, from: 0, spans: spans.baseAddress!, count: 1)
                    }
                }
            }.prefix(3))
    }

    // MARK: - Numbers

    /// Without declared limits the numbers are small: that a large one overflows is true of all arithmetic.
    private static func numbers(_ shape: SchemaShape, isWhole: Bool) -> [String] {
        let (least, above) = (bound(shape, "minimum"), bound(shape, "exclusiveMinimum"))
        let (largest, below) = (bound(shape, "maximum"), bound(shape, "exclusiveMaximum"))
        let step = bound(shape, "multipleOf")
        let gap = isWhole ? 1 : 0.5
        var numbers: [Double] = isWhole ? [1, 0, -1] : [1.5, 1, 0, -1]
        if let step { numbers = [step, 0, -step] }
        numbers += [least, above.map { $0 + gap }, largest, below.map { $0 - gap }].compactMap(\.self)
        var texts: [String] = []
        for number in numbers where abs(number) < 9e15 {
            guard number >= least ?? number, number <= largest ?? number, number > above ?? -.infinity, number < below ?? .infinity else {
                continue
            }
            let whole = number == number.rounded()
            if isWhole, !whole { continue }
            let text = whole ? "\(Int64(number))" : "\(number)"
            if !texts.contains(text) { texts.append(text) }
        }
        return texts
    }

    private static func bound(_ shape: SchemaShape, _ keyword: String) -> Double? {
        shape.bounds.first { $0.keyword == keyword }.flatMap { Double($0.json) }
    }
}
