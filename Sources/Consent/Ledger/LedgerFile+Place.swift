// Whether the ledger is still where it was opened: what is written to a file that was removed nobody would find again.

internal import Database
public import Platform

extension LedgerFile {
    public func checkPlace() throws(StorageFault) { try database.checkPlace() }
}
