// A file that only root and the user of the router could have written. It is opened once, and what was opened is what is
// checked and what is copied to be loaded: a link or a file that is changed after the check changes nothing.

internal import Glibc
internal import Plans

/// What the kernel knows a file and its contents by, under whatever name. Who writes to the file changes it.
struct FileIdentity: Hashable {
    private let device: dev_t
    private let inode: ino_t
    private let size: off_t
    /// When it was written, and when anything about it was changed, in seconds and nanoseconds.
    private let times: [Int]

    init(_ status: stat) {
        device = status.st_dev
        inode = status.st_ino
        size = status.st_size
        times = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
    }

    /// Whether the two have the same contents: a link that was made or removed since is a change of the other kind.
    func hasContents(of other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode && size == other.size && times[..<2] == other.times[..<2]
    }
}

final class TrustedFile: Sendable {
    /// The file's own path, without links.
    let path: String
    /// As it was when it was opened.
    let identity: FileIdentity
    private let descriptor: Int32

    /// Opens the file if it and every folder above it are out of the reach of others.
    init(_ name: String) throws(ModuleFault) {
        // The folder of a link matters as much as the folder of the file: who writes there chooses the file.
        try Self.checkFolder(Self.parent(of: name))
        path = try Self.resolve(name)
        try Self.checkFolder(Self.parent(of: path))

        // Without O_NONBLOCK a FIFO would wait for a writer. A link here was put in place after its target was resolved.
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

    /// To be read by offset.
    var number: Int32 { descriptor }

    /// Whether nobody has written to it since it was opened.
    var isUnchanged: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && FileIdentity(status).hasContents(of: identity)
    }

    private static func checkFolder(_ name: String) throws(ModuleFault) {
        let folder = try resolve(name)
        // From the root down: where one folder is out of the reach of others, so is the name of the next.
        var parts = ["/"]
        for name in folder.split(separator: "/") { parts.append((parts.last == "/" ? "/" : parts.last! + "/") + name) }
        for part in parts {
            var status = stat()
            guard lstat(part, &status) == 0 else { throw ModuleFault("\(part): cannot be examined: \(systemError())") }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw ModuleFault("\(part): is not a folder any more; it was changed while modules were looked for")
            }
            // In a folder like /tmp everybody makes files, but only their owner renames them; modules do not belong right into it.
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

/// The system's words for what just failed.
func systemError() -> String { String(cString: strerror(errno)) }

/// Where a symbolic link leads.
func readLink(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(PATH_MAX)) { buffer in
        let count = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
        return count > 0 && count < buffer.count ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
}
