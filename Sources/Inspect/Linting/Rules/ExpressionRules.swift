// Rules about expressions and the tracking plan: expressions that have no value for an event that satisfies the plan, found by trying them on
// examples, and conditions that are false for all such events. A fault counts only if the part that fails reads nothing but members of which
// the plan says what they may be. Of events whose examples are alike as far as a rule reads them, one is tried for all.

internal import Document
internal import Editing
internal import Events
internal import Expressions
internal import Judging
internal import PlanTools
internal import Plans
internal import Sampling
internal import TrackingPlans

extension Linter {
    /// The most trials of one event on one rule, of all rules together.
    private static let mostTrials = 40_000
    /// The most findings about the expressions of one rule.
    private static let mostFaults = 3

    mutating func checkExpressions() {
        guard let examples, let tracking = plan.trackingPlan else { return }
        let rules = plan.routes.indices.map(TriedRule.route) + plan.emits.indices.map(TriedRule.emit)
        let tried = rules.filter { !paths($0).isEmpty }
        var check = ExampleCheck(tracking)
        var profiles = ExampleProfiles(examples)
        let all = AllRoutes(plan)
        for rule in tried { checkFaults(rule, examples, &profiles, &check, all, most: max(30, Linter.mostTrials / tried.count)) }
        for index in plan.routes.indices { checkFalse(index, examples) }
    }

    private enum TriedRule {
        case route(Int)
        case emit(Int)
    }

    /// The members that the expressions of the rule read.
    private func paths(_ rule: TriedRule) -> [Path] {
        switch rule {
        case .route(let index):
            let route = plan.routes[index]
            return [route.condition, route.not.condition, route.sample?.keepCondition].compactMap { $0?.paths }.joined()
                + route.transforms.flatMap(\.readPaths)
        case .emit(let index): return plan.emits[index].condition.paths + plan.emits[index].values.flatMap(\.paths)
        }
    }

    private func filter(_ rule: TriedRule) -> EventFilter {
        switch rule {
        case .route(let index): filters[index]
        case .emit(let index): EventFilter(events: [], match: [], not: ExclusionPlan(), condition: plan.emits[index].condition)
        }
    }

    // MARK: - Expressions that err

    private mutating func checkFaults(
        _ rule: TriedRule, _ examples: PlanExamples, _ profiles: inout ExampleProfiles, _ check: inout ExampleCheck, _ all: AllRoutes,
        most: Int
    ) {
        let (filter, read) = (filter(rule), paths(rule))
        let names = filter.values[EventFilter.name]
        let events = examples.events.indices.filter { index in
            let name = examples.events[index].name
            return (names?.contains(.string(name)) ?? true)
                && (filter.events.isEmpty || filter.events.contains { $0.matches(Array(name.utf8)) })
        }
        if events.isEmpty { return }
        var trial =
            switch rule {
            case .route(let index): Trial(plan, route: index)
            case .emit(let index): Trial(plan, emit: index)
            }
        // The values that the rule demands, so that examples reach its other parts.
        let demanded = filter.values.filter { $0.key != EventFilter.name }.sorted { $0.key.description < $1.key.description }
            .compactMap { path, values in values.first.map { (path: path, json: $0.json) } }
        var (tries, found) = (0, Set<TriedFault>())
        // One event of each group is tried. Another one is tried only if that one has a fault that is no finding, which depends on more than
        // what the rule reads.
        var groups = profiles.groups(of: events, at: read + deciding(rule, filter)).map { $0[...] }
        while !groups.isEmpty, tries < most, found.count < Linter.mostFaults {
            var others: Set<Int> = []
            let tried = groups.map { group in
                let event = examples.events[group.first!]
                let some = event.examples.filter { example in
                    example.place.map { varied in read.contains { $0.holds(varied) || varied.holds($0) } } ?? true
                }
                return (event: event, examples: some)
            }
            for place in 0..<(tried.map(\.examples.count).max() ?? 0) {
                for (group, (event, some)) in tried.enumerated() where place < some.count {
                    guard tries < most, found.count < Linter.mostFaults else { break }
                    let example = some[place]
                    let needed = demanded.filter { other in
                        !event.fixes(other.path) && example.place.map { !$0.holds(other.path) && !other.path.holds($0) } ?? true
                    }
                    guard let line = event.line(example, with: needed) else { continue }
                    tries += 1
                    for fault in faults(rule, &trial, line) where !found.contains(where: { $0.isSame(fault) }) {
                        guard isKnown(fault.fault, among: read, event), check.satisfies(line), reaches(rule, fault, line, all) else {
                            others.insert(group)
                            continue
                        }
                        found.insert(fault)
                        tell(fault, event, example)
                    }
                }
            }
            groups = groups.enumerated().compactMap { others.contains($0) && $1.count > 1 ? $1.dropFirst() : nil }
        }
    }

    /// The members besides those that expressions read by which the rule takes an event, or that it moves to others.
    private func deciding(_ rule: TriedRule, _ filter: EventFilter) -> [Path] {
        let own = filter.values.keys.filter { $0 != EventFilter.name } + filter.not.match.map(\.path)
        guard case .route(let index) = rule else { return own }
        return own + plan.routes[index].transforms.flatMap { $0.moves.map(\.from) }
    }

    private mutating func tell(_ fault: TriedFault, _ event: PlanExamples.Event, _ example: PlanExamples.Example) {
        report(
            .expressionErrs, fault.node,
            "\(fault.fault), for \(event.words)\(example.note.isEmpty ? "" : " " + example.note), which the tracking plan allows",
            fix: fault.fault.isMissingMember
                ? "give it a default, such as this.?properties.?name.orValue(…), test it with has(…), or require the member in the plan"
                : "test the type or the value first, or let the plan exclude it")
    }

    private struct TriedFault: Hashable {
        var fault: EvaluationFault
        var node: Node
        /// True if the filter of a route fails, so that the route does not take the event.
        var isOfFilter = false

        func isSame(_ other: TriedFault) -> Bool { node.offset == other.node.offset && fault.range == other.fault.range }
        static func == (a: TriedFault, b: TriedFault) -> Bool { a.isSame(b) }
        func hash(into hasher: inout Hasher) {
            hasher.combine(node.offset)
            hasher.combine(fault.range)
        }
    }

    private func faults(_ rule: TriedRule, _ trial: inout Trial, _ line: [UInt8]) -> [TriedFault] {
        switch rule {
        case .emit(let index):
            guard let node = root["emit"]?.items?[index] else { return [] }
            return trial.emitFaults(line).map { one in
                let isCondition = plan.emits[index].condition.holds(one.fault)
                return TriedFault(fault: one.fault, node: node[isCondition ? "where" : "event"] ?? node)
            }
        case .route(let index):
            guard let finding = trial.findings(line)?.first else { return [] }
            let (node, route) = (self.route(index), plan.routes[index])
            var faults: [TriedFault] = []
            if case .filtered(.whereErrors) = finding.verdict, let fault = finding.condition?.fault {
                let isExclusion = route.not.condition?.holds(fault) ?? false
                faults.append(TriedFault(fault: fault, node: (isExclusion ? node["not"] : node)?["where"] ?? node, isOfFilter: true))
            }
            if let fault = finding.sample?.keepCondition?.fault {
                faults.append(TriedFault(fault: fault, node: node["sample"]?["keep"]?["where"] ?? node))
            }
            for step in finding.steps {
                guard case .erred(_, let fault) = step.report else { continue }
                let items = node["transform"]?.items
                let place = step.step.flatMap { place in items.flatMap { $0.count == route.transforms.count ? $0[place] : nil } }
                faults.append(TriedFault(fault: fault, node: place ?? node["transform"] ?? node))
            }
            return faults
        }
    }

    /// True if the part that fails reads only members that the plan describes for the event.
    private func isKnown(_ fault: EvaluationFault, among read: [Path], _ event: PlanExamples.Event) -> Bool {
        guard let part = try? Expression(fault.part) else { return read.allSatisfy(event.knows) }
        if part.sourceOffset != nil { return false }
        for path in part.paths where !event.knows(path) {
            // A name that no expression of the rule reads is a variable of a macro. It stands for a part of something else.
            if read.contains(where: { $0.holds(path) || path.holds($0) }) || !read.allSatisfy(event.knows) { return false }
        }
        return true
    }

    /// An earlier route can take the event of a route with `else`.
    private func reaches(_ rule: TriedRule, _ fault: TriedFault, _ line: [UInt8], _ all: AllRoutes) -> Bool {
        guard case .route(let index) = rule, plan.routes[index].takesRest else { return true }
        guard let verdict = all.findings(line)?[index].verdict else { return false }
        if case .filtered(let stage) = verdict { return fault.isOfFilter && stage == .whereErrors }
        return !fault.isOfFilter
    }

    // MARK: - Conditions that are false

    /// It is sure only if the plan says all events that the route can take, and excludes a value that the condition demands.
    private mutating func checkFalse(_ index: Int, _ examples: PlanExamples) {
        guard let condition = plan.routes[index].condition, filters[index].contradiction == nil, let node = route(index)["where"] else {
            return
        }
        let events = examples.events.filter { event in filters[index].events.contains { $0.matches(Array(event.name.utf8)) } }
        let isComplete = filters[index].events.allSatisfy { glob in
            plan.trackingPlan?.unplanned == .reject || events.contains { glob.symbols == $0.name.utf8.map(Optional.some) }
        }
        guard !events.isEmpty, isComplete else { return }
        let demands = EventFilter.equalities(condition)
        func excludes(_ event: PlanExamples.Event, _ demand: (Path, [Scalar])) -> Bool {
            !demand.1.contains { event.allows(demand.0, $0.json) }
        }
        guard events.allSatisfy({ event in demands.contains { excludes(event, $0) } }) else { return }
        let common = demands.first { demand in events.allSatisfy { excludes($0, demand) } }
        report(
            .falseByPlan, node,
            common.map { demand in
                let values = demand.1.map(\.words).joined(separator: " or ")
                return "the tracking plan does not allow \(values) at \(demand.0) in an event that the route takes"
            } ?? "the tracking plan excludes a value that the condition demands, in each event that the route takes",
            fix: "correct the value here or in the plan, or remove the route")
    }
}

/// A trial of all routes together, which is made when it is first needed.
private final class AllRoutes {
    private let plan: Plan
    private var trial: Trial?

    init(_ plan: Plan) { self.plan = plan }

    func findings(_ line: [UInt8]) -> [Finding]? {
        if trial == nil { trial = Trial(allOf: plan) }
        return trial!.findings(line)
    }
}

extension Scalar {
    var json: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let text): text
        case .string(let text): JSONText.quoted(text)
        }
    }
}

extension Expression {
    /// True if the part that failed stands at its place in this expression.
    fileprivate func holds(_ fault: EvaluationFault) -> Bool {
        let bytes = Array(text.utf8)
        return fault.range.upperBound <= bytes.count && bytes[fault.range].elementsEqual(fault.part.utf8)
    }
}
