// The consent ledger: decisions, ties and withdrawal receipts in an SQLite file. It makes three promises. A write that returned is on disk
// and survives a kill of the process and a loss of power. No raw id reaches the disk or a message. A file that is damaged or incomplete is
// a fault, so consent is never forgotten in silence; only a missing or damaged witness is a warning. Each opening reads and verifies the
// whole file. The ledger does not know what levels and purposes mean; it knows only the order of the levels.

internal import Database
internal import Glibc
public import Platform
public import StateFiles

/// Only one thread may use it at a time.
public final class LedgerFile: @unchecked Sendable {
    public static let name = "ledger.sqlite"

    public struct Options: Sendable {
        public var keys: LedgerKeys
        /// Returns the short hash of a raw id, made with the key of the state folder.
        public var short: @Sendable ([UInt8]) -> ShortHash
        /// The initial value of `LedgerFile.levels`.
        public var levels: [String] = []
        /// The maximum number of ids that are tied as one person. Without a limit, a stream could tie all ids together.
        public var mostTied = 100
        public var clock = Clock.system
        /// The name of another SQLite file system, for tests. It is nil for the default one.
        public var vfs: String?
        /// Encrypts evidence. It is nil if none is kept.
        public var evidence: Cipher?
        /// Receives warnings for the operator.
        public var warn: @Sendable (String) -> Void = { _ in }
        /// Gets what each write did, after its commit and before the write returns. The list is empty if the write changed no record.
        public var committed: (@Sendable ([LedgerAct], LedgerPosition) -> Void)?

        public init(keys: LedgerKeys, short: @escaping @Sendable ([UInt8]) -> ShortHash) {
            self.keys = keys
            self.short = short
        }
    }

    public let path: String
    /// The names of the levels from lowest to highest. They decide which of two decisions of the same moment is stricter.
    public var levels: [String]
    let options: Options
    let database: Database
    /// It is nil if the file was opened read-only, because another process may use it. Then nothing is written.
    private let file: ProvenFile?
    private let rows: RowGuard
    /// The withdrawals in a file of their own. It is nil if the ledger was opened read-only.
    let withdrawals: WithdrawalLog?
    /// Withdrawals of the current write, which go to that file before the commit.
    var pending: [WithdrawalLog.Entry] = []
    /// SQLite's number of the commits of other connections.
    private var others: Int64 = 0
    /// The proof that a file had when it was opened read-only.
    private var seenProof: Proof?
    var names = LedgerNames()
    /// The latest time that was ever written.
    private var lastReceived: Int64 = 0
    /// The time of the current write.
    public private(set) var now: Int64 = 0
    /// The latest time at which events came in. A write is no earlier, even if the clock went back a little since, so that a withdrawal is
    /// later than all events that came in before it.
    var latestArrival = Int64.min
    /// True if changes also list ids whose effective terms did not change.
    var tellsAll = false
    /// The number of ids that were untied so far. It includes writes that were rolled back.
    var unties = 0
    private var isWriting = false
    /// What the current write has done so far.
    var acts: [LedgerAct] = []
    /// The fault that keeps the current write from being committed.
    private var broken: StorageFault?

    /// Opens the file, and creates it if it is missing and `makes` is true. Returns nil if it is missing and `makes` is false. A damaged or
    /// incomplete file is a fault, and is left as it is.
    public init?(_ path: String, makes: Bool = true, options: Options) throws(StorageFault) {
        self.path = path
        self.options = options
        levels = options.levels
        let opened = try LedgerFile.advised { () throws(StorageFault) in try LedgerFile.open(path, makes: makes, options: options) }
        guard let (file, rows) = opened else { return nil }
        self.file = file
        self.rows = rows
        database = file.database
        do throws(StorageFault) {
            withdrawals = try WithdrawalLog(WithdrawalLog.path(beside: path), keys: options.keys, warn: options.warn)
        } catch {
            database.closeKeepingLog()
            throw error
        }
        do throws(StorageFault) {
            try LedgerFile.advised { () throws(StorageFault) in
                try rows.install()
                try noteOthers()
                try recognize()
                try reconcile()
            }
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    /// Opens the file read-only, even if another process uses it. Returns nil if there is no file.
    public init?(lookingAt path: String, options: Options) throws(StorageFault) {
        self.path = path
        self.options = options
        file = nil
        withdrawals = nil
        levels = options.levels
        let looked = try LedgerFile.advised { () throws(StorageFault) in try LedgerFile.look(path, options) }
        guard let looked else { return nil }
        (database, rows, seenProof) = (looked.database, looked.rows, looked.proof)
        do throws(StorageFault) {
            try LedgerFile.advised { () throws(StorageFault) in try readTime() }
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    // MARK: - Opening

    /// Records the keys that the file is written under, if it does not know them yet.
    private func recognize() throws(StorageFault) {
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

    func readTime() throws(StorageFault) {
        lastReceived = try database.number("SELECT value FROM about WHERE name = 'received' AND \(LedgerSchema.aboutIsWhole)") ?? 0
    }

    /// The short hash of a fixed text. It identifies the subject key.
    var mark: ShortHash { LedgerFile.mark(options) }

    static func mark(_ options: Options) -> ShortHash { options.short([0] + Array("switchyard ledger".utf8)) }

    private func markKey(_ key: LedgerKeys.Key) throws(StorageFault) {
        let update = try database.statement("UPDATE keys SET mark = ?2 WHERE number = ?1").bind(1, try names.key(key.name, in: database))
        try key.mark.withUnsafeBufferPointer { (mark) throws(StorageFault) in
            try update.bind(2, lending: UnsafeRawBufferPointer(mark)).run()
        }
    }

    // MARK: - Writing

    /// Runs the body in one transaction: all of its changes are committed, or none. The results of calls inside the body are valid only
    /// after this function has returned.
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
        acts.removeAll()
        assert(broken == nil, "the fault of an earlier write is left")
        pending = []
        let wall = options.clock.wall()
        // While the clock is behind, each write still has a time of its own: what was written after a time can be told.
        now = wall < lastReceived ? lastReceived + 1 : wall
        if latestArrival > now, latestArrival - wall <= LedgerFile.tolerance { now = latestArrival }
        defer {
            isWriting = false
            broken = nil
        }
        do throws(StorageFault) {
            let result = try LedgerFile.advised { () throws(StorageFault) in
                guard let file else { throw StorageFault(.failed, "\(path): was opened read-only") }
                try checkOthers()
                rows.begin()
                return try file.transaction { () throws(StorageFault) in
                    let result = try body()
                    if let broken { throw broken }
                    try database.statement(
                        "INSERT INTO about (name, value) VALUES ('received', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                    ).bind(1, now).run()
                    rows.settle(into: &file.proof)
                    // If the commit fails, the withdrawal holds from the next opening on.
                    try withdrawals?.append(pending)
                    return result
                }
            }
            lastReceived = now
            if let position { options.committed?(acts, position) }
            return result
        } catch {
            // The rolled-back write may have given out row numbers, which other names may get now.
            names = LedgerNames()
            throw error
        }
    }

    /// Moves the time of the current write forward by one nanosecond, so that what follows is later than all that was written before.
    public func advance() {
        precondition(isWriting, "time moves forward only during a write")
        now += 1
    }

    // MARK: - Changes by others

    private func noteOthers() throws(StorageFault) { others = try database.number("PRAGMA data_version") ?? 0 }

    /// Verifies the whole file if another connection has changed it since the last call. Nothing but this ledger may write to it.
    func checkOthers() throws(StorageFault) {
        let before = others
        try noteOthers()
        guard others != before else { return }
        do throws(StorageFault) {
            _ = try LedgerSeal.key(of: database, options)
            try rows.verify()
            try LedgerFile.checkHistory(database)
        } catch {
            // The next call must find the same.
            others = before
            throw error
        }
    }

    /// How far the file has come, or had come when it was opened read-only.
    public var position: LedgerPosition? {
        (file?.proof ?? seenProof).map { LedgerPosition(database: $0.database, commits: $0.sequence, written: lastReceived) }
    }

    // MARK: - Time

    static let tolerance: Int64 = 300_000_000_000

    /// The time of the last write, in nanoseconds since 1970. It is 0 if nothing was written yet.
    public var lastWritten: Int64 { lastReceived }

    /// True if the clock is more than five minutes behind the last write. Then nobody can tell which decision is the latest.
    public var isClockBehind: Bool { options.clock.wall() < lastReceived - LedgerFile.tolerance }

    /// Trusts the clock: changes all recorded times that are later than now to now. A person calls this after the clock was wrong and is
    /// right again. A withdrawal whose events are not all destroyed keeps its time until they are, because these events came in under the
    /// wrong clock too.
    public func believeClock() throws(StorageFault) {
        let time = options.clock.wall()
        try write { () throws(StorageFault) in
            for table in ["subjects", "history"] {
                try database.statement("UPDATE \(table) SET decided = min(decided, ?1), received = min(received, ?1) WHERE received > ?1")
                    .bind(1, time).run()
            }
            for sql in [
                "UPDATE receipts SET begun = min(begun, ?1), finished = min(finished, ?1) WHERE finished > ?1",
                "UPDATE receipt_lines SET at = ?1 WHERE at > ?1",
            ] { try database.statement(sql).bind(1, time).run() }
            now = time
            acts.append(.believedClock(time))
        }
        try withdrawals?.limit(to: time)
    }

    /// Deletes decisions that were written before `time` and no longer hold, and receipts of withdrawals that finished before it. Nothing
    /// else limits the number of either.
    public func forget(before time: Int64) throws(StorageFault) {
        try write { () throws(StorageFault) in
            // Several decisions of the same moment may make up what holds.
            let held = "(SELECT decided FROM subjects WHERE number = history.subject)"
            for sql in [
                "DELETE FROM evidence WHERE EXISTS (SELECT 1 FROM history WHERE subject = evidence.subject AND number = evidence.number "
                    + "AND received < ?1 AND decided < \(held))",
                "DELETE FROM history WHERE received < ?1 AND decided < \(held)",
                "DELETE FROM receipt_lines WHERE receipt IN (SELECT number FROM receipts WHERE finished < ?1)",
                "DELETE FROM receipts WHERE finished < ?1",
            ] { try database.statement(sql).bind(1, time).run() }
            acts.append(.forgot(before: time))
        }
        try tidy()
    }

    /// Returns unused pages to the file system, and leaves no removed data in the log.
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
