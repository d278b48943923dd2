// The erasure jobs of a state folder, in an SQLite file. It promises:
//
// - A job that was added is there after the process is killed, and so is each answer that was noted.
// - The ids of a job are encrypted, bound to the job, and overwritten when the job has ended.
// - No job with a wrong checksum is used. A damaged file is set aside, and the loss is reported.

internal import Database
public import Platform
public import StateFiles

/// Only one thread may use it at a time.
public final class ErasureFile: @unchecked Sendable {
    public static let name = "erasures.sqlite"
    /// The mark is "SWYE".
    static let kind = GuardedKind(
        format: FileFormat(application: 0x5357_5945, version: 1, tables: tables, provenSince: 1), tables: guarded, events: 1,
        noun: "erasure jobs",
        complete: { (database) throws(StorageFault) in
            try database.run("DELETE FROM reaches WHERE job NOT IN (SELECT id FROM jobs)")
        })

    /// The tables whose rows have checksums. Their order must not change, since the proof counts by their position.
    private static let guarded = [
        GuardedTable("about", key: ["name"], ["value"]),
        GuardedTable(
            "jobs", key: ["id"],
            [
                "provider", "plugin", "phase", "origin", "begun", "next", "attempts", "asked", "ended", "code", "words", "out_of_reach",
                "sealed",
            ], indexes: [.init("jobs_next", ["provider", "next"], where: "next IS NOT NULL")]),
        GuardedTable("reaches", key: ["receipt", "job"], [], indexes: [.init("reaches_by_job", ["job"])]),
    ]
    static let isWhole = guarded.whole("jobs")
    static let isReachWhole = guarded.whole("reaches")
    static let isFactWhole = guarded.whole("about")

    private static let tables = """
        CREATE TABLE about (  -- facts, one in each row: 'provider NAME' is the time since when this provider may have got events
          name TEXT PRIMARY KEY, value,
          checksum INTEGER  -- here and in all tables: over the other columns of the row
        ) WITHOUT ROWID;
        CREATE TABLE jobs (  -- what providers are asked to erase
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          provider TEXT NOT NULL, plugin TEXT NOT NULL,  -- who is asked, and the name of the module
          phase TEXT NOT NULL,  -- waiting, asked, confirmed, by_hand, given_up or done
          origin TEXT NOT NULL,  -- who asked for the erasure
          begun INTEGER NOT NULL,  -- times are nanoseconds since 1970
          next INTEGER,  -- when the provider is asked next; NULL if it is not asked any more
          attempts INTEGER NOT NULL, asked INTEGER, ended INTEGER,
          code INTEGER NOT NULL, words TEXT NOT NULL,  -- the last answer
          out_of_reach TEXT NOT NULL,  -- ids of the persons that are known only as hashes, as KEY:DIGITS, one per line
          sealed BLOB,  -- the ids and the provider's state, encrypted; NULL when the job has ended
          checksum INTEGER
        );
        CREATE INDEX jobs_next ON jobs (provider, next) WHERE next IS NOT NULL;
        CREATE TABLE reaches (  -- the withdrawals that a job belongs to
          receipt INTEGER NOT NULL, job INTEGER NOT NULL, checksum INTEGER, PRIMARY KEY (receipt, job)
        ) WITHOUT ROWID;
        CREATE INDEX reaches_by_job ON reaches (job);
        """

    public struct Options: Sendable {
        /// The ciphers under which ids may be encrypted. The first one encrypts.
        public var ciphers: [Cipher]
        /// The name of a file system that replaces SQLite's own in tests.
        public var vfs: String?
        /// Called with messages for a person, mainly about damage.
        public var say: @Sendable (String) -> Void = { _ in }

        /// Called with each job that was added or changed, after it is on disk.
        public var noted: @Sendable (ErasureJob) -> Void = { _ in }

        public init(ciphers: [Cipher]) {
            precondition(!ciphers.isEmpty, "nothing encrypts the ids of erasures")
            self.ciphers = ciphers
        }
    }

    let file: GuardedFile
    var database: Database { file.database }
    let options: Options

    /// Opens the file. If there is none, creates it if `makes` is true, and otherwise returns nil. `now` is in nanoseconds since 1970.
    public init?(_ path: String, makes: Bool, at now: Int64, options: Options) throws(StorageFault) {
        var proven = ProvenFile.Options()
        proven.isSynced = true
        proven.vfs = options.vfs
        proven.warn = options.say
        let found = try GuardedFile.open(path, kind: ErasureFile.kind, use: makes ? .make : .mend, options: proven, at: now)
        guard let found else { return nil }
        file = found
        self.options = options
    }

    /// The loss that was found when the file was opened. It is nil if the file was not damaged.
    public var loss: FileLoss? { file.loss }

    /// Throws if the file was removed, moved away or replaced.
    public func checkPlace() throws(StorageFault) { try database.checkPlace() }

    public func close() { file.close() }

    // MARK: - Contents

    func sealed(_ job: ErasureJob) -> [UInt8]? {
        job.contents.map { contents in
            contents.bytes.withUnsafeBytes { options.ciphers[0].seal($0, at: ErasureFile.place(job.number)) }
        }
    }

    /// Returns nil if none of the keys has encrypted it.
    func opened(_ sealed: UnsafeRawBufferPointer, of job: Int64) -> ErasureJob.Contents? {
        for cipher in options.ciphers {
            if let bytes = cipher.open(sealed, at: ErasureFile.place(job)) { return ErasureJob.Contents(bytes) }
        }
        return nil
    }

    private static func place(_ job: Int64) -> String { "erasure \(job)" }
}
