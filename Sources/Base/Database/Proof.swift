// The row of a database that records its progress: how many transactions were committed, and how many entries came and left. The witness
// beside the file (Witness.swift) records the same numbers, so that a comparison reveals lost commits. The row has a checksum. If the
// checksum is wrong, no value of the row is used.

internal import CChecksum
public import Platform

public struct Proof: Sendable, Equatable {
    /// The numbers of entries that ever came into the file and left it, under a key that the user of the file chooses.
    public struct Count: Sendable, Equatable {
        public var key: UInt64
        public var came: Int64
        public var gone: Int64
        /// The number of bytes of the entries that are left, if the user of the file counts them.
        public var bytes: Int64

        public init(key: UInt64, came: Int64 = 0, gone: Int64 = 0, bytes: Int64 = 0) {
            self.key = key
            self.came = came
            self.gone = gone
            self.bytes = bytes
        }

        public var left: Int64 { came - gone }
    }

    /// The version of the file's format, equal to its `user_version`.
    public var version: Int64
    /// A random number that identifies the file.
    public var database: Int64
    /// The number of committed transactions. The creation of the file counts as the first.
    public internal(set) var sequence: Int64 = 1
    /// The greatest number that a row was ever given.
    public var last: Int64 = 0
    /// A sum over rows that must not vanish. The user of the file chooses these rows.
    public var digest: Int64 = 0
    public var counts: [Count] = []

    init(version: Int64, database: Int64) {
        self.version = version
        self.database = database
    }

    /// The counts under the key. They are zero if nothing was counted.
    public subscript(key: UInt64) -> Count {
        get { counts.first { $0.key == key } ?? Count(key: key) }
        set {
            if let index = counts.firstIndex(where: { $0.key == key }) { counts[index] = newValue } else { counts.append(newValue) }
        }
    }

    /// Returns the record that the witness stores.
    func record(_ application: Int64, isDestroyed: Bool = false) -> WitnessRecord {
        var record = WitnessRecord(
            application: application, version: version, database: database, sequence: sequence,
            counts: counts.map { WitnessRecord.Count(key: $0.key, came: $0.came, gone: $0.gone) })
        record.isDestroyed = isDestroyed
        return record
    }

    /// All values as a text. Two proofs with different values have different texts.
    public var text: String { ([version, database, sequence, last, digest].map { "\($0)" } + [countsText]).joined(separator: " ") }

    private var countsText: String { "[" + counts.map { "[\($0.key),\($0.came),\($0.gone),\($0.bytes)]" }.joined(separator: ",") + "]" }

    // MARK: - In the file

    static let table = """
        CREATE TABLE proof (  -- one row: the progress of the file, which the .witness beside it records too
          id INTEGER PRIMARY KEY,
          version INTEGER NOT NULL, database INTEGER NOT NULL,  -- the version of the format; a random number that identifies the file
          sequence INTEGER NOT NULL,  -- the number of committed transactions
          last INTEGER NOT NULL,  -- the greatest number that a row was ever given
          digest INTEGER NOT NULL,  -- a sum of the checksums of rows that must not vanish
          counts TEXT NOT NULL,  -- for each key: [key, number that came, number that left, bytes of the rest]
          checksum INTEGER NOT NULL  -- over the whole row
        );
        """

    /// Returns the proof of the file. Returns nil if the file has no table `proof`. Throws `damaged` if the row cannot be used.
    public static func read(_ database: Database, _ application: Int64) throws(StorageFault) -> Proof? {
        guard try database.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'proof'") ?? 0 > 0 else { return nil }
        let find = try database.statement("SELECT version, database, sequence, last, digest, counts, checksum FROM proof WHERE id = 1")
        defer { find.reset() }
        let damaged = StorageFault(.damaged, "\(database.path): its table 'proof' is damaged")
        guard try find.step() else { throw damaged }
        var sum = RowChecksum(application, table: "proof", row: 1)
        sum.add(0...5, of: find)
        guard !find.isNull(6), sum.value == find.int(6), let counts = decode(find.text(5)) else { throw damaged }
        var proof = Proof(version: find.int(0), database: find.int(1))
        proof.sequence = find.int(2)
        proof.last = find.int(3)
        proof.digest = find.int(4)
        proof.counts = counts
        return proof
    }

    func write(_ database: Database, _ application: Int64) throws(StorageFault) {
        let text = countsText
        assert(Set(counts.map(\.key)).count == counts.count, "two counts have the same key")
        assert(Proof.decode(text) == counts, "the counts cannot be read back")
        assert(sequence >= 1, "a proof has no transaction, not even the creation of the file")
        var sum = RowChecksum(application, table: "proof", row: 1)
        for number in [version, self.database, sequence, last, digest] { sum.add(number) }
        sum.add(text)
        try database.statement("INSERT OR REPLACE INTO proof VALUES (1,?1,?2,?3,?4,?5,?6,?7)").bind(1, version).bind(2, self.database)
            .bind(3, sequence).bind(4, last).bind(5, digest).bind(6, text).bind(7, sum.value).run()
    }

    private static func decode(_ text: String) -> [Count]? {
        let isNumber: (UInt8) -> Bool = { $0 == UInt8(ascii: "-") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
        let words = text.utf8.split { !isNumber($0) }
        guard words.count % 4 == 0 else { return nil }
        var counts: [Count] = []
        for index in stride(from: 0, to: words.count, by: 4) {
            guard let key = UInt64(String(words[index]) ?? ""), let came = Int64(String(words[index + 1]) ?? ""),
                let gone = Int64(String(words[index + 2]) ?? ""), let bytes = Int64(String(words[index + 3]) ?? "")
            else { return nil }
            counts.append(Count(key: key, came: came, gone: gone, bytes: bytes))
        }
        return counts
    }

    /// Returns a key for something that has a number in the file and a name. The key contains the number and a hash of the name. So the
    /// name can be found even if the file is lost.
    public static func key(number: UInt16, name: String) -> UInt64 { hash(of: name) << 16 | UInt64(number) }

    /// Returns true if the key was made for this name, or for a name with the same hash.
    public static func isKey(_ key: UInt64, of name: String) -> Bool { key >> 16 == hash(of: name) }
    public static func number(ofKey key: UInt64) -> UInt16 { UInt16(truncatingIfNeeded: key) }

    private static func hash(of name: String) -> UInt64 {
        var name = name
        // With 31 bits a key fits into SQLite's integers and stays positive.
        return name.withUTF8 { cchecksum_hash($0.baseAddress, $0.count, 1) } & 0x7fff_ffff
    }
}
