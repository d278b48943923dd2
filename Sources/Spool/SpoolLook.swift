// Looks into a spool for the events of some subjects, whoever has the file: nothing is changed, made or set aside.

internal import Database
public import Platform
@_spi(Spool) public import Policy

public final class SpoolLook {
    /// Some events of a row, of which each is of one of the subjects.
    public struct Found {
        public var row: Int64
        public var batch: Batch
        /// By event: the name of the route that it came by.
        public var routes: [String]
    }

    private let database: Database
    private let cipher: Cipher?
    private let names = RunNames()
    private var routes: FileNumbers

    /// How many rows are looked at in one go.
    private static let rows = 256

    /// nil: there is no such file.
    public init?(_ path: String, cipher: Cipher?) throws(SpoolFault) {
        guard Salvage.exists(path) else { return nil }
        self.cipher = cipher
        database = try Database(path, makes: false, patience: 5000)
        routes = FileNumbers(table: "routes", names: names)
        do throws(SpoolFault) {
            try database.run("PRAGMA query_only = ON")
            try database.check(SpoolSchema.format)
            try routes.read(database)
        } catch {
            database.close()
            throw error
        }
    }

    public func close() { database.close() }

    public struct Page {
        public var found: [Found] = []
        /// Batches that make no sense, so that nobody can tell whose they are.
        public var unreadable = 0
        /// The last row that was looked at; nil: there are no more behind.
        public var next: Int64?
    }

    /// Looks at some rows behind that one, until so many bytes were found.
    public func events(of subjects: Set<SubjectKey>, after row: Int64, most bytes: Int) throws(SpoolFault) -> Page {
        var page = Page()
        var (seen, held) = (0, 0)
        let select = try database.statement(
            "SELECT id, events, sealed, entries, payload FROM batches WHERE id > ?1 ORDER BY id LIMIT \(SpoolLook.rows)"
        ).bind(1, row)
        defer { select.reset() }
        while held < bytes, try select.step() {
            seen += 1
            page.next = select.int(0)
            guard let batch = try batch(select, subjects) else {
                page.unreadable += 1
                continue
            }
            let indices = batch.events(of: subjects)
            if indices.isEmpty { continue }
            let part = batch.subset(indices)
            held += part.bytes.count
            page.found.append(Found(row: select.int(0), batch: part, routes: part.entries.map { names[$0.route] }))
        }
        if held < bytes, seen < SpoolLook.rows { page.next = nil }
        return page
    }

    /// The events of the row, or none where its entries name none of the subjects; nil: they make no sense.
    private func batch(_ row: Statement, _ subjects: Set<SubjectKey>) throws(SpoolFault) -> Batch? {
        var entries = [UInt8](row.bytes(3))
        if row.int(2) == 1 {
            guard let cipher else {
                throw SpoolFault(.foreign, "\(database.path): its events are encrypted; name the key in state.encrypt (-c FILE)")
            }
            guard let open = cipher.open(row.bytes(3), at: "entries \(row.int(0))") else { return nil }
            entries = open
        }
        let route: (UInt16) -> UInt16? = { self.routes.run($0) }
        let count = Int(row.int(1))
        let isTheirs = entries.withUnsafeBytes { BatchIndex($0, count: count, route: route, level: { $0 })?.holds(subjects) }
        guard let isTheirs else { return nil }
        guard isTheirs else { return Batch(Parcel()) }
        var payload = [UInt8](row.bytes(4))
        if row.int(2) == 1 {
            guard let open = cipher?.open(row.bytes(4), at: "payload \(row.int(0))") else { return nil }
            payload = open
        }
        return entries.withUnsafeBytes { entries in
            payload.withUnsafeBytes { Batch(restoring: $0, index: entries, count: count, route: route, level: { $0 }) }
        }
    }
}
