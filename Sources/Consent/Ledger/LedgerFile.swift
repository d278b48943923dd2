// Who consented to what, in a file of SQLite's. It promises that what a write has taken is there after the process was killed
// and after a loss of power, that no raw id reaches the disk or a message, and that a file of which anything is damaged or missing is a
// fault: consent is never forgotten in silence. Each opening reads all of it. It knows nothing of what levels and purposes mean.

internal import Database
internal import Glibc
public import Platform

/// Used by one thread at a time.
public final class LedgerFile: @unchecked Sendable {
    public static let name = "ledger.sqlite"

    public struct Options: Sendable {
        public var keys: LedgerKeys
        /// The short hash of a raw id, under the key of the state folder.
        public var short: @Sendable ([UInt8]) -> ShortHash
        /// What `LedgerFile.levels` are at first.
        public var levels: [String] = []
        /// How many ids one person can have. A stream could tie everyone together otherwise.
        public var mostTied = 100
        public var clock = Clock.system
        /// Another file system than SQLite's own, for tests.
        public var vfs: String?
        /// Told of what a person should know.
        public var warn: @Sendable (String) -> Void = { _ in }

        public init(keys: LedgerKeys, short: @escaping @Sendable ([UInt8]) -> ShortHash) {
            self.keys = keys
            self.short = short
        }
    }

    public let path: String
    /// The names of levels as they rise, to tell the stricter of two decisions of the same moment.
    public var levels: [String]
    let options: Options
    let database: Database
    /// nil: another process may have the file, so that nothing is written.
    private let file: ProvenFile?
    private let rows: RowGuard
    var names = LedgerNames()
    /// The greatest time ever written.
    private var lastReceived: Int64 = 0
    /// The time of the write that is under way.
    public private(set) var now: Int64 = 0
    /// Whether changes tell also of ids of which nothing else holds than before.
    var tellsAll = false
    /// How often ids were set apart so far, also in writes that were not kept.
    var unties = 0
    private var isWriting = false
    /// Why the write that is under way cannot be kept.
    private var broken: StorageFault?

    /// Opens the file, or makes it when `makes`; nil: there is none. One of which anything is damaged or missing is a fault, and stays as it is.
    public init?(_ path: String, makes: Bool = true, options: Options) throws(StorageFault) {
        self.path = path
        self.options = options
        levels = options.levels
        guard let (file, rows) = try LedgerFile.advised({ () throws(StorageFault) in try LedgerFile.open(path, makes, options) }) else {
            return nil
        }
        self.file = file
        self.rows = rows
        database = file.database
        do throws(StorageFault) {
            try LedgerFile.advised { () throws(StorageFault) in
                try rows.install()
                try recognise()
            }
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    /// Opens the file to look at it, whoever has it; nil: there is none.
    public init?(lookingAt path: String, options: Options) throws(StorageFault) {
        self.path = path
        self.options = options
        file = nil
        levels = options.levels
        let database: Database? = try LedgerFile.advised { () throws(StorageFault) in
            switch try FileSight.look(at: path, as: LedgerSchema.format, vfs: options.vfs).state {
            case .absent:
                try LedgerFile.checkAbsence(path)
                return nil
            case .damaged(let damage): throw StorageFault(.damaged, damage.words)
            case .old(let database, _):
                database.closeKeepingLog()
                throw StorageFault(.failed, "\(path): has an older form; the next router or command that writes to it takes it over")
            case .whole(let database, _): return database
            }
        }
        guard let database else { return nil }
        self.database = database
        do throws(StorageFault) {
            rows = try LedgerFile.advised { () throws(StorageFault) in
                try database.run("PRAGMA query_only = ON")
                let rows = try RowGuard(database, application: LedgerSchema.format.application, LedgerSchema.guarded)
                try rows.verify()
                return rows
            }
            try LedgerFile.advised { () throws(StorageFault) in
                try readTime()
                try LedgerFile.checkMark(database, options)
            }
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    // MARK: - Opening

    private static func open(_ path: String, _ makes: Bool, _ options: Options) throws(StorageFault) -> (ProvenFile, RowGuard)? {
        var proven = ProvenFile.Options()
        proven.isSynced = true
        proven.vfs = options.vfs
        proven.warn = options.warn
        // How far the file has come is read anew each time: of a commit that failed nobody knows whether it was done.
        proven.isShared = true
        var rows: RowGuard?
        var isUpgraded = false
        func open() throws(StorageFault) -> ProvenFile.Opening {
            try ProvenFile.open(path, as: LedgerSchema.format, proven) { (database) throws(StorageFault) in
                let isOld = try database.number("PRAGMA user_version") ?? 0 < LedgerSchema.format.provenSince ?? 0
                let guarding = try RowGuard(database, application: LedgerSchema.format.application, LedgerSchema.guarded)
                if !isOld { try guarding.verify() }
                try checkMark(database, options)
                for key in options.keys.all { _ = try isKnown(key, database) }
                rows = guarding
            } upgrade: { (file, _) throws(StorageFault) in
                try LedgerSchema.upgrade(file.database)
                rows?.begin()
                try rows?.fill()
                rows?.settle(into: &file.proof)
                isUpgraded = true
            }
        }
        switch try open() {
        case .damaged(let damage): throw StorageFault(.damaged, damage.words)
        case .open(let file):
            if isUpgraded { options.warn("\(path): its rows get checksums; what they hold is taken as it is") }
            return rows.map { (file, $0) }
        case .absent: break
        }
        try checkAbsence(path)
        guard makes else { return nil }
        try make(path, proven)
        guard case .open(let file) = try open() else { throw StorageFault(.failed, "\(path): cannot be made") }
        return rows.map { (file, $0) }
    }

    /// A file without tables is no new one: those are made under another name.
    private static func checkAbsence(_ path: String) throws(StorageFault) {
        if access(path, F_OK) == 0 { throw StorageFault(.damaged, "\(path): is empty") }
        guard access(path + "-wal", F_OK) != 0 else { throw StorageFault(.damaged, "\(path): is not there, but its log is") }
    }

    /// Whole or not at all: under another name first, so that an empty file is a damaged one.
    private static func make(_ path: String, _ options: ProvenFile.Options) throws(StorageFault) {
        let draft = path + ".new"
        for companion in ["", "-wal", "-shm"] { unlink(draft + companion) }
        let file = try ProvenFile(making: draft, as: LedgerSchema.format, options)
        do throws(StorageFault) {
            try file.database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            file.close()
            throw error
        }
        file.close()
        // The file gets its witness where it is used.
        unlink(Witness.path(beside: draft))
        let folder = Descriptor(owning: Glibc.open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard rename(draft, path) == 0, fsync(folder.number) == 0 else {
            throw StorageFault(.failed, "\(path): cannot be made: \(SystemFault())")
        }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// Adds the way out to a fault that only a person can mend.
    static func advised<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        do throws(StorageFault) {
            return try body()
        } catch {
            guard error.kind == .damaged else { throw error }
            throw StorageFault(
                .damaged,
                "\(error); nothing is let through that needs consent: put back a copy, in place of it and its -wal and .witness, or move the three "
                    + "away, and nobody's consent is known")
        }
    }

    /// Writes down under which keys it is written, where it does not know yet.
    private func recognise() throws(StorageFault) {
        try readTime()
        let isMarked = try LedgerFile.checkMark(database, options)
        var fresh: [LedgerKeys.Key] = []
        for key in options.keys.all where try !LedgerFile.isKnown(key, database) { fresh.append(key) }
        if isMarked, fresh.isEmpty { return }
        let marks = fresh
        try write { () throws(StorageFault) in
            if !isMarked {
                let insert = try database.statement("INSERT INTO about (name, value) VALUES ('mark', ?1)")
                try mark.withBytes { (bytes) throws(StorageFault) in try insert.bind(1, lending: bytes).run() }
            }
            for key in marks { try markKey(key) }
        }
    }

    /// Whether it was written to before, which was under this key.
    @discardableResult
    private static func checkMark(_ database: Database, _ options: Options) throws(StorageFault) -> Bool {
        let known = try database.statement("SELECT value FROM about WHERE name = 'mark'")
        let isMarked = try known.step()
        let isSame = isMarked && ShortHash(known.bytes(0)) == mark(options)
        known.reset()
        // Under another key every subject would have another short hash, and nobody would be found.
        guard isSame || !isMarked else {
            throw StorageFault(
                .foreign,
                "\(database.path): was written under another subject.key than the one beside it; put that one back, or import an export with "
                    + "raw ids")
        }
        return isMarked
    }

    func readTime() throws(StorageFault) {
        lastReceived = try database.number("SELECT value FROM about WHERE name = 'received' AND \(LedgerSchema.aboutIsWhole)") ?? 0
    }

    /// The short hash of a fixed text, which tells the key.
    var mark: ShortHash { LedgerFile.mark(options) }

    private static func mark(_ options: Options) -> ShortHash { options.short([0] + Array("switchyard ledger".utf8)) }

    private static func isKnown(_ key: LedgerKeys.Key, _ database: Database) throws(StorageFault) -> Bool {
        let find = try database.statement("SELECT mark FROM keys WHERE name = ?1").bind(1, key.name)
        defer { find.reset() }
        guard try find.step(), !find.isNull(0) else { return false }
        guard find.bytes(0).elementsEqual(key.mark) else {
            throw StorageFault(
                .foreign,
                "\(database.path): was written under another key '\(printable(key.name))'; give a new key a new name, and keep the old one as previous"
            )
        }
        return true
    }

    private func markKey(_ key: LedgerKeys.Key) throws(StorageFault) {
        let update = try database.statement("UPDATE keys SET mark = ?2 WHERE number = ?1").bind(1, try names.key(key.name, in: database))
        try key.mark.withUnsafeBufferPointer { (mark) throws(StorageFault) in
            try update.bind(2, lending: UnsafeRawBufferPointer(mark)).run()
        }
    }

    // MARK: - Writing

    /// Does all that the body does in one transaction, or nothing of it. What the calls in it gave back holds once it has returned.
    public func write<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        if isWriting {
            do throws(StorageFault) {
                return try body()
            } catch {
                broken = error
                throw error
            }
        }
        isWriting = true
        now = max(options.clock.wall(), lastReceived)
        defer {
            isWriting = false
            broken = nil
        }
        do throws(StorageFault) {
            let result = try LedgerFile.advised { () throws(StorageFault) in
                guard let file else { throw StorageFault(.failed, "\(path): was opened to look at it only") }
                rows.begin()
                return try file.transaction { () throws(StorageFault) in
                    let result = try body()
                    if let broken { throw broken }
                    try database.statement(
                        "INSERT INTO about (name, value) VALUES ('received', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                    ).bind(1, now).run()
                    rows.settle(into: &file.proof)
                    return result
                }
            }
            lastReceived = now
            return result
        } catch {
            // Numbers that were given out in it may be given to others now.
            names = LedgerNames()
            throw error
        }
    }

    /// What comes next in the write that is under way is later than all that was written before, by as little as there is.
    public func advance() {
        precondition(isWriting)
        now += 1
    }

    // MARK: - Time

    static let tolerance: Int64 = 300_000_000_000

    /// The time of the last write, in nanoseconds since 1970; 0: there was none.
    public var lastWritten: Int64 { lastReceived }

    /// Whether now is earlier, by more than five minutes, than what is on record: then nobody can tell which decision is the last.
    public var isClockBehind: Bool { options.clock.wall() < lastReceived - LedgerFile.tolerance }

    /// Believes the clock: whatever is recorded as later than now is taken as of now. For a person who knows that the clock
    /// was wrong then and is right now.
    public func believeClock() throws(StorageFault) {
        let time = options.clock.wall()
        try write { () throws(StorageFault) in
            for table in ["subjects", "history"] {
                try database.statement("UPDATE \(table) SET decided = min(decided, ?1), received = min(received, ?1) WHERE received > ?1")
                    .bind(1, time).run()
            }
            now = time
        }
    }

    /// Forgets decisions that were written before that time and no longer hold, and receipts of withdrawals that ended before it.
    /// Nothing else bounds either.
    public func forget(before time: Int64) throws(StorageFault) {
        try write { () throws(StorageFault) in
            // What holds can come of several decisions of the same moment.
            let held = "(SELECT decided FROM subjects WHERE number = history.subject)"
            for sql in [
                "DELETE FROM history WHERE received < ?1 AND decided < \(held)",
                "DELETE FROM receipt_lines WHERE receipt IN (SELECT number FROM receipts WHERE finished < ?1)",
                "DELETE FROM receipts WHERE finished < ?1",
            ] { try database.statement(sql).bind(1, time).run() }
        }
        try tidy()
    }

    /// Gives back the space that nothing needs, and leaves nothing of what was removed in the log.
    public func tidy() throws(StorageFault) {
        try LedgerFile.advised { () throws(StorageFault) in
            try database.run("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }

    public func close() {
        guard file != nil else { return database.closeKeepingLog() }
        try? tidy()
        database.close()
    }
}
