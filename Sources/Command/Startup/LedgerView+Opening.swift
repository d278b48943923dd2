// Opens the ledger of a state folder for a command that judges events. It changes nothing, does not claim the folder, and does not disturb
// a router that has it. The options of a ledger follow from the plan, for everyone who opens it.

internal import Admission
internal import ConsentGate
public import Ledger
public import Plans
internal import Platform
internal import StateFiles
internal import Terminal

extension LedgerView {
    /// Returns nil if the plan has no ledger.
    public static func open(_ plan: Plan, in folder: String) throws -> LedgerView? {
        guard plan.consent?.ledger != nil else { return nil }
        do throws(StorageFault) {
            guard let key = try StateFolder.key(in: folder), let options = LedgerFile.Options(plan, under: key) else {
                return LedgerView(nil, key: [UInt8](repeating: 0, count: 16))
            }
            return LedgerView(try LedgerFile(lookingAt: folder + "/" + LedgerFile.name, options: options), key: key)
        } catch {
            throw StateFailure(error.description)
        }
    }
}

extension LedgerFile.Options {
    /// Makes the options of the plan's ledger. Returns nil if the plan has no ledger. `key` has 16 bytes. Spools and the gate hash subjects
    /// with it.
    public init?(_ plan: Plan, under key: [UInt8]) {
        guard let section = plan.consent, let ledger = section.ledger else { return nil }
        func named(_ index: Int) -> LedgerKeys.Key { LedgerKeys.Key(plan.keys[index].name, plan.keys[index].secret.bytes) }
        self.init(keys: LedgerKeys(current: named(ledger.key), previous: ledger.previous.map(named))) { id in
            let short = SubjectKey(of: id, under: key)
            return ShortHash(high: short.high, low: short.low)
        }
        levels = section.levels.map(\.name)
        evidence = section.evidence.map { Cipher(plan.keys[$0].secret, for: .evidence) }
    }
}
