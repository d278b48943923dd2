// Answers requests about erasures. An erasure always withdraws first, so that no event of the person arrives behind it: the withdrawal is on
// record before the jobs are, and the jobs are on disk before the answer is sent. If the process is killed in between, the request has no
// answer, and is repeated.

internal import ConsentGate
internal import Control
internal import Erasing
internal import Ledger
internal import Platform

extension LedgerService {
    /// What a demand needs from the ledger.
    private struct Found: Sendable {
        var ids: [String] = []
        var receipts: [Int64] = []
        var own: Set<HashedID> = []
        var ties: [HashedID] = []
    }

    /// Withdraws everything for these ids, and begins a job for each provider that may hold something of them.
    func erase(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        guard request.values["purposes"] == nil else {
            throw ConsentRefusal(400, "an erasure withdraws everything, so it takes no purposes")
        }
        let receipts = try recordWithdrawal(request.ids.map { LedgerID($0) }, purposes: nil)
        let demands = try demands(request.ids)
        let count = demands.reduce(0) { $0 + $1.ids.count }
        guard count > 0 else {
            throw ConsentRefusal(409, "later decisions are on record, so nothing is withdrawn and nobody is asked to erase")
        }
        let jobs: [ErasureJob]
        do throws(StorageFault) {
            jobs = try erasures.begin(demands)
        } catch {
            throw ConsentRefusal(
                ConsentRefusal(error).status, "the withdrawal is on record, and nobody is asked to erase: \(error); repeat the command")
        }
        return answer(request, withdrawn: count, receipts, jobs)
    }

    /// Returns the demands for those of the ids that are withdrawn on record.
    private func demands(_ ids: [String]) throws(ConsentRefusal) -> [ErasureDemand] {
        var parts: [Found] = []
        for start in stride(from: 0, to: ids.count, by: ErasureJob.mostIDs) {
            let part = Array(ids[start..<min(start + ErasureJob.mostIDs, ids.count)])
            parts.append(
                try ledger.use { (file) throws(StorageFault) in
                    var found = Found()
                    for id in part {
                        guard let entry = try file.get(LedgerID(id)), entry.record?.terms.isWithdrawn == true else { continue }
                        found.ids.append(id)
                        found.own.insert(entry.id)
                        found.ties += entry.ties
                        if let receipt = try file.receipts(of: LedgerID(id)).last { found.receipts.append(receipt.number) }
                    }
                    return (found, [])
                })
        }
        let own = parts.reduce(into: Set<HashedID>()) { $0.formUnion($1.own) }
        return parts.filter { !$0.ids.isEmpty }.map { part in
            let ties = Set(part.ties).subtracting(own).map { "\($0.key):\($0.digits)" }.sorted()
            return ErasureDemand(ids: part.ids.map { NamedID($0) }, receipts: part.receipts, outOfReach: ties, origin: ledger.origin)
        }
    }

    private func answer(_ request: LedgerRequest, withdrawn: Int, _ receipts: [Int64], _ jobs: [ErasureJob]) -> Response {
        let late = request.ids.count - withdrawn
        let asked = jobs.filter(\.phase.isOpen)
        let byHand = jobs.filter(\.phase.needsPerson)
        let parts = [
            "\"withdrawn\":\(withdrawn)", "\"late\":\(late)",
            receipts.first.map { "\"receipts\":[\($0),\(receipts.last ?? $0)]" } ?? "\"receipts\":null",
            "\"erasures\":[\(jobs.map(\.json).joined(separator: ","))]",
        ]
        return shown(request, json: "{\(parts.joined(separator: ","))}") {
            var lines = [LedgerService.withdrawn(withdrawn, of: request.ids.count)]
            if late > 0 {
                lines[0] += "; \(grouped(late)) are only in the history, since later decisions are on record, and are not erased"
            }
            if jobs.isEmpty { lines.append("no route leads to a provider, so nobody is asked to erase") }
            if !asked.isEmpty {
                let names = Set(asked.map(\.provider)).sorted().map(printable).joined(separator: ", ")
                lines.append("\(ledger.isRunning ? "will be asked to erase" : "the next router that starts will ask to erase"): \(names)")
            }
            if !ledger.isRunning { lines.append("the next router that starts destroys the events that wait in its state folder") }
            for job in byHand { lines.append(job.line) }
            if let first = jobs.first, let last = jobs.last {
                let numbers = first.number == last.number ? "erasure \(first.number)" : "erasures \(first.number) to \(last.number)"
                lines.append("\(numbers); switchyard consent erasures shows what becomes of them")
            }
            return lines.map { $0 + "\n" }.joined()
        }
    }

    // MARK: - Jobs

    /// Lists the jobs, or shows or changes one.
    func listErasures(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let chosen = ["ids", "again", "done", "providers", "forget"].filter { request.values[$0] != nil }
        guard chosen.count <= 1, chosen.isEmpty || request.values["all"] == nil else {
            throw ConsentRefusal(400, "erasures takes one of all, ids, again, done, providers and forget")
        }
        switch chosen.first {
        case "ids"?:
            let job = try job(request, "ids")
            return shown(request, json: job.fullJSON) { job.text }
        case "again"?: return try askAgain(request)
        case "done"?: return try settle(request)
        case "providers"?: return try listReceivers(request)
        case "forget"?: return try forget(request)
        default: return try list(request)
        }
    }

    private func list(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let showsAll = request.values["all"] != nil
        let jobs = try stored { (erasures) throws(StorageFault) in try erasures.allJobs() }.filter {
            showsAll || $0.phase.isOpen || $0.phase.needsPerson
        }
        return shown(request, json: "[\(jobs.map(\.json).joined(separator: ","))]") {
            if jobs.isEmpty { return showsAll ? "no provider was asked to erase\n" : "no erasure is open\n" }
            return jobs.map { $0.line + "\n" }.joined()
        }
    }

    private func askAgain(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let job = try job(request, "again")
        switch try stored({ (erasures) throws(StorageFault) in try erasures.again(job.number) }) {
        case nil: return shown(request, json: "{\"asked\":true}") { "\(printable(job.provider)) is asked again\n" }
        case .unknown: throw LedgerService.noJob(job.number)
        case .hasEnded: throw ConsentRefusal(409, "erasure \(job.number) has ended, and its ids are forgotten; erase them by consent erase")
        case .isOpen: throw ConsentRefusal(409, "erasure \(job.number) is open, so its provider is asked again anyway")
        case .unaskable(let reason): throw ConsentRefusal(409, "erasure \(job.number) cannot be asked again: \(reason)")
        }
    }

    private func settle(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let job = try job(request, "done")
        guard try stored({ (erasures) throws(StorageFault) in try erasures.settle(job.number) }) else {
            throw ConsentRefusal(409, "erasure \(job.number) has ended")
        }
        return shown(request, json: "{\"done\":true}") { "erasure \(job.number) is done by hand, and its ids are forgotten\n" }
    }

    /// Lists the providers that may have got events.
    private func listReceivers(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let (receivers, configured) = try stored { (erasures) throws(StorageFault) in
            (try erasures.receivers(), Set(erasures.configured))
        }
        let rows = receivers.map { receiver in
            "{\"provider\":\(jsonQuoted(receiver.provider)),\"since\":\(jsonQuoted(timestamp(receiver.since))),"
                + "\"configured\":\(configured.contains(receiver.provider))}"
        }
        return shown(request, json: "[\(rows.joined(separator: ","))]") {
            if receivers.isEmpty { return "no provider may have got events\n" }
            return receivers.map { receiver in
                let gone = configured.contains(receiver.provider) ? "" : ", not in the configuration any more"
                return "\(printable(receiver.provider)): since \(timestamp(receiver.since))\(gone)\n"
            }.joined()
        }
    }

    private func forget(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let name = request.values["forget"] ?? ""
        switch try stored({ (erasures) throws(StorageFault) in try erasures.forget(name) }) {
        case nil:
            return shown(request, json: "{\"forgotten\":true}") {
                "\(printable(name)) is forgotten: later erasures do not concern it\n"
            }
        case .unknown: throw ConsentRefusal(409, "no provider \(printable(name)) is on record; --providers lists them")
        case .isConfigured: throw ConsentRefusal(409, "\(printable(name)) is in the configuration, so it may get events; take it out first")
        case .isStored:
            throw ConsentRefusal(
                409, "\(printable(name)) still has a queue or dead letters; see switchyard spool and switchyard dead-letters, or wait")
        }
    }

    private func job(_ request: LedgerRequest, _ member: String) throws(ConsentRefusal) -> ErasureJob {
        guard let number = request.values[member].flatMap(Int64.init), number > 0 else {
            throw ConsentRefusal(400, "\(member) must be the number of an erasure")
        }
        guard let job = try stored({ (erasures) throws(StorageFault) in try erasures.job(number) }) else {
            throw LedgerService.noJob(number)
        }
        return job
    }

    private static func noJob(_ number: Int64) -> ConsentRefusal { ConsentRefusal(409, "there is no erasure \(number)") }

    /// Calls the body with the jobs. A fault of their file is a refusal.
    func stored<R>(_ body: (Erasures) throws(StorageFault) -> R) throws(ConsentRefusal) -> R {
        do throws(StorageFault) {
            return try body(erasures)
        } catch {
            throw ConsentRefusal(error)
        }
    }
}
