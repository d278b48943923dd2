// The tables of a ledger file. The comments in the SQL stay in the file, so that anyone can read them with the sqlite3 shell. Times are
// nanoseconds since 1970.

internal import Database
internal import Platform

enum LedgerSchema {
    /// The application id is "SWYL".
    static let format = FileFormat(application: 0x5357_594c, version: 3, tables: tables + seal, provenSince: 2)
    /// The first version whose checksums are made under a key of the ledger.
    static let sealedSince: Int64 = 3

    /// Each row has a checksum, and the file has the sum of all checksums. The order of the tables must not change, because the file's
    /// counts depend on it.
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
        GuardedTable("evidence", key: ["subject", "number"], ["sealed"]),
    ]

    /// Conditions for statements that read these tables. They make a damaged row a fault.
    static let aboutIsWhole = guarded.whole("about")
    static let keyIsWhole = guarded.whole("keys")
    static let originIsWhole = guarded.whole("origins")
    static let termsAreWhole = guarded.whole("terms")
    static let subjectIsWhole = guarded.whole("subjects")
    static let decisionIsWhole = guarded.whole("history")
    static let receiptIsWhole = guarded.whole("receipts")
    static let lineIsWhole = guarded.whole("receipt_lines")
    static let evidenceIsWhole = guarded.whole("evidence")

    /// The tables of a file whose checksums have no key.
    static let unsealed = Array(guarded.prefix { $0.name.description != "evidence" })

    /// Adds the tables that version 3 has more than version 2.
    static func addSeal(_ database: Database) throws(StorageFault) { try database.run(seal) }

    private static let seal = """
        CREATE TABLE seal (  -- one row: shows that a holder of the ledger's key wrote the table proof
          id INTEGER PRIMARY KEY,
          tag BLOB NOT NULL  -- the HMAC-SHA-256 of the values of proof
        );
        CREATE TABLE evidence (  -- what came with a decision: its address, its user agent and the text that was shown
          subject INTEGER NOT NULL, number INTEGER NOT NULL,  -- the row of history
          sealed BLOB NOT NULL,  -- encrypted under the key of consent.evidence
          checksum INTEGER,
          PRIMARY KEY (subject, number)
        ) WITHOUT ROWID;
        """

    /// Adds checksums to a file of the format without them. The content of its rows is trusted without a check.
    static func addChecksums(_ database: Database) throws(StorageFault) {
        for table in unsealed { try database.run("ALTER TABLE \(table.name) ADD COLUMN checksum INTEGER") }
    }

    private static let tables = """
        CREATE TABLE about (  -- facts about the file, one in each row
          name TEXT PRIMARY KEY,  -- mark: the short hash of a fixed text; received: the latest time ever written
          value,
          checksum INTEGER  -- in every table: the checksum over the other columns of the row
        ) WITHOUT ROWID;
        CREATE TABLE keys (  -- the keys that ids were hashed with
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
          mark BLOB,  -- differs between keys of the same name; NULL if the key was never configured here
          checksum INTEGER
        );
        CREATE TABLE origins (  -- the origins of decisions
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum INTEGER
        );
        CREATE TABLE terms (  -- the terms of decisions, each combination once
          number INTEGER PRIMARY KEY,
          withdrawn INTEGER NOT NULL,  -- 1 if everything is refused
          level TEXT NOT NULL, granted TEXT NOT NULL, denied TEXT NOT NULL, version TEXT NOT NULL,  -- lists are JSON, '' if empty
          checksum INTEGER,
          UNIQUE (withdrawn, level, granted, denied, version)
        );
        CREATE TABLE subjects (  -- the current state of each id
          number INTEGER PRIMARY KEY,
          short BLOB NOT NULL UNIQUE,  -- the short hash, 16 bytes, as in the spools
          hmac BLOB NOT NULL UNIQUE,  -- the HMAC-SHA-256 of the id
          key INTEGER NOT NULL,  -- the row of keys that hmac was made with
          terms INTEGER,  -- the row of terms; NULL if the id has no decision and is only tied
          decided INTEGER, received INTEGER,  -- the time of the decision, and the time when it was written
          origin INTEGER,  -- the row of origins
          person INTEGER,  -- the same number for all ids of one person; NULL if not tied
          checksum INTEGER
        );
        CREATE INDEX subjects_by_person ON subjects (person) WHERE person IS NOT NULL;
        CREATE TABLE history (  -- every decision, including those that came too late to hold
          subject INTEGER NOT NULL, number INTEGER NOT NULL,  -- in the order in which they were written
          terms INTEGER NOT NULL, decided INTEGER NOT NULL, received INTEGER NOT NULL, origin INTEGER NOT NULL,
          held INTEGER NOT NULL,  -- 0 if a later decision was on record
          checksum INTEGER,
          PRIMARY KEY (subject, number)
        ) WITHOUT ROWID;
        CREATE TABLE receipts (  -- withdrawals and their state
          number INTEGER PRIMARY KEY AUTOINCREMENT,
          hmac BLOB NOT NULL, key INTEGER NOT NULL,
          shorts BLOB NOT NULL,  -- the short hashes of the id and of the ids tied to it then, 16 bytes each
          purposes TEXT,  -- as JSON; NULL if everything was withdrawn
          origin TEXT NOT NULL, begun INTEGER NOT NULL,
          finished INTEGER,  -- NULL while the destruction is not finished
          checksum INTEGER
        );
        CREATE INDEX receipts_unfinished ON receipts (number) WHERE finished IS NULL;
        CREATE INDEX receipts_by_hmac ON receipts (hmac);
        CREATE TABLE receipt_lines (  -- by place: what was destroyed, and what a provider was processing
          receipt INTEGER NOT NULL, number INTEGER NOT NULL, place TEXT NOT NULL, at INTEGER NOT NULL,
          events INTEGER NOT NULL, bytes INTEGER NOT NULL, in_hands INTEGER NOT NULL,
          checksum INTEGER,
          PRIMARY KEY (receipt, number)
        ) WITHOUT ROWID;
        CREATE VIEW consent AS  -- the current state of each id, for people
          SELECT lower(hex(subjects.hmac)) AS hmac, keys.name AS key, lower(hex(short)) AS short, person,
            CASE withdrawn WHEN 1 THEN 'withdrawn' ELSE level END AS level, granted, denied, version,
            datetime(decided / 1000000000, 'unixepoch') AS decided, datetime(received / 1000000000, 'unixepoch') AS received,
            origins.name AS origin
          FROM subjects JOIN keys ON keys.number = subjects.key LEFT JOIN terms ON terms.number = subjects.terms
            LEFT JOIN origins ON origins.number = subjects.origin;
        """
}
