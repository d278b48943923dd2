// Counts the held events of a state folder for a person, or for a router whose configuration has no ledger.

internal import Database
internal import Platform
internal import StateFiles

/// A summary of a file of held events. Making it changes and creates nothing and needs no key.
public struct HeldSummary: Sendable, Equatable {
    public var events = 0
    public var bytes = 0
    /// The time at which the oldest event came in, in nanoseconds since 1970. It is nil if there is none.
    public var oldest: Int64?
    /// A message that says why the file could not be read. If it is not nil, the numbers mean nothing.
    public var fault: String?

    public init() {}

    /// Reads the summary of the folder's file. Returns nil if there is no such file.
    public init?(in folder: String) {
        let path = folder + "/" + HeldFile.name
        do throws(StorageFault) {
            switch try FileSight.look(at: path, as: HeldSchema.kind.format, timeout: 1000).state {
            case .absent: return nil
            case .damaged(let damage): throw StorageFault(.damaged, damage.words)
            case .old(let database, _):
                defer { database.closeKeepingLog() }
                try count(database)
            case .whole(let database, _):
                defer { database.closeKeepingLog() }
                try HeldSchema.kind.verify(database)
                try count(database)
            }
        } catch {
            fault = error.description
        }
    }

    private mutating func count(_ database: Database) throws(StorageFault) {
        events = Int(try database.number("SELECT count(*) FROM events") ?? 0)
        bytes = Int(try database.number("SELECT coalesce(sum(bytes), 0) FROM events") ?? 0)
        oldest = try database.number("SELECT arrival FROM events ORDER BY arrival LIMIT 1")
    }
}
