// Opens the ledger of a state folder for a command that judges events. It changes nothing, does not claim the folder, and does not disturb
// a router that has it.

import Admission
import Ledger
import Plans
import Platform
import Router
import Spool

extension LedgerView {
    /// Returns nil if the plan has no ledger.
    static func open(_ plan: Plan, in folder: String) throws -> LedgerView? {
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
