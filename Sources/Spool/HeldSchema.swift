// What the file of held events is made up of, so that anyone can look inside with the sqlite3 shell.

internal import Database

enum HeldSchema {
    /// The mark is "SWYH".
    static let format = FileFormat(application: 0x5357_5948, version: 1, tables: tables)

    private static let tables = """
        CREATE TABLE about (  -- one row for each thing to know of the file
          name TEXT PRIMARY KEY, value
        ) WITHOUT ROWID;
        CREATE TABLE routes (  -- the routes that events wait for
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE
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
          body BLOB NOT NULL
        );
        CREATE INDEX arrivals ON events (arrival);
        CREATE TABLE waiting (  -- by subject, the events that wait for it
          subject BLOB NOT NULL, event INTEGER NOT NULL, PRIMARY KEY (subject, event)
        ) WITHOUT ROWID;
        """
}
