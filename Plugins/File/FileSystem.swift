// The system calls of the file provider, as values, so that tests can make each of them fail. Every call returns a negative errno when it
// fails. If a signal interrupts a call, `write` and `wait` return -EINTR, and the others repeat the call.

internal import CPlatform
internal import Glibc
internal import PluginKit

struct FileSystem: Sendable {
    var open: @Sendable (_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 = { path, flags, mode in
        again { Glibc.open(path, flags, mode) }
    }
    /// Returns nil and sets errno if it fails.
    var status: @Sendable (_ descriptor: Int32) -> FileStatus? = { FileStatus(descriptor: $0) }
    var write: @Sendable (_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int = { StreamCalls.system.write($0, $1) }
    var wait: @Sendable (_ descriptor: Int32, _ milliseconds: Int32) -> Int = { StreamCalls.system.wait($0, $1) }
    var truncate: @Sendable (_ descriptor: Int32, _ size: Int) -> Int32 = { descriptor, size in again { ftruncate(descriptor, size) } }
    var synchronize: @Sendable (_ descriptor: Int32) -> Int32 = { descriptor in again { fdatasync(descriptor) } }
    var rename: @Sendable (_ from: String, _ to: String) -> Int32 = { from, to in again { Glibc.rename(from, to) } }
    /// Makes the names in the folder of a path durable.
    var synchronizeFolder: @Sendable (_ path: String) -> Int32 = { path in File.synchronizeFolder(of: path) }
    /// The current time in nanoseconds since 1970.
    var now: @Sendable () -> Int64 = Clock.system.wall

    static let system = FileSystem()
}

/// Repeats a call while signals interrupt it. Returns a negative errno if it fails.
func again(_ body: () -> Int32) -> Int32 {
    while true {
        let result = body()
        if result >= 0 { return result }
        if errno != EINTR { return -errno }
    }
}

/// The status of the file at a path or behind a descriptor.
struct FileStatus {
    struct Identity: Equatable {
        var device: dev_t
        var node: ino_t

        func isOf(device: UInt64, number: UInt64) -> Bool { UInt64(self.device) == device && UInt64(node) == number }
    }
    enum Kind {
        case regular
        case folder
        case link
        case fifo
        case block
        case other
    }

    let kind: Kind
    let identity: Identity
    let size: Int
    let mode: mode_t
    let owner: (user: uid_t, group: gid_t)
    /// The number of names of the file.
    let names: Int
    /// The time of the last write.
    let modified: timespec

    /// Returns nil if there is no file, or if its status cannot be read.
    init?(path: String, followingLinks: Bool = true) {
        var status = stat()
        guard (followingLinks ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .folder
            case S_IFLNK: .link
            case S_IFIFO: .fifo
            case S_IFBLK: .block
            default: .other
            }
        identity = Identity(device: status.st_dev, node: status.st_ino)
        size = Int(status.st_size)
        mode = status.st_mode & 0o7777
        owner = (status.st_uid, status.st_gid)
        names = Int(status.st_nlink)
        modified = status.st_mtim
    }
}

/// Makes the missing folders of a path, with access only for the owner. Calls `made` for each new folder. Returns a negative errno on
/// failure.
func makeFolders(of path: String, made: (String) -> Void) -> Int32 {
    var slash = path.utf8.startIndex
    while let next = path.utf8[slash...].dropFirst().firstIndex(of: UInt8(ascii: "/")) {
        let folder = String(path[..<next])
        let result = again { mkdir(folder, 0o700) }
        if result < 0, result != -EEXIST { return result }
        if result == 0 { made(folder) }
        slash = next
    }
    return 0
}

private func synchronizeFolder(of path: String) -> Int32 {
    let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = again { open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY) }
    guard descriptor >= 0 else { return descriptor }
    defer { close(descriptor) }
    return again { fsync(descriptor) }
}

/// Returns the creation time of the file in nanoseconds since 1970. On file systems that do not record it, returns the time of the last
/// write.
func birth(of descriptor: Int32) -> Int64 {
    let birth = cplatform_birth(descriptor)
    guard birth < 0, let modified = FileStatus(descriptor: descriptor)?.modified else { return birth }
    return Int64(modified.tv_sec) * 1_000_000_000 + Int64(modified.tv_nsec)
}
