// Renders erasure jobs, as text for a person and as JSON. Only the full forms, which somebody asks for by the number of a job, have ids.

internal import Delivery
internal import Erasing
internal import Ledger
internal import Platform
internal import Reporting
internal import Terminal

extension LedgerService {
    /// Returns the jobs of these receipts, by receipt.
    func jobs(of receipts: [WithdrawalReceipt]) throws(ConsentRefusal) -> [Int64: [ErasureJob]] {
        try stored { (erasures) throws(StorageFault) in
            var jobs: [Int64: [ErasureJob]] = [:]
            for receipt in receipts { jobs[receipt.number] = try erasures.jobs(of: receipt.number) }
            return jobs
        }
    }
}

extension ErasureJob {
    /// What is known of the job, in words without ids.
    var state: String {
        let last = words.isEmpty ? "" : ": \(printable(words))\(code == 0 ? "" : " (\(code))")"
        let asks = attempts == 0 ? "not asked yet" : "asked \(attempts == 1 ? "once" : "\(grouped(attempts)) times")"
        let when = ended.map { " \(timestamp($0))" } ?? ""
        switch phase {
        case .waiting, .asked:
            return asks + (asked.map { ", last \(timestamp($0))" } ?? "") + (next.map { ", next \(timestamp($0))" } ?? "") + last
        case .confirmed: return "confirmed\(when), \(asks)"
        case .byHand: return "to be done by hand since\(when)\(last)"
        case .givenUp: return "given up\(when), \(asks)\(last)"
        case .done: return "done by hand\(when)"
        }
    }

    /// The job in one line.
    var line: String {
        let reach =
            switch outOfReach.count {
            case 0: ""
            case 1: "; 1 tied id is known only as a hash and is out of reach"
            case let count: "; \(grouped(count)) tied ids are known only as hashes and are out of reach"
            }
        let help = phase.needsPerson ? "; consent erasures --ids \(number) shows the ids" : ""
        return "erasure \(number) at \(printable(provider)): \(state)\(reach)\(help)"
    }

    /// The job with its ids, for the person who acts at the provider.
    var text: String {
        var rows = [("from", "\(printable(origin)), \(timestamp(begun))")]
        if !receipts.isEmpty { rows.append(("receipts", receipts.map(String.init).joined(separator: ", "))) }
        if isUnreadable { rows.append(("ids", "the key that encrypted them is not configured; name it in consent.ledger.previous")) }
        if contents == nil, !isUnreadable { rows.append(("ids", "forgotten, since the erasure has ended")) }
        for named in contents?.named ?? [] {
            rows.append(("id", printable(named.id) + (named.member.map { " in \(printable($0))" } ?? "")))
        }
        for one in contents?.subjects ?? [] {
            rows.append(("there", "\(printable(one.subject.member)) \(printable(one.subject.id)): \(one.state.words)"))
        }
        for hash in outOfReach { rows.append(("out of reach", printable(hash))) }
        return line + "\n" + columns(rows)
    }

    // MARK: - For machines

    private var members: String {
        func time(_ time: Int64?) -> String { time.map { jsonQuoted(timestamp($0)) } ?? "null" }
        return [
            "\"erasure\":\(number)", "\"provider\":\(jsonQuoted(provider))", "\"phase\":\"\(phase.rawValue)\"",
            "\"origin\":\(jsonQuoted(origin))", "\"begun\":\(time(begun))", "\"attempts\":\(attempts)", "\"asked\":\(time(asked))",
            "\"next\":\(time(next))", "\"ended\":\(time(ended))", "\"code\":\(code)", "\"message\":\(jsonQuoted(words))",
            "\"receipts\":[\(receipts.map(String.init).joined(separator: ","))]",
            "\"out_of_reach\":[\(outOfReach.map(jsonQuoted).joined(separator: ","))]",
        ].joined(separator: ",")
    }

    var json: String { "{\(members)}" }

    /// The job with its ids.
    var fullJSON: String {
        let named = (contents?.named ?? []).map { "{\"id\":\(jsonQuoted($0.id)),\"member\":\($0.member.map(jsonQuoted) ?? "null")}" }
        let subjects = (contents?.subjects ?? []).map {
            "{\"member\":\(jsonQuoted($0.subject.member)),\"id\":\(jsonQuoted($0.subject.id)),\"state\":\(jsonQuoted($0.state.words))}"
        }
        return "{\(members),\"ids\":[\(named.joined(separator: ","))],\"subjects\":[\(subjects.joined(separator: ","))]}"
    }

    /// The job as a line of the report.
    var reported: ReportFacts.Erasure { ReportFacts.Erasure(provider: provider, asked: begun, state: state) }
}

extension ErasureJob.Subject.State {
    fileprivate var words: String {
        switch self {
        case .open: "open"
        case .confirmed: "confirmed"
        case .refused(let words): "refused: \(printable(words))"
        }
    }
}
