// The trail that a command works on: its files, its keys, and the ledger beside it.

internal import Audit
internal import Glibc
internal import Ledger
internal import MerkleLog
internal import Plans
internal import Platform
internal import PluginHost
internal import Startup
internal import StateFiles
internal import Terminal

struct AuditPlace {
    let folder: String
    let files: TrailFiles
    /// The public keys that may have signed the head.
    let keys: [NoteKey]
    /// The configuration. It is nil if a public key was given instead.
    private let plan: Plan?

    init(_ arguments: Arguments) throws {
        folder = Loading.stateFolder(arguments["--state"])
        files = TrailFiles(folder + "/" + TrailFiles.name)
        if let text = arguments["--key"] {
            guard let key = NoteKey(text), key.algorithm == .ed25519 else {
                throw UsageFault("--key must be a public key as switchyard audit key prints it, is '\(text)'")
            }
            keys = [key]
            plan = nil
            return
        }
        let file = arguments["--config"] ?? Loading.defaultFile
        let plan = try Loading.plan(file, ModuleFolders.standard())
        guard let own = AuditKeys(plan) else { throw ConfigurationFailure(lines: ["\(printable(file)): \(AuditPlace.advice)"]) }
        keys = own.all
        self.plan = plan
    }

    private static let advice = #"""
        no audit trail is kept; add "audit": { "key": "audit" }, and a secret of that name to "keys", such as \#
        "audit": "${file:/etc/switchyard/audit.key}"
        """#

    /// Calls the body. A fault of the storage becomes a failure of the command.
    func failing<R>(_ body: () throws(StorageFault) -> R) throws -> R {
        do throws(StorageFault) {
            return try body()
        } catch {
            throw StateFailure(error.description)
        }
    }

    func reader() throws -> TrailReader {
        let found = try failing { () throws(StorageFault) in try TrailReader(files, keys: keys) }
        guard let found else { throw StateFailure("\(printable(files.folder)): there is no audit trail") }
        return found
    }

    /// The newest head, with the signatures of witnesses if they have signed it.
    func head() throws -> [UInt8] {
        let note = try reader().note
        guard case .success(let bytes) = Loading.input(files.cosigned, most: SignedNote.largest), let cosigned = SignedNote(bytes),
            cosigned.text == note.text
        else { return note.bytes }
        return bytes
    }

    func secretKeys() throws -> AuditKeys {
        guard let keys = plan.flatMap({ AuditKeys($0) }) else {
            throw UsageFault("the configuration is needed; see switchyard audit --help")
        }
        return keys
    }

    // MARK: - The ledger

    /// Returns what is wrong with the ledger beside a trail that knows this position. Returns nil if nothing is, or if no ledger is kept.
    func ledgerFault(_ known: LedgerPosition?) throws -> String? {
        guard let known, let plan, plan.consent?.ledger != nil else { return nil }
        do throws(StorageFault) {
            guard let key = try StateFolder.key(in: folder), let options = LedgerFile.Options(plan, under: key),
                let ledger = try LedgerFile(lookingAt: folder + "/" + LedgerFile.name, options: options)
            else { return "\(folder)/\(LedgerFile.name): is missing, and the audit trail knows it" }
            defer { ledger.close() }
            return ledger.position.flatMap { AuditLog.fault(of: $0, known: known, files)?.description }
        } catch {
            return error.description
        }
    }

    /// The short hash of a person's id in this folder.
    func short(of id: String) throws -> ShortHash {
        let key = try failing { () throws(StorageFault) in try StateFolder.key(in: folder) }
        guard let key, let plan, let options = LedgerFile.Options(plan, under: key) else {
            throw StateFailure("\(printable(folder)): has no ledger, so the trail knows no person")
        }
        return options.short(Array(id.utf8))
    }

    /// Accepts the ledger as it is. No router may have the folder.
    func accept() throws {
        guard let plan else { throw UsageFault("the configuration is needed; see switchyard audit --help") }
        let claimed: StateFolder
        do {
            claimed = try StateFolder.claim(folder)
        } catch is StateFolder.Taken {
            throw StateFailure("\(printable(folder)): a router has this state folder; end it first")
        }
        try withExtendedLifetime(claimed) {
            guard let log = try AuditLog.open(plan, in: folder, say: Console.say) else { return }
            try failing { () throws(StorageFault) in
                guard let options = LedgerFile.Options(plan, under: try claimed.key()),
                    let ledger = try LedgerFile(folder + "/" + LedgerFile.name, options: options), let position = ledger.position
                else { throw StorageFault(.failed, "\(folder): no ledger is kept, so there is none to accept") }
                defer { ledger.close() }
                try log.accept(position, user: getuid())
            }
            log.start()
            if let fault = log.close() { throw StateFailure(fault.description) }
        }
    }
}
