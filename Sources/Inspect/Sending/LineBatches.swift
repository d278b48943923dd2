// Cuts an input into batches of lines. It knows the number of each line and the offset of its end. The same input, from the same place and
// with the same limits, gives the same batches, unless the input has grown meanwhile. A byte order mark at the beginning is not part of the
// first line.

internal import Glibc
public import Platform

/// Lines that are sent together.
public struct LineBatch {
    public var bytes: [UInt8] = []
    /// For each event, its end in `bytes`, its end in the input, and the number of its line.
    public var ends: [(at: Int, offset: Int, line: Int)] = []
    /// The numbers of the lines that are over the limit. They are not among the events.
    public var overlong: [Int] = []

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        overlong.removeAll()
    }

    /// Returns the offset in `bytes` at which an event begins.
    func start(_ event: Int) -> Int { event == 0 ? 0 : ends[event - 1].at }
}

public final class LineBatches {
    public struct Limits: Sendable {
        public var events = 500
        /// The limit of a batch that has more than one event.
        public var bytes = 1_000_000
        public var line = 16_000_000
        public init() {}
    }

    private let descriptor: Int32
    private let limits: Limits
    /// True if an unfinished last line is left for the next run.
    private let waitsForEnd: Bool
    private let isRegular: Bool
    private var buffer: [UInt8]
    private var start = 0
    private var filled = 0
    private var isAtEnd = false
    private var isSkipping = false
    /// The offset of the next line in the input, and the number of lines before it.
    public private(set) var offset: Int
    public private(set) var line: Int
    /// The offset at which a later run can continue. It is never in the middle of a line.
    public var safeOffset: Int { isSkipping ? skippedFrom : offset }
    private var skippedFrom = 0
    /// True if a line was left because it is unfinished.
    public private(set) var leftUnfinished = false

    public init(_ descriptor: Int32, limits: Limits = Limits(), from offset: Int = 0, after line: Int = 0, waitsForEnd: Bool = false) {
        self.descriptor = descriptor
        self.limits = limits
        self.offset = offset
        self.line = line
        self.waitsForEnd = waitsForEnd
        var status = stat()
        isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        if isRegular, offset > 0 { lseek(descriptor, off_t(offset), SEEK_SET) }
        buffer = [UInt8](repeating: 0, count: 256 << 10)
    }

    /// Reads the lines that are available into the batch. It waits only if there is none. Returns false if there are no more.
    public func next(_ batch: inout LineBatch) throws(SystemFault) -> Bool {
        batch.removeAll()
        while true {
            if let length = lineLength {
                if !take(length, ended: true, into: &batch) || batch.ends.count == limits.events { return true }
            } else if isAtEnd {
                try takeRest(into: &batch)
                return !batch.ends.isEmpty || !batch.overlong.isEmpty
            } else {
                if isSkipping || filled - start > limits.line { skipSoFar(&batch) }
                if !batch.ends.isEmpty, !isRegular, !isReady { return true }
                try fill()
            }
        }
    }

    /// The length of the next line without its newline. It is nil if the end of the line was not read yet.
    private var lineLength: Int? {
        buffer.withUnsafeBytes { bytes in
            assert(start <= filled && filled <= bytes.count, "the unread bytes lie outside the buffer")
            guard filled > start, let newline = memchr(bytes.baseAddress! + start, 0x0a, filled - start) else { return nil }
            return UnsafeRawPointer(newline) - bytes.baseAddress! - start
        }
    }

    /// Takes a line. Returns false if the line does not fit into this batch.
    private func take(_ length: Int, ended: Bool, into batch: inout LineBatch) -> Bool {
        assert(length >= 0 && start + length + (ended ? 1 : 0) <= filled, "a line ends after what was read")
        let line = buffer[start..<(start + length)]
        let text = line.dropFirst(offset == 0 ? FileBeginning.mark(line) : 0)
        let size = length + (ended ? 1 : 0)
        if isSkipping || length > limits.line {
            if !isSkipping { batch.overlong.append(self.line + 1) }
            isSkipping = false
        } else if !text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) {
            if !batch.ends.isEmpty, batch.bytes.count + text.count + 1 > limits.bytes { return false }
            batch.bytes += text
            batch.bytes.append(0x0a)
            assert(
                batch.ends.last.map { $0.at < batch.bytes.count && $0.offset <= offset } ?? true, "an event ends before the one before it")
            batch.ends.append((batch.bytes.count, offset + size, self.line + 1))
        }
        start += size
        offset += size
        self.line += 1
        return true
    }

    /// The last line may lack its newline.
    private func takeRest(into batch: inout LineBatch) throws(SystemFault) {
        guard filled > start || isSkipping else { return }
        if waitsForEnd {
            leftUnfinished = true
            filled = start
        } else if take(filled - start, ended: false, into: &batch) {
            isSkipping = false
        }
    }

    /// Drops the bytes read so far of a line that is over the limit.
    private func skipSoFar(_ batch: inout LineBatch) {
        if !isSkipping {
            batch.overlong.append(line + 1)
            skippedFrom = offset
        }
        isSkipping = true
        offset += filled - start
        start = filled
    }

    private var isReady: Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0
    }

    private func fill() throws(SystemFault) {
        if start > 0 {
            buffer.replaceSubrange(0..<(filled - start), with: Array(buffer[start..<filled]))
            filled -= start
            start = 0
        }
        if filled == buffer.count { buffer += [UInt8](repeating: 0, count: buffer.count) }
        precondition(start == 0 && filled < buffer.count, "a read has no space, or lies outside the buffer")
        while true {
            let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + filled, $0.count - filled) }
            if count >= 0 {
                filled += count
                isAtEnd = count == 0
                return
            }
            if errno == EAGAIN {
                var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                throw SystemFault()
            }
        }
    }
}
