// Where a file or a folder lies, to see later whether its name still leads to it. A file that is removed or moved away while it is open can
// be written on and is lost for whoever looks for it by its name.

internal import Glibc

public struct FilePlace: Sendable, Equatable {
    private let device: UInt64
    private let number: UInt64

    /// What the name leads to now; nil: to nothing.
    public init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// An open file, whatever its name is by now.
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
    /// Of a file, or what is called so, whose name leads to it no more.
    public static func removed(_ path: String) -> StorageFault {
        StorageFault(.removed, "\(path): was removed, moved away or replaced while the router has it")
    }
}
