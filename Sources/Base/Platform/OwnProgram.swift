// How this program starts itself again, for a process of its own that describes or hosts a module.

internal import Glibc

public enum OwnProgram {
    /// The kernel's link to the file that runs. It leads there also after the file was replaced by a newer one, or removed.
    public static let link = "/proc/self/exe"

    /// What to start for a program that may be named by the link: it is looked for at each start, since the file may be replaced meanwhile.
    public static func found(_ executable: String) -> String { executable == link ? path : executable }

    /// The path of the file that runs, or the link where no file of that path can be started any more. A program that hosts others, such as
    /// valgrind, answers for the path but not for the link, which leads to the host.
    public static var path: String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(PATH_MAX)) { buffer in
            let count = buffer.withMemoryRebound(to: CChar.self) { readlink(link, $0.baseAddress!, $0.count) }
            guard count > 0, count < buffer.count else { return link }
            let target = String(decoding: buffer[..<count], as: UTF8.self)
            return target.hasSuffix(" (deleted)") || access(target, X_OK) != 0 ? link : target
        }
    }
}
