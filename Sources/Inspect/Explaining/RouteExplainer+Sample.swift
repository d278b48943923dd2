// Describes what a route's sample decided.

internal import Events
internal import Expressions
internal import Plans
internal import Platform
internal import Sampling

extension RouteExplainer {
    func sample(_ plan: SamplePlan, _ finding: SampleFinding) -> String {
        if finding.isKept { return "\(isNow(Path(keys: ["event"]))), always in the sample" }
        if let keep = finding.keepCondition, keep.holds { return "\(describe(keep)), always in the sample" }
        let share = share(plan, finding) + reason(plan, finding)
        guard let limit = plan.limit, let isWithin = finding.isWithinLimit else { return share }
        return "\(share); \(isWithin ? "within" : "over") the limit of \(limit.rate.configured)"
            + (limit.by.map { " for each \(printable($0.description))" } ?? "")
    }

    private func share(_ plan: SamplePlan, _ finding: SampleFinding) -> String {
        if finding.rate >= 1 { return "the sample takes every event" }
        if finding.rate <= 0 { return "the sample takes no event" }
        let hashes =
            switch finding.basis {
            case .member: "\(plan.by.map { printable($0.description) } ?? "") hashes to"
            case .messageID: (plan.by.map { "\(unfit($0)), " } ?? "") + "messageId hashes to"
            case .wholeEvent: (plan.by.map { "\(unfit($0)), " } ?? "") + "\(unfit(Path(keys: ["messageId"]))), the event's bytes hash to"
            }
        return "\(hashes) \(RouteExplainer.fraction(finding.hash, for: finding.rate)), the sample takes hashes below \(finding.rate)"
    }

    /// Says why a member could not decide.
    private func unfit(_ path: Path) -> String {
        printable(path.description) + (came[path] == nil ? " is absent" : " cannot be hashed")
    }

    /// Describes where the rate comes from. It is empty if the sample has only one rate.
    private func reason(_ plan: SamplePlan, _ finding: SampleFinding) -> String {
        if let target = plan.target { return ", for \(target.configured)" }
        return finding.named.map { " of \(shown(plan.rates[$0].glob.pattern))" } ?? ""
    }

    /// Returns the hash as a fraction, rounded down, with at least as many digits as the rate has. So it never seems to be on the other
    /// side of the rate.
    private static func fraction(_ hash: UInt64, for rate: Double) -> String {
        var digits = 2
        var scale: UInt64 = 100
        while digits < 15, rate * Double(scale) != (rate * Double(scale)).rounded() {
            digits += 1
            scale *= 10
        }
        let shown = String(hash.multipliedFullWidth(by: scale).high)
        assert(shown.utf8.count <= digits, "a fraction below 1 has a digit before the point")
        return "0." + String(repeating: "0", count: digits - shown.utf8.count) + shown
    }
}
