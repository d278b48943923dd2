// Finds entries of a path that other users may have put there. In a folder that every user may write to, such as /tmp, another user can
// create a link that leads to a file of this process. The rules are those of the kernel's `protected_symlinks` and `protected_regular`, and
// apply whatever the settings of the machine are. It opens nothing: the caller must compare the file that it opens with the one found here.

internal import Glibc

/// An entry of a path that another user may have put there.
public struct ForeignEntry: Error, Equatable {
    public var path: String
    public var owner: UInt32
    public var reason: Reason

    public enum Reason: Equatable, Sendable {
        case link
        case file
        case fifo
        /// A file with several names. Nobody knows who created this one.
        case names
    }

    /// The description for a person, which follows the path of the entry.
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
    /// The largest number of symbolic links in a path, as in the kernel.
    private static let mostLinks = 40

    /// True if every user may write to one of the folders in the path.
    public private(set) var isOnTheWay = false
    /// The device and inode of the path's target. It is nil if there is none or if it cannot be examined.
    public private(set) var found: (device: UInt64, number: UInt64)?

    /// Follows the path. `writes` is true if the caller will write to the target. Then the target must not belong to anyone else either.
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
                    // The links in /proc lead to open files, not to paths.
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

    /// Returns the components of the path, the last one first.
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
