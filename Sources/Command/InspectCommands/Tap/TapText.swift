// Writes a captured event as one line of JSON. It decides what of an event is shown: before a route has taken the event under a consent, only
// the names of its members, unless the tap is raw.

internal import Admission
internal import Document
internal import Events
internal import Explaining
internal import Expressions
internal import Judging
internal import Plans
internal import Platform
internal import Tapping

struct TapText {
    let request: TapRequest
    /// The present plan of the router. Events of lanes are masked by it.
    let plan: Plan

    /// Returns the line, or nil if the event does not fulfil the condition of the tap.
    func line(_ event: TappedEvent) -> String? {
        guard isWanted(event) else { return nil }
        var parts = ["\"stage\":\"\(request.stage.rawValue)\"", "\"received\":\(jsonQuoted(timestamp(event.arrival)))"]
        switch event.origin {
        case .routes(let own, let columns, let source):
            let plan = own.plan
            if plan.sources.indices.contains(source) { parts.append("\"source\":\(jsonQuoted(plan.sources[source].name))") }
            parts.append("\"routes\":[\(verdicts(columns, plan).joined(separator: ","))]")
            let view = EventView(event.line, of: plan)
            parts.append(content(view, shown: isConsented(columns, plan) ? view?.asItCame : nil))
        case .lane(let provider, let route, let answer, let reason):
            parts += ["\"provider\":\(jsonQuoted(provider))", "\"route\":\(jsonQuoted(route))"]
            if let reason { parts.append("\"reason\":\(jsonQuoted(reason))") }
            if let answer { parts.append("\"code\":\(answer.code),\"answer\":\(jsonQuoted(plan.hidden.masked(answer.message)))") }
            let view = EventView(event.line, of: plan)
            parts.append(content(view, shown: view?.asCopy(of: route, to: provider)))
        }
        return "{\(parts.joined(separator: ","))}\n"
    }

    /// Returns the event if it may be shown, and otherwise the names of its members.
    private func content(_ view: EventView?, shown: String?) -> String {
        guard let view else { return "\"event\":null" }
        if request.isRaw { return "\"event\":\(view.asItIs)" }
        if let shown { return "\"event\":\(shown)" }
        return "\"members\":[\(view.memberNames.map(jsonQuoted).joined(separator: ","))]"
    }

    /// Returns true if the values of an event may be shown at this stage: no route denies the event or holds it, and one has asked for its
    /// consent. Without a section `consent` nobody has to ask.
    private func isConsented(_ columns: [UInt8], _ plan: Plan) -> Bool {
        switch request.stage {
        case .in, .denied, .held: return false
        case .filtered, .sampled, .sent, .rejected, .dead: break
        }
        var isAsked = plan.consent == nil
        for column in columns {
            switch Tally.columns[Int(column)] {
            case .denied, .held, .expired, .withdrawn, .outdated: return false
            case .filtered: break
            case .admitted, .sampledOut, .limited, .withheld, .violating: isAsked = true
            }
        }
        return isAsked
    }

    /// Returns the verdict of each route that the tap looks at.
    private func verdicts(_ columns: [UInt8], _ plan: Plan) -> [String] {
        let wanted = request.routes(of: plan)
        assert(columns.count == plan.routes.count, "a route has no verdict")
        return plan.routes.indices.filter { wanted[$0] }.map { index in
            let verdict = Tally.columns[Int(columns[index])]
            var text = "{\"name\":\(jsonQuoted(plan.routes[index].name)),\"verdict\":\"\(verdict.word)\""
            if case .denied(let denial) = verdict { text += ",\"reason\":\(jsonQuoted(denial.rawValue))" }
            return text + "}"
        }
    }

    /// Returns true if the condition holds for the event. An expression that fails does not hold.
    private func isWanted(_ event: TappedEvent) -> Bool {
        guard let condition = request.condition else { return true }
        let paths = PathTrie(condition.paths)
        var (names, index) = (plan.sources.map(\.name), -1)
        if case .routes(let own, _, let source) = event.origin { (names, index) = (own.plan.sources.map(\.name), source) }
        var block = Block(capacity: event.line.count)
        event.line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        var scanner = Scanner(paths, depth: Scanner.deepest)
        guard let scanned = scanner.scan(block.bytes, 0) else { return false }
        var evaluator = Evaluator(ExpressionSet([condition], paths: paths), sources: names)
        return evaluator.decide(0, event: scanned, around: EvaluationContext(now: event.arrival, source: index)) == .yes
    }
}

extension Verdict {
    /// The word that `explain --json` uses.
    fileprivate var word: String {
        switch self {
        case .filtered: "filtered"
        case .denied: "denied"
        case .admitted, .held, .sampledOut, .limited, .withheld, .expired, .withdrawn, .outdated, .violating: key
        }
    }
}
