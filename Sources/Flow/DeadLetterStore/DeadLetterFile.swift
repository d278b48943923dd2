// Dead letters: events that were given up, with the reason and the last answer, until they are sent again or removed. They are in one
// SQLite file. Several processes may share it: a router that adds letters, and a command that lists or replays them. It promises that no
// letter with a wrong checksum is given out. If a process that may write finds the file damaged, it sets the file aside and reports the
// loss.

public import Admission
public import ConsentGate
internal import Database
public import Platform
public import StateFiles

public final class DeadLetterFile: @unchecked Sendable {
    public static let name = "dead-letters.sqlite"
    /// The mark is "SWYD".
    static let kind = GuardedKind(
        format: FileFormat(application: 0x5357_5944, version: 3, tables: tables, provenSince: 3), tables: guarded, events: 1,
        noun: "dead letters",
        upgrade: { (database, version) throws(StorageFault) in
            if version < 2 { try database.run("ALTER TABLE letters ADD COLUMN level TEXT DEFAULT ''") }
        })

    /// The tables whose rows have checksums. Their order must not change, since the proof counts by their position.
    private static let guarded = [
        GuardedTable("about", key: ["name"], ["value"]),
        GuardedTable(
            "letters", key: ["id"],
            ["at", "provider", "route", "reason", "attempts", "code", "answer", "arrival", "subjects", "sealed", "event", "level"],
            indexes: [.init("letters_by_provider", ["provider"])]),
    ]
    /// A condition for statements that give letters out. It makes them fail for a damaged row.
    private static let isWhole = guarded.whole("letters")

    private static let tables = """
        CREATE TABLE about (  -- facts about the file, one in each row
          name TEXT PRIMARY KEY, value,
          checksum INTEGER  -- here and in all tables: over the other columns of the row
        ) WITHOUT ROWID;
        CREATE TABLE letters (  -- events that were given up
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          at INTEGER NOT NULL,  -- when it was given up, in nanoseconds since 1970
          provider TEXT NOT NULL, route TEXT NOT NULL, reason TEXT NOT NULL,
          attempts INTEGER NOT NULL, code INTEGER NOT NULL, answer TEXT NOT NULL,  -- how often it was tried, and the last answer
          arrival INTEGER NOT NULL,  -- when it came in
          subjects BLOB NOT NULL,  -- 16 bytes for each
          sealed INTEGER NOT NULL,  -- 1 if event is encrypted
          event BLOB NOT NULL,
          level TEXT DEFAULT '',  -- the level of consent under which it was admitted; '' if it demanded none; NULL for the highest
          checksum INTEGER
        );
        CREATE INDEX letters_by_provider ON letters (provider, id);
        """

    let file: GuardedFile
    var database: Database { file.database }
    private let cipher: Cipher?
    /// What withdrawals have destroyed in the file so far.
    public private(set) var destroyed: Destroyed

    /// Opens the file. If there is none, creates it if `makes` is true, and otherwise returns nil. A file that is damaged or has vanished
    /// is rebuilt if `makes` or `mends` is true: it is set aside, what can be read of it is taken over, and `say` reports the loss.
    /// Otherwise throws and leaves the file as it is. If `verifies` is true, reads all rows first. `now` is in nanoseconds since 1970.
    public init?(
        _ path: String, makes: Bool = true, mends: Bool? = nil, verifies: Bool = true, at now: Int64 = 0, cipher: Cipher? = nil,
        vfs: String? = nil, say: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(StorageFault) {
        var options = ProvenFile.Options()
        options.vfs = vfs
        options.timeout = 10_000
        options.warn = say
        let use: GuardedFile.Use = makes ? .make : mends == true ? .mend : .open
        let found = try GuardedFile.open(path, kind: DeadLetterFile.kind, use: use, verifies: verifies, options: options, at: now)
        guard let found else { return nil }
        do throws(StorageFault) {
            destroyed = try found.database.readDestroyed()
        } catch {
            found.closeKeepingLog()
            throw error
        }
        file = found
        self.cipher = cipher
    }

    /// Closes the file after a person has moved it away on purpose. If no other file is at the path, copies the log into the moved file
    /// first.
    public func followRemoved() { file.followRemoved() }

    /// Removes the witness of a file that a person has removed on purpose, so that no loss is reported.
    public static func forgetRemoved(_ path: String) throws(StorageFault) { try GuardedFile.forgetRemoved(path) }

    /// The loss that was found when the file was opened. It is nil if the file was not damaged.
    public var loss: FileLoss? { file.loss }

    /// True if the file is still where it was opened. It is false if the file was removed, moved away or replaced.
    public var isInPlace: Bool { (try? database.checkPlace()) != nil }

    public func close() { file.close() }

    /// Closes a file that turned out to be damaged. Nothing of it changes any more, so that the next opening finds it as it is.
    public func closeKeepingLog() { file.closeKeepingLog() }

    /// Adds all events of the batch as dead letters, or none. `routes` and `levels` have the names for the numbers in the batch's entries.
    public func bury(
        _ batch: Batch, at now: Int64, provider: String, routes: [String], levels: [String] = [], reason: String, code: Int,
        answer: String, attempts: Int
    ) throws(StorageFault) {
        assert(batch.count > 0, "there is no event to bury")
        try file.transaction { () throws(StorageFault) in
            let insert = try database.statement(
                """
                INSERT INTO letters (at, provider, route, reason, attempts, code, answer, arrival, subjects, sealed, event, level)
                VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,iif(?12, ?13, NULL))
                """)
            for (index, entry) in batch.entries.enumerated() {
                insert.bind(1, now).bind(2, provider).bind(3, routes[Int(entry.route)]).bind(4, reason).bind(5, attempts).bind(6, code)
                insert.bind(7, answer).bind(8, entry.arrival).bind(10, cipher == nil ? 0 : 1)
                let level = DeadLetterFile.name(of: entry.level, levels)
                insert.bind(12, level == nil ? 0 : 1).bind(13, level ?? "")
                let first = Int(entry.firstSubject)
                precondition(first + Int(entry.subjectCount) <= batch.subjects.count, "the subjects of an event are not in its batch")
                let subjects = UnsafeBufferPointer(rebasing: batch.subjects[first..<first + Int(entry.subjectCount)])
                insert.bind(9, lending: UnsafeRawBufferPointer(subjects))
                guard let cipher else {
                    try insert.bind(11, lending: batch.event(index)).run()
                    continue
                }
                let sealed = cipher.seal(batch.event(index), at: "letter")
                try sealed.withUnsafeBufferPointer { (sealed) throws(StorageFault) in
                    try insert.bind(11, lending: UnsafeRawBufferPointer(sealed)).run()
                }
            }
        }
    }

    private static func name(of level: UInt8, _ levels: [String]) -> String? {
        if level == EntryLevel.none { return "" }
        return EntryLevel.number(of: level).flatMap { Int($0) < levels.count ? levels[Int($0)] : nil }
    }

    /// A selection of letters: all, those to one provider, or those since a time.
    public struct Choice: Sendable {
        public var provider: String?
        /// The earliest time at which a letter was given up, in nanoseconds since 1970.
        public var since: Int64 = .min
        public init(provider: String? = nil, since: Int64 = .min) {
            self.provider = provider
            self.since = since
        }
        fileprivate var condition: String { "at >= ?1 AND (?2 = '' OR provider = ?2)" }
    }

    /// Returns the next letters after the number `id`, in order. Returns at most `most` letters, and stops after 4 MiB of events.
    public func letters(_ choice: Choice, after id: Int64 = 0, most: Int = 500) throws(StorageFault) -> [DeadLetter] {
        let select = try database.statement(
            """
            SELECT id, at, arrival, provider, route, reason, attempts, code, answer, sealed, event, subjects, level FROM letters
            WHERE \(choice.condition) AND id > ?3 AND \(DeadLetterFile.isWhole) ORDER BY id LIMIT ?4
            """
        ).bind(1, choice.since).bind(2, choice.provider ?? "").bind(3, id).bind(4, most)
        defer { select.reset() }
        var letters: [DeadLetter] = []
        var bytes = 0
        while bytes < 4 << 20, try select.step() {
            bytes += select.bytes(10).count
            letters.append(
                DeadLetter(
                    id: select.int(0), at: select.int(1), arrival: select.int(2), provider: select.text(3), route: select.text(4),
                    reason: select.text(5), attempts: Int(select.int(6)), code: Int(select.int(7)), answer: select.text(8),
                    event: try event(select), subjects: DeadLetterFile.subjects(select.bytes(11)),
                    level: select.isNull(12) ? nil : select.text(12)))
        }
        return letters
    }

    /// Examines the next letters after the number `id`. Returns those of the subjects, and the last letter that was examined. `next` is nil
    /// if there are no more letters.
    public func letters(
        of subjects: Set<SubjectKey>, after id: Int64
    ) throws(StorageFault) -> (found: [DeadLetter], next: Int64?) {
        let select = try database.statement(
            "SELECT id, subjects FROM letters WHERE id > ?1 AND \(DeadLetterFile.isWhole) ORDER BY id LIMIT \(DeadLetterFile.sweepLetters)"
        ).bind(1, id)
        var hits: [Int64] = []
        var seen = 0
        var last: Int64?
        while hits.count < 500, try select.step() {
            seen += 1
            last = select.int(0)
            if DeadLetterFile.subjects(select.bytes(1)).contains(where: subjects.contains) { hits.append(select.int(0)) }
        }
        select.reset()
        var found: [DeadLetter] = []
        for hit in hits { found += try letters(Choice(), after: hit - 1, most: 1).filter { $0.id == hit } }
        let isOver = hits.count < 500 && seen < DeadLetterFile.sweepLetters
        return (found, isOver ? nil : last)
    }

    private static func subjects(_ bytes: UnsafeRawBufferPointer) -> [SubjectKey] {
        (0..<bytes.count / 16).map { bytes.loadUnaligned(fromByteOffset: $0 * 16, as: SubjectKey.self) }
    }

    private func event(_ row: Statement) throws(StorageFault) -> [UInt8] {
        guard row.int(9) == 1 else { return [UInt8](row.bytes(10)) }
        guard let cipher else {
            throw StorageFault(
                .foreign, "\(database.path): its events are encrypted; name the key in state.encrypt (-c FILE)")
        }
        guard let open = cipher.open(row.bytes(10), at: "letter") else {
            throw StorageFault(.foreign, "\(database.path): was encrypted under another key, not that of state.encrypt, or was changed")
        }
        return open
    }

    public func remove(_ ids: [Int64]) throws(StorageFault) {
        try file.transaction { () throws(StorageFault) in
            for id in ids { try database.statement("DELETE FROM letters WHERE id = ?1").bind(1, id).run() }
        }
    }

    /// Removes letters that withdrawals destroy, and records their counts with it.
    private func remove(_ ids: [Int64], destroyed more: Destroyed) throws(StorageFault) {
        var whole = destroyed
        whole.add(more)
        try file.transaction { () throws(StorageFault) in
            for id in ids { try database.statement("DELETE FROM letters WHERE id = ?1").bind(1, id).run() }
            try database.writeDestroyed(whole, of: more.counts.keys)
        }
        destroyed = whole
    }

    /// The greatest number of letters that one statement examines.
    private static let sweepLetters = 10_000

    /// Destroys the letters that must not be sent any more, according to the demands of their routes.
    public func sweep(_ check: SecondCheck, _ routes: RunNames) throws(StorageFault) {
        var last: Int64 = 0
        while true {
            let select = try database.statement(
                """
                SELECT id, route, subjects, length(event), level, arrival FROM letters
                WHERE id > ?1 AND \(DeadLetterFile.isWhole) ORDER BY id LIMIT \(DeadLetterFile.sweepLetters)
                """
            ).bind(1, last)
            var gone: [Int64] = []
            var destroyed = Destroyed()
            var seen = 0
            while try select.step() {
                seen += 1
                last = select.int(0)
                let level = check.entryLevel(select.isNull(4) ? nil : select.text(4))
                let subjects = DeadLetterFile.subjects(select.bytes(2))
                switch check.check(route: routes.number(of: select.text(1)), level: level, arrival: select.int(5), subjects: subjects) {
                case .pass: break
                case .refused(let refused):
                    gone.append(last)
                    destroyed.add(refused.receipts[0], bytes: Int(select.int(3)))
                case .unreadable:
                    select.reset()
                    throw StorageFault(.failed, "\(database.path): the consent records of its subjects cannot be read")
                }
            }
            select.reset()
            assert(gone.count <= seen, "more letters are destroyed than were examined")
            if !gone.isEmpty { try remove(gone, destroyed: destroyed) }
            if seen < DeadLetterFile.sweepLetters { break }
        }
        try tidy()
        try clearGaps()
    }

    /// Removes the letters that are older than they may get. Returns their number and the time at which the next letter is due. `most`
    /// returns how long the letters of a provider and a route may be kept, in nanoseconds. It returns nil if they may be kept for ever.
    public func expire(
        at now: Int64, most: (_ provider: String, _ route: String) -> Int64?
    ) throws(StorageFault) -> (events: Int, due: Int64?) {
        let kinds = try database.statement("SELECT provider, route, min(arrival) FROM letters GROUP BY 1, 2")
        var oldest: [(provider: String, route: String, arrival: Int64, most: Int64)] = []
        while try kinds.step() {
            let (provider, route) = (kinds.text(0), kinds.text(1))
            if let most = most(provider, route) { oldest.append((provider, route, kinds.int(2), most)) }
        }
        kinds.reset()
        var removed = 0
        var due: Int64?
        for kind in oldest {
            var first: Int64? = kind.arrival
            if kind.arrival <= now - kind.most {
                let (count, next) = try expire(kind.provider, kind.route, until: now - kind.most)
                removed += count
                first = next
            }
            if let first { due = min(due ?? .max, first + kind.most) }
        }
        return (removed, due)
    }

    /// Removes the letters of a provider and a route that came in until `end`. Returns their number and the time at which the oldest of the
    /// others came in.
    private func expire(_ provider: String, _ route: String, until end: Int64) throws(StorageFault) -> (count: Int, first: Int64?) {
        try file.transaction { () throws(StorageFault) in
            try database.statement("DELETE FROM letters WHERE provider = ?1 AND route = ?2 AND arrival <= ?3")
                .bind(1, provider).bind(2, route).bind(3, end).run()
            let count = Int(try database.number("SELECT changes()") ?? 0)
            let next = try database.statement("SELECT min(arrival) FROM letters WHERE provider = ?1 AND route = ?2")
                .bind(1, provider).bind(2, route)
            defer { next.reset() }
            return (count, try next.step() && !next.isNull(0) ? next.int(0) : nil)
        }
    }

    /// Returns the numbers of letters by provider and reason.
    public func counts(_ choice: Choice = Choice()) throws(StorageFault) -> [DeadLetterCount] {
        let select = try database.statement(
            "SELECT provider, reason, count(*), min(at), max(at) FROM letters WHERE \(choice.condition) GROUP BY 1, 2 ORDER BY 1, 2"
        ).bind(1, choice.since).bind(2, choice.provider ?? "")
        defer { select.reset() }
        var counts: [DeadLetterCount] = []
        while try select.step() {
            counts.append(
                DeadLetterCount(
                    provider: select.text(0), reason: select.text(1), count: Int(select.int(2)), oldest: select.int(3),
                    newest: select.int(4)))
        }
        return counts
    }

    /// Overwrites what is left of removed letters between the others. Called after `tidy`.
    public func clearGaps() throws(StorageFault) { try database.clearGaps() }

    /// Frees the space of removed letters, and leaves nothing of them in the log.
    public func tidy() throws(StorageFault) { try file.tidy() }
}
