// Lines to a descriptor that takes nothing back: a pipe, a socket, a terminal, a device.
// It promises that a line which could only be written in part is continued when it comes again, or at least ended.

internal import Glibc

/// What a stream asks of the system; tests hand in their own. Both answer a negative errno when they fail.
public struct StreamCalls: Sendable {
    public var write: @Sendable (Int32, UnsafeRawBufferPointer) -> Int
    /// Waits until the descriptor can be written to, for that many milliseconds (-1: for ever); 0: the time is up.
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
    /// How far a write came: the lines that are out, and the errno that stopped it (0: nothing did).
    public struct Progress: Equatable, Sendable {
        public var lines: Int
        public var error: Int32
    }

    private let descriptor: Int32
    private let calls: StreamCalls
    private let patience: Int32
    /// What went out of a line that could not be finished.
    private var torn: [UInt8] = []

    /// `patience`: how many milliseconds a stream that takes nothing is waited for (-1: for ever); then EAGAIN stops the write.
    public init(descriptor: Int32, patience: Int32 = -1, calls: StreamCalls = .system) {
        self.descriptor = descriptor
        self.calls = calls
        self.patience = patience
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
        guard error != 0 else { return Progress(lines: lines.count, error: 0) }
        let whole = lines.whole(within: end)
        // With its reader a pipe loses what was in it: the next reader sees no half line.
        if whole < lines.count, error != EPIPE { torn = Array(lines.bytes[lines.start(of: whole)..<end]) }
        return Progress(lines: whole, error: error)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, error: Int32) {
        var offset = start
        while offset < bytes.count {
            let count = calls.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            if count > 0 {
                offset += count
            } else if count == -Int(EAGAIN) {
                if calls.wait(descriptor, patience) == 0 { return (offset, EAGAIN) }
            } else if count != -Int(EINTR) {
                return (offset, count == 0 ? EIO : Int32(-count))
            }
        }
        return (offset, 0)
    }
}

/// The system's words for an errno.
public func systemWords(_ error: Int32) -> String { String(cString: strerror(error)) }
