// What a run keeps in its state folder: the folder itself, taken for this process, and a spool for each provider whose queue
// is on disk. A router that keeps nothing there leaves it alone, but for dead letters.

import Admission
internal import ConsentGate
import Delivery
import Holding
import Ledger
import Plans
import Platform
import Router
import Spool

struct Storage: Sendable {
    let names: RunNames
    let levels = RunNames()
    let cipher: Cipher?
    /// nil: nothing of this run outlives it.
    private let folder: StateFolder?
    private let budget: DiskBudget?
    private(set) var key: [UInt8]?

    /// The folder, when it is this run's.
    var path: String? { folder?.path }

    /// `isNamed`: the folder was given by name, so it is this router's alone.
    init(_ plan: Plan, folder path: String, isNamed: Bool) throws {
        names = RunNames(plan.routes.map(\.name))
        cipher = plan.state.encrypt.map { Cipher(plan.keys[$0].secret) }
        guard isNamed || plan.keepsState else {
            folder = nil
            budget = nil
            return
        }
        let claimed = try Storage.claim(path)
        folder = claimed
        budget = DiskBudget(path, most: plan.limits.disk, reserve: plan.limits.diskFree)
        do throws(SpoolFault) {
            // Also when nothing is kept yet: a reload may bring a queue on disk.
            key = try claimed.key()
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// What notices that the folder goes; nil: it is not this run's.
    func watch(_ router: Router, say: @escaping @Sendable (String) -> Void) -> StateWatch? {
        folder.map { StateWatch($0, router, say: say) }
    }

    /// Takes the folder for this process.
    static func claim(_ path: String) throws -> StateFolder {
        do {
            return try StateFolder.claim(path)
        } catch let taken as StateFolder.Taken {
            let who = taken.pid.map { "the router with process id \($0)" } ?? "another router"
            throw StateFailure("\(printable(path)): \(who) has this state folder; end it, or give this one a folder of its own (--state)")
        } catch let fault as SpoolFault {
            throw StateFailure(fault.description)
        }
    }

    /// Opens the ledger, if one is kept.
    func openLedger(for plan: Plan, say: @escaping @Sendable (String) -> Void) throws -> Registry? {
        guard let folder, let key else { return nil }
        do throws(StorageFault) {
            return try LedgerFile.Options(plan, under: key).map { (options) throws(StorageFault) in
                var options = options
                options.warn = say
                return try Registry(LedgerFile(folder.path + "/" + LedgerFile.name, options: options)!)
            }
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// Where events wait for consent, if a ledger is kept. A file of held events that may not be touched is told of before anything begins;
    /// one that is damaged is set aside when the router starts.
    func held(for plan: Plan) throws -> HeldPlace? {
        guard let folder else { return nil }
        guard plan.consent?.ledger != nil else { return nil }
        var options = HeldFile.Options()
        options.isSynced = plan.providers.contains { $0.delivery.queue.durability == .power }
        options.cipher = cipher
        options.budget = budget
        let place = HeldPlace(path: folder.path + "/" + HeldFile.name, options: options)
        do throws(StorageFault) {
            try HeldFile(lookingAt: place.path, verifies: false, names: RunNames(), options: options)?.close()
        } catch {
            if error.kind == .foreign { throw StateFailure(error.description) }
        }
        return place
    }

    /// What lies in the folder without a use by the plan; nil: another router has it.
    static func leftovers(_ plan: Plan, in path: String, isOwn: Bool, except: Set<String> = []) -> Leftovers? {
        guard isOwn || StateFolder.owner(of: path) == nil else { return nil }
        return Leftovers(plan, in: path, except: except)
    }

    /// Opens the spools of the providers whose queue is on disk.
    func open(for plan: Plan, into outlets: inout [Outlet], say: @escaping @Sendable (String) -> Void) throws {
        for (index, provider) in plan.providers.enumerated() { try open(for: provider, into: &outlets[index], say: say) }
    }

    /// Opens the spool of one, if its queue is on disk.
    func open(for provider: ProviderPlan, into outlet: inout Outlet, say: @escaping @Sendable (String) -> Void) throws {
        guard let folder, provider.delivery.queue.disk != nil else { return }
        var options = SpoolFile.Options()
        options.isSynced = provider.delivery.queue.durability == .power
        options.cipher = cipher
        options.budget = budget
        options.levels = levels
        do throws(SpoolFault) {
            outlet.store = try SpoolFile(
                path: StateFolder.spool(of: provider.name, in: folder.path), names: names, options: options, say: say)
        } catch {
            throw StateFailure("\(provider.name): \(error)")
        }
    }
}

/// The state folder cannot be used; the message says why.
struct StateFailure: Error {
    var message: String
    init(_ message: String) { self.message = message }
}

extension LedgerFile.Options {
    /// As the plan says; nil: it keeps no ledger. `key`: sixteen bytes under which spools and the gate know subjects.
    init?(_ plan: Plan, under key: [UInt8]) {
        guard let section = plan.consent, let ledger = section.ledger else { return nil }
        func named(_ index: Int) -> LedgerKeys.Key { LedgerKeys.Key(plan.keys[index].name, plan.keys[index].secret.bytes) }
        self.init(keys: LedgerKeys(current: named(ledger.key), previous: ledger.previous.map(named))) { id in
            let short = SubjectKey(of: id, under: key)
            return ShortHash(high: short.high, low: short.low)
        }
        levels = section.levels.map(\.name)
    }
}

extension Plan {
    /// Whether something of a run outlives it, or it is there for good, so that an operator must be able to ask it.
    var keepsState: Bool {
        providers.contains { $0.delivery.queue.disk != nil } || messageID.deduplicate != nil || !readsOnlyInput || consent?.ledger != nil
    }
}
