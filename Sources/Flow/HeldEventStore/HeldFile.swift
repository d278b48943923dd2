// Held events, which wait for their subjects' consent, in an SQLite file. They are stored as they came in. The file knows nothing about
// consent. It promises:
//
// - After the process is killed, an addition is there completely or not at all. A finished addition is there completely.
// - Removed events are overwritten.
// - No event with a wrong checksum is given out. A damaged file is set aside, and the loss is reported.

public import Admission
internal import Database
public import Platform
public import StateFiles

/// The values that are stored with a held event.
public struct HeldRow: Sendable, Equatable {
    /// The number of the event. Numbers rise in the order in which events came in. It is 0 if the event has no number yet.
    public var id: Int64 = 0
    /// The time at which the event came in, in nanoseconds since 1970.
    public var arrival: Int64
    public var bytes: Int
    public var subjects: [SubjectKey]
    /// The routes for which the event waits, by the numbers of the run's `RunNames`.
    public var routes: [UInt16]
    public var source: String
    /// The name of the source's key. It is nil if no key limits the routes of the event.
    public var key: String?
    /// The level that an emitted event takes over from its origin. It is nil if there is none.
    public var level: String?
    /// The length of the messageId that the event was given, with its quotes. It is 0 if it was given none.
    public var given = 0

    public init(arrival: Int64, bytes: Int, subjects: [SubjectKey], routes: [UInt16], source: String) {
        self.arrival = arrival
        self.bytes = bytes
        self.subjects = subjects
        self.routes = routes
        self.source = source
    }
}

public struct HeldEvent: Sendable, Equatable {
    public var row: HeldRow
    /// The id that the event was given, followed by the event. It is empty if it cannot be read any more.
    public var body: [UInt8]
}

/// A file of held events. Only one thread at a time may use it.
public final class HeldFile: @unchecked Sendable {
    public static let name = "held.sqlite"

    public struct Options: Sendable {
        /// True if an addition returns only after the disk has stored it.
        public var isSynced = false
        /// The cipher for new events. It is nil if new events are not encrypted.
        public var cipher: Cipher?
        /// The limit for the whole folder. It is nil if there is no limit but the disk.
        public var budget: DiskBudget?
        /// The name of a file system that replaces SQLite's own in tests.
        public var vfs: String?
        public var clock = Clock.system
        /// Called with messages for a person, mainly about damage.
        public var say: @Sendable (String) -> Void = { _ in }
        public init() {}

        fileprivate var proven: ProvenFile.Options {
            var proven = ProvenFile.Options()
            proven.isSynced = isSynced
            proven.vfs = vfs
            proven.warn = say
            return proven
        }
    }

    public let path: String
    let options: Options
    let file: GuardedFile
    var database: Database { file.database }
    var routes: FileNumbers
    /// The number of bytes that the budget currently counts for this file.
    private var budgeted = 0
    /// What withdrawals have destroyed in the file so far.
    public private(set) var destroyed = Destroyed()
    /// The numbers of an addition that failed. Its rows may exist all the same, if the disk stored them and then reported an error.
    private var doubtful: ClosedRange<Int64>?

    /// Opens the file. If there is none, creates it if `makes` is true, and otherwise returns nil. Sets a damaged file aside and takes over
    /// what can be read of it. `names` has the routes of the run.
    public init?(path: String, makes: Bool = true, names: RunNames, options: Options = Options()) throws(StorageFault) {
        let admit = HeldFile.admission(options)
        let found = try GuardedFile.open(
            path, kind: HeldSchema.kind, use: makes ? .make : .mend, options: options.proven, at: options.clock.wall(), admit: admit)
        guard let found else { return nil }
        self.path = path
        self.options = options
        file = found
        routes = FileNumbers(table: "routes", names: names)
        do throws(StorageFault) {
            try routes.read(database)
            if try database.admits(options.cipher, sealing: "events") {
                try file.transaction { () throws(StorageFault) in try database.note(options.cipher) }
            }
            destroyed = try database.readDestroyed()
            budget(Int(try database.number("SELECT coalesce(sum(bytes), 0) FROM events") ?? 0))
        } catch {
            file.closeKeepingLog()
            throw error
        }
    }

    /// Opens the file to look at it, even while another process uses it, and changes nothing. Returns nil if there is none. Throws if the
    /// file is damaged. If `verifies` is true, reads all rows first.
    public init?(lookingAt path: String, verifies: Bool = true, names: RunNames, options: Options = Options()) throws(StorageFault) {
        let admit = HeldFile.admission(options)
        guard let found = try GuardedFile.look(at: path, HeldSchema.kind, verifies: verifies, vfs: options.vfs, admit: admit) else {
            return nil
        }
        self.path = path
        self.options = options
        file = found
        routes = FileNumbers(table: "routes", names: names)
        do throws(StorageFault) {
            try routes.read(database)
        } catch {
            file.close()
            throw error
        }
    }

    private static func admission(_ options: Options) -> (Database) throws(StorageFault) -> Void {
        { (database) throws(StorageFault) in _ = try database.admits(options.cipher, sealing: "events") }
    }

    /// The loss that was found when the file was opened. It is nil if the file was not damaged.
    public var loss: FileLoss? { file.loss }

    /// Throws if the file was removed, moved away or replaced.
    public func checkPlace() throws(StorageFault) { try database.checkPlace() }

    /// Stops checking the place of the file.
    public func letGo() { database.letGo() }

    private func budget(_ bytes: Int) {
        options.budget?.hold(bytes)
        budgeted += bytes
    }

    // MARK: - Writing

    /// Adds all of these events in their order, or none. `body` returns the bytes of the event with that index, which stay valid for the
    /// call.
    public func add(_ rows: [HeldRow], body: (Int) -> UnsafeRawBufferPointer) throws(StorageFault) {
        guard !rows.isEmpty else { return }
        let growth = rows.reduce(0) { $0 + $1.bytes }
        try options.budget?.allow(growth)
        let before = routes
        var numbers: ClosedRange<Int64>?
        do throws(StorageFault) {
            try transaction { () throws(StorageFault) in
                // No number is used twice, even after its event is gone, because an encrypted body is bound to its number.
                let first = file.last + 1
                numbers = first...first + Int64(rows.count) - 1
                file.last += Int64(rows.count)
                assert(numbers?.upperBound == file.last, "the file counts other numbers than the events get")
                for (index, row) in rows.enumerated() { try add(row, as: first + Int64(index), body(index)) }
            }
        } catch {
            routes = before
            doubtful = numbers ?? doubtful
            throw error
        }
        budget(growth)
    }

    /// Runs the body in a transaction that first destroys the rows of a failed addition. They were not acknowledged and must not come back.
    private func transaction(_ body: () throws(StorageFault) -> Void) throws(StorageFault) {
        let doubtful = doubtful
        try file.transaction { () throws(StorageFault) in
            for id in doubtful.map({ Array($0) }) ?? [] { _ = try destroy(id) }
            try body()
        }
        self.doubtful = nil
    }

    private func add(_ row: HeldRow, as id: Int64, _ body: UnsafeRawBufferPointer) throws(StorageFault) {
        assert(body.count == row.bytes + row.given, "the event has another size than its row says")
        assert(row.id == 0 && id > 0 && !row.routes.isEmpty, "the event has a number already, or waits for no route")
        let insert = try database.statement(
            """
            INSERT INTO events (id, arrival, bytes, routes, source, key, level, subjects, given, sealed, body)
            VALUES (?1, ?2, ?3, ?4, ?5, iif(?6, ?7, NULL), iif(?8, ?9, NULL), ?10, ?11, ?12, ?13)
            """)
        insert.bind(1, id).bind(2, row.arrival).bind(3, row.bytes).bind(4, try text(of: row.routes)).bind(5, row.source)
        insert.bind(6, row.key == nil ? 0 : 1).bind(7, row.key ?? "").bind(8, row.level == nil ? 0 : 1).bind(9, row.level ?? "")
        insert.bind(11, row.given).bind(12, options.cipher == nil ? 0 : 1)
        let sealed = options.cipher?.seal(body, at: HeldFile.place(id))
        try row.subjects.withUnsafeBufferPointer { (subjects) throws(StorageFault) in
            insert.bind(10, lending: UnsafeRawBufferPointer(subjects))
            guard let sealed else { return try insert.bind(13, lending: body).run() }
            try sealed.withUnsafeBufferPointer { (sealed) throws(StorageFault) in
                try insert.bind(13, lending: UnsafeRawBufferPointer(sealed)).run()
            }
        }
        for subject in row.subjects {
            try with(subject, sql: "INSERT INTO waiting (subject, event) VALUES (?1, ?2)") { (wait) throws(StorageFault) in
                try wait.bind(2, id).run()
            }
        }
    }

    /// Destroys the rows of `remove`, and lets the rows of `narrow` wait for fewer routes. Does all of it or nothing. Ignores rows that do
    /// not exist. `destroyed` counts the rows of `remove` that withdrawals destroy.
    public func change(
        remove: [Int64], narrow: [(id: Int64, routes: [UInt16])] = [], destroyed more: Destroyed = Destroyed()
    ) throws(StorageFault) {
        if remove.isEmpty, narrow.isEmpty, doubtful == nil { return }
        assert(Set(remove).isDisjoint(with: narrow.map(\.id)), "an event is both destroyed and kept")
        var shrunk = 0
        try transaction { () throws(StorageFault) in
            for id in remove { shrunk += try destroy(id) }
            for row in narrow {
                try database.statement("UPDATE events SET routes = ?2 WHERE id = ?1").bind(1, row.id).bind(2, try text(of: row.routes))
                    .run()
            }
            guard !more.isEmpty else { return }
            var whole = destroyed
            whole.add(more)
            try database.writeDestroyed(whole, of: more.counts.keys)
        }
        destroyed.add(more)
        budget(-shrunk)
    }

    private func destroy(_ id: Int64) throws(StorageFault) -> Int {
        let find = try database.statement("SELECT bytes, subjects FROM events WHERE id = ?1 AND \(HeldSchema.isWhole)").bind(1, id)
        guard let (bytes, subjects) = try size(find) else { return 0 }
        for subject in subjects {
            try with(subject, sql: "DELETE FROM waiting WHERE subject = ?1 AND event = ?2") { (gone) throws(StorageFault) in
                try gone.bind(2, id).run()
            }
        }
        try database.statement("DELETE FROM events WHERE id = ?1").bind(1, id).run()
        return bytes
    }

    private func size(_ find: Statement) throws(StorageFault) -> (bytes: Int, subjects: [SubjectKey])? {
        defer { find.reset() }
        return try find.step() ? (Int(find.int(0)), HeldFile.subjects(find.bytes(1))) : nil
    }

    /// Overwrites what is left of removed events between the others. Called after `tidy`.
    public func clearGaps() throws(StorageFault) { try database.clearGaps() }

    /// Frees the space that is no longer needed, and leaves nothing of removed events in the log.
    public func tidy() throws(StorageFault) { try file.tidy() }

    public func close() {
        if !file.isLook { try? tidy() }
        file.close()
        budget(-budgeted)
    }

    /// Closes a file that turned out to be damaged. Nothing of it changes any more, so that the next opening finds it as it is.
    public func closeKeepingLog() {
        file.closeKeepingLog()
        budget(-budgeted)
    }

    // MARK: - Values

    static func place(_ id: Int64) -> String { "held \(id)" }

    private func text(of numbers: [UInt16]) throws(StorageFault) -> String {
        var text = ""
        for number in numbers { text += (text.isEmpty ? "" : " ") + String(try routes.number(of: number, in: database)) }
        return text
    }

    static func subjects(_ bytes: UnsafeRawBufferPointer) -> [SubjectKey] {
        (0..<bytes.count / 16).map { bytes.loadUnaligned(fromByteOffset: $0 * 16, as: SubjectKey.self) }
    }

    /// Runs the body with a statement whose first value is the subject.
    func with<R>(
        _ subject: SubjectKey, sql: String, body: (Statement) throws(StorageFault) -> R
    ) throws(StorageFault) -> R {
        let statement = try database.statement(sql)
        return try [subject].withUnsafeBufferPointer { (bytes) throws(StorageFault) in
            try body(statement.bind(1, lending: UnsafeRawBufferPointer(bytes)))
        }
    }
}
