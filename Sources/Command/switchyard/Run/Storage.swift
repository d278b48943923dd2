// Opens what a run keeps in its state folder. It claims the folder for this process, and opens the ledger, the held events, and a spool for
// each provider whose queue is on disk. A run that keeps nothing there uses the folder only for dead letters.

internal import Admission
internal import Audit
internal import Delivery
internal import HeldEventStore
internal import Holding
internal import Ledger
internal import Plans
internal import Platform
internal import Queueing
internal import Router
internal import Spool
internal import Startup
internal import StateFiles
internal import Terminal
internal import Withdrawal

struct Storage: Sendable {
    let names: RunNames
    let levels = RunNames()
    let cipher: Cipher?
    /// The claimed folder. It is nil if the run does not need it.
    private let folder: StateFolder?
    private let budget: DiskBudget?
    /// The spools of the folder. It is nil if the run has not claimed it.
    private let spools: StraySpools?
    private(set) var key: [UInt8]?

    /// The path of the folder. It is nil if the run has not claimed it.
    var path: String? { folder?.path }

    /// `isNamed` is true if the folder was named, so that it belongs to this router alone.
    init(_ plan: Plan, folder path: String, isNamed: Bool, say: @escaping @Sendable (String) -> Void) throws {
        names = RunNames(plan.routes.map(\.name))
        cipher = plan.state.encrypt.map { Cipher(plan.keys[$0].secret) }
        guard isNamed || plan.keepsState else {
            folder = nil
            budget = nil
            spools = nil
            return
        }
        let claimed = try Storage.claim(path)
        folder = claimed
        budget = DiskBudget(path, most: plan.limits.disk, reserve: plan.limits.diskFree)
        var options = SpoolFile.Options()
        options.isSynced = true
        options.cipher = cipher
        options.levels = levels
        spools = StraySpools(folder: claimed.path, names: names, options: options, say: say)
        do throws(StorageFault) {
            // Read the key even if nothing is kept yet, since a reload may add a queue on disk.
            key = try claimed.key()
            assert(key?.count == 16, "the key of the folder has another size")
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// Returns a watch that notices when the folder is removed. Returns nil if the run has not claimed the folder.
    func watch(_ router: Router, say: @escaping @Sendable (String) -> Void) -> StateWatch? {
        folder.map { StateWatch($0, router, say: say) }
    }

    /// Claims the folder for this process.
    static func claim(_ path: String) throws -> StateFolder {
        do {
            return try StateFolder.claim(path)
        } catch let taken as StateFolder.Taken {
            let who = taken.pid.map { "the router with process id \($0)" } ?? "another router"
            throw StateFailure("\(printable(path)): \(who) has this state folder; end it, or give this one a folder of its own (--state)")
        } catch let fault as StorageFault {
            throw StateFailure(fault.description)
        }
    }

    /// Opens the ledger. Returns nil if none is kept. Its writes are noted in the audit trail.
    func openLedger(for plan: Plan, audit: AuditLog?, say: @escaping @Sendable (String) -> Void) throws -> Registry? {
        guard let folder, let key else { return nil }
        do throws(StorageFault) {
            return try LedgerFile.Options(plan, under: key).map { (options) throws(StorageFault) in
                var options = options
                options.warn = say
                if let audit { options.committed = { audit.note($0, $1) } }
                return try Registry(LedgerFile(folder.path + "/" + LedgerFile.name, options: options)!)
            }
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// Returns the place of held events, or nil if no ledger is kept. Throws if the file there is foreign and must stay as it is. A damaged
    /// file is set aside later, when the router starts.
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

    /// Returns what the folder holds and the plan does not use. Returns nil if another router has the folder.
    static func leftovers(_ plan: Plan, in path: String, isOwn: Bool, except: Set<String> = []) -> Leftovers? {
        guard isOwn || StateFolder.owner(of: path) == nil else { return nil }
        return Leftovers(plan, in: path, except: except)
    }

    /// Opens the spools of the providers whose queue is on disk.
    func open(for plan: Plan, into outlets: inout [Outlet]) throws {
        for (index, provider) in plan.providers.enumerated() { try open(for: provider, into: &outlets[index]) }
    }

    /// Returns the search of the files that belong to no lane. Returns nil if the run has not claimed the folder.
    var strays: Withdrawals.Strays? {
        guard let spools else { return nil }
        return { check, isForWithdrawal in
            var places: [String: Swept] = [:]
            for (place, result) in spools.sweep(check, isForWithdrawal: isForWithdrawal) {
                var swept = Swept()
                (swept.destroyed, swept.isCut) = (result.destroyed, result.isCut)
                places[place] = swept
            }
            return places
        }
    }

    /// Opens the spool of one provider if its queue is on disk.
    func open(for provider: ProviderPlan, into outlet: inout Outlet) throws {
        guard let spools, provider.delivery.queue.disk != nil else { return }
        var options = SpoolFile.Options()
        options.isSynced = provider.delivery.queue.durability == .power
        options.cipher = cipher
        options.budget = budget
        options.levels = levels
        do throws(StorageFault) {
            outlet.store = try spools.openSpool(of: provider.name, options: options)
        } catch {
            throw StateFailure("\(provider.name): \(error)")
        }
    }
}

extension Plan {
    /// True if the run keeps something on disk or has sources besides standard input, so that an operator must be able to reach it.
    var keepsState: Bool {
        providers.contains { $0.delivery.queue.disk != nil } || messageID.deduplicate != nil || !readsOnlyInput || consent?.ledger != nil
            || audit != nil || admin?.hasPage == true
    }
}
