// Rewrites one file without the events of some subjects. It writes to a temporary name beside the file, forces the new file to the disk and
// renames it, so that a kill leaves the old file or the new one. It reads most of the file without a lock, since a file only grows. It takes
// the writers' lock for the rest, so that they wait for a short time only.

internal import Glibc
internal import PluginKit

final class Rewriting {
    /// The suffix of the temporary name.
    static let partial = ".erasing"
    /// The largest number of bytes in a line. A file with a longer line is not rewritten.
    static let longest = 256 << 20

    /// What became of the file.
    enum Ending: Equatable {
        /// The file holds no event of the subjects, and has this mark.
        case clean(FileMark)
        /// The file was moved, removed or cut while it was read.
        case moved
        /// The file has events of the subjects and another name (hard link), under which they would stay. It was not changed, so that each
        /// further attempt finds the same.
        case hasOtherNames
        /// The work was stopped. The old file is still there.
        case stopped
    }

    private let path: String
    private let filter: SubjectFilter
    private let system: FileSystem
    private let isStopped: () -> Bool
    /// The lines that are not events, by the subjects whose id they may contain.
    private(set) var unreadable = 0
    private(set) var doubtful: Set<Int> = []
    /// The number of events that were left out.
    private(set) var removed = 0

    init(_ path: String, _ filter: SubjectFilter, system: FileSystem, isStopped: @escaping () -> Bool) {
        self.path = path
        self.filter = filter
        self.system = system
        self.isStopped = isStopped
    }

    /// Returns the mark of the file at the path, or nil if there is no regular file.
    static func mark(of path: String) -> FileMark? {
        let descriptor = again { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return FileStatus(descriptor: descriptor).flatMap { $0.kind == .regular ? FileMark($0, descriptor) : nil }
    }

    func run() throws(FileFault) -> Ending {
        let input = system.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0)
        if input == -ENOENT { return .moved }
        guard input >= 0 else { throw FileFault("cannot open", path: path, code: -input) }
        defer { close(input) }
        guard let status = FileStatus(descriptor: input), status.kind == .regular else { return .moved }
        // Reading before writing: most finished files hold nothing of a subject, and are left alone.
        let search = try LineFilter(input, path: path, filter, into: nil)
        if let ending = try pass(input, status, search, last: {}) { return ending }
        if search.removed == 0 {
            note(search)
            return .clean(FileMark(status, input))
        }
        return status.names > 1 ? .hasOtherNames : try replace(input, status)
    }

    /// Filters the whole file. Calls `last` under the lock. Returns nil if the file was filtered to its end.
    private func pass(
        _ input: Int32, _ status: FileStatus, _ lines: LineFilter, last: () throws(FileFault) -> Void
    ) throws(FileFault) -> Ending? {
        // Nobody appends to a compressed file, so its lock makes nobody wait.
        let isPlain = lines.form == .none
        if isPlain {
            guard let size = locked(input, { FileStatus(descriptor: input)?.size }) else { return .moved }
            guard try lines.take(to: size, isStopped) else { return isStopped() ? .stopped : .moved }
            try lines.settle()
        }
        _ = again { flock(input, LOCK_EX) }
        defer { _ = again { flock(input, LOCK_UN) } }
        guard let now = FileStatus(descriptor: input), FileStatus(path: path, followingLinks: false)?.identity == status.identity,
            now.size >= lines.offset, try lines.isStillThere()
        else { return .moved }
        guard try lines.take(to: now.size, isStopped) else { return isStopped() ? .stopped : .moved }
        try lines.finish()
        try last()
        return nil
    }

    private func locked<Result>(_ descriptor: Int32, _ body: () -> Result) -> Result {
        _ = again { flock(descriptor, LOCK_EX) }
        defer { _ = again { flock(descriptor, LOCK_UN) } }
        return body()
    }

    private func note(_ lines: LineFilter) {
        removed = lines.removed
        unreadable = lines.unreadable
        doubtful = lines.doubtful
    }

    // MARK: - Replacing

    /// Removes what a killed process left. The file of a process that is at work is locked, and stays.
    static func removeLeftover(_ temporary: String) {
        let leftover = again { open(temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK) }
        guard leftover >= 0 else { return }
        defer { close(leftover) }
        guard again({ flock(leftover, LOCK_EX | LOCK_NB) }) == 0,
            FileStatus(path: temporary, followingLinks: false)?.identity == FileStatus(descriptor: leftover)?.identity
        else { return }
        unlink(temporary)
    }

    private func replace(_ input: Int32, _ status: FileStatus) throws(FileFault) -> Ending {
        let temporary = path + Rewriting.partial
        // Create a new file, so that a file that another user placed there is never written to.
        Rewriting.removeLeftover(temporary)
        let output = system.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw FileFault("cannot open", path: temporary, code: -output) }
        defer { close(output) }
        // Another process that finds the file before it is locked removes it as a leftover. Whoever holds the lock keeps the name.
        guard again({ flock(output, LOCK_EX | LOCK_NB) }) == 0,
            FileStatus(path: temporary, followingLinks: false)?.identity == FileStatus(descriptor: output)?.identity
        else { throw FileFault("another process rewrites", path: path, code: EAGAIN) }
        var isRenamed = false
        defer { if !isRenamed { unlink(temporary) } }
        let lines = try LineFilter(input, path: path, filter, into: (output, temporary, system))
        let ending = try pass(input, status, lines) { () throws(FileFault) in
            try dress(output, like: input, at: temporary)
            let renamed = system.rename(temporary, path)
            guard renamed >= 0 else { throw FileFault("cannot rename", path: temporary, code: -renamed) }
            isRenamed = true
        }
        if let ending { return ending }
        // The old content is gone for good only when the new name is durable.
        let result = system.synchronizeFolder(path)
        guard result >= 0 else { throw FileFault("cannot sync the folder of", path: path, code: -result) }
        note(lines)
        guard let new = FileStatus(descriptor: output) else { throw FileFault("cannot look at", path: path, code: errno) }
        return .clean(FileMark(new, output))
    }

    /// Gives the new file the owner, the permissions and the time of the old one, and forces it to the disk.
    private func dress(_ output: Int32, like input: Int32, at temporary: String) throws(FileFault) {
        guard let old = FileStatus(descriptor: input) else { throw FileFault("cannot look at", path: path, code: errno) }
        // Only a privileged process can do this. The file of another process then belongs to the user of this one.
        _ = fchown(output, old.owner.user, old.owner.group)
        fchmod(output, old.mode)
        _ = withUnsafePointer(to: (old.modified, old.modified)) {
            $0.withMemoryRebound(to: timespec.self, capacity: 2) { futimens(output, $0) }
        }
        let result = system.synchronize(output)
        guard result >= 0 else { throw FileFault("cannot sync", path: temporary, code: -result) }
    }
}

/// Tells a file from every other one, also from one that gets the number of a removed file later.
struct FileMark: Hashable {
    private let device: UInt64
    private let node: UInt64
    private let birth: Int64

    init(_ status: FileStatus, _ descriptor: Int32) {
        device = UInt64(status.identity.device)
        node = UInt64(status.identity.node)
        birth = File.birth(of: descriptor)
    }
}
