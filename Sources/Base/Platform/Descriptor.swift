// File descriptors: system calls that handle interruptions and return errors as values.

internal import CPlatform
internal import Glibc

/// An error of a system call.
public struct SystemFault: Error, Equatable, CustomStringConvertible {
    public let code: Int32
    public init(code: Int32) { self.code = code }
    /// The current value of `errno`.
    public init() { code = errno }
    /// The system's own message, such as `No space left on device`.
    public var description: String { String(cString: strerror(code)) }
}

/// An open file that is closed together with its owner.
public struct Descriptor: ~Copyable, Sendable {
    public let number: Int32

    /// Takes ownership of an open descriptor.
    public init(owning number: Int32) { self.number = number }

    deinit { Glibc.close(number) }

    /// Gives up the ownership: the caller closes the descriptor.
    public consuming func release() -> Int32 {
        let number = number
        discard self
        return number
    }

    public func write(_ bytes: UnsafeRawBufferPointer) throws(SystemFault) { try writeAll(number, bytes) }
}

/// Writes all of the bytes, with as many calls as necessary.
public func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) {
    var rest = bytes
    while !rest.isEmpty {
        let written = write(descriptor, rest.baseAddress, rest.count)
        assert(written <= rest.count, "more bytes were written than there were")
        if written >= 0 {
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        } else if errno == EAGAIN {
            var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            poll(&ready, 1, -1)
        } else if errno != EINTR {
            throw SystemFault()
        }
    }
}

/// Returns the two ends of a new pipe, which no other program inherits.
public func makePipe() throws(SystemFault) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard cplatform_pipe(&ends) == 0 else { throw SystemFault() }
    return (ends[0], ends[1])
}

/// Creates a folder and its missing parents with this mode.
public func makeFolder(_ path: String, mode: UInt32) throws(SystemFault) {
    if mkdir(path, mode_t(mode)) == 0 { return }
    switch errno {
    case EEXIST:
        var status = stat()
        guard stat(path, &status) == 0 else { throw SystemFault() }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemFault(code: ENOTDIR) }
    case ENOENT:
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.utf8.startIndex else { throw SystemFault(code: ENOENT) }
        try makeFolder(String(path[..<slash]), mode: mode)
        guard mkdir(path, mode_t(mode)) == 0 || errno == EEXIST else { throw SystemFault() }
    default: throw SystemFault()
    }
}

/// A flag that one thread raises and that others can poll together with their input. It stays raised until it is lowered.
public final class WakeUp: Sendable {
    public let descriptor: Int32

    public init() throws(SystemFault) {
        descriptor = cplatform_eventfd()
        guard descriptor >= 0 else { throw SystemFault() }
    }

    deinit { close(descriptor) }

    /// May be called from a signal handler.
    public func raise() {
        var one: UInt64 = 1
        write(descriptor, &one, 8)
    }

    public var isRaised: Bool {
        var look = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&look, 1, 0) == 1
    }

    public func lower() {
        var count: UInt64 = 0
        read(descriptor, &count, 8)
    }
}

/// Enlarges a pipe, so that data of a fast producer is read in large blocks. It has no effect on other files.
public func widenPipe(_ descriptor: Int32, to size: Int32) { cplatform_widen_pipe(descriptor, size) }

/// Keeps freed memory of that many bytes for reuse instead of returning it to the kernel.
public func keepMemory(threshold: Int32, trim: Int32) { cplatform_keep_memory(threshold, trim) }
