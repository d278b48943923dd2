// A request to a ledger, as the command sends it to the process that has the ledger: a form, which curl can write too. Ids are only in the
// body, since others may see paths and queries. This file does no input or output.

internal import Control
internal import Platform

struct LedgerRequest: Sendable, Equatable {
    enum Action: String, CaseIterable, Sendable {
        case get, set, withdraw, erase, erasures, tie, untie, export, `import`, stats, receipts, clock, subject, report

        static let path = "/consent/"
        var path: String { Action.path + rawValue }

        /// The number of ids that the action takes.
        var ids: ClosedRange<Int> {
            switch self {
            case .get, .set, .untie, .subject: 1...1
            case .withdraw, .erase: 1...LedgerRequest.mostWithdrawn
            case .tie: 2...1000
            case .receipts: 0...1
            case .export, .import, .stats, .clock, .report, .erasures: 0...0
            }
        }

        /// The other members that the action takes. The command has an option of the same name for each.
        var members: [String] {
            switch self {
            case .get, .tie, .untie, .stats, .receipts: ["json"]
            case .clock: ["believe", "json"]
            case .subject: ["export"]
            case .set: ["level", "grant", "deny", "version", "at", "json"]
            case .withdraw: ["purposes", "from", "erase", "json"]
            case .erase: ["from", "json"]
            case .erasures: ["all", "ids", "again", "done", "providers", "forget", "json"]
            case .export: ["format", "history"]
            case .report: ["format"]
            case .import: ["format", "at", "json"]
            }
        }

        /// The members that the command adds itself. They are not options.
        var inner: [String] {
            switch self {
            case .export: ["after"]
            case .subject: ["after", "overview"]
            case .import: ["session", "end"]
            default: []
            }
        }
    }

    /// The largest number of ids in one withdrawal, which is one transaction.
    static let mostWithdrawn = 100_000

    var action: Action
    var ids: [String] = []
    var values: [String: String] = [:]

    /// What the request does with the records of people.
    enum Use { case looks, changes }
    /// It is nil if the request asks only for numbers or for the clock.
    var use: Use? {
        switch action {
        case .get, .subject, .export, .receipts, .report: .looks
        case .erasures: ["again", "done", "forget"].allSatisfy { values[$0] == nil } ? .looks : .changes
        case .set, .withdraw, .erase, .tie, .untie, .import: .changes
        case .clock: values["believe"] == nil ? nil : .changes
        case .stats: nil
        }
    }

    /// Returns the names in a list separated by commas, or nil if the member is missing.
    func list(_ member: String) -> [String]? {
        values[member].map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
    }

    // MARK: - As a form

    var form: String {
        Form.text(ids.map { ("id", $0) } + values.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    }

    init(_ action: Action, ids: [String] = [], _ values: [String: String] = [:]) {
        self.action = action
        self.ids = ids
        self.values = values
    }

    init(_ action: Action, form: [UInt8]) throws(ConsentRefusal) {
        self.action = action
        guard let members = Form.members(form) else {
            throw ConsentRefusal(400, "expected a form such as id=u1&level=standard, in UTF-8")
        }
        for (name, value) in members {
            if name == "id" {
                ids.append(value)
            } else if action.members.contains(name) || action.inner.contains(name), values[name] == nil {
                values[name] = value
            } else {
                let known = (action.ids.upperBound > 0 ? ["id"] : []) + action.members
                throw ConsentRefusal(400, "\(action.rawValue) takes \(known.joined(separator: ", ")), each once, and nothing else")
            }
        }
        try checkIDs()
    }

    func checkIDs() throws(ConsentRefusal) {
        guard action.ids.contains(ids.count) else {
            let wanted =
                action == .withdraw || action == .erase
                ? "one id up to \(grouped(LedgerRequest.mostWithdrawn))"
                : action == .tie ? "two ids or more" : action.ids.upperBound == 0 ? "no id" : "one id"
            throw ConsentRefusal(400, "\(action.rawValue) takes \(wanted), was given \(ids.count)")
        }
        guard !ids.contains("") else { throw ConsentRefusal(400, "an id is empty") }
        guard Set(ids).count == ids.count else { throw ConsentRefusal(400, "an id was given twice") }
    }
}

/// Why a request was not carried out, as an HTTP status and as a message for a person.
struct ConsentRefusal: Error, Equatable {
    /// 400 or 404 if the request is invalid, 409 if the ledger does not allow it, 422 if no ledger is kept, 500 or 503 if it failed.
    var status: Int
    var message: String
    init(_ status: Int, _ message: String) {
        self.status = status
        self.message = message
    }
}

extension ConsentRefusal {
    /// A ledger that another process has locked can be asked again soon.
    init(_ fault: StorageFault) { self.init(fault.kind == .taken ? 503 : 500, fault.description) }
}
