// Finds the events of some subjects in a spool, even while another process uses the file. It never changes, creates or sets aside a file.

@_spi(Spool) public import Admission
internal import Database
public import Platform
public import StateFiles

public final class SpoolSearch {
    /// The events of one row that belong to the subjects.
    public struct Found {
        public var row: Int64
        public var batch: Batch
        /// The name of the route of each event.
        public var routes: [String]
    }

    private let database: Database
    private let cipher: Cipher?
    private let names = RunNames()
    private let reader: RowReader
    /// The column that has a row's checksum. It is nil if the file has an older format without checksums.
    private let checksum: Int32?
    /// Confirmed events that are noted but not yet recorded in the file. They are not found.
    private let unrecorded: Unrecorded

    /// The greatest number of rows that one call examines.
    private static let rows = 256

    /// Opens the file to read it. Returns nil if there is no such file. Throws `damaged` if the file is damaged.
    public init?(_ path: String, cipher: Cipher?) throws(StorageFault) {
        let sight = try FileSight.look(at: path, as: SpoolSchema.format)
        switch sight.state {
        case .absent: return nil
        case .damaged(let damage): throw StorageFault(.damaged, damage.words)
        case .old(let old, _): (database, checksum, unrecorded) = (old, nil, Unrecorded())
        case .whole(let whole, let proof):
            (database, checksum) = (whole, 8)
            do throws(StorageFault) {
                unrecorded = try whole.unrecorded(proof)
            } catch {
                whole.closeKeepingLog()
                throw error
            }
        }
        self.cipher = cipher
        let application = checksum == nil ? nil : SpoolSchema.format.application
        var routes = FileNumbers(table: "routes", names: names, application: application)
        do throws(StorageFault) {
            try database.run("PRAGMA query_only = ON")
            try routes.read(database)
        } catch {
            database.closeKeepingLog()
            throw error
        }
        // The levels are not used here, so they are not read.
        reader = RowReader(routes: routes, levels: FileNumbers(table: "levels", names: RunNames()), cipher: cipher)
    }

    public func close() { database.closeKeepingLog() }

    public struct Page {
        public var found: [Found] = []
        /// The number of damaged batches, whose subjects are unknown.
        public var unreadable = 0
        /// The last row that was examined. It is nil if there are no more rows after it.
        public var next: Int64?
    }

    /// Examines some rows after `row`, until at least `bytes` bytes were found.
    public func events(of subjects: Set<SubjectKey>, after row: Int64, most bytes: Int) throws(StorageFault) -> Page {
        var page = Page()
        var (seen, held) = (0, 0)
        let select = try database.statement(
            """
            SELECT \(RowReader.columns)\(checksum == nil ? "" : ", batches.checksum") FROM batches
            WHERE id > ?1 ORDER BY id LIMIT \(SpoolSearch.rows)
            """
        ).bind(1, row)
        defer { select.reset() }
        while held < bytes, try select.step() {
            seen += 1
            page.next = select.int(0)
            if unrecorded.gone.contains(select.int(0)) { continue }
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
        if held < bytes, seen < SpoolSearch.rows { page.next = nil }
        return page
    }

    /// Returns the events of the row, or an empty batch if its entries name none of the subjects. Returns nil if the row is damaged.
    private func batch(_ row: Statement, _ subjects: Set<SubjectKey>) throws(StorageFault) -> Batch? {
        if row.int(5) == 1, cipher == nil {
            throw StorageFault(.foreign, "\(database.path): its events are encrypted; name the key in state.encrypt (-c FILE)")
        }
        guard let index = reader.index(row, checksum: checksum) else { return nil }
        guard index.holds(subjects) else { return Batch(Parcel()) }
        let batch = reader.batch(row, checksum: checksum)
        guard let batch, let places = unrecorded.rewritten[row.int(0)] else { return batch }
        return batch.subset(places.map(\.index).filter { $0 < batch.count })
    }
}
