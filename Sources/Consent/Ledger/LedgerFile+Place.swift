// Checks that the ledger is still at its path. Nobody would find again what is written to a file that was removed.

internal import Database
public import Platform

extension LedgerFile {
    public func checkPlace() throws(StorageFault) { try database.checkPlace() }
}
