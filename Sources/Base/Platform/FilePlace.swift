// The identity of a file or folder, to check later whether a path still leads to it. A file that is removed or moved while it is open can
// still be written to, but nobody finds it by its path.

internal import Glibc

public struct FilePlace: Sendable, Equatable {
    private let device: UInt64
    private let number: UInt64

    /// The current target of a path. It is nil if there is none.
    public init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// An open file, whatever its current name is.
    public init?(_ descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
}

extension StorageFault {
    /// The fault of a file or folder whose path no longer leads to it.
    public static func removed(_ path: String) -> StorageFault {
        StorageFault(.removed, "\(path): was removed, moved away or replaced while the router has it")
    }
}
