// The files of a trail's folder: their names, and the ways in which they are read and written. A file that is replaced is either the old one or
// the new one after a kill or a loss of power.

internal import Glibc
internal import MerkleLog
public import Platform

public struct TrailFiles: Sendable {
    /// The name of the folder in the state folder.
    public static let name = "audit"

    public let folder: String

    public init(_ folder: String) { self.folder = folder }

    /// The newest signed head.
    public var checkpoint: String { folder + "/checkpoint" }
    /// The newest head that has signatures of witnesses.
    public var cosigned: String { folder + "/cosigned" }
    var lock: String { folder + "/lock" }
    /// The entries of a bundle that is not full yet, or was not put in its place yet.
    public func tail(_ bundle: Int) -> String { "\(folder)/tail-\(bundle)" }
    public func tile(_ level: Int, _ index: Int) -> String { "\(folder)/\(Tiles.path(level: level, index: index))" }
    public func bundle(_ index: Int) -> String { "\(folder)/\(Tiles.path(level: nil, index: index))" }
    /// A text that an entry names by its SHA-256.
    public func text(_ hash: String) -> String { "\(folder)/texts/\(hash)" }
    /// The verdicts that entries name by their place. The name is the number of the first entry that names the file.
    public func verdicts(_ name: String) -> String { "\(folder)/verdicts/\(name)" }

    // MARK: - Reading

    /// Returns the bytes of a file, or nil if there is none. A file with more than `most` bytes is a fault.
    static func read(_ path: String, most: Int) throws(StorageFault) -> [UInt8]? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw StorageFault(.failed, "\(path): cannot be read: \(SystemFault())")
        }
        let descriptor = Descriptor(owning: number)
        var status = stat()
        guard fstat(number, &status) == 0 else { throw StorageFault(.failed, "\(path): cannot be read: \(SystemFault())") }
        guard status.st_size <= most else { throw StorageFault(.damaged, "\(path): has \(status.st_size) bytes, more than \(most)") }
        return try read(descriptor.number, offset: 0, count: Int(status.st_size), path)
    }

    /// Returns the bytes at the place. Returns fewer if the file ends before.
    static func read(_ descriptor: Int32, offset: Int, count: Int, _ path: String) throws(StorageFault) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var at = 0
        while at < count {
            let n = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress! + at, count - at, off_t(offset + at)) }
            if n < 0, errno == EINTR { continue }
            guard n >= 0 else { throw StorageFault(.failed, "\(path): cannot be read: \(SystemFault())") }
            if n == 0 { break }
            at += n
        }
        bytes.removeLast(count - at)
        return bytes
    }

    // MARK: - Writing

    /// The fault of a write, from `errno`.
    static func writeFault(_ path: String) -> StorageFault {
        let fault = SystemFault()
        return StorageFault([ENOSPC, EDQUOT, EFBIG].contains(fault.code) ? .full : .failed, "\(path): cannot be written: \(fault)")
    }

    /// Puts a file with these bytes in the place of the path. If `syncs` is true, it survives a loss of power.
    public static func replace(_ path: String, with bytes: [UInt8], syncs: Bool) throws(StorageFault) {
        let draft = path + ".new"
        let number = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw writeFault(draft) }
        let descriptor = Descriptor(owning: number)
        do throws(SystemFault) {
            try bytes.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try descriptor.write(UnsafeRawBufferPointer(bytes)) }
        } catch {
            errno = error.code
            throw writeFault(draft)
        }
        guard !syncs || fsync(number) == 0, rename(draft, path) == 0 else { throw writeFault(path) }
        if syncs { sync(folderOf: path) }
    }

    /// Writes the bytes at the place and cuts off what follows. A missing file is made.
    static func write(_ path: String, at offset: Int, _ bytes: [UInt8], syncs: Bool) throws(StorageFault) {
        let number = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw writeFault(path) }
        let descriptor = Descriptor(owning: number)
        guard ftruncate(number, off_t(offset)) == 0, lseek(number, off_t(offset), SEEK_SET) == offset else { throw writeFault(path) }
        do throws(SystemFault) {
            try bytes.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try descriptor.write(UnsafeRawBufferPointer(bytes)) }
        } catch {
            errno = error.code
            let fault = writeFault(path)
            ftruncate(number, off_t(offset))
            throw fault
        }
        guard !syncs || fdatasync(number) == 0 else { throw writeFault(path) }
        if syncs, offset == 0 { sync(folderOf: path) }
    }

    public static func makeFolder(_ path: String) throws(StorageFault) {
        do throws(SystemFault) {
            try Platform.makeFolder(path, mode: 0o700)
        } catch {
            throw StorageFault(.failed, "\(path): the folder cannot be made: \(error)")
        }
    }

    static func makeFolder(of path: String) throws(StorageFault) { try makeFolder(parent(of: path)) }

    private static func parent(of path: String) -> String { path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "." }

    static func sync(folderOf path: String) {
        let number = open(parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { return }
        fsync(number)
        close(number)
    }

    /// Returns the names in a folder, sorted. Returns none if there is no such folder.
    static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
