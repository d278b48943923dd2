// The part of the judge that tries an event: it gives the same verdicts as `judge` gives to an event that came without a key, but appends
// nothing and remembers nothing.

internal import Editing
public import Events

extension Judge {
    /// Returns the verdict of each route, in order. Appends nothing and remembers nothing.
    public mutating func verdicts(of event: ScannedEvent, arrival: Int64 = 0, source: Int = 0) -> [Verdict] {
        tried(event, arrival: arrival, source: source).map(\.verdict)
    }

    /// Returns the verdict of each route with the findings of its steps.
    mutating func tried(_ event: ScannedEvent, arrival: Int64, source: Int) -> [(verdict: Verdict, steps: [StepFinding])] {
        context.isTrial = true
        defer {
            context.isTrial = false
            forgetErrors()
        }
        filter.removeLimit()
        begin(arrival, source, isForLedger: isForLedger(event))
        return (0..<rules.routes.count).map { route in
            copies.transform.findings = []
            let verdict: Verdict =
                switch decide(event, route) {
                case .admitted: .admitted
                case .refused(let verdict): verdict
                }
            return (verdict, copies.transform.findings)
        }
    }

    /// Forgets the errors of a trial, so that no tally counts them.
    mutating func forgetErrors() { _ = (sampling.takeErrors(), copies.transform.takeErrors()) }
}
