// Events that satisfy a tracking plan, for what tries the configuration on them. They are made from the schemas, are few, and are the same at
// each call. Each is checked against the plan itself before it is given out.

internal import Document
public import Events
public import TrackingPlans

public struct PlanExamples {
    /// The examples of an event, or of one version of it.
    public struct Event {
        public let name: String
        public let version: String?
        /// The members besides `properties` and `traits`, by their places.
        let fixed: [([String], ExampleValue)]
        let versionKeys: [String]
        let members: [(name: String, shape: SchemaShape)]
        public let examples: [Example]

        /// `order_completed, version 2`
        public var words: String { version.map { "\(name), version \($0)" } ?? name }

        /// True if the plan says what values the member has.
        public func knows(_ path: Path) -> Bool {
            if path == Path(keys: ["event"]) || path == Path(keys: ["type"]) { return true }
            return path.keys.first.map { key in members.contains { $0.name == key } } ?? false
        }

        /// True if the event is what it is by the value of this member.
        public func fixes(_ path: Path) -> Bool { fixed.contains { Path(keys: $0.0) == path && !isFree($0.0) } }

        /// The type of an event with a name is free, and so is what is only required.
        private func isFree(_ keys: [String]) -> Bool {
            keys == ["type"] ? fixed.contains { $0.0 == ["event"] } : keys != ["event"] && keys != versionKeys
        }

        /// Returns false if surely no event that satisfies the plan has this value at this place. `json` is a value without members.
        public func allows(_ path: Path, _ json: String) -> Bool {
            guard let key = path.keys.first, var shape = members.first(where: { $0.name == key })?.shape else { return true }
            for key in path.keys.dropFirst() {
                if shape.isNever || !(shape.types?.contains("object") ?? true) || shape.choices != nil { return !shape.isNever }
                guard let next = shape.member(key) else {
                    if case .closed = shape.others { return false }
                    return true
                }
                shape = next
            }
            return shape.allows(json)
        }
    }

    public struct Example {
        /// What differs from the event with all members, such as `without properties.coupon`, and the place. They are empty and nil if nothing
        /// does. The place is nil, too, if several places differ.
        public let note: String
        public let place: Path?
        let values: [(name: String, value: ExampleValue)]
    }

    public let events: [Event]

    /// Reads the text of a plan.
    public init(_ text: [UInt8]) throws(PlanFaults) {
        let document = try PlanDocument(text)
        events = document.events.flatMap { event in
            event.all.map { PlanExamples.event(event, $0, document) }
        }
    }

    /// The names that go by the type of an event.
    private static let types: Set<String> = ["identify", "group", "alias", "page", "screen"]

    private static func event(_ event: PlanDocument.Event, _ schemas: PlanDocument.Schemas, _ document: PlanDocument) -> Event {
        func quoted(_ text: String) -> ExampleValue { .json(JSONText.quoted(text)) }
        var fixed: [([String], ExampleValue)] = []
        if types.contains(event.name) {
            fixed.append((["type"], quoted(event.name)))
        } else {
            fixed += [(["type"], quoted("track")), (["event"], quoted(event.name))]
        }
        if let version = schemas.version { fixed.append((document.versionPath, quoted(version))) }
        let members = schemas.members
        for path in document.required + event.required {
            guard let keys = (try? Path(parsing: path))?.keys, !fixed.contains(where: { $0.0 == keys }),
                !members.contains(where: { $0.name == keys[0] })
            else { continue }
            fixed.append((keys, quoted("text")))
        }
        let all = members.map { (name: $0.name, variants: ExampleValues.variants($0.shape, at: [$0.name])) }
        var examples: [Example] = []
        if all.allSatisfy({ !$0.variants.isEmpty }) {
            let whole = all.map { (name: $0.name, value: $0.variants[0].value) }
            examples.append(Example(note: "", place: nil, values: whole))
            for (index, member) in all.enumerated() {
                for variant in member.variants.dropFirst() {
                    var values = whole
                    values[index].value = variant.value
                    examples.append(Example(note: variant.note, place: variant.place.map { Path(keys: $0) }, values: values))
                }
            }
        }
        return Event(
            name: event.name, version: schemas.version, fixed: fixed, versionKeys: document.versionPath, members: members,
            examples: examples)
    }
}

extension PlanExamples.Event {
    /// Describes what the examples have at this place. Where two events have the same description, their examples are alike there.
    public func profile(at path: Path) -> String {
        // Nothing is alike for who reads everything.
        guard let first = path.keys.first else { return words }
        var parts = fixes(path) ? ["fixed"] : []
        func overlaps(_ keys: [String]) -> Bool { zip(keys, path.keys).allSatisfy { sameText($0, $1) } }
        for (keys, value) in fixed where overlaps(keys) {
            parts.append("\(Path(keys: keys)) is \(value.json)")
        }
        for example in examples where example.place.map({ overlaps($0.keys) }) ?? true {
            let value = example.values.first { sameText($0.name, first) }?.value.member(path.keys.dropFirst())
            parts.append(value?.json ?? "nothing")
        }
        return parts.joined(separator: "\n")
    }

    /// Returns the example as a line, with these values in it: JSON texts by their places. Returns nil if a place lies in a value that is no
    /// object.
    public func line(_ example: PlanExamples.Example, with others: [(path: Path, json: String)]) -> [UInt8]? {
        var event = ExampleValue.object([])
        for (keys, value) in fixed + example.values.map({ ([$0.name], $0.value) }) + others.map({ ($0.path.keys, .json($0.json)) }) {
            guard !keys.isEmpty, let changed = event.setting(keys[...], to: value) else { return nil }
            event = changed
        }
        return Array(event.json.utf8)
    }
}

extension SchemaShape {
    /// Returns false if the value, which has no members, surely violates the schema.
    fileprivate func allows(_ json: String) -> Bool {
        if isNever { return false }
        if let choices { return choices.contains { sameText($0, json) || Double($0).map { $0 == Double(json) } ?? false } }
        guard let types else { return true }
        let type = ShapeReader.type(of: json)
        // A number with a fraction of 0 is an integer too.
        return types.contains(type) || (type == "integer" || type == "number") && (types.contains("number") || types.contains("integer"))
    }
}

/// Checks lines against a plan.
public struct ExampleCheck: ~Copyable {
    private let paths: PathTrie
    private var scanner: Scanner
    private var stage: PlanStage
    private var decoder = Decoder()
    private var block = Block()

    public init(_ plan: TrackingPlan) {
        paths = PathTrie(plan.paths)
        scanner = Scanner(paths)
        stage = PlanStage(plan, paths)
    }

    /// True if the line is an event that satisfies the plan.
    public mutating func satisfies(_ line: [UInt8]) -> Bool {
        block.removeAll()
        line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        guard let event = scanner.scan(block.bytes, 0) else { return false }
        stage.begin()
        let name = event.slots[paths.slot(of: Path(keys: ["event"]))!].string(in: event.block).flatMap { decoder.decode($0) }
        _ = stage.check(event, name: name)
        return stage.currentFinding() == nil
    }
}
