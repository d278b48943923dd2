// Compiles a plan for the hot path. What an event is judged by stands in plain values; nothing of the plan is kept.

public import Admission
public import ConsentGate
internal import Editing
public import Events
internal import Expressions
public import Plans
internal import Sampling

/// The routes of a plan, compiled once, shared by all workers.
public final class Ruleset: Sendable {
    /// The paths that the rules name; the scanner locates just these. An event with a duplicate of one of them is invalid.
    public let paths: PathTrie
    public let routeCount: Int
    public let providerCount: Int

    let rules: Rules
    /// What the gate goes by; nil: the plan has no consent section, and the gate is off.
    public let consent: ConsentSection?
    /// What makes the copies of routes whose transform is more than splices.
    let stages: [StageRule]
    let programs: [Program]
    /// Whether what looks like a digest is not hashed again.
    let keepsDigests: Bool
    /// Under which ids are made; nil: each judge makes its own by chance.
    let messageIDKey: [UInt8]?
    /// The conditions of the routes and samples, in this order of the plan.
    let conditions: ExpressionSet
    let sources: [String]
    /// Own what `rules` points to.
    private let store: Store
    private let memories: RulesMemories
    /// What is on record of subjects; nil: no ledger is kept.
    let records: ConsentRecords?
    /// Where routes write the ids of sessions.
    let sessionPaths: PathTrie
    /// By source, then by key, counted from 1, 0 for those without: whether events from there may write the ledger.
    private let writers: [[Bool]]

    /// The subjects' keys are made under `subjectKey`, sixteen bytes; by default chance, so that they mean nothing
    /// outside of this process. `locatesMessageIDs` tells where each event's `messageId` stands, also when no rule asks.
    /// `keepsDigests`: the events have gone through a hash before, and what looks like a digest is not hashed again.
    /// Ids that are added to events are made by chance, unless `messageIDKey`, sixteen bytes, says otherwise.
    /// `records`: what is on record of subjects, under the same key.
    /// `levels`: the names of the run's levels, by which entries say what they were admitted under.
    /// `memories`: what the routes of the run remember of the events so far.
    /// `numbers`: what the events of each route carry to tell that they came by it, among the routes of all plans of a run; else
    /// the indices of the routes.
    public init(
        _ plan: Plan, numbers: [UInt16]? = nil, subjectKey: [UInt8]? = nil, locatesMessageIDs: Bool = false, messageIDKey: [UInt8]? = nil,
        keepsDigests: Bool = false, memories: RouteMemories = RouteMemories(), records: ConsentRecords? = nil,
        levels: RunNames = RunNames()
    ) {
        let locatesMessageIDs = locatesMessageIDs || plan.addsMessageIDs || plan.messageID.deduplicate != nil
        let wanted = WantedPaths(plan, locatesMessageIDs: locatesMessageIDs)
        self.messageIDKey = messageIDKey
        self.keepsDigests = keepsDigests
        self.records = records
        paths = PathTrie(wanted.paths)
        store = Store()
        routeCount = plan.routes.count
        providerCount = plan.providers.count
        precondition(routeCount <= Int(UInt16.max) + 1, "a parcel's entry counts routes in two bytes")
        sessionPaths = PathTrie(plan.routes.compactMap(\.session?.place))
        let numbers = numbers ?? plan.routes.indices.map { UInt16($0) }
        precondition(numbers.count == routeCount)
        let paths = paths
        consent = ConsentSection(plan, numbers: numbers, levels: levels) { path in wanted.readsConsent ? paths.slot(of: path) : nil }
        let compiler = RulesCompiler(plan, wanted, paths, sessionPaths: sessionPaths, store, keepsDigests: keepsDigests, consent: consent)
        let conditions = Conditions(plan)
        self.conditions = ExpressionSet(conditions.expressions, paths: paths)
        sources = plan.sources.map(\.name)
        self.memories = memories.recall(plan)
        let (rules, programs) = compiler.compile(
            subjectKey: SipKey(subjectKey ?? Ruleset.chance()), numbers: numbers, conditions: conditions, memories: self.memories)
        self.rules = rules
        writers = plan.sources.map { source in
            [source.consent == .write] + (source.http?.keys ?? []).map { ($0.consent ?? source.consent) == .write }
        }
        stages = programs.stages
        self.programs = programs.programs
    }

    /// Whether events of the source, sent with this key of it, may write the ledger.
    public func mayWrite(source: Int, key: Int) -> Bool {
        source < writers.count && key < writers[source].count && writers[source][key]
    }

    static func chance() -> [UInt8] {
        var system = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &system) }
    }
}

/// The expressions of a plan in one list, and by route where its own stand in it; -1: it has none.
struct Conditions {
    private(set) var expressions: [Expression] = []
    private(set) var filters: [Int] = []
    private(set) var keeps: [Int] = []
    /// By rule that makes events: its own, and those of its values.
    private(set) var emits: [(condition: Int, values: [Int])] = []

    init(_ plan: Plan) {
        for emit in plan.emits { emits.append((add(emit.condition), emit.values.map { add($0) })) }
        for route in plan.routes {
            filters.append(add(route.condition))
            keeps.append(add(route.sample?.keepCondition))
        }
    }

    private mutating func add(_ expression: Expression?) -> Int {
        guard let expression else { return -1 }
        expressions.append(expression)
        return expressions.count - 1
    }
}

/// The paths that a plan's rules name, and no other.
struct WantedPaths {
    private(set) var paths: [Path] = []
    let name = Path(keys: ["event"])
    let messageID = Path(keys: ["messageId"])
    static let properties = Path(keys: ["properties"])
    /// What marks an event that was made of another.
    static let mark = Path(keys: ["context", "switchyard", "emitted"])
    /// Whether some rule asks for what the event itself says of consent.
    let readsConsent: Bool

    init(_ plan: Plan, locatesMessageIDs: Bool) {
        let routes = plan.routes
        let demands = routes.contains { ($0.consent ?? ConsentDemand(level: 1)) != ConsentDemand(level: 0) }
        let section = plan.consent
        readsConsent = section.map { demands || !$0.fields.isEmpty || $0.events.contains { $0.level > 0 } } ?? false

        let sent = Set(routes.flatMap(\.providers))
        let readsName =
            routes.contains { !$0.events.isEmpty || !$0.not.events.isEmpty || ($0.sample?.readsName ?? false) }
            || !(section?.events.isEmpty ?? true) || sent.contains { !plan.providers[$0].delivery.immediate.isEmpty }
        if readsName { paths.append(name) }
        if locatesMessageIDs || routes.contains(where: { $0.sample != nil }) { paths.append(messageID) }
        for route in routes {
            paths += (route.match + route.not.match).map(\.path)
            for condition in [route.condition, route.sample?.keepCondition] { paths += condition?.paths ?? [] }
            paths += [route.sample?.by, route.sample?.annotation, route.session?.by, route.session?.place].compactMap { $0 }
            for transform in route.transforms {
                paths += transform.paths
                if case .step(let step) = transform { paths += step.readPaths }
            }
        }
        for emit in plan.emits {
            paths += [messageID, WantedPaths.properties, WantedPaths.mark] + emit.condition.paths + emit.values.flatMap(\.paths)
            paths += emit.members.map { Path(keys: [$0.key]) }
        }
        if let section {
            paths += section.subject + section.fields.map(\.path)
            if section.ledger != nil { paths += ConsentStatementRules.paths.map(Path.init(keys:)) }
            if readsConsent {
                paths += ConsentSection.paths
                if let by = section.unknownBy { paths.append(by.path) }
            }
        }
    }
}
