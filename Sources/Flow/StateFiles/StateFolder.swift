// The folder where a router keeps what must outlive it: spools, dead letters, its own key. It promises that only one router at a time uses
// the folder. It creates its files with access for their owner only. The name of a file tells which provider or source it belongs to.

internal import Database
internal import Glibc
public import Platform

public final class StateFolder: Sendable {
    public let path: String
    private let lock: Descriptor

    /// Thrown if another router uses the folder.
    public struct Taken: Error, Sendable {
        public var pid: Int32?
    }

    /// Creates the folder if it does not exist, and locks it for this process. The lock lasts as long as the returned value exists.
    public static func claim(_ path: String) throws -> StateFolder {
        do throws(SystemFault) {
            try makeFolder(path, mode: 0o700)
        } catch {
            throw StorageFault(.failed, "\(path): the state folder cannot be made: \(error); name another with --state")
        }
        let file = path + "/router.pid"
        let number = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard number >= 0 else { throw StorageFault(.failed, "\(file): cannot be opened: \(SystemFault())") }
        let lock = Descriptor(owning: number)
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else { throw Taken(pid: pid(in: number)) }
        let text = Array("\(getpid())\n".utf8)
        guard ftruncate(number, 0) == 0, pwrite(number, text, text.count, 0) == text.count else {
            throw StorageFault(.full, "\(file): cannot be written: \(SystemFault())")
        }
        return StateFolder(path, lock)
    }

    /// Returns the process ID of the router that uses the folder now, or 0 if the ID is unknown. Returns nil if no router uses it.
    public static func owner(of path: String) -> Int32? {
        let number = open(path + "/router.pid", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { return nil }
        let descriptor = Descriptor(owning: number)
        guard flock(descriptor.number, LOCK_SH | LOCK_NB) != 0 else { return nil }
        return pid(in: descriptor.number) ?? 0
    }

    private init(_ path: String, _ lock: consuming Descriptor) {
        self.path = path
        self.lock = lock
    }

    private static func pid(in descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Int32(String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)) : nil
    }

    /// Throws if the folder or its lock file was removed, moved away or replaced.
    public func checkPlace() throws(StorageFault) {
        let file = path + "/router.pid"
        guard FilePlace(file) != nil && FilePlace(file) == FilePlace(lock.number) else {
            throw FilePlace(path) == nil ? .removed(path) : .removed(file)
        }
    }

    // MARK: - Names of files

    private static let prefix = "spool-"
    private static let suffix = ".sqlite"

    /// Returns the path of a provider's spool. Letters, digits, `_` and `-` stay as they are. Every other byte becomes `%` and two hex
    /// digits.
    public static func spool(of provider: String, in folder: String) -> String { folder + "/" + prefix + fileName(provider) + suffix }

    /// Returns the path of the file that records how far the files of a source were read.
    public static func places(of source: String, in folder: String) -> String { folder + "/files-" + fileName(source) + ".places" }

    static func fileName(_ name: String) -> String {
        var text = ""
        for byte in name.utf8 {
            let isPlain = byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a || byte == 0x5f || byte == 0x2d
            if isPlain {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let hex = String(byte, radix: 16)
                text += "%" + (hex.utf8.count == 1 ? "0" : "") + hex
            }
        }
        assert(!text.utf8.contains(UInt8(ascii: "/")), "the name of a file leads to another folder")
        return text
    }

    /// Returns the provider whose spool has this file name. Returns nil if it is not the name of a spool.
    static func provider(of file: String) -> String? {
        guard file.hasPrefix(prefix), file.hasSuffix(suffix) else { return nil }
        var bytes: [UInt8] = []
        var rest = file.utf8.dropFirst(prefix.utf8.count).dropLast(suffix.utf8.count)
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            guard digits.utf8.count == 2, let value = UInt8(digits, radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the sorted names of the providers that have a spool in the folder. Includes providers whose spool has left only its witness.
    public static func spools(in folder: String) -> [String] {
        guard let handle = opendir(folder) else { return [] }
        defer { closedir(handle) }
        var names: Set<String> = []
        while let entry = readdir(handle) {
            let file = withUnsafeBytes(of: &entry.pointee.d_name) { String(cString: $0.bindMemory(to: CChar.self).baseAddress!) }
            if let name = provider(of: file) { names.insert(name) }
            guard file.hasSuffix(".witness"), let name = provider(of: file.dropLast(8) + suffix) else { continue }
            switch Witness.look(folder + "/" + file) {
            case .missing: break
            case .damaged: names.insert(name)
            case .found(let record): if !record.isDestroyed { names.insert(name) }
            }
        }
        return names.sorted()
    }

    // MARK: - Keys

    /// Returns the 16 random bytes under which the ids of subjects in the folder's files are hashed. Creates them if there are none yet.
    public func key() throws(StorageFault) -> [UInt8] {
        if let known = try StateFolder.key(in: path) { return known }
        let file = path + "/subject.key"
        var system = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &system) }
        // The file is written under another name first, so that `subject.key` is always complete.
        let draft = file + ".new"
        let new = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard new >= 0 else { throw StorageFault(.failed, "\(draft): cannot be made: \(SystemFault())") }
        let descriptor = Descriptor(owning: new)
        guard write(descriptor.number, bytes, 16) == 16, fsync(descriptor.number) == 0, rename(draft, file) == 0 else {
            throw StorageFault(errno == ENOSPC ? .full : .failed, "\(file): cannot be written: \(SystemFault())")
        }
        return bytes
    }

    /// Returns the same bytes of a folder that another process may use. Returns nil if there are none yet.
    public static func key(in path: String) throws(StorageFault) -> [UInt8]? {
        let file = path + "/subject.key"
        let number = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else {
            if errno == ENOENT { return nil }
            throw StorageFault(.failed, "\(file): cannot be read: \(SystemFault())")
        }
        let descriptor = Descriptor(owning: number)
        var bytes = [UInt8](repeating: 0, count: 16)
        guard read(descriptor.number, &bytes, 16) == 16 else {
            throw StorageFault(.damaged, "\(file): is not 16 bytes long; stored events can no longer be found by subject")
        }
        return bytes
    }

    // MARK: - Disk space

    /// Returns the number of free bytes on the folder's disk. Returns nil if it is unknown.
    public static func free(at path: String) -> Int? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        return Int(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue)
    }
}
