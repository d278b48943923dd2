// Every service there is. A new dialect is a file beside this one, a line here, and its name among those of SourceForms.

internal import Plans

enum Services {
    /// Those that a source takes.
    static func all(of plan: HTTPSourcePlan) -> [any Service] {
        let all: [any Service] = [NativeService(addsReceivedAt: plan.addsReceivedAt), SegmentService(), OTLPService()]
        guard let wanted = plan.dialects else { return all }
        return all.filter { wanted.contains($0.name) }
    }
}
