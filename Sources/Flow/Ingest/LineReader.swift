// Reads a descriptor in blocks of whole lines: a pipe, a file, a terminal, a device. Every byte of the input is in exactly one block, with
// three exceptions. Lines over the limit are counted and discarded without being held. A byte order mark at the beginning is not part of
// the first line. A line that a stop or a fault cuts off is discarded.

public import Events
internal import Glibc
public import Platform

/// The result of one read.
public enum Intake: Equatable, Sendable {
    /// The buffer holds whole lines.
    case lines
    /// A line of that many bytes was over the limit and was discarded. The buffer is empty.
    case overlong(bytes: Int)
    /// The input has ended.
    case end
    /// Reading was stopped. `unfinished` is the size of the unfinished line that was discarded. It is 0 if there was none, even if the
    /// input goes on.
    case stopped(unfinished: Int)
    /// The input could not be read.
    case failed(SystemFault)
}

public struct LineReader: ~Copyable, Sendable {
    private let descriptor: Int32
    private let lineLimit: Int
    private let blockSize: Int
    private let stop: WakeUp
    private let onPause: @Sendable (Bool) -> Void
    private var isPaused = true
    /// The beginning of a line whose end was not read yet.
    private var carry = ByteBuffer()
    private var isAtStart = true
    private var isAtEnd = false
    private var isStopped = false
    private var fault: SystemFault?

    /// Reading ends early, between two lines, when `stop` is raised. `onPause` is called with true when no input is available at once,
    /// before the wait, and with false when input flows again. At first the reader counts as paused.
    public init(
        descriptor: Int32, lineLimit: Int, blockSize: Int = 256 << 10, stop: WakeUp,
        onPause: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.descriptor = descriptor
        self.lineLimit = lineLimit
        self.blockSize = blockSize
        self.stop = stop
        self.onPause = onPause
        widenPipe(descriptor, to: 1 << 20)
    }

    /// Fills the buffer with the available lines, and waits only if there are none.
    public mutating func next(_ buffer: inout ByteBuffer) -> Intake {
        buffer.removeAll()
        buffer.append(contentsOf: carry.bytes)
        carry.removeAll()
        var searched = 0
        while true {
            if let end = lastLineEnd(buffer, from: searched) {
                carry.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer.bytes[end...]))
                buffer.truncate(to: end)
                dropMark(&buffer)
                return .lines
            }
            searched = buffer.count
            if searched > lineLimit { return skipLine(&buffer) }
            if !isAtEnd, fill(&buffer) { continue }
            // A line that a stop or a fault cut off does not count as a line.
            if isStopped || fault != nil { return cutOff(&buffer) }
            dropMark(&buffer)
            if buffer.isEmpty { return .end }
            // The last line may lack its newline.
            buffer.append(UInt8(ascii: "\n"))
            return .lines
        }
    }

    private mutating func dropMark(_ buffer: inout ByteBuffer) {
        guard isAtStart else { return }
        isAtStart = false
        let mark = FileBeginning.mark(buffer.bytes)
        guard mark > 0 else { return }
        memmove(buffer.base, buffer.base + mark, buffer.count - mark)
        buffer.truncate(to: buffer.count - mark)
    }

    private func cutOff(_ buffer: inout ByteBuffer) -> Intake {
        // If more input is available, it may contain the end of this line. Then the line is not unfinished: it is left unread together with
        // everything after it.
        let unfinished = isMoreToRead ? 0 : buffer.count
        buffer.removeAll()
        return fault.map(Intake.failed) ?? .stopped(unfinished: unfinished)
    }

    /// Reads and discards until the end of the line that fills the buffer.
    private mutating func skipLine(_ buffer: inout ByteBuffer) -> Intake {
        isAtStart = false
        var skipped = buffer.count
        assert(skipped > lineLimit, "a line within the limit is skipped")
        while true {
            buffer.removeAll()
            if isAtEnd || !fill(&buffer) { return .overlong(bytes: skipped) }
            if let newline = memchr(buffer.base, 0x0a, buffer.count) {
                let length = UnsafeRawPointer(newline) - UnsafeRawPointer(buffer.base)
                carry.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer.bytes[(length + 1)...]))
                buffer.removeAll()
                return .overlong(bytes: skipped + length)
            }
            skipped += buffer.count
        }
    }

    /// Waits for input and appends the result of one read. Returns false at the end, after a fault, or when stopped.
    private mutating func fill(_ buffer: inout ByteBuffer) -> Bool {
        buffer.reserve(blockSize)
        precondition(buffer.capacity - buffer.count >= blockSize, "a read goes beyond the end of the buffer")
        while true {
            var ready = (
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: stop.descriptor, events: Int16(POLLIN), revents: 0)
            )
            let count = withUnsafeMutablePointer(to: &ready) {
                $0.withMemoryRebound(to: pollfd.self, capacity: 2) { poll($0, 2, isPaused ? -1 : 0) }
            }
            if count < 0 && errno == EINTR { continue }
            if count == 0 {
                setPaused(true)
                continue
            }
            if ready.1.revents != 0 {
                isStopped = true
                break
            }
            let n = read(descriptor, buffer.base + buffer.count, blockSize)
            if n > 0 {
                buffer.extend(by: n)
                setPaused(false)
                return true
            }
            if n == 0 { break }
            if errno == EINTR || errno == EAGAIN { continue }
            fault = SystemFault()
            break
        }
        isAtEnd = true
        return false
    }

    /// True if bytes of the input can be read now. The end of the input does not count.
    private var isMoreToRead: Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0 && ready.revents & Int16(POLLIN) != 0
    }

    private mutating func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        onPause(paused)
    }

    /// Returns the place after the last newline at or after `from`.
    private func lastLineEnd(_ buffer: borrowing ByteBuffer, from: Int) -> Int? {
        var end = buffer.count
        while end > from {
            if buffer.base[end - 1] == 0x0a { return end }
            end -= 1
        }
        return nil
    }
}
