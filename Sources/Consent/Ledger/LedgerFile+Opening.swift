// Opens the file of a ledger: verifies it under its key before anything is written, converts an older format, and moves the checksums to the
// current key. A file that was changed without a key of the ledger is a fault and stays as it is.

internal import Database
internal import Events
internal import Glibc
internal import Platform

extension LedgerFile {
    /// An open file, and the guard of its rows.
    typealias Opened = (file: ProvenFile, rows: RowGuard)

    static func open(_ path: String, makes: Bool, options: Options) throws(StorageFault) -> Opened? {
        var proven = ProvenFile.Options()
        proven.isSynced = true
        proven.vfs = options.vfs
        proven.warn = options.warn
        // The proof is read again in each transaction: after a commit that failed, it is unknown whether the commit was done.
        proven.isShared = true
        let current = options.keys.current
        proven.sealed = { (proof, database) throws(StorageFault) in try LedgerSeal.write(proof, under: current, database) }
        switch try openFile(path, proven, options) {
        case .damaged(let damage): throw StorageFault(.damaged, damage.words)
        case .open(let opened): return opened
        case .absent: break
        }
        try checkAbsence(path)
        guard makes else { return nil }
        try make(path, proven)
        guard case .open(let opened) = try openFile(path, proven, options) else { throw StorageFault(.failed, "\(path): cannot be made") }
        return opened
    }

    private enum Sight {
        case absent
        case damaged(Damage)
        case open(Opened)
    }

    private static func openFile(_ path: String, _ proven: ProvenFile.Options, _ options: Options) throws(StorageFault) -> Sight {
        // A file is only converted forwards, so an older version than the witness knows was set by hand.
        var known: Int64 = 0
        if case .found(let record) = Witness.look(Witness.path(beside: path)), !record.isDestroyed { known = record.version }
        var rows: RowGuard?
        var sealedUnder: LedgerKeys.Key?
        let opening = try ProvenFile.open(path, as: LedgerSchema.format, proven) { (database) throws(StorageFault) in
            let version = try database.number("PRAGMA user_version") ?? 0
            guard version >= known else { throw StorageFault(.damaged, "\(path): its format was set back by hand") }
            (rows, sealedUnder) = try verified(database, version: version, options)
            try checkMark(database, options)
            for key in options.keys.all { _ = try isKnown(key, database) }
        } upgrade: { (file, _) throws(StorageFault) in
            try LedgerSchema.addChecksums(file.database)
            try LedgerSchema.addSeal(file.database)
            rows?.begin()
            try rows?.fill()
            rows?.settle(into: &file.proof)
            try rows?.renew(under: options.keys.current.rows, into: &file.proof)
        }
        switch opening {
        case .absent: return .absent
        case .damaged(let damage): return .damaged(damage)
        case .open(let file):
            guard let rows else { preconditionFailure("a file is open and was not verified") }
            try convert(file, rows, from: sealedUnder, options)
            return .open((file, rows))
        }
    }

    /// Verifies the rows under the key of the ledger that sealed them. Returns their guard and that key, which is nil if the rows have no
    /// key yet.
    private static func verified(
        _ database: Database, version: Int64, _ options: Options
    ) throws(StorageFault) -> (RowGuard, LedgerKeys.Key?) {
        let key = version < LedgerSchema.sealedSince ? nil : try LedgerSeal.key(of: database, options)
        let rows = try RowGuard(database, application: LedgerSchema.format.application, LedgerSchema.guarded, key: key?.rows)
        guard version >= LedgerSchema.format.provenSince ?? 0 else { return (rows, key) }
        if key != nil {
            try rows.verify()
        } else {
            // The functions of this guard replace those of the other one, so it comes first.
            let older = try RowGuard(database, application: LedgerSchema.format.application, LedgerSchema.unsealed)
            try older.verify()
            try checkHistory(database)
            return (try RowGuard(database, application: LedgerSchema.format.application, LedgerSchema.guarded), nil)
        }
        try checkHistory(database)
        return (rows, key)
    }

    /// Moves the checksums of a file to the current key, and converts a file whose checksums had no key.
    private static func convert(
        _ file: ProvenFile, _ rows: RowGuard, from key: LedgerKeys.Key?, _ options: Options
    ) throws(StorageFault) {
        let current = options.keys.current
        do throws(StorageFault) {
            if file.proof.version < LedgerSchema.format.version {
                try file.upgrade(to: LedgerSchema.format.version) { () throws(StorageFault) in
                    try LedgerSchema.addSeal(file.database)
                    try rows.renew(under: current.rows, into: &file.proof)
                }
                options.warn("\(file.path): its rows now have checksums under the key '\(printable(current.name))'")
            } else if let key, key.name != current.name {
                try file.transaction { () throws(StorageFault) in try rows.renew(under: current.rows, into: &file.proof) }
            } else if key == nil {
                options.warn("\(file.path): its rows get checksums; their content is trusted without a check")
            }
        } catch {
            file.database.closeKeepingLog()
            throw error
        }
    }

    /// Verifies a file that is only read. Returns nil if there is none.
    static func look(_ path: String, _ options: Options) throws(StorageFault) -> (database: Database, rows: RowGuard, proof: Proof?)? {
        let database: Database
        let proof: Proof?
        switch try FileSight.look(at: path, as: LedgerSchema.format, vfs: options.vfs).state {
        case .absent:
            try checkAbsence(path)
            return nil
        case .damaged(let damage): throw StorageFault(.damaged, damage.words)
        case .old(let old, _):
            old.closeKeepingLog()
            throw StorageFault(.failed, "\(path): has an older format; the next router or command that writes to it upgrades it")
        case .whole(let whole, let seen): (database, proof) = (whole, seen)
        }
        do throws(StorageFault) {
            try database.run("PRAGMA query_only = ON")
            let (rows, _) = try verified(database, version: try database.number("PRAGMA user_version") ?? 0, options)
            try checkMark(database, options)
            return (database, rows, proof)
        } catch {
            database.closeKeepingLog()
            throw error
        }
    }

    // MARK: - What there is to verify besides the rows

    /// Compares what holds for each id with its history. The history has the decision that holds, and no later one that held.
    static func checkHistory(_ database: Database) throws(StorageFault) {
        let wrong = try database.number(
            """
            SELECT number FROM subjects WHERE terms IS NOT NULL AND NOT EXISTS (
              SELECT 1 FROM history WHERE subject = subjects.number AND held = 1 AND decided = subjects.decided AND (
                terms = subjects.terms
                OR (SELECT count(*) FROM history AS other
                    WHERE other.subject = subjects.number AND other.held = 1 AND other.decided = subjects.decided) > 1))
            UNION ALL
            SELECT subject FROM history JOIN subjects ON subjects.number = subject
            WHERE held = 1 AND (subjects.terms IS NULL OR history.decided > subjects.decided)
            LIMIT 1
            """)
        if let wrong { throw StorageFault(.damaged, "\(database.path): row \(wrong) of subjects says something else than its history") }
    }

    /// An existing file without tables is damaged, because a new file gets its name only after its tables are made.
    private static func checkAbsence(_ path: String) throws(StorageFault) {
        if access(path, F_OK) == 0 { throw StorageFault(.damaged, "\(path): is empty") }
        guard access(path + "-wal", F_OK) != 0 else { throw StorageFault(.damaged, "\(path): is not there, but its log is") }
    }

    /// Creates the file under another name and renames it. The file then exists either complete or not at all, so an empty file is always a
    /// damaged one.
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
        // The witness is made when the file is first opened under its final name.
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

    /// Adds the remedy to the text of a fault that only a person can mend.
    static func advised<R>(_ body: () throws(StorageFault) -> R) throws(StorageFault) -> R {
        do throws(StorageFault) {
            return try body()
        } catch {
            guard error.kind == .damaged else { throw error }
            throw StorageFault(
                .damaged,
                "\(error); events that need consent are denied: put back a copy in place of it and its -wal and .witness, or move the three away "
                    + "to start without any recorded consent; either way the withdrawals in \(WithdrawalLog.name) hold")
        }
    }

    /// Returns true if the file has a mark. Throws if the mark was made with another subject key.
    @discardableResult
    static func checkMark(_ database: Database, _ options: Options) throws(StorageFault) -> Bool {
        let known = try database.statement("SELECT value FROM about WHERE name = 'mark'")
        let isMarked = try known.step()
        let isSame = isMarked && ShortHash(known.bytes(0)) == mark(options)
        known.reset()
        // With another key every subject has another short hash, and no record is found.
        guard isSame || !isMarked else {
            throw StorageFault(
                .foreign,
                "\(database.path): was written under another subject.key than the one beside it; put the old key back, or import a list with "
                    + "raw ids")
        }
        return isMarked
    }

    static func isKnown(_ key: LedgerKeys.Key, _ database: Database) throws(StorageFault) -> Bool {
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
}
