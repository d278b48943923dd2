// The part of the judge that tries an event: it gives the same verdicts as `judge` gives to an event that came without a key, but appends
// nothing and remembers nothing.

internal import Editing
public import Events
internal import Expressions

extension Judge {
    /// Returns the verdict of each route, in order. Appends nothing and remembers nothing.
    public mutating func verdicts(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [Verdict] {
        tried(event, arrival: arrival, source: source).map(\.verdict)
    }

    /// What a route did with an event in a trial.
    struct Tried {
        var verdict: Verdict
        var steps: [StepFinding]
        var branches: [StepBranches]
        /// The steps that were left for the event before the route.
        var left: EventSteps.Left
    }

    /// Returns the verdict of each route with the findings of its steps.
    mutating func tried(_ event: ScannedEvent, arrival: Int64, source: Int) -> [Tried] {
        context.isTrial = true
        defer {
            context.isTrial = false
            forgetErrors()
        }
        filter.removeLimit()
        begin(arrival, source, isForLedger: isForLedger(event))
        return (0..<rules.routes.count).map { route in
            (copies.transform.findings, copies.transform.branches) = ([], [])
            let left = context.steps.left
            let verdict: Verdict =
                switch decide(event, route) {
                case .admitted: .admitted
                case .rejected: .violating
                case .refused(let verdict): verdict
                }
            return Tried(verdict: verdict, steps: copies.transform.findings, branches: copies.transform.branches, left: left)
        }
    }

    /// Forgets the errors of a trial, so that no tally counts them.
    mutating func forgetErrors() { _ = (sampling.takeErrors(), copies.transform.takeErrors()) }
}
