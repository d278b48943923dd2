// One file that another process writes, open and read in blocks of whole lines. Its offset advances only over lines that were answered. An
// unfinished line waits for its end. A file that was truncated or rewritten is read from its beginning. Compressed data is never read as
// lines. A byte order mark is not part of the first line.

internal import Events
internal import Glibc
internal import Platform

final class FollowedFile {
    /// The result of one read.
    enum Piece {
        /// Lines, none of them blank, and the place in the file where they end.
        case lines(end: Int)
        /// No complete line. There may be the beginning of one.
        case nothing
        /// Nothing, but there may be more at once.
        case again
        /// An unfinished last line of that many bytes, which is not a complete event.
        case torn(Int)
        case compressed(FileBeginning.Compression)
        case failed(SystemFault)
    }

    /// The condition under which a last line without a newline counts as ended.
    enum Ending {
        case never
        /// It is a complete event, so that only its newline can be missing.
        case whole
        case always
    }

    /// The values that show whether a file was changed.
    struct Sight: Equatable {
        var size: Int
        var modified: Int64
        init(_ status: stat) {
            size = Int(status.st_size)
            modified = withUnsafeBytes(of: status.st_mtim) {
                $0.load(as: Int64.self) &* 1_000_000_000 &+ $0.load(fromByteOffset: 8, as: Int64.self)
            }
        }
    }

    static let blockSize = 256 << 10

    let key: FileKey
    let descriptor: Descriptor
    /// The number that distinguishes its answers from those of other files.
    let number: Int
    var path: String
    /// The time at which the file lost its name. It is nil if it has one.
    var nameless: Instant?
    /// The place up to which everything was answered.
    private(set) var offset: Int
    private(set) var faults: Int
    private(set) var mark: FileMark
    /// The end of the lines that wait for an answer, and the mark when they were read.
    private var pending: (end: Int, mark: FileMark)?
    /// The number of bytes after the offset that belong to a line over the limit whose end was not found yet.
    private var overlong = 0
    /// The values at the last look. It is nil before the first one.
    private(set) var sight: Sight?
    var size: Int { sight?.size ?? 0 }
    /// The ending with which nothing more could be read after the last look. It is nil if there may be more.
    private var exhausted: Ending?
    private(set) var changed: Instant
    /// The earliest time at which it may be read or removed.
    var notBefore = Instant(nanoseconds: .min)
    /// True if the reason why it is not removed was reported.
    var stays = false

    var isPending: Bool { pending != nil }
    /// True if everything in it was answered.
    var isTaken: Bool { pending == nil && offset == size }
    /// True if the file may be closed until it changes.
    var canRest: Bool { pending == nil && overlong == 0 && (offset == size || exhausted != nil) }
    var place: FilePlace { FilePlace(mark: mark, offset: offset, faults: faults) }

    init(_ descriptor: consuming Descriptor, _ key: FileKey, number: Int, path: String, from place: FilePlace?, now: Instant)
        throws(SystemFault)
    {
        let known = place.flatMap { $0.mark.fits(descriptor.number) ? $0 : nil }
        if let known { mark = known.mark } else { mark = try FileMark(descriptor.number, upTo: 0) }
        offset = known?.offset ?? 0
        faults = known?.faults ?? 0
        self.descriptor = descriptor
        self.key = key
        self.number = number
        self.path = path
        changed = now
    }

    /// Updates the size. Returns true if the file was truncated or rewritten; then it is read from its beginning.
    func look(_ now: Instant) throws(SystemFault) -> Bool {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { throw SystemFault() }
        let found = Sight(status)
        guard found != sight else { return false }
        changed = now
        sight = found
        exhausted = nil
        guard size < offset + overlong || !mark.fits(descriptor.number) else { return false }
        mark = try FileMark(descriptor.number, upTo: 0)
        offset = 0
        overlong = 0
        faults = 0
        stays = false
        return true
    }

    // MARK: - Reading

    /// Reads the next whole lines into the buffer, which must be empty. `ending` is the condition under which an unfinished last line
    /// counts as ended.
    func read(_ buffer: inout ByteBuffer, lineLimit: Int, ending: Ending, skipped: (Int) -> Void) -> Piece {
        if exhausted == ending { return .nothing }
        let piece = readOn(&buffer, lineLimit: lineLimit, ending: ending, skipped: skipped)
        switch piece {
        case .nothing, .torn: exhausted = ending
        case .lines, .again, .compressed, .failed: exhausted = nil
        }
        return piece
    }

    private func readOn(_ buffer: inout ByteBuffer, lineLimit: Int, ending: Ending, skipped: (Int) -> Void) -> Piece {
        let from = offset + overlong
        assert(pending == nil && buffer.isEmpty, "lines are read while others wait for their answer")
        guard size > from else {
            if overlong > 0, ending != .never { endOverlong(at: from, skipped) }
            return .nothing
        }
        do throws(SystemFault) {
            while true {
                let wasAtEnd = try fill(&buffer, from: from, upTo: max(FollowedFile.blockSize, buffer.count * 2))
                if overlong > 0 { return passOverlong(buffer, from: from, skipped: skipped) }
                if from == 0, let form = FileBeginning.compression(buffer.bytes) { return .compressed(form) }
                if let end = lastLineEnd(buffer) {
                    buffer.truncate(to: end)
                    return try take(&buffer, range: from..<(from + end), lineLimit: lineLimit, skipped: skipped)
                }
                if buffer.count > lineLimit {
                    overlong = buffer.count
                    return .again
                }
                guard wasAtEnd else { continue }
                guard ending != .never, !buffer.isEmpty else { return .nothing }
                let end = from + buffer.count
                buffer.append(UInt8(ascii: "\n"))
                if ending == .whole {
                    let start = from == 0 ? FileBeginning.mark(buffer.bytes) : 0
                    guard isWhole(&buffer, from: start) else { return .torn(end - from) }
                }
                return try take(&buffer, range: from..<end, lineLimit: lineLimit, skipped: skipped)
            }
        } catch {
            return .failed(error)
        }
    }

    /// Appends bytes of the file. Returns true if the end of the file was reached.
    private func fill(_ buffer: inout ByteBuffer, from: Int, upTo most: Int) throws(SystemFault) -> Bool {
        buffer.reserve(most - buffer.count)
        precondition(most <= buffer.capacity, "a read goes beyond the end of the buffer")
        while buffer.count < most {
            let count = pread(descriptor.number, buffer.base + buffer.count, most - buffer.count, off_t(from + buffer.count))
            if count == 0 { return true }
            if count > 0 {
                buffer.extend(by: count)
            } else if errno != EINTR {
                throw SystemFault()
            }
        }
        return false
    }

    private func passOverlong(_ buffer: borrowing ByteBuffer, from: Int, skipped: (Int) -> Void) -> Piece {
        guard let newline = memchr(buffer.base, 0x0a, buffer.count) else {
            overlong += buffer.count
            return buffer.isEmpty ? .nothing : .again
        }
        let length = UnsafeRawPointer(newline) - UnsafeRawPointer(buffer.base)
        overlong += length
        endOverlong(at: from + length + 1, skipped)
        return .again
    }

    private func endOverlong(at end: Int, _ skipped: (Int) -> Void) {
        assert(end >= offset + overlong, "a skipped line ends before what was read of it")
        skipped(overlong)
        faults += 1
        overlong = 0
        offset = end
        // An older mark, which ends earlier, is valid too.
        mark = (try? FileMark(descriptor.number, upTo: end)) ?? mark
    }

    /// Returns true if the only line in the buffer is a complete event or blank.
    private func isWhole(_ buffer: inout ByteBuffer, from start: Int) -> Bool {
        if isBlank(buffer, start..<(buffer.count - 1)) { return true }
        buffer.reserve(Block.padding)
        memset(buffer.base + buffer.count, 0, Block.padding)
        var scanner = Scanner(PathTrie([]), depth: Scanner.deepest)
        return scanner.scan(Bytes(buffer.base), UInt32(start)) != nil
    }

    private func lastLineEnd(_ buffer: borrowing ByteBuffer) -> Int? {
        var end = buffer.count
        while end > 0, buffer.base[end - 1] != 0x0a { end -= 1 }
        return end == 0 ? nil : end
    }

    /// Removes blank lines and those over the limit, and notes the range that waits for an answer.
    private func take(
        _ buffer: inout ByteBuffer, range: Range<Int>, lineLimit: Int, skipped: (Int) -> Void
    ) throws(SystemFault) -> Piece {
        let later = try FileMark(descriptor.number, upTo: range.upperBound)
        assert(range.lowerBound == offset && !range.isEmpty, "the lines do not follow those that were taken")
        var kept = 0
        var at = range.lowerBound == 0 ? FileBeginning.mark(buffer.bytes) : 0
        while at < buffer.count {
            let newline = UnsafeRawPointer(memchr(buffer.base + at, 0x0a, buffer.count - at)!)
            let next = newline - UnsafeRawPointer(buffer.base) + 1
            let length = next - 1 - at
            assert(kept <= at, "a kept line would overwrite a line that was not read yet")
            if length > lineLimit {
                skipped(length)
                faults += 1
            } else if !isBlank(buffer, at..<(next - 1)) {
                if kept != at { memmove(buffer.base + kept, buffer.base + at, next - at) }
                kept += next - at
            }
            at = next
        }
        buffer.truncate(to: kept)
        if kept > 0 {
            pending = (range.upperBound, later)
            return .lines(end: range.upperBound)
        }
        offset = range.upperBound
        mark = later
        return .again
    }

    private func isBlank(_ buffer: borrowing ByteBuffer, _ range: Range<Int>) -> Bool {
        for at in range {
            let byte = buffer.base[at]
            if byte != 0x20, byte != 0x09, byte != 0x0d { return false }
        }
        return true
    }

    // MARK: - Answers

    /// Advances the offset over the lines that were read last, after their answer.
    func settle(faults more: Int) {
        guard let pending else { return }
        assert(pending.end > offset && more >= 0, "the place in a file goes back")
        offset = pending.end
        mark = pending.mark
        faults += more
        self.pending = nil
    }

    /// Makes the next read return the last lines again.
    func giveBack() { pending = nil }
}
