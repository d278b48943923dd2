// What a ledger comes to, for who only wants to know whether there is something in it. Nothing is changed or made, and no key is needed.

internal import Database
internal import Glibc
internal import Platform

public struct LedgerRemains: Sendable, Equatable {
    /// Ids for which something was said, or that are tied to others.
    public var subjects = 0
    /// Withdrawals whose destruction was begun and not brought to its end.
    public var unfinished = 0
    /// Why it could not be read; then the figures say nothing.
    public var fault: String?

    /// nil: there is no such file.
    public init?(in folder: String) {
        let path = folder + "/" + LedgerFile.name
        guard access(path, F_OK) == 0 else { return nil }
        do throws(StorageFault) {
            let database = try Database.lookingAt(path, patience: 1000)
            defer { database.close() }
            guard try database.isMarked(as: LedgerSchema.format) else {
                throw StorageFault(.foreign, "\(path): is no ledger")
            }
            subjects = Int(try database.number("SELECT count(*) FROM subjects") ?? 0)
            unfinished = Int(try database.number("SELECT count(*) FROM receipts WHERE finished IS NULL") ?? 0)
        } catch {
            fault = error.description
        }
    }
}
