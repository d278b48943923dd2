// The address of a Unix socket. The system takes a name of at most 107 bytes. The file of a socket may have a longer path: then its address
// names it by a descriptor of its folder, which stays open as long as the address exists.

internal import Glibc

public struct UnixAddress {
    /// Why there is no address for a path.
    public enum Fault: Error, Equatable, CustomStringConvertible {
        /// The path is long, and its folder cannot be opened.
        case folder(SystemFault)
        /// The path is long, and the system does not give names to descriptors, because `/proc` is missing.
        case long

        public var description: String {
            switch self {
            case .folder(let fault): "its folder cannot be opened: \(fault)"
            case .long: "its path is too long for a socket: at most \(UnixAddress.most) bytes fit"
            }
        }
    }

    /// The number of bytes of the longest name.
    public static let most = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// The path of the socket's file. It is empty for other addresses.
    public let path: String
    private let address: sockaddr_un
    private let size: socklen_t
    /// Keeps the descriptor open that the address names.
    private let folder: OpenFolder?

    private final class OpenFolder {
        private let descriptor: Descriptor
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    private init(_ path: String, _ name: [UInt8], folder: OpenFolder?) {
        precondition(name.count <= UnixAddress.most, "the name of a Unix socket is too long")
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        self.path = path
        self.address = address
        self.folder = folder
        size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
    }

    public init(path: String) throws(Fault) {
        guard path.utf8.count > UnixAddress.most else {
            self.init(path, Array(path.utf8), folder: nil)
            return
        }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { String(path[...$0]) } ?? "."
        let number = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else { throw .folder(SystemFault()) }
        let folder = OpenFolder(Descriptor(owning: number))
        let name = slash.map { path[path.utf8.index(after: $0)...] } ?? path[...]
        let short = "/proc/self/fd/\(number)/\(name)"
        guard short.utf8.count <= UnixAddress.most, access("/proc/self/fd/\(number)", F_OK) == 0 else { throw .long }
        self.init(path, Array(short.utf8), folder: folder)
    }

    /// An address by its bytes: the path of a file, or a zero byte and an abstract name. It is nil if they are too many.
    init?(name: [UInt8]) {
        guard name.count <= UnixAddress.most else { return nil }
        self.init("", name, folder: nil)
    }

    /// Calls the body with the address in the form that the system takes.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }
}
