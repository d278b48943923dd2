// Replaces the text of a file as a whole: whoever reads it sees the old text or the new one. Links are followed, the mode stays, and what is
// no regular file, such as /dev/stdout, is written as it is.

internal import Glibc

public enum FileReplacement {
    public static func write(_ bytes: [UInt8], to path: String) throws(SystemFault) {
        var status = stat()
        let exists = stat(path, &status) == 0
        if exists, status.st_mode & S_IFMT != S_IFREG { return try write(bytes, open(path, O_WRONLY | O_CLOEXEC)) }
        let target = exists ? resolved(path) : path
        let draft = target + ".new"
        unlink(draft)
        let number = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        do throws(SystemFault) {
            if number >= 0, exists, fchmod(number, status.st_mode & 0o7777) != 0 { throw SystemFault() }
            try write(bytes, number)
            if rename(draft, target) != 0 { throw SystemFault() }
        } catch {
            unlink(draft)
            throw error
        }
    }

    private static func write(_ bytes: [UInt8], _ number: Int32) throws(SystemFault) {
        guard number >= 0 else { throw SystemFault() }
        let descriptor = Descriptor(owning: number)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemFault) in try writeAll(descriptor.number, bytes) }
        }
        try result.get()
    }

    /// Returns the path behind all links.
    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}
