// What a spool file holds, for who only wants to look: a person, or a router that has no provider for it. Nothing is changed, made
// or set aside, and no key is needed.

internal import Database
internal import Platform

public struct SpoolSummary: Sendable, Equatable {
    public var provider: String
    public var path: String
    public var events = 0
    public var bytes = 0
    /// When the oldest came in, in nanoseconds since 1970.
    public var oldest: Int64?
    /// Why it could not be read; then the figures say nothing.
    public var fault: String?

    public init(of provider: String, in folder: String) {
        self.provider = provider
        path = StateFolder.spool(of: provider, in: folder)
        do throws(SpoolFault) {
            let sight = try FileSight.look(at: path, as: SpoolSchema.format, patience: 1000)
            switch sight.state {
            case .absent: fault = "\(path): is not there"
            case .damaged(let damage):
                let count = damage.losses(kept: [:])?.reduce(0) { $0 + $1.expected }
                let waited = count.map { "\(grouped(Int($0))) events" } ?? "an unknown number of events"
                fault = "\(damage.words); \(waited) waited in it"
            case .old(let database, _):
                defer { database.closeKeepingLog() }
                events = Int(try database.number("SELECT coalesce(sum(events), 0) FROM waiting") ?? 0)
                bytes = Int(try database.number("SELECT coalesce(sum(bytes), 0) FROM waiting") ?? 0)
                try readOldest(database)
            case .whole(let database, let proof):
                defer { database.closeKeepingLog() }
                events = proof.counts.reduce(0) { $0 + Int($1.left) }
                bytes = proof.counts.reduce(0) { $0 + Int($1.bytes) }
                try readOldest(database)
            }
        } catch {
            fault = error.description
        }
    }

    private mutating func readOldest(_ database: Database) throws(SpoolFault) {
        oldest = events > 0 ? try database.number("SELECT arrival FROM batches ORDER BY id LIMIT 1") : nil
    }
}
