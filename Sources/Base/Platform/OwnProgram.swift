// Finds the path with which this program starts itself again, in a separate process that describes or hosts a module.

internal import Glibc

public enum OwnProgram {
    /// The kernel's link to the running file. It is still valid after the file was replaced by a newer one or removed.
    public static let link = "/proc/self/exe"

    /// Returns the path to start. If `executable` is the link, the path is determined again at each start, because the file may be replaced
    /// in the meantime.
    public static func found(_ executable: String) -> String { executable == link ? path : executable }

    /// The path of the running file, or the link if no file can be started at that path any more. Under a program that hosts others, such
    /// as valgrind, the path is correct, but the link leads to the host.
    public static var path: String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Int(PATH_MAX)) { buffer in
            let count = buffer.withMemoryRebound(to: CChar.self) { readlink(link, $0.baseAddress!, $0.count) }
            guard count > 0, count < buffer.count else { return link }
            let target = String(decoding: buffer[..<count], as: UTF8.self)
            return target.hasSuffix(" (deleted)") || access(target, X_OK) != 0 ? link : target
        }
    }
}
