// Opens the audit trail of a state folder, as a plan defines it. A command that only adds an entry may do so beside a router.

public import Audit
public import Plans
internal import Platform
internal import Terminal

extension AuditKeys {
    /// Returns nil if the plan has no audit trail.
    public init?(_ plan: Plan) {
        guard let audit = plan.audit else { return nil }
        self.init(
            plan.keys[audit.key].secret.bytes, previous: audit.previous.map { plan.keys[$0].secret.bytes }, origin: audit.origin)
    }
}

extension AuditLog.Beginning {
    /// `isBrief` is true for a command that only adds entries.
    public init(_ plan: Plan, isBrief: Bool) {
        func key(_ use: String, _ index: Int?) -> (String, String, String)? {
            index.map { (use, plan.keys[$0].name, AuditKeys.fingerprint(plan.keys[$0].secret.bytes)) }
        }
        let main = [
            key("audit", plan.audit?.key), key("ledger", plan.consent?.ledger?.key), key("state", plan.state.encrypt),
            key("evidence", plan.consent?.evidence),
        ]
        // The routes and providers hash and encrypt under the others.
        let named = plan.keys.indices.map { key("keys.\(plan.keys[$0].name)", $0) }
        self.init(program: "switchyard \(version)", keys: (main + named).compactMap(\.self), isBrief: isBrief)
    }
}

extension AuditLog {
    /// Opens the trail of the folder. Returns nil if the plan has none. Nothing is written until it is started.
    public static func open(
        _ plan: Plan, in folder: String, verdictNames: [String] = [], say: @escaping @Sendable (String) -> Void
    ) throws -> AuditLog? {
        guard let keys = AuditKeys(plan) else { return nil }
        var options = AuditLog.Options()
        options.verdictNames = verdictNames
        options.say = say
        do throws(StorageFault) {
            let log = try AuditLog(folder + "/" + TrailFiles.name, keys: keys, options: options)
            if let text = plan.text { try log.adopt(plan: text.bytes, hash: text.hash) }
            return log
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// Adds one entry about what a person does, and waits until it is on disk. Does nothing if the plan has no trail.
    public static func add(
        _ plan: Plan, in folder: String, say: @escaping @Sendable (String) -> Void, _ entries: (AuditLog) -> [AuditEntry]
    ) throws {
        guard let log = try open(plan, in: folder, say: say) else { return }
        log.start()
        log.note(entries(log))
        if let fault = log.close() { throw StateFailure(fault.description) }
    }
}
