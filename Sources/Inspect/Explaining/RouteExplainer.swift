// Describes what a route found out about an event. Each stage gets one short sentence that names what decided.

internal import Editing
internal import Events
internal import Expressions
internal import Judging
internal import Plans
internal import Platform
internal import TrackingPlans

struct RouteExplainer {
    let plan: Plan
    let route: RoutePlan
    let finding: Finding
    /// The members of the original event.
    let came: EventMembers
    let mask: Mask
    /// The members that some route hashes. No sentence shows their values.
    private let hashed: [Path]

    /// `hashed` are the members whose values are not shown: those that routes hash, and those that came hashed.
    init(_ plan: Plan, route: RoutePlan, finding: Finding, came: EventMembers, hashed: [Path]) {
        self.plan = plan
        self.route = route
        self.finding = finding
        self.came = came
        mask = Mask(hidden: plan.hidden)
        self.hashed = hashed
    }

    /// The decisions of the stages up to the verdict. A route without a sample has no sample stage.
    var decisions: [Explanation.Decision] {
        var decisions = [Explanation.Decision(stage: .filter, why: filter)]
        if case .filtered = finding.verdict { return decisions }
        decisions.append(Explanation.Decision(stage: .consent, why: consent))
        if finding.verdict == .held { return decisions }
        if case .denied = finding.verdict { return decisions }
        if let sample = route.sample, let sampled = finding.sample {
            decisions.append(Explanation.Decision(stage: .sample, why: self.sample(sample, sampled)))
        }
        switch finding.verdict {
        case .sampledOut, .limited: break
        default: if plan.trackingPlan != nil { decisions.append(Explanation.Decision(stage: .plan, why: tracking)) }
        }
        return decisions
    }

    // MARK: - Tracking plan

    private var tracking: String {
        guard let found = finding.plan else { return "the event satisfies the tracking plan, or is not in it" }
        let fate =
            switch found.action {
            case .count: "counted, and it passes"
            case .mark: "it passes with a mark"
            case .strip: "the offending members are removed"
            case .reject: "it goes to the dead letters"
            }
        return "violates the tracking plan, \(printable(found.violation.text)): \(fate)"
    }

    // MARK: - Filter

    private var filter: String {
        let name = Path(keys: ["event"])
        if finding.isUncompared {
            return "to compare its name and members takes more steps than the event may take, so the route does not take it"
        }
        if let other = finding.takenBy { return "taken before, by \(shown(plan.routes[other].name))" }
        if finding.verdict == .filtered(.not) { return excluded(name) }
        let globs = route.events.map { shown($0.pattern) }
        if finding.verdict == .filtered(.events) { return "\(isNow(name)), \(noneOf(globs))" }
        if let mismatch = finding.mismatch {
            let match = route.match[mismatch]
            return "\(isNow(match.path)), \(noneOf(match.anyOf.map(shown)))"
        }
        if finding.verdict == .filtered(.match) {
            return "\(isNow(Path(keys: ["type"]))), which only a route that matches the type takes beside a ledger"
        }
        if case .filtered = finding.verdict, let condition = finding.condition { return describe(condition) }
        let named = globs.isEmpty ? [] : ["\(isNow(name)), \(globs.count == 1 ? "as" : "one of") \(list(globs))"]
        let matched = route.match.map { isNow($0.path) }
        let all = named + matched + (finding.condition.map { [describe($0)] } ?? [])
        return all.isEmpty ? route.takesEvery : all.joined(separator: "; ")
    }

    private func excluded(_ name: Path) -> String {
        if let condition = finding.condition { return "\(describe(condition)), which excludes it" }
        guard let exclusion = finding.exclusion else {
            return "\(isNow(name)), excluded by \(list(route.not.events.map { shown($0.pattern) }))"
        }
        let match = route.not.match[exclusion]
        return "\(isNow(match.path)), excluded by \(list(match.anyOf.map(shown)))"
    }

    /// Describes the part of an expression that decided, as it is written.
    func describe(_ decision: Evaluator.Decision) -> String {
        let part = printable(decision.part)
        guard let fault = decision.fault else { return "\(part) is \(decision.truth == .yes)" }
        let place = printable(fault.part)
        return (place == part ? part : "\(part) has no value, \(place)") + ": \(fault.message)"
    }

    func isNow(_ path: Path) -> String { "\(printable(path.description)) is \(value(path))" }

    private func noneOf(_ choices: [String]) -> String { "\(choices.count == 1 ? "not" : "none of") \(list(choices))" }

    // MARK: - Transform

    /// Describes what happened to each member that a transform names, in order, and to a missing message id. `left` is the edited event.
    func transform(_ left: EventMembers) -> [String] {
        let unset = unset
        var parts: [(verb: String, paths: [String])] = []
        var seen: Set<Path> = []
        func tell(_ path: Path) {
            guard seen.insert(path).inserted else { return }
            let verb = fate(path, left)
            // A separate sentence says why it is unchanged.
            if unset.contains(path), verb == "leaves" || verb == "finds no" { return }
            let text = printable(path.description)
            if parts.last?.verb == verb { parts[parts.count - 1].paths.append(text) } else { parts.append((verb, [text])) }
        }
        for transform in route.transforms {
            for path in transform.paths { tell(path) }
        }
        for path in [route.sample?.annotation, route.session?.place].compactMap({ $0 }) { tell(path) }
        let id = Path(keys: ["messageId"])
        if plan.addsMessageIDs, came[id] != left[id] { tell(id) }
        return parts.map { "\($0.verb) \(list($0.paths))" }
    }

    private func fate(_ path: Path, _ left: EventMembers) -> String {
        if left.doubled.contains(where: { $0.holds(path) }) { return "leaves twice" }
        return switch (came[path], left[path]) {
        case (nil, nil): "finds no"
        case (_?, nil): "drops"
        case (_, let after?) where route.hashed.contains { $0.path == path && $0.isHash(after) }: "hashes"
        case (nil, _?): "adds"
        case (let before?, let after?): before == after ? "leaves" : "sets"
        }
    }

    // MARK: - Values

    func shown(_ text: String) -> String { printable(mask.shown(text)) }

    private func shown(_ scalar: Scalar) -> String {
        switch scalar {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let text): shortened(text)
        case .string(let text): mask.isHidden(text) ? Mask.secret : quoted(text)
        }
    }

    /// Describes the value of a member in a few words.
    func value(_ path: Path) -> String {
        guard let text = came[path] else { return "absent" }
        switch text[0] {
        case UInt8(ascii: "{"): return "an object"
        case UInt8(ascii: "["): return "a list"
        case _ where hashed.contains { $0.holds(path) }: return Mask.digest
        case UInt8(ascii: "\""):
            guard let string = decoded(text[1..<(text.count - 1)]) else { return "a string with a lone surrogate" }
            return mask.isHidden(string) ? Mask.secret : quoted(string)
        default: return shortened(String(decoding: text, as: UTF8.self))
        }
    }

    private func quoted(_ text: String) -> String { "'\(printable(shortened(text)))'" }

    private func shortened(_ text: String) -> String { text.count <= 40 ? text : text.prefix(39) + "…" }

    /// Joins words as in `a, b, c`. A long list is cut.
    func list(_ words: [String]) -> String {
        words.count <= 12 ? words.joined(separator: ", ") : words.prefix(12).joined(separator: ", ") + " and \(words.count - 12) more"
    }
}

extension RoutePlan {
    /// Describes a filter that names no member and no event.
    fileprivate var takesEvery: String {
        if !not.isEmpty { return "nothing excludes it" }
        return takesRest ? "no route took it before" : "takes every event"
    }
}

extension Path {
    /// Returns true if the other path is this path or lies below it.
    func holds(_ other: Path) -> Bool { other.keys.count >= keys.count && Path(keys: Array(other.keys.prefix(keys.count))) == self }
}
