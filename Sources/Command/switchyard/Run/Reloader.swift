// Reads the configuration again and gives it to the running router. The whole new file is checked first, including its modules. If it is
// wrong, nothing changes. Only one reload runs at a time.

internal import Audit
internal import Delivery
internal import Plans
internal import Platform
internal import PluginHost
internal import Router
internal import Startup
internal import Terminal

final class Reloader: Sendable {
    struct Outcome: Sendable {
        var isGood: Bool
        var lines: [String]
    }

    let file: String
    private let http: ListenAddress?
    private let folders: ModuleFolders
    private let router: Router
    private let storage: Storage
    private let audit: AuditLog?
    private let masks: Masks
    private let say: @Sendable (String) -> Void
    /// True while a reload runs.
    private let isBusy = Monitor(false)

    init(
        _ file: String, http: ListenAddress?, folders: ModuleFolders, router: Router, storage: Storage, audit: AuditLog?,
        masks: Masks,
        say: @escaping @Sendable (String) -> Void
    ) {
        self.file = file
        self.http = http
        self.folders = folders
        self.router = router
        self.storage = storage
        self.audit = audit
        self.masks = masks
        self.say = say
    }

    /// Reloads, and reports the result on standard error.
    @discardableResult
    func reload() -> Outcome {
        isBusy.waitUntilReady { isBusy -> Readiness<Void> in
            if isBusy { return .notBefore(nil) }
            isBusy = true
            return .ready(())
        }
        defer {
            isBusy.withLock { $0 = false }
            isBusy.wake()
        }
        let outcome = attempt()
        if outcome.isGood {
            for line in outcome.lines { say(line) }
        } else {
            Console.report(outcome.lines.map(masks.masked))
            say("\(printable(file)) was not loaded; the router keeps its old configuration")
        }
        return outcome
    }

    private func attempt() -> Outcome {
        do {
            let plan = try Loading.runnable(file, folders, http: http)
            masks.add(plan.hidden)
            let old = router.plan
            let changes = try router.changes(to: plan)
            if storage.path == nil, plan.keepsState {
                throw ReloadRefusal(["a queue on disk needs a state folder, which the router claims at its start; restart the router"])
            }
            do throws(StorageFault) {
                if let text = plan.text { try audit?.keep(plan: text.bytes, hash: text.hash) }
            } catch {
                throw StateFailure("the audit trail cannot keep the new configuration: \(error)")
            }
            var made: [Int: Outlet] = [:]
            do {
                made = try Outlets.make(plan, only: changes.wanted, folders, say: say).mapValues(\.outlet)
                router.release(changes, of: plan)
                for index in changes.wanted where changes.providers[index] == .added {
                    try storage.open(for: plan.providers[index], into: &made[index]!)
                }
                try router.adopt(plan, changes, outlets: made)
                note(plan, after: old)
            } catch {
                for (index, outlet) in made.sorted(by: { $0.key < $1.key }) { router.discard(outlet, of: plan.providers[index].name) }
                throw error
            }
            return Outcome(isGood: true, lines: [summary(plan, changes)])
        } catch let failure as ConfigurationFailure {
            return Outcome(isGood: false, lines: failure.lines)
        } catch let refusal as ReloadRefusal {
            return Outcome(isGood: false, lines: refusal.lines.map { "\(printable(file)): \($0)" })
        } catch let failure as StateFailure {
            return Outcome(isGood: false, lines: [failure.message])
        } catch {
            return Outcome(isGood: false, lines: ["\(printable(file)): \(error)"])
        }
    }

    /// Notes the plan in the audit trail, and its keys if they are others.
    private func note(_ plan: Plan, after old: Plan) {
        guard let audit else { return }
        if let text = plan.text { audit.note(plan: text.bytes, hash: text.hash, file: file) }
        let keys = AuditLog.Beginning(plan, isBrief: false).keys
        let before = AuditLog.Beginning(old, isBrief: false).keys
        if !keys.elementsEqual(before, by: { $0 == $1 }) {
            audit.note(.keys(keys, at: audit.now))
        }
    }

    private func summary(_ plan: Plan, _ changes: PlanChanges) -> String {
        func names(_ change: (PlanChanges.Change) -> Bool) -> [String] {
            plan.providers.indices.filter { change(changes.providers[$0]) }.map { plan.providers[$0].name }
        }
        let parts = [
            ("kept", names { if case .kept = $0 { true } else { false } }), ("changed", names { $0 == .changed }),
            ("added", names { $0 == .added }), ("removed", changes.removed),
        ]
        let named = parts.filter { !$0.1.isEmpty }.map { "; \($0.0): \($0.1.joined(separator: ", "))" }
        return "\(printable(file)) was loaded\(named.joined())"
    }
}
