// Describes what the steps of a route's transform found out: what `scrub` found, by kind and number but never the text; which expressions
// had no value; and which step holds the event back.

internal import Editing
internal import Events
internal import Expressions
internal import Judging
internal import Platform

extension RouteExplainer {
    /// The descriptions of the steps, in order. If the route holds the event back, the last one names the step and the reason.
    var steps: [String] {
        let parts = finding.steps.map(describe)
        guard finding.verdict == .withheld, let last = finding.steps.last, let reason = parts.last else { return parts }
        return parts.dropLast() + ["\(place(last.step)) holds the event back: \(reason)"]
    }

    /// The members that an expression failed to set.
    var unset: Set<Path> {
        Set(finding.steps.compactMap { step in if case .erred(let path, _) = step.report { path } else { nil } })
    }

    private func describe(_ step: StepFinding) -> String {
        switch step.report {
        case .found(let finds):
            "scrub finds " + (finds.isEmpty ? "nothing" : finds.map { "\($0.count) × \($0.kind)" }.joined(separator: ", "))
        case .erred(let path, let fault): "cannot set \(printable(path.description)), \(RouteExplainer.error(fault))"
        case .unsearched(let count):
            "mask replaces \(count == 1 ? "a string" : "\(count) strings") whole, because to search takes more steps than the event may take"
        case .unread: "to run it takes more steps than the event may take"
        case .broken(let fault): "its result is not an event, \(printable(fault.message))"
        }
    }

    private func place(_ step: Int?) -> String { step.map { "transform[\($0)]" } ?? "the transform" }

    static func error(_ fault: EvaluationFault) -> String { "\(printable(fault.part)): \(fault.message)" }

    /// The number of texts of each kind that all steps together found.
    var found: [(kind: String, count: Int)] {
        var sums: [(kind: String, count: Int)] = []
        for step in finding.steps {
            guard case .found(let finds) = step.report else { continue }
            for find in finds {
                if let i = sums.firstIndex(where: { $0.kind == find.kind }) {
                    sums[i].count += find.count
                } else {
                    sums.append((find.kind, find.count))
                }
            }
        }
        return sums
    }

    var errors: [Explanation.Route.StepError] {
        finding.steps.compactMap { step in
            guard case .erred(let path, let fault) = step.report else { return nil }
            return Explanation.Route.StepError(member: path.description, error: RouteExplainer.error(fault))
        }
    }
}
