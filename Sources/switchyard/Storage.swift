// What a run keeps in its state folder: the folder itself, taken for this process, and a spool for each provider whose queue
// is on disk. A router that keeps nothing there leaves it alone, but for dead letters.

import Configuration
import Platform
import Policy
import Router
import Spool

struct Storage {
    let names: RouteNames
    let cipher: Cipher?
    /// nil: nothing of this run outlives it.
    private let folder: StateFolder?
    private(set) var key: [UInt8]?

    /// `isNamed`: the folder was given by name, so it is this router's alone.
    init(_ plan: Plan, folder path: String, isNamed: Bool) throws {
        names = RouteNames(plan.routes.map(\.name))
        cipher = plan.state.encrypt.map { Cipher(plan.keys[$0].secret) }
        guard isNamed || plan.keepsState else {
            folder = nil
            return
        }
        do {
            let claimed = try StateFolder.claim(path)
            folder = claimed
            if plan.keepsState { key = try claimed.key() }
        } catch let taken as StateFolder.Taken {
            let who = taken.pid.map { "the router with process id \($0)" } ?? "another router"
            throw StateFailure("\(printable(path)): \(who) has this state folder; end it, or give this one a folder of its own (--state)")
        } catch let fault as SpoolFault {
            throw StateFailure(fault.description)
        }
    }

    /// Opens the spools of the providers whose queue is on disk.
    func open(for plan: Plan, into outlets: inout [Outlet], say: @escaping @Sendable (String) -> Void) throws {
        guard let folder else { return }
        let budget = DiskBudget(folder.path, most: plan.limits.disk, reserve: plan.limits.diskFree)
        for (index, provider) in plan.providers.enumerated() where provider.delivery.queue.disk != nil {
            var options = SpoolFile.Options()
            options.isSynced = provider.delivery.queue.durability == .power
            options.cipher = cipher
            options.budget = budget
            do throws(SpoolFault) {
                outlets[index].store = try SpoolFile(
                    path: StateFolder.spool(of: provider.name, in: folder.path), names: names, options: options, say: say)
            } catch {
                throw StateFailure("\(provider.name): \(error)")
            }
        }
    }
}

/// The state folder cannot be used; the message says why.
struct StateFailure: Error {
    var message: String
    init(_ message: String) { self.message = message }
}

extension Plan {
    /// Whether something of a run outlives it.
    var keepsState: Bool { providers.contains { $0.delivery.queue.disk != nil } || messageID.deduplicate != nil }
}
