// The tables of a spool file, with comments for a person who uses the sqlite3 shell, and the mark by which the file is recognized.

internal import Database

enum SpoolSchema {
    /// The mark is "SWYQ".
    static let format = FileFormat(application: 0x5357_5951, version: 3, tables: tables + waiting, provenSince: 3)

    /// The statements that prepare a file of version 1 or 2 before its rows get their checksums. The view replaces a table of sums with the
    /// same name.
    static let upgrade = """
        CREATE TABLE IF NOT EXISTS levels (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        ALTER TABLE levels ADD COLUMN checksum INTEGER;
        ALTER TABLE about ADD COLUMN checksum INTEGER;
        ALTER TABLE routes ADD COLUMN checksum INTEGER;
        ALTER TABLE batches ADD COLUMN checksum INTEGER;
        ALTER TABLE tries ADD COLUMN checksum INTEGER;
        DROP TABLE waiting;
        """ + waiting

    private static let waiting = """
        CREATE VIEW waiting AS  -- the sums of batches by route
          SELECT json_extract(value, '$[0]') & 65535 AS route, json_extract(value, '$[1]') - json_extract(value, '$[2]') AS events,
            json_extract(value, '$[3]') AS bytes
          FROM proof, json_each(proof.counts);
        """

    private static let tables = """
        CREATE TABLE levels (  -- the levels of consent under which events were admitted
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER  -- over the whole row, as in the other tables
        );
        CREATE TABLE about (  -- facts about the file, one in each row
          name TEXT PRIMARY KEY, value, checksum INTEGER
        ) WITHOUT ROWID;
        CREATE TABLE routes (  -- the routes of the events
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER
        );
        CREATE TABLE batches (  -- the events that wait for the provider, in order
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          events INTEGER NOT NULL,
          bytes INTEGER NOT NULL,  -- the size of payload before encryption
          arrival INTEGER NOT NULL,  -- when the first event came in, in nanoseconds since 1970
          routes TEXT NOT NULL,  -- route:events:bytes, and the same for each further route
          sealed INTEGER NOT NULL,  -- 1 if entries and payload are encrypted
          entries BLOB NOT NULL,  -- 24 bytes an event: where it ends (4), route (2), 1 if immediate + 2 × level (1), subjects (1), where its
                                  -- messageId begins (4), its length (4), arrival (8); then 16 bytes a subject; little-endian
          payload BLOB NOT NULL,  -- the events, one a line
          checksum INTEGER
        );
        CREATE TABLE tries (  -- attempts to deliver a batch: their number and the time of the first, in nanoseconds since 1970
          id INTEGER PRIMARY KEY, attempts INTEGER NOT NULL, first INTEGER NOT NULL, checksum INTEGER
        );
        CREATE TABLE damaged (  -- batches that have a wrong checksum or make no sense, unchanged
          id INTEGER PRIMARY KEY, events INTEGER, sealed INTEGER, entries BLOB, payload BLOB
        );
        """
}
