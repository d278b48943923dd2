// A small file beside a database that proves how far the database was committed. It reveals commits that vanished: SQLite takes a damaged
// or emptied log for the end of the log, and an empty main file for a new database.
//
// Each transaction changes the same numbers in the database. The order is: commit, then write the witness, then acknowledge. So a whole
// database has the sequence number of the witness or a greater one. If its number is smaller, acknowledged commits are lost. The file has
// two slots, which are written in turn, each with a checksum. A write that is cut off leaves the other slot valid. The file has its full
// size from the beginning, so that a full disk does not stop a write.
//
// A write is not synced. After the process ends in any way, the operating system still has what was written. After a loss of power the
// witness may be older than the database, which is no fault. It may also be newer: under the durability `process` the database may have
// lost commits, and this is reported in the same words. Under `power` a commit is synced before the witness is written, so the witness is
// never newer. It cannot reveal damage to the database if a loss of power also took the newest state of the witness.

internal import CChecksum
internal import Glibc
public import Platform

public struct WitnessRecord: Sendable, Equatable {
    /// The numbers of entries that ever came into the database and left it, under a key that its user chooses.
    public struct Count: Sendable, Equatable {
        public var key: UInt64
        public var came: Int64
        public var gone: Int64

        public init(key: UInt64, came: Int64, gone: Int64) {
            self.key = key
            self.came = came
            self.gone = gone
        }
    }

    /// The mark of the kind of file.
    public var application: Int64
    /// The version of the file's format.
    public var version: Int64
    /// The random number that identifies the database. The database contains it too.
    public var database: Int64
    /// The number of acknowledged commits.
    public var sequence: Int64
    public var counts: [Count]
    /// True if the database was destroyed on purpose. Its files that still exist are leftovers.
    public var isDestroyed = false

    public init(application: Int64, version: Int64, database: Int64, sequence: Int64, counts: [Count] = []) {
        self.application = application
        self.version = version
        self.database = database
        self.sequence = sequence
        self.counts = counts
    }
}

/// The result of reading a witness.
public enum WitnessSight: Sendable, Equatable {
    case missing
    /// The text says why the witness cannot be used.
    case damaged(String)
    case found(WitnessRecord)
}

public final class Witness {
    public let path: String
    private let descriptor: Descriptor
    /// The slot that the next record goes to.
    private var next: Int
    private var words: [UInt64] = []
    /// The sequence of the last record that was written here.
    private var last: Int64?

    static let slotSize = 4096
    private static let magic: UInt64 = 0x314e_5457_5959_5753  // "SWYYWTN1" as the bytes of the file
    /// The number of words before the counts.
    private static let head = 7
    /// The number of counts that fit into a slot together with the checksum. If there are more, the rest is summed up under the key 0.
    static let mostCounts = (slotSize / 8 - head - 1) / 3

    /// Returns the path of the witness of a database: `x.witness` beside `x.sqlite`.
    public static func path(beside database: String) -> String {
        (database.hasSuffix(".sqlite") ? String(database.dropLast(7)) : database) + ".witness"
    }

    /// Reads the newest record and changes nothing.
    public static func look(_ path: String) -> WitnessSight {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return errno == ENOENT ? .missing : .damaged("\(path): cannot be read: \(SystemFault())") }
        let descriptor = Descriptor(owning: number)
        guard let (record, _) = newest(descriptor.number) else { return .damaged("\(path): is damaged") }
        return .found(record)
    }

    /// Creates a witness with this record, or replaces the existing one. A reader finds either the old witness or the new one.
    public init(_ path: String, making record: WitnessRecord) throws(StorageFault) {
        self.path = path
        let draft = path + ".new"
        let number = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StorageFault(errno == ENOSPC ? .full : .failed, "\(draft): cannot be made: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        next = 0
        let code = posix_fallocate(number, 0, off_t(2 * Witness.slotSize))
        guard code == 0 else {
            unlink(draft)
            throw StorageFault(code == ENOSPC ? .full : .failed, "\(draft): cannot be made: \(SystemFault(code: code))")
        }
        try write(record)
        guard fsync(number) == 0, rename(draft, path) == 0 else {
            throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be written: \(SystemFault())")
        }
    }

    /// Opens an existing witness for writing.
    public init(_ path: String) throws(StorageFault) {
        self.path = path
        let number = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { throw StorageFault(.failed, "\(path): cannot be opened: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        guard let (_, slot) = Witness.newest(number) else { throw StorageFault(.damaged, "\(path): is damaged") }
        next = 1 - slot
    }

    /// Writes the record into the slot that does not hold the last one. Its `sequence` must be greater than the last one's. If `isShared`
    /// is true, other processes write to the file too. If one of them has already written this record or a newer one, writes nothing.
    public func write(_ record: WitnessRecord, isShared: Bool = false) throws(StorageFault) {
        if isShared {
            while flock(descriptor.number, LOCK_EX) != 0, errno == EINTR {}
        }
        defer { if isShared { flock(descriptor.number, LOCK_UN) } }
        if isShared, let (known, slot) = Witness.newest(descriptor.number) {
            if known.database == record.database, known.sequence >= record.sequence { return }
            next = 1 - slot
        }
        encode(record)
        precondition(words.count * 8 <= Witness.slotSize, "a record of the witness is larger than its slot")
        assert(last.map { $0 < record.sequence } ?? true, "the witness goes back to an older record")
        let written = words.withUnsafeBytes { pwrite(descriptor.number, $0.baseAddress, $0.count, off_t(next * Witness.slotSize)) }
        guard written == words.count * 8 else {
            throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be written: \(SystemFault())")
        }
        next = 1 - next
        last = record.sequence
    }

    /// Waits until the disk has stored what was written.
    public func sync() throws(StorageFault) {
        guard fdatasync(descriptor.number) == 0 else { throw StorageFault(.failed, "\(path): cannot be synced: \(SystemFault())") }
    }

    // MARK: - A slot

    private func encode(_ record: WitnessRecord) {
        words.removeAll(keepingCapacity: true)
        let counts = Witness.fitting(record.counts)
        words += [Witness.magic, UInt64(bitPattern: record.application), UInt64(bitPattern: record.version)]
        words += [UInt64(bitPattern: record.database), UInt64(bitPattern: record.sequence), record.isDestroyed ? 1 : 0]
        words.append(UInt64(counts.count))
        for count in counts {
            words.append(count.key)
            words.append(UInt64(bitPattern: count.came))
            words.append(UInt64(bitPattern: count.gone))
        }
        for index in words.indices { words[index] = words[index].littleEndian }
        words.append(words.withUnsafeBytes { cchecksum_hash($0.baseAddress, $0.count, 0) }.littleEndian)
        assert(Witness.decode(words)?.sequence == record.sequence, "a record of the witness cannot be read back")
    }

    private static func fitting(_ counts: [WitnessRecord.Count]) -> [WitnessRecord.Count] {
        if counts.count <= mostCounts { return counts }
        var fitting = Array(counts[..<(mostCounts - 1)])
        var rest = WitnessRecord.Count(key: 0, came: 0, gone: 0)
        for count in counts[(mostCounts - 1)...] {
            rest.came += count.came
            rest.gone += count.gone
        }
        fitting.append(rest)
        assert(fitting.count == mostCounts, "the counts do not fill the slot")
        return fitting
    }

    private static func decode(_ slot: [UInt64]) -> WitnessRecord? {
        let words = slot.map { UInt64(littleEndian: $0) }
        guard words.count >= head + 1, words[0] == magic, words[6] <= UInt64(mostCounts) else { return nil }
        let end = head + 3 * Int(words[6])
        guard slot.withUnsafeBytes({ cchecksum_hash($0.baseAddress, end * 8, 0) }) == words[end] else { return nil }
        func number(_ index: Int) -> Int64 { Int64(bitPattern: words[index]) }
        var record = WitnessRecord(application: number(1), version: number(2), database: number(3), sequence: number(4))
        record.isDestroyed = words[5] & 1 == 1
        record.counts = stride(from: head, to: end, by: 3).map {
            WitnessRecord.Count(key: words[$0], came: number($0 + 1), gone: number($0 + 2))
        }
        return record
    }

    /// Returns the record with the greatest sequence and its slot. Returns nil if neither slot holds a valid record.
    private static func newest(_ descriptor: Int32) -> (WitnessRecord, slot: Int)? {
        var best: (WitnessRecord, slot: Int)?
        for slot in 0...1 {
            var words = [UInt64](repeating: 0, count: slotSize / 8)
            let count = words.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(slot * slotSize)) }
            guard count == slotSize, let record = decode(words) else { continue }
            if best.map({ $0.0.sequence < record.sequence }) ?? true { best = (record, slot) }
        }
        return best
    }
}
