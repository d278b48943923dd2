// Checks one event against a tracking plan. It looks at the event only when it is asked, in place, and builds nothing for an event that
// satisfies the plan. It gives the same answer for the same event. It never changes an event; `ViolationEditor` makes changed copies.

internal import Events
internal import Expressions
internal import JSONSchema

/// What an event violates: a member, and what is wrong with it. It never has a value of the event.
public struct PlanViolation: Sendable, Equatable {
    /// The place as a JSON Pointer from the event.
    public var pointer: String
    /// The keyword of the schema, or `version`, `names`, `unplanned` or `require` for the rules of the plan itself.
    public var rule: String

    /// `/properties/total: minimum`
    public var text: String { "\(pointer): \(rule)" }
}

/// A violation while its place is still known as an offset.
struct FoundViolation {
    var action: ViolationAction
    var rule: String
    /// The pointer of the member that the violation is below.
    var base: String
    var pointer = ""
    /// The innermost member that contains the place, if it can be removed.
    var member: (key: Bytes, end: Bytes)?

    var violation: PlanViolation { PlanViolation(pointer: base + pointer, rule: rule) }
}

struct PlanChecker: ~Copyable {
    private let plan: TrackingPlan
    private let properties: Int
    private let traits: Int
    private let type: Int
    private let version: Int
    private let required: [Int]
    private var checker: SchemaChecker
    private var decoder = Decoder()
    /// An object without members, for events without `properties` or `traits`.
    private let empty: ByteRun
    private let store: Store

    init(_ plan: TrackingPlan, _ paths: PathTrie) {
        self.plan = plan
        func slot(_ path: Path) -> Int {
            guard let slot = paths.slot(of: path) else { preconditionFailure("the scanner does not look for a member of the plan") }
            return slot
        }
        properties = slot(TrackingPlan.properties)
        traits = slot(TrackingPlan.traits)
        type = slot(TrackingPlan.type)
        version = slot(plan.version)
        required = plan.required.map(slot)
        checker = SchemaChecker(plan.schema)
        store = Store()
        empty = store.text(Array("{}}".utf8))
    }

    /// Returns the first violation of the event, or nil. `name` is its name, decoded.
    mutating func check(_ event: ScannedEvent, name: ByteRun?) -> FoundViolation? {
        // An event without a name, such as `identify`, goes by its type.
        guard let name = name ?? event.slots[type].string(in: event.block).flatMap({ decoder.decode($0) }) else { return nil }
        guard let rule = plan.rule(name) else { return unplanned(name) }
        for index in rule.pointee.required where !event.slots[required[index]].isPresent {
            return FoundViolation(action: rule.pointee.action, rule: "require", base: pointer(plan.required[index]))
        }
        var roots = rule.pointee.plain
        if !rule.pointee.versions.isEmpty {
            guard let found = self.roots(rule, event) else {
                return FoundViolation(action: rule.pointee.action, rule: "version", base: pointer(plan.version))
            }
            roots = found
        }
        if roots.properties >= 0, let found = check(event, properties, roots.properties) {
            return place(found.violation, in: found.value, base: "/properties", rule)
        }
        if roots.traits >= 0, let found = check(event, traits, roots.traits) {
            return place(found.violation, in: found.value, base: "/traits", rule)
        }
        return nil
    }

    @inline(__always) private mutating func check(
        _ event: ScannedEvent, _ slot: Int, _ root: Int
    ) -> (violation: Violation, value: Bytes)? {
        let slot = event.slots[slot]
        let value = slot.isPresent ? event.block + Int(slot.start) : empty.base
        return checker.check(value, root: root).map { ($0, value) }
    }

    /// Returns the schemas of the event's version. Returns nil if the plan does not know the version.
    private mutating func roots(_ rule: UnsafePointer<EventRule>, _ event: ScannedEvent) -> SchemaRoots? {
        let slot = event.slots[version]
        guard slot.isPresent else { return rule.pointee.plain.isEmpty ? nil : rule.pointee.plain }
        let text = slot.string(in: event.block).flatMap { decoder.decode($0) } ?? slot.value(in: event.block)
        return rule.pointee.versions.first { $0.name == text }?.roots
    }

    private func unplanned(_ name: ByteRun) -> FoundViolation? {
        if let nameRule = plan.nameRule {
            let isNamed = withUnsafeTemporaryAllocation(of: Int.self, capacity: 2) { spans in
                nameRule.find(name.base, length: name.count, from: 0, spans: spans.baseAddress!, count: 1)
            }
            if !isNamed { return FoundViolation(action: plan.action, rule: "names", base: "/event") }
        }
        return plan.unplanned.map { FoundViolation(action: $0, rule: "unplanned", base: "/event") }
    }

    private func place(_ violation: Violation, in value: Bytes, base: String, _ rule: UnsafePointer<EventRule>) -> FoundViolation {
        let place = ViolationPlace(of: violation.value, in: value)
        var found = FoundViolation(action: rule.pointee.action, rule: violation.keyword.rawValue, base: base, pointer: place.pointer)
        if let missing = violation.missing {
            found.pointer += "/" + String(decoding: missing.bytes, as: UTF8.self)
        }
        found.member = value == empty.base ? nil : place.member
        return found
    }

    private func pointer(_ path: Path) -> String { path.keys.map { "/" + $0 }.joined() }
}
