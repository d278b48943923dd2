// What the steps of a route's transform found out, in words: what `scrub` found, by kind and number and never the text, which
// expressions had no value, and which step holds the event back.

internal import Editing
internal import Events
internal import Expressions
internal import Judging
internal import Platform

extension RouteExplainer {
    /// One after the other; the last one of a route that holds the event back says which step does and why.
    var steps: [String] {
        let told = finding.steps.map(told)
        guard finding.verdict == .withheld, let last = finding.steps.last, let reason = told.last else { return told }
        return told.dropLast() + ["\(place(last.step)) holds the event back: \(reason)"]
    }

    /// The members that an expression did not set.
    var unset: Set<Path> {
        Set(finding.steps.compactMap { step in if case .erred(let path, _) = step.report { path } else { nil } })
    }

    private func told(_ step: StepFinding) -> String {
        switch step.report {
        case .found(let finds):
            "scrub finds " + (finds.isEmpty ? "nothing" : finds.map { "\($0.count) × \($0.kind)" }.joined(separator: ", "))
        case .erred(let path, let fault): "cannot set \(printable(path.description)), \(RouteExplainer.error(fault))"
        case .broken(let fault): "what it leaves is no event, \(printable(fault.message))"
        }
    }

    private func place(_ step: Int?) -> String { step.map { "transform[\($0)]" } ?? "the transform" }

    static func error(_ fault: EvaluationFault) -> String { "\(printable(fault.part)): \(fault.message)" }

    /// How many of each kind all steps together found.
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
