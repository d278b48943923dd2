// Who put there what a path leads to. In a folder that every user may write, such as /tmp, another user can lay a link that leads to a
// file of the process. It promises to find such an entry on the way of a path: the rules are those of the kernel's `protected_symlinks`
// and `protected_regular`, whatever the machine has them set to. It opens nothing; a caller compares what it opened with what was found.

internal import Glibc

/// An entry on the way of a path that another user may have laid there.
public struct ForeignEntry: Error, Equatable {
    public var path: String
    public var owner: UInt32
    public var reason: Reason

    public enum Reason: Equatable, Sendable {
        case link
        case file
        case fifo
        /// A file under several names: nobody knows who gave it this one.
        case names
    }

    /// For a person, behind the path of the entry.
    public var words: String {
        let place = "in a folder that every user may write"
        return switch reason {
        case .link: "is a symbolic link of another user (uid \(owner)) \(place), and is not followed"
        case .file: "is a file of another user (uid \(owner)) \(place), and is not written to"
        case .fifo: "is a FIFO of another user (uid \(owner)) \(place), and is not written to"
        case .names: "is a file with more than one hard link \(place), and is not written to"
        }
    }
}

public struct SharedFolder {
    /// Links over links; the kernel's own bound.
    private static let mostLinks = 40

    /// Whether a folder on the way can be written by every user.
    public private(set) var isOnTheWay = false
    /// What the path leads to: its device and inode. nil: nothing, or nothing that can be looked at.
    public private(set) var found: (device: UInt64, number: UInt64)?

    /// Walks the path. `writes`: what it leads to will be written to, so that this must be nobody else's either.
    public init(_ path: String, writes: Bool, user: UInt32? = nil) throws(ForeignEntry) {
        let user = user ?? geteuid()
        var rest = SharedFolder.components(path)
        var folder = path.utf8.first == UInt8(ascii: "/") ? "/" : "."
        var links = 0
        while let name = rest.popLast() {
            let entry = folder == "/" ? "/" + name : folder + "/" + name
            var status = stat()
            var around = stat()
            guard lstat(entry, &status) == 0, stat(folder, &around) == 0 else { return }
            let isShared = around.st_mode & S_IWOTH != 0
            let isForeign = status.st_uid != user && status.st_uid != around.st_uid
            if isShared { isOnTheWay = true }
            if status.st_mode & S_IFMT == S_IFLNK {
                if isShared, isForeign { throw ForeignEntry(path: entry, owner: status.st_uid, reason: .link) }
                links += 1
                guard links <= SharedFolder.mostLinks else { return }
                if SharedFolder.isProcess(around) {
                    // The links of /proc lead to open files, not to paths.
                    guard stat(entry, &status) == 0 else { return }
                } else {
                    guard let target = SharedFolder.target(entry) else { return }
                    if target.utf8.first == UInt8(ascii: "/") { folder = "/" }
                    rest += SharedFolder.components(target)
                    continue
                }
            } else if rest.isEmpty, writes, isShared {
                let kind = status.st_mode & S_IFMT
                if isForeign, kind == S_IFREG || kind == S_IFIFO {
                    throw ForeignEntry(path: entry, owner: status.st_uid, reason: kind == S_IFREG ? .file : .fifo)
                }
                if kind == S_IFREG, status.st_nlink > 1 { throw ForeignEntry(path: entry, owner: status.st_uid, reason: .names) }
            }
            folder = entry
            if rest.isEmpty { found = (UInt64(status.st_dev), UInt64(status.st_ino)) }
        }
    }

    /// The last one first.
    private static func components(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init).reversed()
    }

    private static func isProcess(_ folder: stat) -> Bool {
        var root = stat()
        var process = stat()
        guard stat("/", &root) == 0, stat("/proc", &process) == 0, process.st_dev != root.st_dev else { return false }
        return folder.st_dev == process.st_dev
    }

    private static func target(_ link: String) -> String? {
        var text = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = text.withUnsafeMutableBytes { readlink(link, $0.bindMemory(to: CChar.self).baseAddress!, $0.count) }
        return count > 0 && count < text.count ? String(decoding: text[..<count], as: UTF8.self) : nil
    }
}
