// One file that another process writes, open and read in blocks of whole lines. It promises that its offset moves only over what was
// answered, that a line which has not ended waits, that a file which was cut off or written anew is read from its beginning, and that
// compressed data is not taken for lines. A byte order mark is no part of the first line.

internal import Events
internal import Glibc
internal import Platform

final class FollowedFile {
    /// What reading came to.
    enum Piece {
        /// Lines, of which none is blank, and where they end in the file.
        case lines(end: Int)
        /// Nothing but what is left of a line that has not ended.
        case nothing
        /// There may be more at once.
        case again
        /// A last line of that many bytes, which has not ended and is no whole event.
        case torn(Int)
        case compressed(FileBeginning.Compression)
        case failed(SystemFault)
    }

    /// When a last line without a newline counts as ended.
    enum Ending {
        case never
        /// When it is a whole event: nothing more can come of it but its newline.
        case whole
        case always
    }

    /// What tells that a file was not touched.
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
    /// Tells its answers from those of others.
    let number: Int
    var path: String
    /// When it lost its name, if it has.
    var nameless: Instant?
    /// Everything before it was answered.
    private(set) var offset: Int
    private(set) var faults: Int
    private(set) var mark: FileMark
    /// Where what is being answered for ends, and the mark when it was read.
    private var pending: (end: Int, mark: FileMark)?
    /// How many bytes behind the offset belong to a line over the limit whose end was not found yet.
    private var overlong = 0
    /// What was found when it was looked at last; nil: it never was.
    private(set) var sight: Sight?
    var size: Int { sight?.size ?? 0 }
    /// With which ending nothing more could be read of it as it was when it was looked at last; nil: there may be more.
    private var exhausted: Ending?
    private(set) var changed: Instant
    /// Not to be read or removed before.
    var notBefore = Instant(nanoseconds: .min)
    /// Whether it was said why it is not removed.
    var stays = false

    var isPending: Bool { pending != nil }
    /// Whether everything in it was answered.
    var isTaken: Bool { pending == nil && offset == size }
    /// Whether it need not be open until it grows.
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

    /// Looks at its size; true: it was cut off or written anew, and is read from its beginning.
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

    /// Reads the next whole lines into the buffer, which is empty. `ending`: when a last line that has not ended counts as ended.
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
        guard size > from else {
            if overlong > 0, ending != .never { endOverlong(at: from, skipped) }
            return .nothing
        }
        do throws(SystemFault) {
            while true {
                let wasAtEnd = try fill(&buffer, from: from, upTo: max(FollowedFile.blockSize, buffer.count * 2))
                if overlong > 0 { return passOverlong(buffer, from, skipped) }
                if from == 0, let form = FileBeginning.compression(buffer.bytes) { return .compressed(form) }
                if let end = lastLineEnd(buffer) {
                    buffer.truncate(to: end)
                    return try take(&buffer, from..<(from + end), lineLimit, skipped)
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
                return try take(&buffer, from..<end, lineLimit, skipped)
            }
        } catch {
            return .failed(error)
        }
    }

    /// Whether the end of the file was reached.
    private func fill(_ buffer: inout ByteBuffer, from: Int, upTo most: Int) throws(SystemFault) -> Bool {
        buffer.reserve(most - buffer.count)
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

    private func passOverlong(_ buffer: borrowing ByteBuffer, _ from: Int, _ skipped: (Int) -> Void) -> Piece {
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
        skipped(overlong)
        faults += 1
        overlong = 0
        offset = end
        // A mark that stands further back is true as well.
        mark = (try? FileMark(descriptor.number, upTo: end)) ?? mark
    }

    /// Whether the line, which is the only one, is a whole event, or blank.
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

    /// Leaves out blank lines and those over the limit, and notes what is now to be answered for.
    private func take(
        _ buffer: inout ByteBuffer, _ range: Range<Int>, _ lineLimit: Int, _ skipped: (Int) -> Void
    ) throws(SystemFault) -> Piece {
        let later = try FileMark(descriptor.number, upTo: range.upperBound)
        var kept = 0
        var at = range.lowerBound == 0 ? FileBeginning.mark(buffer.bytes) : 0
        while at < buffer.count {
            let newline = UnsafeRawPointer(memchr(buffer.base + at, 0x0a, buffer.count - at)!)
            let next = newline - UnsafeRawPointer(buffer.base) + 1
            let length = next - 1 - at
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

    /// What was read last is where it should be.
    func settle(faults more: Int) {
        guard let pending else { return }
        offset = pending.end
        mark = pending.mark
        faults += more
        self.pending = nil
    }

    /// What was read last is to be read again.
    func giveBack() { pending = nil }
}
