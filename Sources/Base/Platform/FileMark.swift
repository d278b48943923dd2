// Identifies a file independently of its name: by its device and inode, and by two hashes. One hash covers its first bytes, and the other
// covers the bytes before the place up to which it was read. The inode number is not sufficient, because the system reuses the number of a
// deleted file. The beginning is not sufficient either, because many files begin with the same lines. A mark fits only a file in which both
// parts are unchanged.

internal import Glibc

public struct FileMark: Sendable, Equatable {
    /// The largest number of bytes that each of the two hashes covers.
    public static let most = 1024

    public var device: UInt64
    public var number: UInt64
    /// The number of bytes that the hash of the beginning covers.
    public var length: Int
    public var hash: UInt64
    /// The place up to which the file was read.
    public var end: Int
    /// The number of bytes before `end` that the second hash covers, without those of the first hash. It may be 0.
    public var tailLength: Int
    public var tail: UInt64

    public init(device: UInt64, number: UInt64, length: Int, hash: UInt64, end: Int, tailLength: Int, tail: UInt64) {
        self.device = device
        self.number = number
        self.length = length
        self.hash = hash
        self.end = end
        self.tailLength = tailLength
        self.tail = tail
    }

    /// Creates the mark of an open file that was read up to `bytes`.
    public init(_ descriptor: Int32, upTo bytes: Int) throws(SystemFault) {
        assert(bytes >= 0, "a file was read up to a place before its beginning")
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemFault() }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        end = bytes
        length = min(FileMark.most, bytes)
        tailLength = min(FileMark.most, bytes - length)
        assert(tailLength == 0 || end - tailLength >= length, "the two hashes of a mark cover the same bytes")
        guard let hash = FileMark.hash(descriptor, from: 0, length),
            let tail = FileMark.hash(descriptor, from: end - tailLength, tailLength)
        else { throw SystemFault(code: EIO) }
        self.hash = hash
        self.tail = tail
    }

    /// Returns true if the open file is the one of this mark.
    public func fits(_ descriptor: Int32) -> Bool {
        assert(isSound, "a stored mark is used before its numbers were checked")
        var status = stat()
        guard fstat(descriptor, &status) == 0, UInt64(status.st_dev) == device, UInt64(status.st_ino) == number,
            Int(status.st_size) >= end
        else { return false }
        return FileMark.hash(descriptor, from: 0, length) == hash
            && FileMark.hash(descriptor, from: end - tailLength, tailLength) == tail
    }

    /// True if the numbers of a stored mark are consistent.
    public var isSound: Bool {
        (0...FileMark.most).contains(length) && (0...FileMark.most).contains(tailLength) && end >= length && tailLength <= end - length
    }

    /// Returns the hash, or nil if the file is shorter or cannot be read.
    private static func hash(_ descriptor: Int32, from start: Int, _ length: Int) -> UInt64? {
        precondition((0...FileMark.most).contains(length) && start >= 0, "the hashed part of a file has no place in it")
        var bytes = [UInt8](repeating: 0, count: length)
        var done = 0
        while done < length {
            let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress! + done, length - done, off_t(start + done)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            done += count
        }
        return fnv1a(bytes)
    }
}

/// A hash that distinguishes texts. It is not secure against an attacker.
public func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
}

/// Replaces the file at this path with a file of these bytes, for its owner alone. Other processes always find the complete old file or the
/// complete new one. After a fault the old file is still there, and nothing of the new one is left.
public func replaceFile(_ path: String, with bytes: [UInt8]) throws(SystemFault) {
    let draft = path + ".new"
    // A draft that a kill left, or that another user created, must not be written to.
    unlink(draft)
    let number = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw SystemFault() }
    let descriptor = Descriptor(owning: number)
    do throws(SystemFault) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try descriptor.write(UnsafeRawBufferPointer(bytes)) }
        guard fsync(descriptor.number) == 0, rename(draft, path) == 0 else { throw SystemFault() }
    } catch {
        // A part of the file would take space on a disk that is full.
        unlink(draft)
        throw error
    }
}
