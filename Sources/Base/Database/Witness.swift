// A small file beside a database that says how far the database had acknowledged, so that commits that vanish from it are noticed: SQLite
// takes a damaged or emptied log for the end of the log, and an empty main file for a new one.
//
// The same numbers stand in the database and change in each transaction. The order is: commit, then the witness, then acknowledge. So when
// both are opened, the database has the number of the witness or a greater one; if it has a smaller one, acknowledged commits are gone.
// There are two slots that are written in turn, each with a checksum, so that a write that was cut off leaves the other one. The file has
// its full size from the beginning, so that a full disk does not stop it.
//
// It is not synced. After the end of the process, however it ends, the system still has what was written. After a loss of power it may be
// older than the database, which is no fault, or newer: under `process` the database itself may have lost commits then, and this is told
// in the same words; under `power` a commit is synced before the witness is written, so that it is never newer. What it cannot tell is
// damage to the database on top of a loss of power that took the newest state of the witness.

internal import CChecksum
internal import Glibc
public import Platform

public struct WitnessRecord: Sendable, Equatable {
    /// How much ever came into the database and how much has left it, of one thing that its user knows by a number.
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

    /// The mark of the kind of file, and the version of its form.
    public var application: Int64
    public var version: Int64
    /// A number by chance that stands in the database too, so that the two are known to belong together.
    public var database: Int64
    /// How many commits were acknowledged.
    public var sequence: Int64
    public var counts: [Count]
    /// The database was destroyed on purpose; files of it that are still there are left over.
    public var isDestroyed = false

    public init(application: Int64, version: Int64, database: Int64, sequence: Int64, counts: [Count] = []) {
        self.application = application
        self.version = version
        self.database = database
        self.sequence = sequence
        self.counts = counts
    }
}

/// What is found at the place of a witness.
public enum WitnessSight: Sendable, Equatable {
    case missing
    /// The words say why it cannot be used.
    case damaged(String)
    case found(WitnessRecord)
}

public final class Witness {
    public let path: String
    private let descriptor: Descriptor
    /// The slot that the next record goes to.
    private var next: Int
    private var words: [UInt64] = []

    static let slotSize = 4096
    private static let magic: UInt64 = 0x314e_5457_5959_5753  // "SWYYWTN1" as it stands in the file
    /// Words in front of the counts.
    private static let head = 7
    /// As many fit into a slot, with the checksum behind them. What is more goes together under the key 0.
    static let mostCounts = (slotSize / 8 - head - 1) / 3

    /// Where the witness of a database is: `x.witness` beside `x.sqlite`.
    public static func path(beside database: String) -> String {
        (database.hasSuffix(".sqlite") ? String(database.dropLast(7)) : database) + ".witness"
    }

    /// Looks at the place, and changes nothing.
    public static func look(_ path: String) -> WitnessSight {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return errno == ENOENT ? .missing : .damaged("\(path): cannot be read: \(SystemFault())") }
        let descriptor = Descriptor(owning: number)
        guard let (record, _) = newest(descriptor.number) else { return .damaged("\(path): is damaged") }
        return .found(record)
    }

    /// Makes a new one with this record, or replaces the one that is there: whoever looks finds the old one or the new one.
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

    /// Opens the one that is there for writing.
    public init(_ path: String) throws(StorageFault) {
        self.path = path
        let number = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { throw StorageFault(.failed, "\(path): cannot be opened: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        guard let (_, slot) = Witness.newest(number) else { throw StorageFault(.damaged, "\(path): is damaged") }
        next = 1 - slot
    }

    /// Writes the record beside the last one. Its `sequence` must be greater. `isShared`: other processes write to it too, and where one was
    /// quicker and has written of more, nothing is left to write.
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
        let written = words.withUnsafeBytes { pwrite(descriptor.number, $0.baseAddress, $0.count, off_t(next * Witness.slotSize)) }
        guard written == words.count * 8 else {
            throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be written: \(SystemFault())")
        }
        next = 1 - next
    }

    /// Waits until the disk has it.
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

    /// The record with the greatest sequence, and the slot that it is in.
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
