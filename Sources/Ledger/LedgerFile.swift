// Who consented to what, in a file of SQLite's. It promises that what a write has taken is there after the process was killed
// and after a loss of power, that no raw id reaches the disk or a message, and that a file which cannot be read is a fault:
// consent is never forgotten in silence. It knows nothing of what levels and purposes mean.

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
    /// Whether another process may have the file, so that nothing is written.
    private let isLookedAt: Bool
    var names = LedgerNames()
    /// The greatest time ever written.
    private var lastReceived: Int64 = 0
    /// The time of the write that is under way.
    private(set) var now: Int64 = 0
    /// Whether changes tell also of ids of which nothing else holds than before.
    var tellsAll = false
    /// How often ids were set apart so far, also in writes that were not kept.
    var unties = 0
    private var isWriting = false
    /// Why the write that is under way cannot be kept.
    private var broken: StorageFault?

    /// Opens the file, or makes it when `makes`; nil: there is none.
    public init?(_ path: String, makes: Bool = true, options: Options) throws(StorageFault) {
        self.path = path
        self.options = options
        isLookedAt = false
        levels = options.levels
        if access(path, F_OK) != 0, errno == ENOENT {
            // A new file would take an old one's log for its own.
            guard access(path + "-wal", F_OK) != 0 else {
                throw LedgerFile.advice(StorageFault(.damaged, "\(path): is not there, but its log is"))
            }
            guard makes else { return nil }
            try LedgerFile.make(path, options)
        }
        database = try LedgerFile.advised { () throws(StorageFault) in try LedgerFile.open(path, options) }
        do throws(StorageFault) {
            try LedgerFile.advised { () throws(StorageFault) in try recognise() }
        } catch {
            database.close()
            throw error
        }
    }

    /// Opens the file to look at it, whoever has it; nil: there is none.
    public init?(lookingAt path: String, options: Options) throws(StorageFault) {
        self.path = path
        self.options = options
        isLookedAt = true
        levels = options.levels
        if access(path, F_OK) != 0, errno == ENOENT { return nil }
        database = try LedgerFile.advised { () throws(StorageFault) in try Database(path, makes: false, vfs: options.vfs, patience: 5000) }
        do throws(StorageFault) {
            try LedgerFile.advised { () throws(StorageFault) in
                try database.run("PRAGMA query_only = ON")
                try database.check(LedgerSchema.format)
                try checkMark()
            }
        } catch {
            database.close()
            throw error
        }
    }

    /// Whole or not at all: under another name first, so that an empty file is a damaged one.
    private static func make(_ path: String, _ options: Options) throws(StorageFault) {
        let draft = path + ".new"
        for companion in ["", "-wal", "-shm"] { unlink(draft + companion) }
        try makePrivate(draft)
        let database = try Database(draft, vfs: options.vfs)
        do throws(StorageFault) {
            try database.settle(as: LedgerSchema.format, isSynced: true)
            try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            database.close()
            throw error
        }
        database.close()
        let folder = Descriptor(owning: Glibc.open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard rename(draft, path) == 0, fsync(folder.number) == 0 else {
            throw StorageFault(.failed, "\(path): cannot be made: \(SystemFault())")
        }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    private static func open(_ path: String, _ options: Options) throws(StorageFault) -> Database {
        try makePrivate(path)
        let database = try Database(path, makes: false, vfs: options.vfs, patience: 5000)
        do throws(StorageFault) {
            guard try database.number("SELECT count(*) FROM sqlite_schema") != 0 else {
                throw StorageFault(.damaged, "\(path): is empty")
            }
            try database.settle(as: LedgerSchema.format, isSynced: true)
        } catch {
            database.close()
            throw error
        }
        return database
    }

    /// Adds the way out to a fault that only a person can mend.
    static func advised<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        do throws(StorageFault) {
            return try body()
        } catch {
            throw advice(error)
        }
    }

    private static func advice(_ fault: StorageFault) -> StorageFault {
        guard fault.kind == .damaged else { return fault }
        return StorageFault(
            .damaged,
            "\(fault); nothing is let through that needs consent: put back a copy, or move it away with its -wal, and nobody's consent is known"
        )
    }

    /// Checks that it was written under these keys, and reads what the ledger knows of itself. Nothing is written but the marks of
    /// keys that it does not know yet.
    private func recognise() throws(StorageFault) {
        let isMarked = try checkMark()
        var fresh: [LedgerKeys.Key] = []
        for key in options.keys.all where try !isKnown(key) { fresh.append(key) }
        if isMarked, fresh.isEmpty { return }
        let marks = fresh
        try write { () throws(StorageFault) in
            let insert = try database.statement("INSERT OR REPLACE INTO about VALUES ('mark', ?1)")
            try mark.withBytes { (bytes) throws(StorageFault) in try insert.bind(1, lending: bytes).run() }
            for key in marks { try markKey(key) }
        }
    }

    /// Whether it was written to before, which was under this key.
    @discardableResult
    private func checkMark() throws(StorageFault) -> Bool {
        try readTime()
        let known = try database.statement("SELECT value FROM about WHERE name = 'mark'")
        let isMarked = try known.step()
        let isSame = isMarked && ShortHash(known.bytes(0)) == mark
        known.reset()
        // Under another key every subject would have another short hash, and nobody would be found.
        guard isSame || !isMarked else {
            throw StorageFault(
                .foreign,
                "\(path): was written under another subject.key than the one beside it; put that one back, or import an export with raw ids"
            )
        }
        return isMarked
    }

    func readTime() throws(StorageFault) {
        lastReceived = try database.number("SELECT value FROM about WHERE name = 'received'") ?? 0
    }

    /// The short hash of a fixed text, which tells the key.
    var mark: ShortHash { options.short([0] + Array("switchyard ledger".utf8)) }

    private func isKnown(_ key: LedgerKeys.Key) throws(StorageFault) -> Bool {
        let find = try database.statement("SELECT mark FROM keys WHERE name = ?1").bind(1, key.name)
        defer { find.reset() }
        guard try find.step(), !find.isNull(0) else { return false }
        guard find.bytes(0).elementsEqual(key.mark) else {
            throw StorageFault(
                .foreign,
                "\(path): was written under another key '\(printable(key.name))'; give a new key a new name, and keep the old one as previous"
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
                try database.transaction { () throws(StorageFault) in
                    let result = try body()
                    if let broken { throw broken }
                    try database.statement("INSERT OR REPLACE INTO about VALUES ('received', ?1)").bind(1, now).run()
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
        if !isLookedAt { try? tidy() }
        database.close()
    }
}
