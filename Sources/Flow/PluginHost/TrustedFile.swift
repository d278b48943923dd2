// A file that only root and the router's user can write. It is opened once. The opened file is checked, and the same opened
// file is copied for loading. So it has no effect if a link or a file is replaced after the check.

internal import Glibc
internal import Plans

/// The identity of a file and its contents, independent of its name. A write to the file changes the identity.
struct FileIdentity: Hashable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    /// The time of the last write and the time of the last status change, in seconds and nanoseconds.
    private let times: [Int]

    init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
        size = status.st_size
        times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }

    /// How many numbers stand for an identity in a file.
    static let numberCount = 7

    var numbers: [Int64] { [Int64(bitPattern: UInt64(device)), Int64(bitPattern: UInt64(inode)), Int64(size)] + times.map { Int64($0) } }

    init(numbers: [Int64]) {
        precondition(numbers.count == Self.numberCount, "an identity has another number of parts")
        device = dev_t(truncatingIfNeeded: numbers[0])
        inode = ino_t(truncatingIfNeeded: numbers[1])
        size = off_t(numbers[2])
        times = numbers.dropFirst(3).map { Int(truncatingIfNeeded: $0) }
    }

    /// Returns true if both have the same contents. The time of the status change is ignored, since adding or removing a link changes it.
    func hasContents(of other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode && size == other.size && times[..<2] == other.times[..<2]
    }
}

final class TrustedFile: Sendable {
    /// The path of the file, with links resolved.
    let path: String
    /// The identity of the file when it was opened.
    let identity: FileIdentity
    private let descriptor: Int32

    /// Opens the file. It throws if other users can write the file or replace a folder above it.
    init(_ name: String) throws(ModuleFault) {
        // The folder of a link matters as much as the folder of the file: a user who can write there chooses the file.
        try Self.checkFolder(Self.parent(of: name))
        path = try Self.resolve(name)
        try Self.checkFolder(Self.parent(of: path))

        // Without O_NONBLOCK, open would wait for the writer of a FIFO. O_NOFOLLOW refuses a link that was put here after the path was
        // resolved.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw ModuleFault("\(path): cannot be opened: \(systemError())") }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw ModuleFault("\(path): cannot be examined: \(systemError())") }
        identity = FileIdentity(status)
        guard status.st_mode & S_IFMT == S_IFREG else { throw ModuleFault("\(path): is not a file; a module is a shared library") }
        try Self.checkOwner(status, path)
        try Self.checkMode(status, path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The descriptor of the file. Read it only at explicit offsets.
    var number: Int32 { descriptor }

    /// True if nobody has written to the file since it was opened.
    var isUnchanged: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && FileIdentity(status).hasContents(of: identity)
    }

    private static func checkFolder(_ name: String) throws(ModuleFault) {
        let folder = try resolve(name)
        // Check from the root down: if others cannot write a folder, they cannot replace the next folder in it.
        var parts = ["/"]
        for name in folder.split(separator: "/") { parts.append((parts.last == "/" ? "/" : parts.last! + "/") + name) }
        assert(parts.last == folder, "the folder itself is not checked")
        for part in parts {
            var status = stat()
            guard lstat(part, &status) == 0 else { throw ModuleFault("\(part): cannot be examined: \(systemError())") }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw ModuleFault("\(part): is not a folder any more; it was changed while modules were looked for")
            }
            // In a folder like /tmp everybody can make files, but only their owner can rename them. Such a folder may be above the
            // module's folder, but it may not be the module's folder.
            let isSticky = status.st_mode & S_ISVTX != 0 && part != folder
            try checkOwner(status, part)
            if !isSticky { try checkMode(status, part) }
        }
    }

    private static func checkOwner(_ status: stat, _ path: String) throws(ModuleFault) {
        let user = geteuid()
        guard status.st_uid == 0 || status.st_uid == user else {
            throw ModuleFault(
                "\(path): belongs to user \(status.st_uid), who is neither root nor the user of this process (\(user)); "
                    + "modules are loaded only from files and folders of those two: chown it, or install the module elsewhere")
        }
    }

    private static func checkMode(_ status: stat, _ path: String) throws(ModuleFault) {
        guard status.st_mode & 0o022 == 0 else {
            throw ModuleFault(
                "\(path): can be written by others (mode \(octal(status.st_mode & 0o7777))); modules are loaded only from files "
                    + "and folders that others cannot change: chmod go-w '\(path)'")
        }
    }

    private static func resolve(_ name: String) throws(ModuleFault) -> String {
        guard let resolved = realpath(name, nil) else { throw ModuleFault("\(name): cannot be found: \(systemError())") }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}

/// Returns the system's message for the last error.
func systemError() -> String { String(cString: strerror(errno)) }

/// Returns the target of a symbolic link. It returns nil if it cannot be read.
func readLink(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(PATH_MAX)) { buffer in
        let count = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
        return count > 0 && count < buffer.count ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
