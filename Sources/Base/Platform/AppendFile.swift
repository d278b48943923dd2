// A file for rejected lines, which only its owner can access. Whole lines are appended. A line is never joined to another one, not even
// after a full disk or a kill in the middle of a write.

internal import Glibc

public final class AppendFile: @unchecked Sendable {
    public let path: String
    private let descriptor: Descriptor
    private let isRegular: Bool

    /// Opens the file, or creates it with mode 0600. An existing file must belong to this user, and all others lose access to it. A
    /// symbolic link is refused, because its target may belong to anyone. A FIFO needs a reader.
    public init(path: String) throws(SystemFault) {
        self.path = path
        var status = stat()
        let flags = O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK
        var number = open(path, O_RDWR | O_CREAT | flags, 0o600)
        // Some devices cannot be opened for reading too. A FIFO can be, but this process would be its reader: a full FIFO would never be
        // emptied, and nothing would tell that its real reader has left.
        if number < 0 || fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO {
            if number >= 0 { close(number) }
            number = open(path, O_WRONLY | flags)
        }
        guard number >= 0 else { throw SystemFault() }
        descriptor = Descriptor(owning: number)
        guard fstat(number, &status) == 0 else { throw SystemFault() }
        isRegular = status.st_mode & S_IFMT == S_IFREG
        guard isRegular else { return }
        guard status.st_uid == geteuid() else { throw SystemFault(code: EPERM) }
        if status.st_mode & 0o077 != 0, fchmod(number, 0o600) != 0 { throw SystemFault() }
        try endLastLine(size: status.st_size)
    }

    /// Appends whole lines. After a fault, a regular file contains none of them.
    public func append(_ lines: UnsafeRawBufferPointer) throws(SystemFault) {
        assert(lines.last.map { $0 == UInt8(ascii: "\n") } ?? true, "the next line would be joined to the last one")
        guard isRegular else { return try descriptor.write(lines) }
        let before = lseek(descriptor.number, 0, SEEK_END)
        do throws(SystemFault) {
            try descriptor.write(lines)
        } catch {
            if before >= 0 { ftruncate(descriptor.number, before) }
            throw error
        }
    }

    /// Ends an incomplete last line, which a kill has left, so that it stays on a line of its own.
    private func endLastLine(size: off_t) throws(SystemFault) {
        var last: UInt8 = 0
        guard size > 0, pread(descriptor.number, &last, 1, size - 1) == 1, last != UInt8(ascii: "\n") else { return }
        try withUnsafeBytes(of: UInt8(ascii: "\n")) { (newline) throws(SystemFault) in try descriptor.write(newline) }
    }
}
