// Counts what is left in a ledger file that no plan uses. It changes nothing and needs no key.

internal import Database
internal import Glibc
internal import Platform

public struct LedgerRemains: Sendable, Equatable {
    /// The number of ids that have a decision or are tied.
    public var subjects = 0
    /// The number of withdrawals whose destruction is not finished.
    public var unfinished = 0
    /// The reason why the file could not be read. The counts are then not valid. It is nil if the file was read.
    public var fault: String?

    /// Returns nil if the folder has no ledger file.
    public init?(in folder: String) {
        let path = folder + "/" + LedgerFile.name
        guard access(path, F_OK) == 0 else { return nil }
        do throws(StorageFault) {
            let database = try Database.lookingAt(path, timeout: 1000)
            defer { database.close() }
            guard try database.isMarked(as: LedgerSchema.format) else {
                throw StorageFault(.foreign, "\(path): is not a ledger")
            }
            subjects = Int(try database.number("SELECT count(*) FROM subjects") ?? 0)
            unfinished = Int(try database.number("SELECT count(*) FROM receipts WHERE finished IS NULL") ?? 0)
        } catch {
            fault = error.description
        }
    }
}
