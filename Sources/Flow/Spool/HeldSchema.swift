// What the file of held events is made up of, so that anyone can look inside with the sqlite3 shell.

internal import Admission
internal import Database
internal import Platform

enum HeldSchema {
    /// The mark is "SWYH".
    static let kind = GuardedKind(
        format: FileFormat(application: 0x5357_5948, version: 2, tables: tables, provenSince: 2), tables: guarded, events: 2, derived: [3],
        noun: "held events", complete: { (database) throws(StorageFault) in try complete(database) })

    /// Of each row there is a checksum. The order stays: the file counts by it.
    private static let guarded = [
        GuardedTable("about", key: ["name"], ["value"]),
        GuardedTable("routes", key: ["number"], ["name"], indexes: [.init("sqlite_autoindex_routes_1", ["name"])]),
        GuardedTable(
            "events", key: ["id"], ["arrival", "bytes", "routes", "source", "key", "level", "subjects", "given", "sealed", "body"],
            indexes: [.init("arrivals", ["arrival"])]),
        GuardedTable("waiting", key: ["subject", "event"], []),
    ]

    /// A condition of statements that read events: a damaged row is a fault.
    static let isWhole = guarded.whole("events")
    static let isWaitWhole = guarded.whole("waiting")

    /// Of what was copied out of a damaged file: an event that waits for a route whose name is lost is lost too, and each is found by its
    /// subjects again.
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
        CREATE TABLE about (  -- one row for each thing to know of the file
          name TEXT PRIMARY KEY, value,
          checksum INTEGER  -- here and in all tables: over the other columns of the row
        ) WITHOUT ROWID;
        CREATE TABLE routes (  -- the routes that events wait for
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER
        );
        CREATE TABLE events (  -- what waits for its subjects' consent, in the order in which it came
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          arrival INTEGER NOT NULL,  -- in nanoseconds since 1970
          bytes INTEGER NOT NULL,  -- of the event as it came
          routes TEXT NOT NULL,  -- their numbers
          source TEXT NOT NULL,
          key TEXT,  -- the name of the source's key, where it bounds the routes
          level TEXT,  -- what it owes to the event that it was made of
          subjects BLOB NOT NULL,  -- 16 bytes each, as in the spools
          given INTEGER NOT NULL,  -- how long the messageId is, in quotes, that it was given: it stands at the front of body
          sealed INTEGER NOT NULL,  -- 1: body is encrypted
          body BLOB NOT NULL,
          checksum INTEGER
        );
        CREATE INDEX arrivals ON events (arrival);
        CREATE TABLE waiting (  -- by subject, the events that wait for it
          subject BLOB NOT NULL, event INTEGER NOT NULL, checksum INTEGER, PRIMARY KEY (subject, event)
        ) WITHOUT ROWID;
        """
}
