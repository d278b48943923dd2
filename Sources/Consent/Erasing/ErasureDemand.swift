// What a command or an event asks for, and the jobs that follow from it: one for each provider that may hold something of the ids.

internal import Delivery
internal import Plans
internal import Platform

public struct ErasureDemand: Sendable {
    /// At most `ErasureJob.mostIDs`.
    public var ids: [NamedID]
    /// The receipts of the withdrawals that were recorded before.
    public var receipts: [Int64]
    /// Ids of the same persons that are known only as hashes, as `KEY:DIGITS`.
    public var outOfReach: [String]
    public var origin: String

    public init(ids: [NamedID], receipts: [Int64], outOfReach: [String], origin: String) {
        self.ids = ids
        self.receipts = receipts
        self.outOfReach = outOfReach
        self.origin = origin
    }

    /// Returns the jobs. Every provider of the plan to which a route leads has one, since nobody records of whom it got events. So has every
    /// name of `stored`, the providers that have a queue or dead letters, and of `receivers`, those that may have got events. A provider whose
    /// form of the ids is not known is never asked; a person must act there.
    func jobs(by plan: Plan, _ forms: KnownForms, stored: Set<String>, receivers: Set<String>, at now: Int64) -> [ErasureJob] {
        let others = stored.union(receivers)
        assert(!ids.isEmpty && ids.count <= ErasureJob.mostIDs, "a job names nobody, or too many")
        let routed = Set(plan.routes.flatMap(\.providers))
        var jobs: [ErasureJob] = []
        for (index, provider) in plan.providers.enumerated() where routed.contains(index) || others.contains(provider.name) {
            let subjects = forms.subjects(ids, at: index)
            var job = job(at: provider.name, plugin: provider.plugin, subjects, now)
            if subjects.isEmpty {
                job.leaveToPerson(routed.contains(index) ? ErasureDemand.unknownForm : ErasureDemand.noRoute, at: now)
            } else {
                job.next = now + (plan.consent?.erasures ?? ErasurePlan()).wait.nanoseconds
            }
            jobs.append(job)
        }
        for name in others.subtracting(plan.providers.map(\.name)).sorted() {
            var job = job(at: name, plugin: "", [], now)
            job.leaveToPerson(stored.contains(name) ? ErasureDemand.noProvider : ErasureDemand.goneProvider, at: now)
            jobs.append(job)
        }
        return jobs
    }

    private func job(at provider: String, plugin: String, _ subjects: [SubjectID], _ now: Int64) -> ErasureJob {
        var job = ErasureJob(
            provider: provider, plugin: plugin, origin: origin, begun: now, receipts: receipts,
            contents: .init(named: ids, subjects: subjects.map { .init($0) }))
        job.outOfReach = outOfReach
        return job
    }

    static let unknownForm = "no route passes these ids on as they are or hashed, so look there for what else identifies the person"
    static let noRoute = "no route leads to it now, so the form in which it got the ids is not known; erase them there by hand"
    static let noProvider = "it has a queue or dead letters and is not in the configuration; erase the ids there by hand"
    static let goneProvider = "it may have got events, and is not in the configuration any more; erase the ids there by hand"
}

extension ErasureJob {
    /// Ends a job that was never asked.
    fileprivate mutating func leaveToPerson(_ words: String, at now: Int64) {
        (phase, next, ended, self.words) = (.byHand, nil, now, words)
    }
}
