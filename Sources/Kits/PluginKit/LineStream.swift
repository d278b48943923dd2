// Writes lines to a descriptor from which written bytes cannot be removed: a pipe, a socket, a terminal or a device. It promises that a
// line that was written only in part is continued if the same line comes again. If another line comes, the torn line gets a newline first.
// After EPIPE neither happens, since a pipe loses its content when its reader leaves.

internal import Glibc

/// The system calls of a stream. Tests pass their own. Both return a negative errno when they fail.
public struct StreamCalls: Sendable {
    public var write: @Sendable (Int32, UnsafeRawBufferPointer) -> Int
    /// Waits until the descriptor can be written to, for the given number of milliseconds (-1: forever). Returns 0 if the time is up.
    public var wait: @Sendable (Int32, Int32) -> Int

    public init(write: @escaping @Sendable (Int32, UnsafeRawBufferPointer) -> Int, wait: @escaping @Sendable (Int32, Int32) -> Int) {
        self.write = write
        self.wait = wait
    }

    public static let system = StreamCalls(
        write: { descriptor, bytes in
            let count = Glibc.write(descriptor, bytes.baseAddress, bytes.count)
            return count < 0 ? -Int(errno) : count
        },
        wait: { descriptor, milliseconds in
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let count = poll(&entry, 1, milliseconds)
            return count < 0 ? -Int(errno) : Int(count)
        })
}

public final class LineStream {
    /// The progress of a write: the number of lines that were written, and the errno that stopped it. The errno is 0 if the write is
    /// complete.
    public struct Progress: Equatable, Sendable {
        public var lines: Int
        public var error: Int32
    }

    private let descriptor: Int32
    private let calls: StreamCalls
    private let timeout: Int32
    /// The written part of a line that could not be finished.
    private var torn: [UInt8] = []

    /// `timeout` is the number of milliseconds to wait for a stream that accepts nothing (-1: forever). After that, the write stops with
    /// EAGAIN.
    public init(descriptor: Int32, timeout: Int32 = -1, calls: StreamCalls = .system) {
        self.descriptor = descriptor
        self.calls = calls
        self.timeout = timeout
    }

    public func write(_ lines: Lines) -> Progress {
        var offset = 0
        if !torn.isEmpty {
            if lines.bytes.starts(with: torn) {
                offset = torn.count
            } else {
                let (_, error) = [UInt8(ascii: "\n")].withUnsafeBytes { write($0, from: 0) }
                guard error == 0 else { return Progress(lines: 0, error: error) }
            }
            torn = []
        }
        let (end, error) = write(lines.bytes, from: offset)
        assert(end >= offset && end <= lines.bytes.count, "more bytes were written than there were")
        guard error != 0 else { return Progress(lines: lines.count, error: 0) }
        let whole = lines.whole(within: end)
        // When the reader of a pipe leaves, the pipe loses its content, so the next reader does not see the torn line.
        if whole < lines.count, error != EPIPE { torn = Array(lines.bytes[lines.start(of: whole)..<end]) }
        assert(!torn.contains(UInt8(ascii: "\n")), "a whole line counts as torn")
        return Progress(lines: whole, error: error)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, error: Int32) {
        var offset = start
        while offset < bytes.count {
            let count = calls.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            assert(count <= bytes.count - offset, "more bytes were written than there were")
            if count > 0 {
                offset += count
            } else if count == -Int(EAGAIN) {
                if calls.wait(descriptor, timeout) == 0 { return (offset, EAGAIN) }
            } else if count != -Int(EINTR) {
                return (offset, count == 0 ? EIO : Int32(-count))
            }
        }
        return (offset, 0)
    }
}

/// Returns the system's message for an errno.
public func systemWords(_ error: Int32) -> String { String(cString: strerror(error)) }
