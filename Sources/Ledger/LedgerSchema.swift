// What a ledger file holds, so that anyone can look inside with the sqlite3 shell. Times are nanoseconds since 1970.

internal import Database

enum LedgerSchema {
    /// The mark is "SWYL".
    static let format = FileFormat(application: 0x5357_594c, version: 1, tables: tables)

    private static let tables = """
        CREATE TABLE about (  -- one row for each thing to know of the file
          name TEXT PRIMARY KEY,  -- mark: the short hash of a fixed text; received: the greatest time ever written
          value
        ) WITHOUT ROWID;
        CREATE TABLE keys (  -- the keys that ids were hashed under
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
          mark BLOB  -- tells the key from another of that name; NULL: it was never given here
        );
        CREATE TABLE origins (  -- from where decisions came
          number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE
        );
        CREATE TABLE terms (  -- what people said, each combination once
          number INTEGER PRIMARY KEY,
          withdrawn INTEGER NOT NULL,  -- 1: everything is refused
          level TEXT NOT NULL, granted TEXT NOT NULL, denied TEXT NOT NULL, version TEXT NOT NULL,  -- lists as JSON, '': nothing
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
          person INTEGER  -- the same number in all ids of one person; NULL: not tied
        );
        CREATE INDEX subjects_by_person ON subjects (person) WHERE person IS NOT NULL;
        CREATE TABLE history (  -- every decision, also those that came too late to hold
          subject INTEGER NOT NULL, number INTEGER NOT NULL,  -- in the order in which they came
          terms INTEGER NOT NULL, decided INTEGER NOT NULL, received INTEGER NOT NULL, origin INTEGER NOT NULL,
          held INTEGER NOT NULL,  -- 0: a later one was on record
          PRIMARY KEY (subject, number)
        ) WITHOUT ROWID;
        CREATE TABLE receipts (  -- withdrawals, and what they destroyed
          number INTEGER PRIMARY KEY AUTOINCREMENT,
          hmac BLOB NOT NULL, key INTEGER NOT NULL,
          shorts BLOB NOT NULL,  -- of the id and of those tied to it then, 16 bytes each
          purposes TEXT,  -- as JSON; NULL: all
          origin TEXT NOT NULL, begun INTEGER NOT NULL,
          finished INTEGER  -- NULL: it goes on
        );
        CREATE INDEX receipts_unfinished ON receipts (number) WHERE finished IS NULL;
        CREATE INDEX receipts_by_hmac ON receipts (hmac);
        CREATE TABLE receipt_lines (  -- by place: what was destroyed, and what was in a provider's hands
          receipt INTEGER NOT NULL, number INTEGER NOT NULL, place TEXT NOT NULL, at INTEGER NOT NULL,
          events INTEGER NOT NULL, bytes INTEGER NOT NULL, in_hands INTEGER NOT NULL,
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
