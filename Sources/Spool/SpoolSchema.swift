// What a spool file holds, so that anyone can look inside with the sqlite3 shell, and how it is recognised.

internal import Platform

enum SpoolSchema {
    /// "SWYQ", as `file` and `PRAGMA application_id` show it.
    static let application: Int64 = 0x5357_5951
    static let version: Int64 = 1

    static let tables = """
        CREATE TABLE about (  -- one row for each thing to know of the file
          name TEXT PRIMARY KEY, value
        ) WITHOUT ROWID;
        CREATE TABLE routes (  -- the routes that events came by
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE
        );
        CREATE TABLE waiting (  -- what is in batches, summed up by route
          route INTEGER PRIMARY KEY, events INTEGER NOT NULL, bytes INTEGER NOT NULL
        );
        CREATE TABLE batches (  -- what waits for the provider, in order
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          events INTEGER NOT NULL,
          bytes INTEGER NOT NULL,  -- of payload before it was sealed
          arrival INTEGER NOT NULL,  -- of the first event, in nanoseconds since 1970
          routes TEXT NOT NULL,  -- route:events:bytes, and the same for each further route
          sealed INTEGER NOT NULL,  -- 1: entries and payload are encrypted
          entries BLOB NOT NULL,  -- 24 bytes an event: where it ends (4), route (2), immediate (1), subjects (1), where its
                                  -- messageId begins (4), its length (4), arrival (8); then 16 bytes a subject; little-endian
          payload BLOB NOT NULL  -- the events, one a line
        );
        CREATE TABLE tries (  -- of batches that were tried: how often, and when first, in nanoseconds since 1970
          id INTEGER PRIMARY KEY, attempts INTEGER NOT NULL, first INTEGER NOT NULL
        );
        CREATE TABLE damaged (  -- batches that make no sense, as they were
          id INTEGER PRIMARY KEY, events INTEGER, sealed INTEGER, entries BLOB, payload BLOB
        );
        """

    /// How SQLite is to keep any file of the state folder. What is deleted is overwritten, and space is given back.
    static func settle(_ database: Database, isSynced: Bool, pageSize: Int, application: Int64, version: Int64, tables: String)
        throws(SpoolFault)
    {
        let found = try database.number("PRAGMA application_id") ?? 0
        let isNew = try database.number("SELECT count(*) FROM sqlite_schema") == 0
        if isNew {
            try database.run("PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = INCREMENTAL")
        } else {
            guard found == application else {
                throw SpoolFault(.foreign, "\(database.path): is a database of another program; it is left as it is")
            }
            let written = try database.number("PRAGMA user_version") ?? 0
            guard written <= version else {
                throw SpoolFault(
                    .foreign,
                    "\(database.path): was written by a newer version (format \(written), not \(version)); it is left as it is")
            }
        }
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA secure_delete = ON; PRAGMA synchronous = \(isSynced ? "FULL" : "NORMAL");
            PRAGMA wal_autocheckpoint = \((8 << 20) / pageSize); PRAGMA journal_size_limit = \(16 << 20);
            PRAGMA cache_size = -2048; PRAGMA temp_store = MEMORY
            """)
        guard isNew else { return }
        try database.transaction { () throws(SpoolFault) in
            try database.run(tables)
            try database.run("PRAGMA application_id = \(application); PRAGMA user_version = \(version)")
        }
    }
}
