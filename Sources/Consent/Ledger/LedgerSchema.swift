// What a ledger file holds, so that anyone can look inside with the sqlite3 shell. Times are nanoseconds since 1970.

internal import Database
internal import Platform

enum LedgerSchema {
    /// The mark is "SWYL".
    static let format = FileFormat(application: 0x5357_594c, version: 2, tables: tables, provenSince: 2)

    /// Of each row there is a checksum, and of all of them a sum. The order stays: the file counts by it.
    static let guarded = [
        GuardedTable("about", key: ["name"], ["value"]),
        GuardedTable("keys", key: ["number"], ["name", "mark"], indexes: [.init("sqlite_autoindex_keys_1", ["name"])]),
        GuardedTable("origins", key: ["number"], ["name"], indexes: [.init("sqlite_autoindex_origins_1", ["name"])]),
        GuardedTable(
            "terms", key: ["number"], ["withdrawn", "level", "granted", "denied", "version"],
            indexes: [.init("sqlite_autoindex_terms_1", ["withdrawn", "level", "granted", "denied", "version"])]),
        GuardedTable(
            "subjects", key: ["number"], ["short", "hmac", "key", "terms", "decided", "received", "origin", "person"],
            indexes: [
                .init("sqlite_autoindex_subjects_1", ["short"]), .init("sqlite_autoindex_subjects_2", ["hmac"]),
                .init("subjects_by_person", ["person"], where: "person IS NOT NULL"),
            ]),
        GuardedTable("history", key: ["subject", "number"], ["terms", "decided", "received", "origin", "held"]),
        GuardedTable(
            "receipts", key: ["number"], ["hmac", "key", "shorts", "purposes", "origin", "begun", "finished"],
            indexes: [
                .init("receipts_unfinished", ["number"], where: "finished IS NULL"), .init("receipts_by_hmac", ["hmac"]),
            ]),
        GuardedTable("receipt_lines", key: ["receipt", "number"], ["place", "at", "events", "bytes", "in_hands"]),
    ]

    /// Conditions of statements that read these tables: a damaged row is a fault.
    static let aboutIsWhole = guarded.whole("about")
    static let keyIsWhole = guarded.whole("keys")
    static let originIsWhole = guarded.whole("origins")
    static let termsAreWhole = guarded.whole("terms")
    static let subjectIsWhole = guarded.whole("subjects")
    static let decisionIsWhole = guarded.whole("history")
    static let receiptIsWhole = guarded.whole("receipts")
    static let lineIsWhole = guarded.whole("receipt_lines")

    /// From the form before there were checksums. What the rows hold is taken as it is.
    static func upgrade(_ database: Database) throws(StorageFault) {
        for table in guarded { try database.run("ALTER TABLE \(table.name) ADD COLUMN checksum INTEGER") }
    }

    private static let tables = """
        CREATE TABLE about (  -- one row for each thing to know of the file
          name TEXT PRIMARY KEY,  -- mark: the short hash of a fixed text; received: the greatest time ever written
          value,
          checksum INTEGER  -- here and in all tables: over the other columns of the row
        ) WITHOUT ROWID;
        CREATE TABLE keys (  -- the keys that ids were hashed under
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
          mark BLOB,  -- tells the key from another of that name; NULL: it was never given here
          checksum INTEGER
        );
        CREATE TABLE origins (  -- from where decisions came
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER
        );
        CREATE TABLE terms (  -- what people said, each combination once
          number INTEGER PRIMARY KEY,
          withdrawn INTEGER NOT NULL,  -- 1: everything is refused
          level TEXT NOT NULL, granted TEXT NOT NULL, denied TEXT NOT NULL, version TEXT NOT NULL,  -- lists as JSON, '': nothing
          checksum INTEGER,
          UNIQUE (withdrawn, level, granted, denied, version)
        );
        CREATE TABLE subjects (  -- the state of each id
          number INTEGER PRIMARY KEY,
          short BLOB NOT NULL UNIQUE,  -- 16 bytes, as in the spools
          hmac BLOB NOT NULL UNIQUE,  -- HMAC-SHA-256 of the id
          key INTEGER NOT NULL,  -- of keys, under which hmac was made
          terms INTEGER,  -- of terms; NULL: nothing was said for this id, it is only tied to others
          decided INTEGER, received INTEGER,  -- when the person said so, and when it was written here
          origin INTEGER,  -- of origins
          person INTEGER,  -- the same number in all ids of one person; NULL: not tied
          checksum INTEGER
        );
        CREATE INDEX subjects_by_person ON subjects (person) WHERE person IS NOT NULL;
        CREATE TABLE history (  -- every decision, also those that came too late to hold
          subject INTEGER NOT NULL, number INTEGER NOT NULL,  -- in the order in which they came
          terms INTEGER NOT NULL, decided INTEGER NOT NULL, received INTEGER NOT NULL, origin INTEGER NOT NULL,
          held INTEGER NOT NULL,  -- 0: a later one was on record
          checksum INTEGER,
          PRIMARY KEY (subject, number)
        ) WITHOUT ROWID;
        CREATE TABLE receipts (  -- withdrawals, and what they destroyed
          number INTEGER PRIMARY KEY AUTOINCREMENT,
          hmac BLOB NOT NULL, key INTEGER NOT NULL,
          shorts BLOB NOT NULL,  -- of the id and of those tied to it then, 16 bytes each
          purposes TEXT,  -- as JSON; NULL: all
          origin TEXT NOT NULL, begun INTEGER NOT NULL,
          finished INTEGER,  -- NULL: it goes on
          checksum INTEGER
        );
        CREATE INDEX receipts_unfinished ON receipts (number) WHERE finished IS NULL;
        CREATE INDEX receipts_by_hmac ON receipts (hmac);
        CREATE TABLE receipt_lines (  -- by place: what was destroyed, and what was in a provider's hands
          receipt INTEGER NOT NULL, number INTEGER NOT NULL, place TEXT NOT NULL, at INTEGER NOT NULL,
          events INTEGER NOT NULL, bytes INTEGER NOT NULL, in_hands INTEGER NOT NULL,
          checksum INTEGER,
          PRIMARY KEY (receipt, number)
        ) WITHOUT ROWID;
        CREATE VIEW consent AS  -- the state of each id, to look at
          SELECT lower(hex(subjects.hmac)) AS hmac, keys.name AS key, lower(hex(short)) AS short, person,
            CASE withdrawn WHEN 1 THEN 'withdrawn' ELSE level END AS level, granted, denied, version,
            datetime(decided / 1000000000, 'unixepoch') AS decided, datetime(received / 1000000000, 'unixepoch') AS received,
            origins.name AS origin
          FROM subjects JOIN keys ON keys.number = subjects.key LEFT JOIN terms ON terms.number = subjects.terms
            LEFT JOIN origins ON origins.number = subjects.origin;
        """
}
