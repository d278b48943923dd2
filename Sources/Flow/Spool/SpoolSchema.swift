// What a spool file holds, so that anyone can look inside with the sqlite3 shell, and how it is recognised.

internal import Database

enum SpoolSchema {
    /// The mark is "SWYQ".
    static let format = FileFormat(application: 0x5357_5951, version: 3, tables: tables + waiting, provenSince: 3)

    /// What a file of version 1 or 2 gets before its rows get their checksums. The view stands where the table of sums stood.
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
        CREATE VIEW waiting AS  -- what is in batches, summed up by route
          SELECT json_extract(value, '$[0]') & 65535 AS route, json_extract(value, '$[1]') - json_extract(value, '$[2]') AS events,
            json_extract(value, '$[3]') AS bytes
          FROM proof, json_each(proof.counts);
        """

    private static let tables = """
        CREATE TABLE levels (  -- the levels of consent that events were admitted under
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER  -- over all of the row, as in the other tables
        );
        CREATE TABLE about (  -- one row for each thing to know of the file
          name TEXT PRIMARY KEY, value, checksum INTEGER
        ) WITHOUT ROWID;
        CREATE TABLE routes (  -- the routes that events came by
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER
        );
        CREATE TABLE batches (  -- what waits for the provider, in order
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          events INTEGER NOT NULL,
          bytes INTEGER NOT NULL,  -- of payload before it was sealed
          arrival INTEGER NOT NULL,  -- of the first event, in nanoseconds since 1970
          routes TEXT NOT NULL,  -- route:events:bytes, and the same for each further route
          sealed INTEGER NOT NULL,  -- 1: entries and payload are encrypted
          entries BLOB NOT NULL,  -- 24 bytes an event: where it ends (4), route (2), 1 if immediate + 2 × level (1), subjects (1), where its
                                  -- messageId begins (4), its length (4), arrival (8); then 16 bytes a subject; little-endian
          payload BLOB NOT NULL,  -- the events, one a line
          checksum INTEGER
        );
        CREATE TABLE tries (  -- of batches that were tried: how often, and when first, in nanoseconds since 1970
          id INTEGER PRIMARY KEY, attempts INTEGER NOT NULL, first INTEGER NOT NULL, checksum INTEGER
        );
        CREATE TABLE damaged (  -- batches whose checksum is wrong or that make no sense, as they were
          id INTEGER PRIMARY KEY, events INTEGER, sealed INTEGER, entries BLOB, payload BLOB
        );
        """
}
