// A lane's spool as an SQLite file. It promises:
//
// - What a commit has stored is there after the process is killed, and with `isSynced` also after the machine loses power.
// - Removed events are overwritten.
// - No row with a wrong checksum is given out.
// - An event that a commit has removed does not come again, even if the disk had no space to record the removal.
// - Damage and the loss that it causes are reported with numbers. Damaged data is set aside and never silently deleted.

@_spi(Spool) public import Admission
internal import Database
internal import Events
public import Platform
public import StateFiles

public final class SpoolFile: SpoolStore, @unchecked Sendable {
    public struct Options: Sendable {
        /// True if a commit returns only after the disk has stored it.
        public var isSynced = false
        /// The cipher for new rows. It is nil if new rows are not encrypted.
        public var cipher: Cipher?
        /// The limit for all spools of the folder. It is nil if there is no limit but the disk.
        public var budget: DiskBudget?
        /// The name of a file system that replaces SQLite's own in tests.
        public var vfs: String?
        public var clock = Clock.system
        /// The names of the levels under which events were admitted.
        public var levels = RunNames()
        /// The page size of a new file. Larger pages carry more megabytes a second. They cost more if events come one by one, since SQLite
        /// writes whole pages.
        public var pageSize = 16384
        /// Called when the file was closed for good.
        public var onClose: @Sendable () -> Void = {}
        public init() {}
    }

    public let path: String
    let options: Options
    let say: @Sendable (String) -> Void
    var file: ProvenFile
    var database: Database { file.database }
    var routes: FileNumbers
    var levels: FileNumbers
    var reader: RowReader { RowReader(routes: routes, levels: levels, cipher: options.cipher) }
    /// The number of bytes that the budget currently counts for this spool.
    private var budgeted = 0
    /// The loss that the next `takeLoss` returns.
    var loss: SpoolLoss?
    /// The damage that was found in the open file. If it is not nil, the file is closed, and it is rebuilt before any other work.
    var damage: Damage?
    /// True if the names beside the rows were read.
    var isKnown = true
    var index = ByteBuffer()
    /// The file that notes confirmed events while the disk is full. It is nil if this file could not be created or used.
    var settled: SettledFile?
    /// The settled rows and events that are noted beside the file but not yet recorded in it.
    var unrecorded = Unrecorded()
    /// The time at which the spool itself is tried again. It is nil if there was space at the last attempt.
    var recordAgain: Instant?
    /// True if a message has said that events are only noted.
    var hasReportedUnrecorded = false
    /// What withdrawals have destroyed in the file, and what of it the file has not recorded yet.
    var destroyed = Destroyed()
    var unrecordedDestroyed = Destroyed()
    /// True if the file was moved away or replaced. Then nothing is created at its place.
    var isLetGo = false
    /// True if the file was closed because all of it was settled. A new file replaces it before any other work.
    var isRenewing = false

    /// Opens the file, or creates it. Sets a damaged file aside and takes over what can be read of it.
    public init(path: String, names: RunNames, options: Options = Options(), say: @escaping @Sendable (String) -> Void) throws(StorageFault)
    {
        self.path = path
        let application = SpoolSchema.format.application
        routes = FileNumbers(table: "routes", names: names, application: application)
        levels = FileNumbers(table: "levels", names: options.levels, application: application)
        self.options = options
        self.say = say
        let reader = RowReader(routes: routes, levels: levels, cipher: options.cipher)
        let noted = SettledFile.look(SettledFile.path(beside: path))
        let found: Damage?
        (file, loss, found) = try SpoolFile.open(path, options: options, reader: reader, say: say)
        do throws(StorageFault) {
            // This must come before any write, because the next transaction of the spool makes the facts invalid.
            try takeNoted(noted, after: found)
            try readAbout()
            try verifySums()
            try recordIfSpace()
        } catch {
            do throws(StorageFault) {
                guard error.kind == .damaged else { throw error }
                try repair(error)
            } catch {
                database.closeKeepingLog()
                throw error
            }
        }
    }

    private static func open(
        _ path: String, options: Options, reader: RowReader, say: @escaping @Sendable (String) -> Void
    ) throws(StorageFault) -> (ProvenFile, SpoolLoss?, Damage?) {
        var damage: Damage
        var old: Int64?
        do throws(StorageFault) {
            let opening = try ProvenFile.open(
                path, as: SpoolSchema.format, options.proven(say),
                admit: { database throws(StorageFault) in
                    let isOld = try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'proof'") == 0
                    _ = try database.admits(
                        options.cipher, sealing: "batches", application: isOld ? nil : SpoolSchema.format.application)
                },
                upgrade: { file, version throws(StorageFault) in
                    try SpoolUpgrade.upgrade(file, reader)
                    old = version
                })
            switch opening {
            case .absent: return (try ProvenFile(making: path, as: SpoolSchema.format, options.proven(say)), nil, nil)
            case .open(let file):
                if let old { say("\(path): was in format \(old), without checksums; it was taken over as it is") }
                return (file, nil, nil)
            case .damaged(let found): damage = found
            }
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = Damage(error.description)
        }
        let new = try SpoolRebuild.rebuild(path, options: options, damage: damage, reader: reader, say: say)
        return (new.file, new.loss, damage)
    }

    /// Reads the names and the key check beside the rows.
    func readAbout() throws(StorageFault) {
        try routes.read(database)
        try levels.read(database)
        try readDestroyed()
        guard routes.digest &+ levels.digest == file.proof.digest else {
            throw StorageFault(.damaged, "\(path): names of routes or levels have vanished from it")
        }
        let application = SpoolSchema.format.application
        if try database.admits(options.cipher, sealing: "batches", application: application) {
            try transaction { () throws(StorageFault) in try database.note(options.cipher, application: application) }
        }
        updateBudget()
    }

    /// A summary of the events that wait, including those that the next `takeLoss` reports as lost.
    public var contents: SpoolContents {
        var contents = SpoolContents()
        for count in file.proof.counts where count.left > 0 && !isRenewing {
            contents.events += Int(count.left)
            if let known = routes.run(Proof.number(ofKey: count.key)) { contents.routes[known, default: 0] += Int(count.left) }
        }
        contents.bytes = bytes
        contents.rows = (try? database.number("SELECT count(*) FROM batches")).flatMap { $0 }.map(Int.init) ?? 0
        if !unrecorded.isEmpty, let seen = try? seenSums() {
            contents.rows = seen.rows
            contents.routes = seen.sums.mapValues(\.events)
            contents.events = seen.sums.values.reduce(0) { $0 + $1.events }
            contents.bytes = seen.sums.values.reduce(0) { $0 + $1.bytes }
        }
        contents.bytes += loss?.bytes ?? 0
        for (route, count) in loss?.routes ?? [:] {
            contents.events += count
            contents.routes[route, default: 0] += count
        }
        contents.lastRow = lastRow
        contents.oldest = oldest
        contents.destroyed = destroyed
        contents.destroyed.add(unrecordedDestroyed)
        return contents
    }

    /// The greatest number that a row ever had.
    var lastRow: Int64 { file.proof.last }
    private var bytes: Int { isRenewing ? 0 : file.proof.counts.reduce(0) { $0 + Int($1.bytes) } }

    /// The time at which the first waiting event came in. It is nil if there is none or if its row is damaged.
    private var oldest: Int64? {
        guard let first = try? database.statement("SELECT \(RowReader.columns), batches.checksum FROM batches ORDER BY id") else {
            return nil
        }
        defer { first.reset() }
        repeat { guard (try? first.step()) == true else { return nil } } while isHidden(first.int(0))
        guard reader.batch(first, checksum: 8) != nil else { return nil }
        return first.int(3)
    }

    public func checkPlace() throws(StorageFault) {
        // While the file is renewed, it is missing on purpose.
        if !isRenewing { try database.checkPlace() }
    }

    public func letGo() {
        isLetGo = true
        database.letGo()
    }

    public func takeLoss() -> SpoolLoss? {
        assert(loss.map { $0.bytes >= 0 && $0.routes.values.allSatisfy { $0 > 0 } } ?? true, "a loss has a negative number of events")
        defer { loss = nil }
        return loss
    }

    public func close() {
        if damage == nil {
            try? tidy()
            file.close()
        }
        // The next opening of the file adds its size again.
        options.budget?.hold(-budgeted)
        budgeted = 0
        options.onClose()
    }

    public func tidy() throws(StorageFault) {
        try rebuildIfDamaged()
        if !unrecorded.isEmpty { try transaction { () throws(StorageFault) in } }
        // The number of pages is limited, so that new events do not wait long.
        for _ in 0..<64 where (try database.number("PRAGMA freelist_count") ?? 0) > 64 {
            try database.run("PRAGMA incremental_vacuum(256)")
        }
        if try database.number("PRAGMA wal_checkpoint(TRUNCATE)") == 1 {
            throw StorageFault(.taken, "\(path): somebody is reading it, so its log cannot be emptied")
        }
    }

    public func clearGaps() throws(StorageFault) { try database.clearGaps() }

    func updateBudget() {
        let now = bytes
        options.budget?.hold(now - budgeted)
        budgeted = now
    }
}

extension SpoolFile.Options {
    func proven(_ say: @escaping @Sendable (String) -> Void) -> ProvenFile.Options {
        var proven = ProvenFile.Options()
        proven.isSynced = isSynced
        proven.pageSize = pageSize
        proven.vfs = vfs
        proven.warn = say
        return proven
    }
}
