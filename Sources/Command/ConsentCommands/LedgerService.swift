// Answers requests to a ledger, both for the command and for a router at its control socket. A change takes effect before the answer is
// sent. No answer and no message repeats the id of a request, except in the events that `subject` returns.

public import Audit
internal import ConsentGate
public import Control
internal import Document
public import Erasing
internal import Events
public import Ledger
public import Plans
internal import Platform
internal import Reporting
internal import StateFiles
public import Withdrawal

/// A ledger that a running router uses, or one that no router has.
public enum ConsentLedger: Sendable {
    case running(Registry, Withdrawals)
    case resting(LedgerFile)

    func use<R: Sendable>(
        _ body: @Sendable (LedgerFile) throws(StorageFault) -> (R, [LedgerChange])
    ) throws(ConsentRefusal) -> R {
        do throws(StorageFault) {
            return switch self {
            case .running(let registry, _): try registry.use(body)
            case .resting(let file): try body(file).0
            }
        } catch {
            throw ConsentRefusal(error)
        }
    }

    var isRunning: Bool { if case .running = self { true } else { false } }

    /// The origin of decisions that are recorded through this service.
    var origin: String { if case .running = self { "socket" } else { "command" } }
}

public struct LedgerService: Sendable {
    /// The beginning of the paths of all requests.
    public static let path = LedgerRequest.Action.path

    let ledger: ConsentLedger
    let erasures: Erasures
    private let imports: ConsentImports
    private let folder: String
    /// The audit trail. It is nil if none is kept.
    private let audit: AuditLog?

    /// How to configure a ledger if none is kept.
    public static let advice = #"""
        no ledger is kept; add "ledger": "ids" to its consent section, and a secret of that name to "keys", such as \#
        "ids": "${file:/etc/switchyard/ids.key}"
        """#

    /// The maximum number of ids in one answer of `export`. Other requests are served between two answers.
    private static let page = 5000

    /// `folder` is the state folder of the ledger.
    public init(_ ledger: ConsentLedger, erasures: Erasures, folder: String, audit: AuditLog? = nil) {
        self.ledger = ledger
        self.erasures = erasures
        self.audit = audit
        self.folder = folder
        imports = ConsentImports(ledger)
    }

    /// Answers a request, by the levels and purposes of the plan.
    public func answer(_ request: Request, by plan: Plan) -> Response {
        do throws(ConsentRefusal) {
            let known = LedgerRequest.Action.allCases
            guard let action = known.first(where: { $0.path == request.path }) else {
                throw ConsentRefusal(404, "unknown path, expected \(known.map(\.path).joined(separator: ", "))")
            }
            let names = ConsentNames(plan)
            if action == .import {
                let asked = try LedgerRequest(action, form: Array(request.query.utf8))
                if !imports.isUnderWay(asked) { try note(asked, by: request.user) }
                return try audited(try imports.take(request.body, request: asked, names: names))
            }
            let asked = try LedgerRequest(action, form: request.body)
            try note(asked, by: request.user)
            return try audited(try answer(asked, names: names, plan: plan))
        } catch {
            return .fault(error.status, error.message)
        }
    }

    /// Notes that a person looks at records or changes them. The entry comes before those of what the request changes. That of a look is on
    /// disk before anything is shown. A change is not refused because the trail cannot be written.
    private func note(_ request: LedgerRequest, by user: UInt32?) throws(ConsentRefusal) {
        // The first part of an answer stands for all of them.
        guard let audit, let use = request.use, request.values["after"] == nil else { return }
        let id = request.ids.count == 1 ? request.ids[0] : nil
        let subject = try id.map { (id) throws(ConsentRefusal) in
            try ledger.use { (file) throws(StorageFault) in (file.short(of: LedgerID(id)), []) }
        }
        let forgotten = request.values["forget"].map { " --forget \($0)" } ?? ""
        let what = "consent \(request.action.rawValue)\(forgotten)"
        let count = request.ids.count > 1 ? request.ids.count : nil
        audit.note(.access(what, subject: subject, count: count, at: audit.now, keys: audit.keys, user: user))
        guard use == .looks else { return }
        do throws(StorageFault) {
            try audit.flush()
        } catch {
            throw ConsentRefusal(503, "the access cannot be recorded in the audit trail: \(error)")
        }
    }

    /// Returns the response when everything that it tells is in the audit trail.
    private func audited(_ response: Response) throws(ConsentRefusal) -> Response {
        do throws(StorageFault) {
            try audit?.flush()
            return response
        } catch {
            throw ConsentRefusal(
                503, "what was asked for is done, but the audit trail cannot be written, and tries again: \(error)")
        }
    }

    private func answer(_ request: LedgerRequest, names: ConsentNames, plan: Plan) throws(ConsentRefusal) -> Response {
        let ids = request.ids.map { LedgerID($0) }
        switch request.action {
        case .get:
            let entry = try ledger.use { (file) throws(StorageFault) in (try file.get(ids[0]), []) }
            return shown(request, json: entry.json) { entry.text }
        case .stats:
            let summary = try ledger.use { (file) throws(StorageFault) in (try file.summary(), []) }
            return shown(request, json: summary.json) { summary.text }
        case .receipts:
            let receipts = try ledger.use { (file) throws(StorageFault) in
                guard let id = ids.first else { return (try file.receipts(), []) }
                return (try file.receipts(of: id), [])
            }
            let jobs = try jobs(of: receipts)
            return shown(request, json: receipts.json(jobs)) { receipts.text(jobs) }
        case .erase: return try erase(request)
        case .erasures: return try listErasures(request)
        case .set: return try set(ids[0], request: request, names: names)
        case .withdraw: return try request.values["erase"] != nil ? erase(request) : withdraw(ids, request: request, names: names)
        case .tie: return try tie(ids, request)
        case .untie:
            let isDone = try ledger.use { (file) throws(StorageFault) in
                let isTied = try file.person(of: ids[0]).count > 1
                return (isTied, try file.untie(ids[0]))
            }
            return shown(request, json: #"{"untied":\#(isDone)}"#) { isDone ? "the id is not tied any more\n" : "the id was not tied\n" }
        case .export: return try export(request)
        case .import: throw ConsentRefusal(400, "an import comes in pieces")
        case .clock: return try clock(request)
        case .report: return try report(request, plan)
        case .subject:
            var inquiry = try SubjectInquiry(
                ids[0], ledger, erasures, folder: folder, by: plan, hasOverview: request.values["overview"] != nil)
            let lines = try inquiry.answer(after: request.values["after"])
            return Response(200, type: "text/plain; charset=utf-8", lines)
        }
    }

    /// Reports if the clock is behind the last write. If the request says so, the clock is trusted first.
    private func clock(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let wasBehind = request.values["believe"] == nil ? nil : try believeClock()
        let clock = try ledger.use { (file) throws(StorageFault) in
            let isBehind = file.isClockBehind
            return (LedgerClock(wasBehind: wasBehind ?? isBehind, isBehind: isBehind, lastWritten: file.lastWritten), [])
        }
        return shown(request, json: clock.json) { clock.text }
    }

    /// Trusts the clock. Returns if it was behind.
    private func believeClock() throws(ConsentRefusal) -> Bool {
        do throws(StorageFault) {
            switch ledger {
            case .running(_, let withdrawals): return try withdrawals.believeClock()
            case .resting(let file):
                let wasBehind = file.isClockBehind
                try file.believeClock()
                return wasBehind
            }
        } catch {
            throw ConsentRefusal(error)
        }
    }

    /// Writes the report of the plan and of what the state folder holds.
    private func report(_ request: LedgerRequest, _ plan: Plan) throws(ConsentRefusal) -> Response {
        let format = try request.reportFormat
        var facts = try ledger.use { (file) throws(StorageFault) in (try ReportFacts.read(file), []) }
        facts.erasures = try stored { (erasures) throws(StorageFault) in try erasures.allJobs() }
            .filter { $0.phase.isOpen || $0.phase.needsPerson }.map(\.reported)
        facts.damaged = SetAsideFiles(in: folder).names.map { name in
            ReportFacts.DamagedFile(name: name, bytes: SetAsideFiles.size(of: name, in: folder) ?? 0)
        }
        let document = Report.document(plan, facts, now: Clock.system.wall())
        return Response(200, type: "text/plain; charset=utf-8", document.written(as: format))
    }

    // MARK: - Writing

    private func set(_ id: LedgerID, request: LedgerRequest, names: ConsentNames) throws(ConsentRefusal) -> Response {
        let granted = try names.purposes(request.list("grant") ?? [], of: "grant")
        let denied = try names.purposes(request.list("deny") ?? [], of: "deny")
        if let level = request.values["level"] { try names.checkLevel(level) }
        guard request.values["level"] != nil || !granted.isEmpty || !denied.isEmpty else {
            throw ConsentRefusal(400, "set has nothing to record: expected level, grant or deny")
        }
        if let both = granted.first(where: denied.contains) {
            throw ConsentRefusal(400, "'\(names.shown(both))' is both granted and denied")
        }
        let terms = ConsentTerms(level: request.values["level"], granted: granted, denied: denied, version: request.values["version"])
        let decided = try request.time
        return try decision(request) { (file, origin) throws(StorageFault) in
            try file.set(id, terms, decided: decided, origin: origin)
        }
    }

    /// Withdraws the consent of all these ids in one transaction.
    private func withdraw(_ ids: [LedgerID], request: LedgerRequest, names: ConsentNames) throws(ConsentRefusal) -> Response {
        let purposes = try request.list("purposes").map { (list) throws(ConsentRefusal) in try names.purposes(list, of: "purposes") }
        let receipts = try recordWithdrawal(ids, purposes: purposes)
        if ids.count == 1 {
            var shown: Int64?
            if case .running = ledger { shown = receipts.first }
            return decided(request, holds: !receipts.isEmpty, receipt: shown)
        }
        return withdrawn(request, ids: ids.count, receipts)
    }

    /// Records the withdrawals in one transaction. Returns the receipts of those that hold.
    func recordWithdrawal(_ ids: [LedgerID], purposes: [String]?) throws(ConsentRefusal) -> [Int64] {
        do throws(StorageFault) {
            switch ledger {
            // The next router that starts with this folder destroys the waiting events.
            case .resting(let file): return try file.withdraw(all: ids, purposes: purposes, origin: ledger.origin).receipts
            case .running(_, let withdrawals): return try withdrawals.withdraw(all: ids, purposes: purposes, origin: ledger.origin)
            }
        } catch {
            throw ConsentRefusal(error)
        }
    }

    private func withdrawn(_ request: LedgerRequest, ids: Int, _ receipts: [Int64]) -> Response {
        let late = ids - receipts.count
        let range = receipts.first.map { first in #","receipts":[\#(first),\#(receipts.last ?? first)]"# } ?? ""
        return shown(request, json: #"{"withdrawn":\#(receipts.count),"late":\#(late)\#(range)}"#) {
            let more = late > 0 ? "; \(grouped(late)) are only in the history, since later decisions are on record" : ""
            let numbers =
                receipts.first.map { "; receipts \($0) to \(receipts.last ?? $0) show how many waiting events are destroyed" } ?? ""
            return "\(LedgerService.withdrawn(receipts.count, of: ids))\(numbers)\(more)\n"
        }
    }

    /// Says how many of some ids are withdrawn.
    static func withdrawn(_ count: Int, of ids: Int) -> String {
        ids == 1 && count == 1 ? "the id is withdrawn" : "\(grouped(count)) of \(grouped(ids)) ids are withdrawn"
    }

    private func decision(
        _ request: LedgerRequest, _ body: @Sendable (LedgerFile, String) throws(StorageFault) -> LedgerOutcome
    ) throws(ConsentRefusal) -> Response {
        let origin = ledger.origin
        let outcome = try ledger.use { (file) throws(StorageFault) in
            let outcome = try body(file, origin)
            return (outcome, outcome.changes)
        }
        return decided(request, holds: outcome.holds)
    }

    private func decided(_ request: LedgerRequest, holds: Bool, receipt: Int64? = nil) -> Response {
        let number = receipt.map { #","receipt":\#($0)"# } ?? ""
        return shown(request, json: #"{"holds":\#(holds)\#(number)}"#) {
            let more = receipt.map { "; receipt \($0) will show how many waiting events were destroyed" } ?? ""
            return holds ? "it is on record\(more)\n" : "it is only in the history, since a later decision is on record\n"
        }
    }

    private func tie(_ ids: [LedgerID], _ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        let refusal: String? = try ledger.use { (file) throws(StorageFault) in
            switch try file.tie(ids) {
            case .tied(let changes): (nil, changes)
            case .refused(let message): (message, [])
            }
        }
        if let refusal { throw ConsentRefusal(409, "this \(refusal)") }
        return shown(request, json: #"{"tied":true}"#) { "the ids are tied: a decision for one of them applies to all\n" }
    }

    // MARK: - Export

    /// Returns a page of the export. Its first line has the number after which the next page begins. The line is empty on the last page.
    private func export(_ request: LedgerRequest) throws(ConsentRefusal) -> Response {
        var options = LedgerFile.ExportOptions()
        options.format = try request.format
        options.hasHistory = request.values["history"] != nil
        options.most = LedgerService.page
        if let text = request.values["after"] {
            guard let after = Int64(text), after >= 0 else { throw ConsentRefusal(400, "after must be the number from an earlier answer") }
            options.after = after
        }
        let wanted = options
        let (next, text) = try ledger.use { (file) throws(StorageFault) in
            var text: [UInt8] = []
            let next = try file.export(wanted) { text += $0 }
            return ((next, text), [])
        }
        return Response(200, type: "text/plain; charset=utf-8", Array("\(next.map { String($0) } ?? "")\n".utf8) + text)
    }

    func shown(_ request: LedgerRequest, json: String, text: () -> String) -> Response {
        request.values["json"] != nil ? Response(200, json + "\n") : Response(200, type: "text/plain; charset=utf-8", text())
    }
}

extension LedgerRequest {
    var reportFormat: ReportFormat {
        get throws(ConsentRefusal) {
            guard let text = values["format"] else { return .text }
            guard let format = ReportFormat(rawValue: text) else { throw ConsentRefusal(400, "format must be text, csv or html") }
            return format
        }
    }

    var format: LedgerFormat {
        get throws(ConsentRefusal) {
            guard let text = values["format"] else { return .ndjson }
            guard let format = LedgerFormat(rawValue: text) else {
                throw ConsentRefusal(400, "format must be \(LedgerFormat.allCases.map(\.rawValue).joined(separator: " or "))")
            }
            return format
        }
    }

    /// The time of the decision, in nanoseconds since 1970. It is nil for now.
    var time: Int64? {
        get throws(ConsentRefusal) {
            guard let text = values["at"] else { return nil }
            guard let time = Array(text.utf8).withUnsafeBufferPointer({ Times.parse($0) }) else {
                throw ConsentRefusal(400, "at must be a time such as 2026-11-21T10:30:00Z")
            }
            return time
        }
    }
}
