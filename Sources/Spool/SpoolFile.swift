// A lane's spool as a file of SQLite's. It promises that what a commit has taken is there after the process was killed (or,
// where `power` is asked for, after the machine went down), that what was removed is overwritten, and that damage is set aside and told,
// never thrown away in silence.

internal import Database
internal import Events
public import Platform
@_spi(Spool) public import Policy

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
    var database: Database
    var routes: FileNumbers
    var levels: FileNumbers
    var totals = Totals()
    /// What the budget knows of.
    private var told = 0
    var loss: SpoolLoss?
    var index = ByteBuffer()

    /// What waits, by the file's numbers of routes.
    struct Totals {
        var events: [UInt16: Int] = [:]
        var bytes: [UInt16: Int] = [:]

        mutating func add(_ parts: [Part], times sign: Int) {
            for part in parts {
                events[part.route, default: 0] += sign * part.events
                bytes[part.route, default: 0] += sign * part.bytes
            }
        }
    }

    /// What a row holds of one route.
    struct Part {
        var route: UInt16
        var events: Int
        var bytes: Int
    }

    /// Opens the file, or makes it. One that is damaged is set aside, and what can be read of it is taken over.
    public init(path: String, names: RunNames, options: Options = Options(), say: @escaping @Sendable (String) -> Void) throws(SpoolFault) {
        self.path = path
        routes = FileNumbers(table: "routes", names: names)
        levels = FileNumbers(table: "levels", names: options.levels)
        self.options = options
        self.say = say
        do throws(SpoolFault) {
            database = try SpoolFile.open(path, options)
            try readAbout()
        } catch {
            guard error.kind == .damaged else { throw error }
            database = try SpoolFile.open(try Salvage.setAside(path, at: options.clock.wall()), in: path, options, error, say)
            try readAbout()
        }
    }

    static func open(_ path: String, _ options: Options) throws(SpoolFault) -> Database {
        try makePrivate(path)
        let database = try Database(path, vfs: options.vfs, patience: 5000)
        try database.settle(as: SpoolSchema.format, isSynced: options.isSynced, pageSize: options.pageSize)
        return database
    }

    /// A new file with what can be read of the one that was set aside.
    static func open(
        _ damaged: String, in path: String, _ options: Options, _ fault: SpoolFault, _ say: @Sendable (String) -> Void
    ) throws(SpoolFault) -> Database {
        let database = try open(path, options)
        let found = try Salvage.takeOver(from: damaged, into: database, vfs: options.vfs)
        let lost = found.expected.map { "\(grouped(max(0, $0 - found.events))) of \(grouped($0))" } ?? "an unknown number of"
        say("\(fault); it was set aside as \(damaged), \(grouped(found.events)) events were read from it, \(lost) events are lost")
        return database
    }

    func readAbout() throws(SpoolFault) {
        totals = Totals()
        try routes.read(database)
        try levels.read(database)
        let waiting = try database.statement("SELECT route, events, bytes FROM waiting")
        defer { waiting.reset() }
        while try waiting.step() {
            guard let number = UInt16(exactly: waiting.int(0)) else { continue }
            totals.events[number] = Int(waiting.int(1))
            totals.bytes[number] = Int(waiting.int(2))
        }
        try database.check(options.cipher, sealing: "batches")
        tellBudget()
    }

    public var contents: SpoolContents {
        var contents = SpoolContents()
        for (number, count) in totals.events where count > 0 {
            contents.events += count
            if let known = routes.run(number) { contents.routes[known, default: 0] += count }
        }
        contents.bytes = totals.bytes.values.reduce(0, +)
        contents.rows = (try? database.number("SELECT count(*) FROM batches")).flatMap { $0 }.map(Int.init) ?? 0
        contents.lastRow = (try? database.number("SELECT seq FROM sqlite_sequence WHERE name = 'batches'")).flatMap { $0 } ?? 0
        contents.oldest = (try? database.number("SELECT arrival FROM batches ORDER BY id LIMIT 1")).flatMap { $0 }
        return contents
    }

    public func takeLoss() -> SpoolLoss? {
        defer { loss = nil }
        return loss
    }

    public func close() {
        try? tidy()
        database.close()
        // Who opens the file again tells anew what it holds.
        options.budget?.hold(-told)
        told = 0
    }

    public func tidy() throws(SpoolFault) {
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
        let now = totals.bytes.values.reduce(0, +)
        options.budget?.hold(now - told)
        told = now
    }
}
