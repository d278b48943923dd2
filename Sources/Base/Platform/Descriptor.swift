// File descriptors: the system calls with the interruptions taken out and the errors as values.

internal import CPlatform
internal import Glibc

/// What the system said when it would not.
public struct SystemFault: Error, Equatable, CustomStringConvertible {
    public let code: Int32
    public init(code: Int32) { self.code = code }
    /// What `errno` holds.
    public init() { code = errno }
    /// The system's own words, such as `No space left on device`.
    public var description: String { String(cString: strerror(code)) }
}

/// An open file that is closed when its owner goes.
public struct Descriptor: ~Copyable, Sendable {
    public let number: Int32

    /// Takes over a descriptor that is already open.
    public init(owning number: Int32) { self.number = number }

    deinit { Glibc.close(number) }

    public func write(_ bytes: UnsafeRawBufferPointer) throws(SystemFault) { try writeAll(number, bytes) }
}

/// Writes all of the bytes, however many calls it takes.
public func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemFault) {
    var rest = bytes
    while !rest.isEmpty {
        let written = write(descriptor, rest.baseAddress, rest.count)
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

/// The two ends of a new pipe, which no other program inherits.
public func makePipe() throws(SystemFault) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard cplatform_pipe(&ends) == 0 else { throw SystemFault() }
    return (ends[0], ends[1])
}

/// A folder with all its parents, each made with that mode if it is not there.
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

/// A flag that one thread raises and others can wait for beside their input; it stays raised until it is lowered.
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

    public func lower() {
        var count: UInt64 = 0
        read(descriptor, &count, 8)
    }
}

/// Asks for a larger pipe, so that a fast producer is read in large blocks; without effect on anything else.
public func widenPipe(_ descriptor: Int32, to size: Int32) { cplatform_widen_pipe(descriptor, size) }

/// Keeps freed memory of that many bytes at hand instead of asking the kernel for it anew.
public func keepMemory(threshold: Int32, trim: Int32) { cplatform_keep_memory(threshold, trim) }
