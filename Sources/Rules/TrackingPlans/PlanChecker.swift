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
    private let rules: EventRules
    private let properties: Int
    /// The number of slots if the scanner lists the members of `properties`, otherwise 0.
    private let listedSlots: Int
    private let traits: Int
    private let type: Int
    private let version: Int
    /// The slots of the members of `TrackingPlan.required`.
    private let required: UnsafePointer<Int>
    private var checker: SchemaChecker
    private var decoder = Decoder()
    /// An object without members, for events without `properties` or `traits`.
    private let empty: ByteRun
    private let store: Store

    init(_ plan: TrackingPlan, _ paths: PathTrie) {
        self.plan = plan
        rules = plan.rules
        func slot(_ path: Path) -> Int {
            guard let slot = paths.slot(of: path) else { preconditionFailure("the scanner does not look for a member of the plan") }
            return slot
        }
        properties = slot(TrackingPlan.properties)
        listedSlots = paths.listed == properties ? paths.count : 0
        traits = slot(TrackingPlan.traits)
        type = slot(TrackingPlan.type)
        version = slot(plan.version)
        checker = SchemaChecker(plan.schema)
        store = Store()
        required = store.list(plan.required.map(slot)).baseAddress!
        empty = store.text(Array("{}}".utf8))
    }

    /// Why an event violates the plan. It is small, since it is made for each event.
    private enum Answer: BitwiseCopyable {
        case satisfied
        /// The plan has no rule for the name.
        case unplanned(ByteRun)
        /// A member of `TrackingPlan.required` is missing.
        case missing(UnsafePointer<EventRule>, Int)
        case version(UnsafePointer<EventRule>)
        /// The value of a member violates its schema.
        case violated(UnsafePointer<EventRule>, Bytes, isTraits: Bool)
    }

    /// Returns the first violation of the event, or nil. `name` is its name, decoded.
    @inline(__always) mutating func check(_ event: ScannedEvent, name: ByteRun?) -> FoundViolation? {
        let answer = answer(event, name)
        if case .satisfied = answer { return nil }
        return found(answer)
    }

    @inline(__always) private mutating func answer(_ event: ScannedEvent, _ name: ByteRun?) -> Answer {
        // An event without a name, such as `identify`, goes by its type.
        guard let name = name ?? readType(event) else { return .satisfied }
        guard let rule = rules.find(name) else { return .unplanned(name) }
        for index in rule.pointee.required where !event.slots[required[index]].isPresent { return .missing(rule, index) }
        var roots = rule.pointee.plain
        if !rule.pointee.versions.isEmpty {
            guard let found = self.roots(rule, event) else { return .version(rule) }
            roots = found
        }
        if roots.properties >= 0 {
            let value = value(event, properties)
            var list: ListedMembers?
            if listedSlots > 0, event.slots[properties].isPresent { list = ListedMembers(of: event, slot: properties, slots: listedSlots) }
            let isSatisfied =
                if let list {
                    checker.satisfies(value, root: roots.properties, list, in: event.block)
                } else {
                    checker.satisfies(value, root: roots.properties)
                }
            if !isSatisfied { return .violated(rule, value, isTraits: false) }
        }
        if roots.traits >= 0 {
            let value = value(event, traits)
            if !checker.satisfies(value, root: roots.traits) { return .violated(rule, value, isTraits: true) }
        }
        return .satisfied
    }

    @inline(never) private mutating func readType(_ event: ScannedEvent) -> ByteRun? {
        event.slots[type].string(in: event.block).flatMap { decoder.decode($0) }
    }

    @inline(__always) private func value(_ event: ScannedEvent, _ slot: Int) -> Bytes {
        let slot = event.slots[slot]
        return slot.isPresent ? event.block + Int(slot.start) : empty.base
    }

    /// Returns the violation in words. The checker still knows what it found.
    @inline(never) private func found(_ answer: Answer) -> FoundViolation? {
        switch answer {
        case .satisfied: return nil
        case .unplanned(let name): return unplanned(name)
        case .missing(let rule, let index):
            return FoundViolation(action: rule.pointee.action, rule: "require", base: pointer(plan.required[index]))
        case .version(let rule):
            return FoundViolation(action: rule.pointee.action, rule: "version", base: pointer(plan.version))
        case .violated(let rule, let value, let isTraits):
            guard let violation = checker.violation else { preconditionFailure("a value is refused without a reason") }
            return place(violation, in: value, base: isTraits ? "/traits" : "/properties", rule)
        }
    }

    /// Returns the schemas of the event's version. Returns nil if the plan does not know the version.
    @inline(never) private mutating func roots(_ rule: UnsafePointer<EventRule>, _ event: ScannedEvent) -> SchemaRoots? {
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
