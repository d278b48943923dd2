// A lane's spool as a file of SQLite's. It promises that what a commit has taken is there after the process was killed (or,
// where `power` is asked for, after the machine went down), that what was removed is overwritten, that no row is given out whose checksum
// is wrong, that what was confirmed does not come again although there was no room to record it, and that damage, and what vanished by it, is told with numbers and set aside, never thrown away in silence.

@_spi(Spool) public import Admission
internal import Database
internal import Events
public import Platform

public final class SpoolFile: SpoolStore, @unchecked Sendable {
    public struct Options: Sendable {
        /// Whether a commit returns only when the disk has it.
        public var isSynced = false
        /// nil: what is new is kept in the clear.
        public var cipher: Cipher?
        /// What the folder as a whole may hold; nil: as much as the disk does.
        public var budget: DiskBudget?
        /// Another file system than SQLite's own, for tests.
        public var vfs: String?
        public var clock = Clock.system
        /// The names of the levels that events were admitted under.
        public var levels = RunNames()
        /// Larger pages carry more megabytes a second, and cost more when events come one by one, since pages are written whole.
        public var pageSize = 16384
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
    /// What the budget knows of.
    private var told = 0
    var loss: SpoolLoss?
    /// The file is closed, and is rebuilt before anything else is done.
    var damage: Damage?
    /// What stands beside the rows was read.
    var isKnown = true
    var index = ByteBuffer()
    /// Where it is noted what was confirmed while there is no room for that; nil: there was no room for that either.
    var settled: SettledFile?
    var owed = Owed()
    /// While there was no room a moment ago: when the file itself is tried again.
    var recordAgain: Instant?
    /// Whether it was said that something is owed.
    var isOwing = false
    /// Its place is another's by now: nothing is made there.
    var isLetGo = false
    /// The file is closed, all of it was settled, and another takes its place before anything else is done.
    var isRenewing = false

    /// Opens the file, or makes it. One that is damaged is set aside, and what can be read of it is taken over.
    public init(path: String, names: RunNames, options: Options = Options(), say: @escaping @Sendable (String) -> Void) throws(SpoolFault) {
        self.path = path
        let application = SpoolSchema.format.application
        routes = FileNumbers(table: "routes", names: names, application: application)
        levels = FileNumbers(table: "levels", names: options.levels, application: application)
        self.options = options
        self.say = say
        let reader = RowReader(routes: routes, levels: levels, cipher: options.cipher)
        let noted = SettledFile.look(SettledFile.path(beside: path))
        let found: Damage?
        (file, loss, found) = try SpoolFile.open(path, options, reader, say)
        do throws(SpoolFault) {
            // Before anything is written: what was noted counts until then.
            try takeNoted(noted, after: found)
            try readAbout()
            try verifySums()
            try payIfRoom()
        } catch {
            do throws(SpoolFault) {
                guard error.kind == .damaged else { throw error }
                try repair(error)
            } catch {
                database.closeKeepingLog()
                throw error
            }
        }
    }

    private static func open(
        _ path: String, _ options: Options, _ reader: RowReader, _ say: @escaping @Sendable (String) -> Void
    ) throws(SpoolFault) -> (ProvenFile, SpoolLoss?, Damage?) {
        var damage: Damage
        var old: Int64?
        do throws(SpoolFault) {
            let opening = try ProvenFile.open(
                path, as: SpoolSchema.format, options.proven(say),
                admit: { database throws(SpoolFault) in
                    let isOld = try database.number("SELECT count(*) FROM sqlite_schema WHERE name = 'proof'") == 0
                    _ = try database.admits(
                        options.cipher, sealing: "batches", application: isOld ? nil : SpoolSchema.format.application)
                },
                upgrade: { file, version throws(SpoolFault) in
                    try SpoolUpgrade.upgrade(file, reader)
                    old = version
                })
            switch opening {
            case .absent: return (try ProvenFile(making: path, as: SpoolSchema.format, options.proven(say)), nil, nil)
            case .open(let file):
                if let old { say("\(path): was of form \(old), without checksums; it was taken over as it is") }
                return (file, nil, nil)
            case .damaged(let found): damage = found
            }
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = Damage(error.description)
        }
        let new = try SpoolRebuild.rebuild(path, options, damage, reader, say)
        return (new.file, new.loss, damage)
    }

    /// Reads what stands beside the rows.
    func readAbout() throws(SpoolFault) {
        try routes.read(database)
        try levels.read(database)
        guard routes.digest &+ levels.digest == file.proof.digest else {
            throw SpoolFault(.damaged, "\(path): names of routes or levels have vanished from it")
        }
        let application = SpoolSchema.format.application
        if try database.admits(options.cipher, sealing: "batches", application: application) {
            try transaction { () throws(SpoolFault) in try database.note(options.cipher, application: application) }
        }
        tellBudget()
    }

    /// What waits, with what is about to be told as lost.
    public var contents: SpoolContents {
        var contents = SpoolContents()
        for count in file.proof.counts where count.left > 0 && !isRenewing {
            contents.events += Int(count.left)
            if let known = routes.run(Proof.number(ofKey: count.key)) { contents.routes[known, default: 0] += Int(count.left) }
        }
        contents.bytes = bytes
        contents.rows = (try? database.number("SELECT count(*) FROM batches")).flatMap { $0 }.map(Int.init) ?? 0
        if !owed.isEmpty, let seen = try? seenSums() {
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
        return contents
    }

    /// The greatest number that a row ever had.
    var lastRow: Int64 { file.proof.last }
    private var bytes: Int { isRenewing ? 0 : file.proof.counts.reduce(0) { $0 + Int($1.bytes) } }

    /// When the first of all events came in, if its row can be believed.
    private var oldest: Int64? {
        guard let first = try? database.statement("SELECT \(RowReader.columns), batches.checksum FROM batches ORDER BY id") else {
            return nil
        }
        defer { first.reset() }
        repeat { guard (try? first.step()) == true else { return nil } } while isHidden(first.int(0))
        guard reader.batch(first, checksum: 8) != nil else { return nil }
        return first.int(3)
    }

    public func takeLoss() -> SpoolLoss? {
        defer { loss = nil }
        return loss
    }

    public func close() {
        if damage == nil {
            try? tidy()
            file.close()
        }
        // Who opens the file again tells anew what it holds.
        options.budget?.hold(-told)
        told = 0
    }

    public func tidy() throws(SpoolFault) {
        try rebuildIfDamaged()
        if !owed.isEmpty { try transaction { () throws(SpoolFault) in } }
        // In steps, so that what comes in meanwhile does not wait long.
        for _ in 0..<64 where (try database.number("PRAGMA freelist_count") ?? 0) > 64 {
            try database.run("PRAGMA incremental_vacuum(256)")
        }
        if try database.number("PRAGMA wal_checkpoint(TRUNCATE)") == 1 {
            throw SpoolFault(.taken, "\(path): somebody is reading it, so its log cannot be emptied")
        }
    }

    public func clearGaps() throws(SpoolFault) { try database.clearGaps() }

    func tellBudget() {
        let now = bytes
        options.budget?.hold(now - told)
        told = now
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
