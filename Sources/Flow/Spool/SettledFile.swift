// Space on the disk that is reserved for noting confirmed events: `spool-NAME.settled`. It is used when the disk is so full that the spool
// cannot even record a removal. The file has its full size from the beginning and is written in place.
//
// The file holds facts: a fact says that a range of rows of the spool is settled, or certain events of one row. It holds nothing but
// numbers. Each fact has its own slot with a checksum over the fact and the slot, so that damage to one slot costs only that fact. A fact
// stays true, since no row number is used twice. But it counts only if it was noted after the last transaction of the spool, whose number
// is in the fact. Each transaction of the spool takes over all facts that count. So facts need not be erased, and a kill right
// after the transaction does no harm.
//
// A slot is overwritten only by a fact that covers the old one, or after other slots cover the old one. So a kill at any moment keeps
// everything that was noted before. A write that a loss of power cuts off costs one fact, and the events of that fact are sent again.

internal import Database
internal import Glibc
internal import Platform

enum SettledFact: Hashable, Sendable {
    /// All events of these rows are settled.
    case rows(ClosedRange<Int64>)
    /// Some events of a row with this checksum are settled. Bit 0 of the mask is event 64 × `block`.
    case events(row: Int64, checksum: Int64, block: Int, mask: UInt64)

    /// Returns true if this fact says everything that the other one says.
    func covers(_ other: SettledFact) -> Bool {
        switch (self, other) {
        case (.rows(let all), .rows(let some)): all.contains(some.lowerBound) && all.contains(some.upperBound)
        case (.rows(let all), .events(let row, _, _, _)): all.contains(row)
        case (.events(let row, let sum, let block, let mask), .events(let otherRow, let otherSum, let otherBlock, let otherMask)):
            row == otherRow && sum == otherSum && block == otherBlock && mask & otherMask == otherMask
        case (.events, .rows): false
        }
    }
}

/// The state of the spool in which a fact was noted.
struct SettledMark: Equatable, Sendable {
    /// The random number of the spool, as in `Proof.database`.
    var database: Int64
    /// The number of committed transactions of the spool.
    var sequence: Int64
}

/// The contents of a settled file.
struct SettledSight: Sendable {
    struct Found: Sendable {
        var slot: Int
        var mark: SettledMark
        var fact: SettledFact
    }
    var found: [Found] = []
    /// A message that says why some or all facts cannot be used. It is nil if the file is whole.
    var damage: String?
    /// True if the file has its full size, so that it can be written in place.
    var hasSize = true
}

final class SettledFile {
    static let slots = 1024
    private static let words = 8
    private static let slotSize = words * 8
    private static let size = slots * slotSize
    /// "SWYSETL1"
    private static let magic: UInt64 = 0x5357_5953_4554_4c31

    let path: String
    private let descriptor: Descriptor
    private var mark: SettledMark
    /// For each slot, the fact in it that counts.
    private var facts = [SettledFact?](repeating: nil, count: SettledFile.slots)

    /// Returns the path of the settled file of a spool: `x.settled` beside `x.sqlite`.
    static func path(beside database: String) -> String {
        (database.hasSuffix(".sqlite") ? String(database.dropLast(7)) : database) + ".settled"
    }

    // MARK: - Reading

    /// Reads the facts and changes nothing. Returns nil if there is no such file.
    static func look(_ path: String) -> SettledSight? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            return errno == ENOENT ? nil : SettledSight(damage: "\(path): cannot be read: \(SystemFault())", hasSize: false)
        }
        let descriptor = Descriptor(owning: number)
        var words = [UInt64](repeating: 0, count: size / 8)
        let count = words.withUnsafeMutableBytes { pread(descriptor.number, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { return SettledSight(damage: "\(path): cannot be read: \(SystemFault())", hasSize: false) }
        var sight = SettledSight()
        var damaged = 0
        for slot in 0..<slots {
            let slice = words[slot * SettledFile.words..<(slot + 1) * SettledFile.words].map { UInt64(littleEndian: $0) }
            if slice.allSatisfy({ $0 == 0 }) { continue }
            if let found = decode(slice, slot) { sight.found.append(found) } else { damaged += 1 }
        }
        var status = stat()
        sight.hasSize = fstat(descriptor.number, &status) == 0 && Int(status.st_size) == size
        if damaged > 0 || !sight.hasSize {
            sight.damage = "\(path): is damaged: \(grouped(sight.found.count)) of its records can be used, \(grouped(damaged)) cannot"
            if !sight.hasSize { sight.damage! += ", and its size is wrong" }
        }
        return sight
    }

    private static func decode(_ words: [UInt64], _ slot: Int) -> SettledSight.Found? {
        guard words[0] == magic, words[7] == checksum(words[..<7], slot) else { return nil }
        let mark = SettledMark(database: Int64(bitPattern: words[1]), sequence: Int64(bitPattern: words[2]))
        let (first, last) = (Int64(bitPattern: words[4]), Int64(bitPattern: words[5]))
        if words[3] == 0 {
            guard first <= last else { return nil }
            return SettledSight.Found(slot: slot, mark: mark, fact: .rows(first...last))
        }
        guard words[3] <= 1 << 32 else { return nil }
        return SettledSight.Found(
            slot: slot, mark: mark, fact: .events(row: first, checksum: last, block: Int(words[3] - 1), mask: words[6]))
    }

    private static func encode(_ fact: SettledFact, mark: SettledMark, slot: Int) -> [UInt64] {
        assert((0..<slots).contains(slot), "the slot is not in the file")
        var words = [magic, UInt64(bitPattern: mark.database), UInt64(bitPattern: mark.sequence)]
        switch fact {
        case .rows(let rows): words += [0, UInt64(bitPattern: rows.lowerBound), UInt64(bitPattern: rows.upperBound), 0]
        case .events(let row, let sum, let block, let mask):
            words += [UInt64(block) + 1, UInt64(bitPattern: row), UInt64(bitPattern: sum), mask]
        }
        words.append(checksum(words[...], slot))
        assert(decode(words, slot)?.fact == fact, "the fact cannot be read back")
        return words.map(\.littleEndian)
    }

    private static func checksum(_ words: ArraySlice<UInt64>, _ slot: Int) -> UInt64 {
        var sum = RowChecksum(SpoolSchema.format.application, table: "settled", row: Int64(slot))
        for word in words { sum.add(Int64(bitPattern: word)) }
        return UInt64(bitPattern: sum.value)
    }

    // MARK: - Making and opening

    /// Creates an empty file, or replaces an existing one.
    init(making path: String, _ mark: SettledMark) throws(StorageFault) {
        self.path = path
        self.mark = mark
        let draft = path + ".new"
        let number = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StorageFault(errno == ENOSPC ? .full : .failed, "\(draft): cannot be made: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        // On some file systems a reserved block needs more space when it is first written, so all of it is written now.
        let code = posix_fallocate(number, 0, off_t(SettledFile.size))
        let zeros = [UInt8](repeating: 0, count: SettledFile.size)
        guard code == 0, pwrite(number, zeros, zeros.count, 0) == zeros.count, fsync(number) == 0, rename(draft, path) == 0 else {
            let fault = SystemFault(code: code == 0 ? errno : code)
            unlink(draft)
            throw StorageFault(fault.code == ENOSPC ? .full : .failed, "\(path): cannot be made: \(fault)")
        }
    }

    /// Opens an existing file. Of the facts in `found`, those with the same mark count.
    init(_ path: String, _ mark: SettledMark, counting found: [SettledSight.Found]) throws(StorageFault) {
        self.path = path
        self.mark = mark
        let number = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { throw StorageFault(.failed, "\(path): cannot be opened: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        for one in found where one.mark == mark { facts[one.slot] = one.fact }
    }

    /// True if the path still leads to the open file.
    var isInPlace: Bool { FilePlace(path) != nil && FilePlace(path) == FilePlace(descriptor.number) }

    // MARK: - Writing

    /// Notes these facts. Together they must cover all earlier facts with the same mark. If `isSynced` is true, returns only after the disk
    /// has stored them.
    func note(_ wanted: [SettledFact], _ now: SettledMark, isSynced: Bool) throws(StorageFault) {
        if now != mark {
            mark = now
            for slot in facts.indices { facts[slot] = nil }
        }
        let all = Set(wanted)
        let there = Set(facts.compactMap(\.self))
        let new = wanted.filter { !there.contains($0) }
        if new.isEmpty { return }
        var old = facts.indices.filter { facts[$0].map { !all.contains($0) } ?? false }
        var free = facts.indices.filter { facts[$0] == nil }[...]
        for fact in new {
            let slot: Int
            if let place = old.firstIndex(where: { fact.covers(facts[$0]!) }) {
                slot = old.remove(at: place)
            } else if let next = free.popFirst() {
                slot = next
            } else {
                throw StorageFault(.full, "\(path): is full too")
            }
            try put(SettledFile.encode(fact, mark: mark, slot: slot), slot)
            facts[slot] = fact
        }
        for slot in old { facts[slot] = nil }
        assert(Set(facts.compactMap(\.self)) == all, "the file does not have the facts that were to be noted")
        if isSynced, fdatasync(descriptor.number) != 0 { throw StorageFault(.failed, "\(path): cannot be synced: \(SystemFault())") }
    }

    /// Erases all facts and notes these.
    func restart(_ wanted: [SettledFact], _ now: SettledMark) throws(StorageFault) {
        guard wanted.count <= SettledFile.slots else { throw StorageFault(.full, "\(path): is full too") }
        mark = now
        var words = [UInt64](repeating: 0, count: SettledFile.size / 8)
        for slot in facts.indices {
            facts[slot] = slot < wanted.count ? wanted[slot] : nil
            guard let fact = facts[slot] else { continue }
            words.replaceSubrange(
                slot * SettledFile.words..<(slot + 1) * SettledFile.words, with: SettledFile.encode(fact, mark: now, slot: slot))
        }
        try put(words, 0)
        guard fdatasync(descriptor.number) == 0 else { throw StorageFault(.failed, "\(path): cannot be synced: \(SystemFault())") }
    }

    private func put(_ words: [UInt64], _ slot: Int) throws(StorageFault) {
        let written = words.withUnsafeBytes { pwrite(descriptor.number, $0.baseAddress, $0.count, off_t(slot * SettledFile.slotSize)) }
        guard written == words.count * 8 else {
            throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be written: \(SystemFault())")
        }
    }

    /// Removes the file and a draft of it.
    static func remove(_ path: String) {
        unlink(path)
        unlink(path + ".new")
    }
}
