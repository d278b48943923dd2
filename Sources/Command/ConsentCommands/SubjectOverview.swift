// What a copy of a person's data says besides the data: which providers may have something of the person, and what could not be searched.
// Each is one object on one line, behind the lines of a SubjectInquiry.

internal import Erasing
internal import Ledger
internal import Plans
internal import Platform
internal import StateFiles

struct SubjectOverview {
    let plan: Plan
    /// The providers that have a queue or dead letters in the state folder, or may have got events.
    let known: Set<String>
    /// The receipts of the person's withdrawals, and the jobs that began with them.
    let receipts: [WithdrawalReceipt]
    let jobs: [ErasureJob]
    /// The files that were set aside as damaged, and may hold events of anybody.
    let setAside: [String]

    var lines: String {
        let hasKey = plan.consent?.evidence != nil
        let files = setAside.map(jsonQuoted).joined(separator: ",")
        return "{\"place\":\"overview\",\"evidence_key\":\(hasKey),\"set_aside\":[\(files)]}\n" + providers.map(line).joined()
    }

    private struct Provider {
        var name: String
        /// The module. It is nil if the configuration does not have the provider.
        var plugin: String?
        var routes: [String]
    }

    /// The providers to which a route leads, that are known, or that have a job.
    private var providers: [Provider] {
        var found: [Provider] = []
        let known = known.union(jobs.map(\.provider))
        for (index, provider) in plan.providers.enumerated() {
            let routes = plan.routes.filter { $0.providers.contains(index) }.map(\.name)
            guard !routes.isEmpty || known.contains(provider.name) else { continue }
            found.append(Provider(name: provider.name, plugin: provider.plugin, routes: routes))
        }
        let others = known.subtracting(plan.providers.map(\.name)).sorted()
        return found + others.map { Provider(name: $0, plugin: nil, routes: []) }
    }

    private func line(_ provider: Provider) -> String {
        let lines = receipts.flatMap(\.lines).filter { $0.place == "queue of \(provider.name)" }
        let erasures = jobs.filter { $0.provider == provider.name }.map { jsonQuoted($0.line) }
        return "{\"place\":\"providers\",\"provider\":\(jsonQuoted(provider.name)),"
            + "\"plugin\":\(provider.plugin.map(jsonQuoted) ?? "null"),\"configured\":\(provider.plugin != nil),"
            + "\"routes\":[\(provider.routes.map(jsonQuoted).joined(separator: ","))],"
            + "\"in_flight_at_withdrawals\":\(lines.reduce(0) { $0 + $1.inHands }),"
            + "\"destroyed_at_withdrawals\":\(lines.reduce(0) { $0 + $1.events }),\"erasures\":[\(erasures.joined(separator: ","))]}\n"
    }
}
