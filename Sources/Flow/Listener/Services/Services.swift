// The list of all services. A new dialect needs a file in this folder, a line here, and its name in the list of SourceForms.

internal import Plans

enum Services {
    /// Returns the services that the source offers.
    static func all(of plan: HTTPSourcePlan) -> [any Service] {
        let all: [any Service] = [NativeService(addsReceivedAt: plan.addsReceivedAt), SegmentService(), OTLPService()]
        guard let wanted = plan.dialects else { return all }
        return all.filter { wanted.contains($0.name) }
    }
}
