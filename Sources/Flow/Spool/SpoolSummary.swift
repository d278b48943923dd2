// Summarises a spool file for a person, or for a router that has no provider for it. It needs no key. It never changes, creates or sets
// aside a file.

internal import Database
internal import Platform
internal import StateFiles

public struct SpoolSummary: Sendable, Equatable {
    public var provider: String
    public var path: String
    public var events = 0
    public var bytes = 0
    /// The time at which the oldest event came in, in nanoseconds since 1970. It is nil if there is none.
    public var oldest: Int64?
    /// A message that says why the spool could not be read. If it is not nil, the numbers mean nothing.
    public var fault: String?

    public init(of provider: String, in folder: String) {
        self.provider = provider
        path = StateFolder.spool(of: provider, in: folder)
        do throws(StorageFault) {
            let sight = try FileSight.look(at: path, as: SpoolSchema.format, timeout: 1000)
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
                let unrecorded = try database.unrecorded(proof)
                try leaveOut(unrecorded, database)
                try readOldest(database, unrecorded)
            }
        } catch {
            fault = error.description
        }
    }

    /// Subtracts the confirmed events that could not be recorded yet, since they do not wait. Does not subtract the bytes of rows that are
    /// only partly settled.
    private mutating func leaveOut(_ unrecorded: Unrecorded, _ database: Database) throws(StorageFault) {
        for range in unrecorded.gone.ranges {
            let find = try database.statement("SELECT routes FROM batches WHERE id BETWEEN ?1 AND ?2").bind(1, range.lowerBound)
                .bind(2, range.upperBound)
            defer { find.reset() }
            while try find.step() {
                for part in SpoolFile.parts(find.text(0)) { (events, bytes) = (events - part.events, bytes - part.bytes) }
            }
        }
        for part in unrecorded.parts.values { events -= part.settled.reduce(0) { $0 + $1.nonzeroBitCount } }
    }

    private mutating func readOldest(_ database: Database, _ unrecorded: Unrecorded = Unrecorded()) throws(StorageFault) {
        guard events > 0 else { return }
        let all = try database.statement("SELECT id, arrival FROM batches ORDER BY id")
        defer { all.reset() }
        while try all.step() {
            if unrecorded.gone.contains(all.int(0)) { continue }
            oldest = all.int(1)
            return
        }
    }
}
