// Keeps every withdrawal a second time, in a file of its own beside the ledger, so that a withdrawal outlives any damage to the ledger. The
// file only grows: a line for each withdrawal, with the hashes of the id and the time, behind a tag under a key of the ledger. A line is on
// disk before the ledger commits the withdrawal. It contains no raw id. A line without a valid tag is never used.

internal import ConsentGate
internal import Events
internal import Glibc
internal import Platform

final class WithdrawalLog {
    static let name = "ledger.withdrawals"

    struct Entry: Hashable {
        var id: HashedID
        /// The mark of the `subject.key` that made the short hash.
        var mark: String
        /// The withdrawn purposes. It is nil if everything was withdrawn.
        var purposes: [String]?
        var decided: Int64
    }

    let path: String
    private let keys: LedgerKeys
    private var descriptor: Descriptor?
    /// The size of the file, which ends with a line end.
    private var size: off_t = 0
    /// The entries, in the order in which they were written.
    private(set) var entries: [Entry] = []

    /// Returns the path of the file beside a ledger: `x.withdrawals` beside `x.sqlite`.
    static func path(beside ledger: String) -> String {
        (ledger.hasSuffix(".sqlite") ? String(ledger.dropLast(7)) : ledger) + ".withdrawals"
    }

    /// Reads the file, if there is one. Reports lines that cannot be used.
    init(_ path: String, keys: LedgerKeys, warn: (String) -> Void) throws(StorageFault) {
        self.path = path
        self.keys = keys
        let number = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            if errno == ENOENT { return }
            throw StorageFault(.failed, "\(path): cannot be opened: \(SystemFault())")
        }
        descriptor = Descriptor(owning: number)
        let text = try readAll(number)
        size = off_t(text.count)
        var unusable = 0
        for line in text.split(separator: UInt8(ascii: "\n")) {
            if let entry = WithdrawalLine.read(line, keys) { entries.append(entry) } else { unusable += 1 }
        }
        // A kill in the middle of a write leaves a part of a line, whose withdrawal was not acknowledged.
        if let last = text.last, last != UInt8(ascii: "\n") { try write([UInt8(ascii: "\n")], to: number) }
        if unusable > 0 {
            warn("\(path): \(grouped(unusable)) lines are damaged or were written under a key that is not named here; they are not used")
        }
    }

    private func readAll(_ number: Int32) throws(StorageFault) -> [UInt8] {
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(number, &piece, piece.count)
            if count == 0 { return text }
            if count < 0 {
                if errno == EINTR { continue }
                throw StorageFault(.failed, "\(path): cannot be read: \(SystemFault())")
            }
            text += piece[..<count]
        }
    }

    /// Appends entries. When this returns, they are on disk.
    func append(_ new: [Entry]) throws(StorageFault) {
        if new.isEmpty { return }
        let number = try opened()
        try write(new.flatMap { WithdrawalLine.text($0, keys.current) }, to: number)
        entries += new
    }

    /// Opens the file, and creates it if it was never there.
    private func opened() throws(StorageFault) -> Int32 {
        if let number = descriptor?.number {
            var status = stat()
            // Nobody would find what is written to a file that was removed.
            guard fstat(number, &status) == 0, status.st_nlink > 0 else { throw StorageFault.removed(path) }
            return number
        }
        let number = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StorageFault(errno == ENOSPC ? .full : .failed, "\(path): cannot be made: \(SystemFault())") }
        descriptor = Descriptor(owning: number)
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? "."
        let place = Glibc.open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if place >= 0 {
            fsync(place)
            Glibc.close(place)
        }
        return number
    }

    /// Writes whole lines and syncs them. If that fails, removes what was written of them.
    private func write(_ bytes: [UInt8], to number: Int32) throws(StorageFault) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw cannotWrite(number) }
            done += count
        }
        guard fdatasync(number) == 0 else { throw cannotWrite(number) }
        size += off_t(bytes.count)
    }

    private func cannotWrite(_ number: Int32) -> StorageFault {
        let fault = StorageFault(errno == ENOSPC || errno == EDQUOT ? .full : .failed, "\(path): cannot be written: \(SystemFault())")
        ftruncate(number, size)
        return fault
    }

    private func release() -> Descriptor? { descriptor.take() }

    /// Replaces times that are later than this one by it, after a person has said that the clock is right.
    func limit(to time: Int64) throws(StorageFault) {
        guard entries.contains(where: { $0.decided > time }) else { return }
        var limited = entries
        for index in limited.indices { limited[index].decided = min(limited[index].decided, time) }
        let draft = path + ".new"
        unlink(draft)
        let fresh = try WithdrawalLog(draft, keys: keys) { _ in }
        try fresh.append(limited)
        guard rename(draft, path) == 0 else { throw StorageFault(.failed, "\(path): cannot be replaced: \(SystemFault())") }
        // The descriptor of the fresh file stays open under the old name.
        (size, entries) = (fresh.size, limited)
        descriptor = fresh.release()
    }
}

/// A line of the file: a tag in hexadecimal digits, and the withdrawal in the form of a line of an import.
enum WithdrawalLine {
    private static let digits = 32

    static func text(_ entry: WithdrawalLog.Entry, _ key: LedgerKeys.Key) -> [UInt8] {
        let short = entry.id.short.withBytes { hex($0) }
        let what = entry.purposes.map { "\"denied\":[\($0.map(jsonQuoted).joined(separator: ","))]" } ?? "\"withdrawn\":true"
        let json =
            "{\"hmac\":\"\(entry.id.digits)\",\"key\":\(jsonQuoted(entry.id.key)),\"short\":\"\(short)\",\"mark\":\"\(entry.mark)\","
            + "\(what),\"decided\":\(time(entry.decided))}"
        return Array("\(tag(json, key)) \(json)\n".utf8)
    }

    /// Returns nil if the line has no tag of any of the keys, or is not a withdrawal.
    static func read(_ line: ArraySlice<UInt8>, _ keys: LedgerKeys) -> WithdrawalLog.Entry? {
        let json = line.dropFirst(digits + 1)
        let text = String(decoding: json, as: UTF8.self)
        let stored = line.prefix(digits)
        guard keys.all.contains(where: { tag(text, $0).utf8.elementsEqual(stored) }) else { return nil }
        let members = json.withUnsafeBytes { bytes -> LineMembers? in try? JSONLine.members(bytes) }
        guard let members, let mark = members.texts[.mark], let line = try? members.line(mark: mark), case .hashed(let id) = line.id,
            let terms = line.terms, let decided = line.decided
        else { return nil }
        return WithdrawalLog.Entry(id: id, mark: mark, purposes: terms.isWithdrawn ? nil : terms.denied, decided: decided)
    }

    private static func tag(_ json: String, _ key: LedgerKeys.Key) -> String { hex(key.tag(json, for: "withdrawals").prefix(digits / 2)) }

    /// Writes a time exactly, in quotes, so that it compares with the times of the ledger.
    private static func time(_ time: Int64) -> String {
        var text = ByteBuffer()
        Times.write(time, into: &text)
        return String(decoding: text.bytes, as: UTF8.self)
    }
}
