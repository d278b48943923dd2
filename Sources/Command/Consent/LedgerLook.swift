// Opens the ledger of a state folder for a command that judges events and changes nothing: the folder is not taken, and a router that has it
// is not disturbed.

import Admission
import Ledger
import Plans
import Platform
import Router
import Spool

extension LedgerView {
    /// nil: the plan keeps no ledger.
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
