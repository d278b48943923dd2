// Opens the erasure jobs of a state folder. What they hold is encrypted under keys that follow from those of the ledger, for everyone who
// opens them.

public import Audit
internal import DeadLetterStore
public import Erasing
public import Plans
internal import Platform
internal import StateFiles
internal import Terminal

extension ErasureStore {
    /// Opens the jobs of the folder. Returns nil if the plan has no ledger.
    /// Each step of a job is noted in the audit trail.
    public static func open(
        _ plan: Plan, in folder: String, audit: AuditLog?, say: @escaping @Sendable (String) -> Void
    ) throws -> ErasureStore? {
        guard let ledger = plan.consent?.ledger else { return nil }
        var options = ErasureFile.Options(
            ciphers: ([ledger.key] + ledger.previous).map { Cipher(plan.keys[$0].secret, for: .erasures) })
        options.say = say
        if let audit {
            options.noted = { job in
                audit.note(
                    erasure: job.number, provider: job.provider, step: job.phase.rawValue, receipts: job.receipts,
                    answer: job.words.isEmpty ? nil : job.words)
            }
        }
        do throws(StorageFault) {
            return try ErasureStore(in: folder, options: options)
        } catch {
            throw StateFailure(error.description)
        }
    }

    /// Returns the providers that have a queue or dead letters in the folder, whether the configuration has them or not.
    public static func storedProviders(in folder: String) -> Set<String> {
        var names = Set(StateFolder.spools(in: folder))
        // A damaged file is reported by those who use it. Its providers are known from the configuration then.
        if let file = try? DeadLetterFile(folder + "/" + DeadLetterFile.name, makes: false, verifies: false) {
            defer { file.close() }
            names.formUnion(((try? file.counts()) ?? []).map(\.provider))
        }
        return names
    }
}
