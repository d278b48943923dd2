// One open regular file. It promises that whole lines are appended or nothing is, also when several processes share the file,
// and that a line torn by a process that was killed does not spoil the next one.

internal import Glibc
internal import PluginKit

/// Why the system refused, in words that a person can act on.
struct FileFault: Error {
    var code: Int32
    var message: String

    /// "cannot write to 'x': No space left on device"
    init(_ what: String, _ path: String, _ code: Int32) {
        self.code = code
        message = "\(what) '\(path)': \(systemWords(code))"
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
    /// Where our last write ended; at any other size someone else was here, and the end of the file is looked at. 0: nothing to look at.
    private var knownSize = 0

    init(path: String, descriptor: Int32, identity: FileStatus.Identity, born: Int64, system: FileSystem) {
        self.path = path
        self.descriptor = descriptor
        self.identity = identity
        self.born = born
        self.system = system
    }

    deinit { close(descriptor) }

    /// Takes the lock that all writers of the file share. Some network file systems have none; then there is one writer, or none to help.
    func lock() { _ = again { flock(descriptor, LOCK_EX) } }
    func unlock() { _ = again { flock(descriptor, LOCK_UN) } }

    /// Whether the path still leads to this file. Asked under the lock, since another writer may have rotated it meanwhile.
    var isInPlace: Bool { FileStatus(path: path)?.identity == identity }

    /// The size of the file once its end has been looked at, under the lock.
    func mendedSize(_ log: (String) -> Void) throws(FileFault) -> Int {
        guard let size = FileStatus(descriptor: descriptor)?.size else { throw FileFault("cannot look at", path, errno) }
        guard size != knownSize, size > 0 else { return size }
        knownSize = try mend(size: size, log)
        return knownSize
    }

    /// Appends the lines, or nothing: what came of a write that failed is cut off again. Answers how many lines are there to stay.
    func append(_ lines: Lines, at size: Int, synchronize: Bool) -> (lines: Int, fault: FileFault?) {
        var offset = 0
        while offset < lines.bytes.count {
            let count = system.write(descriptor, UnsafeRawBufferPointer(rebasing: lines.bytes[offset...]))
            if count > 0 {
                offset += count
            } else if count != -Int(EINTR) {
                return undo(lines, written: offset, at: size, FileFault("cannot write to", path, count == 0 ? EIO : Int32(-count)))
            }
        }
        if synchronize {
            let result = system.synchronize(descriptor)
            if result < 0 { return undo(lines, written: offset, at: size, FileFault("cannot force to the disk", path, -result)) }
        }
        knownSize = size + offset
        return (lines.count, nil)
    }

    private func undo(_ lines: Lines, written: Int, at size: Int, _ fault: FileFault) -> (lines: Int, fault: FileFault?) {
        guard written > 0, system.truncate(descriptor, size) < 0 else { return (0, fault) }
        // It cannot be undone, as in a file that may only grow. Whole lines are there to stay; the next writer mends the torn one.
        return (lines.whole(within: written), fault)
    }
}
