// Compiles a plan for the hot path. The rules for events are plain values; the plan itself is not kept.

public import Admission
public import ConsentGate
internal import Editing
public import Events
internal import Expressions
public import Plans
internal import Sampling
internal import TrackingPlans

/// The routes of a plan. They are compiled once, and all workers share them.
public final class Ruleset: Sendable {
    /// The paths that the rules name. The scanner locates only these. An event with a duplicate of one of them is invalid.
    public let paths: PathTrie
    public let routeCount: Int
    public let providerCount: Int

    let rules: Rules
    /// The plan that events must satisfy. It is nil if there is none.
    let trackingPlan: TrackingPlan?
    /// The rules of the gate. If it is nil, the plan has no consent section, and the gate is off.
    public let consent: ConsentSection?
    /// The stages and programs that make copies if the transform of a route needs more than splices.
    let stages: [StageRule]
    let programs: [Program]
    /// True if a value that looks like a digest is not hashed again.
    let keepsDigests: Bool
    /// The key under which message ids are made. If it is nil, each judge uses a random key.
    let messageIDKey: [UInt8]?
    /// The expressions of the plan, in the order of `Conditions`.
    let conditions: ExpressionSet
    let sources: [String]
    /// Which verdicts are collected for the audit trail. It is nil if none are.
    let verdictKeeping: VerdictKeeping?
    /// The store and the memories own everything that `rules` points to.
    private let store: Store
    private let memories: RulesMemories
    /// The consent on record. It is nil if there is no ledger.
    let records: ConsentRecords?
    /// The members into which routes write the ids of sessions.
    let sessionPaths: PathTrie
    /// For each source and key, whether its events may write the ledger. Keys are counted from 1; 0 is for events without a key.
    private let writers: [[Bool]]

    /// Compiles the plan.
    /// `numbers` identify the routes in their events, among the routes of all plans of a run. By default they are the routes' indices.
    /// `subjectKey` has sixteen bytes; the keys of subjects are made under it. By default it is random, so that these keys mean nothing
    /// outside of this process.
    /// `locatesMessageIDs` is true if the `messageId` of each event must be located even if no rule needs it.
    /// `messageIDKey` has sixteen bytes; message ids are made under it. By default they are random.
    /// `keepsDigests` is true if the events were hashed before, so that a value that looks like a digest is not hashed again.
    /// `memories` is what the routes of the run remember of the events so far.
    /// `records` is the consent on record, under `subjectKey`.
    /// `verdicts` says which verdicts are collected for the audit trail.
    /// `levels` are the names of the run's levels. Entries use them to say under which level they were admitted.
    public init(
        _ plan: Plan, numbers: [UInt16]? = nil, subjectKey: [UInt8]? = nil, locatesMessageIDs: Bool = false, messageIDKey: [UInt8]? = nil,
        keepsDigests: Bool = false, memories: RouteMemories = RouteMemories(), records: ConsentRecords? = nil,
        levels: RunNames = RunNames(), verdicts: VerdictKeeping? = nil
    ) {
        verdictKeeping = verdicts
        let locatesMessageIDs = locatesMessageIDs || verdicts != nil || plan.addsMessageIDs || plan.messageID.deduplicate != nil
        let wanted = WantedPaths(plan, locatesMessageIDs: locatesMessageIDs)
        self.messageIDKey = messageIDKey
        self.keepsDigests = keepsDigests
        self.records = records
        trackingPlan = plan.trackingPlan
        paths = PathTrie(wanted.paths, listing: plan.trackingPlan == nil ? nil : TrackingPlan.properties)
        store = Store()
        routeCount = plan.routes.count
        providerCount = plan.providers.count
        precondition(routeCount <= Int(UInt16.max) + 1, "a parcel's entry counts routes in two bytes")
        sessionPaths = PathTrie(plan.routes.compactMap(\.session?.place))
        let numbers = numbers ?? plan.routes.indices.map { UInt16($0) }
        precondition(numbers.count == routeCount, "a route has no number")
        let paths = paths
        consent = ConsentSection(plan, numbers: numbers, levels: levels) { path in wanted.readsConsent ? paths.slot(of: path) : nil }
        let compiler = RulesCompiler(
            plan, wanted: wanted, paths: paths, sessionPaths: sessionPaths, store: store, keepsDigests: keepsDigests, consent: consent)
        let conditions = Conditions(plan)
        let expressions = ExpressionSet(conditions.expressions, paths: paths)
        self.conditions = expressions
        sources = plan.sources.map(\.name)
        self.memories = memories.recall(plan)
        let (rules, programs) = compiler.compile(
            subjectKey: SipKey(subjectKey ?? Ruleset.chance()), numbers: numbers, conditions: conditions, expressions: expressions,
            memories: self.memories)
        self.rules = rules
        writers = plan.sources.map { source in
            [source.consent == .write] + (source.http?.keys ?? []).map { ($0.consent ?? source.consent) == .write }
        }
        stages = programs.stages
        self.programs = programs.programs
    }

    /// Forgets what the routes remember of events so far, so that the next event is judged as if it were the first. Only for rules that no
    /// router uses.
    public func forgetEvents() { memories.forget() }

    /// True if verdicts are collected for the audit trail.
    public var keepsVerdicts: Bool { verdictKeeping != nil }

    /// Returns true if events of the source that came with this key may write the ledger.
    public func mayWrite(source: Int, key: Int) -> Bool {
        source < writers.count && key < writers[source].count && writers[source][key]
    }

    static func chance() -> [UInt8] {
        var system = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &system) }
    }
}

/// The expressions of a plan in one list, and the indices in it of each route's own. An index is -1 if there is no expression.
struct Conditions {
    private(set) var expressions: [Expression] = []
    private(set) var filters: [Int] = []
    private(set) var exclusions: [Int] = []
    private(set) var keeps: [Int] = []
    /// For each rule of `emit`, the index of its condition and the indices of its values.
    private(set) var emits: [(condition: Int, values: [Int])] = []

    init(_ plan: Plan) {
        for emit in plan.emits { emits.append((add(emit.condition), emit.values.map { add($0) })) }
        for route in plan.routes {
            filters.append(add(route.condition))
            exclusions.append(add(route.not.condition))
            keeps.append(add(route.sample?.keepCondition))
        }
    }

    private mutating func add(_ expression: Expression?) -> Int {
        guard let expression else { return -1 }
        expressions.append(expression)
        return expressions.count - 1
    }
}

/// The paths that the rules of a plan name, and no others.
struct WantedPaths {
    private(set) var paths: [Path] = []
    let name = Path(keys: ["event"])
    let messageID = Path(keys: ["messageId"])
    static let properties = Path(keys: ["properties"])
    /// The member that marks an emitted event.
    static let mark = Path(keys: ["context", "switchyard", "emitted"])
    /// True if some rule needs what the event itself says about consent.
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
        paths += plan.trackingPlan?.paths ?? []
        for route in routes {
            paths += (route.match + route.not.match).map(\.path)
            for condition in [route.condition, route.not.condition, route.sample?.keepCondition] { paths += condition?.paths ?? [] }
            let sample = route.sample
            paths += [sample?.by, sample?.limit?.by, sample?.annotation, route.session?.by, route.session?.place].compactMap { $0 }
            for transform in route.transforms {
                paths += transform.paths + transform.readPaths
            }
        }
        for emit in plan.emits {
            paths += [messageID, WantedPaths.properties, WantedPaths.mark] + emit.condition.paths + emit.values.flatMap(\.paths)
            paths += emit.members.map { Path(keys: [$0.key]) }
        }
        if let section {
            paths += section.subject + section.fields.map(\.path)
            if section.ledger != nil { paths += ConsentStatementRules.paths.map(Path.init(keys:)) }
            if readsConsent { paths += ConsentSection.paths(section) }
        }
    }
}
