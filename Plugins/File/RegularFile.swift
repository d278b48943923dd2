// One open regular file. It promises to append whole lines or nothing, also when several processes share the file. If a killed process left
// a torn line, it repairs that line before it appends.

internal import Glibc
internal import PluginKit

/// The reason why the system refused a call, as a message for the operator.
struct FileFault: Error {
    var code: Int32
    var message: String

    /// Makes a message such as "cannot write to 'x': No space left on device".
    init(_ what: String, path: String, code: Int32) {
        self.code = code
        message = "\(what) '\(path)': \(systemWords(code))"
    }

    /// The compressed data of the file at the path is not whole.
    init(damaged path: String) {
        code = EBADMSG
        message = "'\(path)' is damaged"
    }

    init(_ entry: ForeignEntry) {
        code = EACCES
        message = "'\(printable(entry.path))' \(entry.words)"
    }
}

final class RegularFile {
    let path: String
    let descriptor: Int32
    let born: Int64
    private let identity: FileStatus.Identity
    private let system: FileSystem
    /// The size of the file after our last write. If the size differs, another process has written, and the end of the file is checked. It
    /// is 0 before the first check.
    private var knownSize = 0

    init(path: String, descriptor: Int32, identity: FileStatus.Identity, born: Int64, system: FileSystem) {
        self.path = path
        self.descriptor = descriptor
        self.identity = identity
        self.born = born
        self.system = system
    }

    deinit { close(descriptor) }

    /// Takes the lock that all writers of the file share. Some network file systems have no locks. Then the call has no effect, and only
    /// one process may write the file.
    func lock() { _ = again { flock(descriptor, LOCK_EX) } }
    func unlock() { _ = again { flock(descriptor, LOCK_UN) } }

    /// True if the path still leads to this file. The caller holds the lock, since another writer may have rotated the file meanwhile.
    var isInPlace: Bool { FileStatus(path: path)?.identity == identity }

    /// Checks the end of the file, repairs it if needed, and returns the size of the file. The caller holds the lock.
    func mendedSize(_ log: (String) -> Void) throws(FileFault) -> Int {
        guard let size = FileStatus(descriptor: descriptor)?.size else { throw FileFault("cannot look at", path: path, code: errno) }
        guard size != knownSize, size > 0 else { return size }
        knownSize = try mend(size: size, log)
        return knownSize
    }

    /// Appends the lines, or nothing: if a write fails, the bytes that it wrote are cut off again. Returns the number of lines that stay in
    /// the file.
    func append(_ lines: Lines, at size: Int, synchronize: Bool) -> (lines: Int, fault: FileFault?) {
        assert(size >= 0 && lines.bytes.last == UInt8(ascii: "\n"), "the next line would be joined to the last one")
        var offset = 0
        while offset < lines.bytes.count {
            let count = system.write(descriptor, UnsafeRawBufferPointer(rebasing: lines.bytes[offset...]))
            assert(count <= lines.bytes.count - offset, "more bytes were written than there were")
            if count > 0 {
                offset += count
            } else if count != -Int(EINTR) {
                return undo(
                    lines, written: offset, at: size, FileFault("cannot write to", path: path, code: count == 0 ? EIO : Int32(-count)))
            }
        }
        if synchronize {
            let result = system.synchronize(descriptor)
            if result < 0 { return undo(lines, written: offset, at: size, FileFault("cannot sync", path: path, code: -result)) }
        }
        knownSize = size + offset
        return (lines.count, nil)
    }

    private func undo(_ lines: Lines, written: Int, at size: Int, _ fault: FileFault) -> (lines: Int, fault: FileFault?) {
        assert((0...lines.bytes.count).contains(written), "more bytes are taken back than there were")
        guard written > 0, system.truncate(descriptor, size) < 0 else { return (0, fault) }
        // The write cannot be undone, for example in an append-only file. Whole lines stay, and the next writer repairs the torn one.
        return (lines.whole(within: written), fault)
    }
}
