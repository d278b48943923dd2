// What a file is known by again, under whatever name: where it lies on the disk, how it began, and what stood before the place to which it
// was read. A number alone would not do, since the system gives that of a file that is gone to the next one, and a beginning alone
// neither, since many files begin with the same lines. It promises that a mark fits only a file in which both are unchanged.

internal import Glibc

public struct FileMark: Sendable, Equatable {
    /// How much is looked at of a file's beginning, and of what stands before the end of what was read.
    public static let most = 1024

    public var device: UInt64
    public var number: UInt64
    /// How many bytes of the beginning the hash is of.
    public var length: Int
    public var hash: UInt64
    /// How far it had been read.
    public var end: Int
    /// How many bytes before `end` the other hash is of, those of the beginning left out; 0: of none.
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

    /// The mark of an open file of which `bytes` bytes have been read.
    public init(_ descriptor: Int32, upTo bytes: Int) throws(SystemFault) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemFault() }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
        end = bytes
        length = min(FileMark.most, bytes)
        tailLength = min(FileMark.most, bytes - length)
        guard let hash = FileMark.hash(descriptor, from: 0, length),
            let tail = FileMark.hash(descriptor, from: end - tailLength, tailLength)
        else { throw SystemFault(code: EIO) }
        self.hash = hash
        self.tail = tail
    }

    /// Whether the open file is the one of this mark.
    public func fits(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, UInt64(status.st_dev) == device, UInt64(status.st_ino) == number,
            Int(status.st_size) >= end
        else { return false }
        return FileMark.hash(descriptor, from: 0, length) == hash
            && FileMark.hash(descriptor, from: end - tailLength, tailLength) == tail
    }

    /// Whether the numbers of a mark that was stored agree with each other.
    public var isSound: Bool {
        (0...FileMark.most).contains(length) && (0...FileMark.most).contains(tailLength) && end >= length && tailLength <= end - length
    }

    /// nil: the file is shorter, or cannot be read.
    private static func hash(_ descriptor: Int32, from start: Int, _ length: Int) -> UInt64? {
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

/// A hash that tells texts apart; not one that withstands an adversary.
public func fnv1a(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
}

/// Puts a file of these bytes, for its owner alone, in the place of that name: whoever looks finds the old one whole, or the new one.
public func replaceFile(_ path: String, with bytes: [UInt8]) throws(SystemFault) {
    let draft = path + ".new"
    // One that a kill left, or that somebody else laid there, is not written to.
    unlink(draft)
    let number = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw SystemFault() }
    let descriptor = Descriptor(owning: number)
    try bytes.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try descriptor.write(UnsafeRawBufferPointer(bytes)) }
    guard fsync(descriptor.number) == 0, rename(draft, path) == 0 else { throw SystemFault() }
}
