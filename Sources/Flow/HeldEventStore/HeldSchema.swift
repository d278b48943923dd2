// The tables of the file of held events, with comments for a person who uses the sqlite3 shell.

internal import Admission
internal import Database
internal import Platform
internal import StateFiles

enum HeldSchema {
    /// The mark is "SWYH".
    static let kind = GuardedKind(
        format: FileFormat(application: 0x5357_5948, version: 2, tables: tables, provenSince: 2), tables: guarded, events: 2, derived: [3],
        noun: "held events", complete: { (database) throws(StorageFault) in try complete(database) })

    /// The tables whose rows have checksums. Their order must not change, since the proof counts by their position.
    private static let guarded = [
        GuardedTable("about", key: ["name"], ["value"]),
        GuardedTable("routes", key: ["number"], ["name"], indexes: [.init("sqlite_autoindex_routes_1", ["name"])]),
        GuardedTable(
            "events", key: ["id"], ["arrival", "bytes", "routes", "source", "key", "level", "subjects", "given", "sealed", "body"],
            indexes: [.init("arrivals", ["arrival"])]),
        GuardedTable("waiting", key: ["subject", "event"], []),
    ]

    /// A condition for statements that read events. It makes them fail for a damaged row.
    static let isWhole = guarded.whole("events")
    static let isWaitWhole = guarded.whole("waiting")

    /// Completes the rows that were copied out of a damaged file. Deletes events that wait for a route whose name is lost. Fills the table
    /// `waiting` again, by which events are found by their subjects.
    private static func complete(_ database: Database) throws(StorageFault) {
        let names = try database.statement("SELECT number FROM routes")
        var known: Set<Int64> = []
        while try names.step() { known.insert(names.int(0)) }
        names.reset()
        var lost: [Int64] = []
        let wait = try database.statement("INSERT INTO waiting (subject, event) VALUES (?1, ?2)")
        let all = try database.statement("SELECT id, routes, subjects FROM events ORDER BY id")
        while try all.step() {
            let routes = all.text(1).split(separator: " ").map { Int64($0) ?? -1 }
            guard routes.allSatisfy(known.contains), !routes.isEmpty else {
                lost.append(all.int(0))
                continue
            }
            for subject in Set(HeldFile.subjects(all.bytes(2))) {
                try [subject].withUnsafeBufferPointer { (bytes) throws(StorageFault) in
                    try wait.bind(1, lending: UnsafeRawBufferPointer(bytes)).bind(2, all.int(0)).run()
                }
            }
        }
        all.reset()
        for id in lost { try database.statement("DELETE FROM events WHERE id = ?1").bind(1, id).run() }
    }

    private static let tables = """
        CREATE TABLE about (  -- facts about the file, one in each row
          name TEXT PRIMARY KEY, value,
          checksum INTEGER  -- here and in all tables: over the other columns of the row
        ) WITHOUT ROWID;
        CREATE TABLE routes (  -- the routes for which events wait
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER
        );
        CREATE TABLE events (  -- the events that wait for their subjects' consent, in the order in which they came in
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          arrival INTEGER NOT NULL,  -- in nanoseconds since 1970
          bytes INTEGER NOT NULL,  -- the size of the event as it came in
          routes TEXT NOT NULL,  -- the numbers of its routes
          source TEXT NOT NULL,
          key TEXT,  -- the name of the source's key, if the key limits the routes
          level TEXT,  -- the level that an emitted event takes over from its origin
          subjects BLOB NOT NULL,  -- 16 bytes each, as in the spools
          given INTEGER NOT NULL,  -- the length of the messageId that it was given, in quotes, at the front of body
          sealed INTEGER NOT NULL,  -- 1 if body is encrypted
          body BLOB NOT NULL,
          checksum INTEGER
        );
        CREATE INDEX arrivals ON events (arrival);
        CREATE TABLE waiting (  -- the events that wait for a subject
          subject BLOB NOT NULL, event INTEGER NOT NULL, checksum INTEGER, PRIMARY KEY (subject, event)
        ) WITHOUT ROWID;
        """
}
