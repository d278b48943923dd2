// The place of the control socket in its state folder. If the folder's path is too long for the address of a socket, the address uses a
// descriptor of the folder.

internal import Glibc
internal import Platform

/// Why a control socket cannot be used. The description is a message for a person.
public struct ControlFault: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable {
        /// No process listens there.
        case nobody
        /// The other side did not answer, or its answer is invalid.
        case unanswered
        case failed
    }
    public var kind: Kind
    public var description: String
    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

struct SocketPlace {
    static let name = "control.sock"
    /// The name of the socket until it takes connections.
    static let unfinished = "control.sock.new"

    let path: String
    var address = sockaddr_un()
    /// Keeps the descriptor open that the short path names.
    private let folder: OpenFolder?

    private final class OpenFolder {
        private let descriptor: Descriptor
        init(_ number: Int32) { descriptor = Descriptor(owning: number) }
    }

    init(in folder: String, name: String = SocketPlace.name) throws(ControlFault) {
        path = folder + "/" + name
        address.sun_family = sa_family_t(AF_UNIX)
        let room = MemoryLayout.size(ofValue: address.sun_path) - 1
        var short = path
        if path.utf8.count > room {
            let number = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard number >= 0 else { throw ControlFault(errno == ENOENT ? .nobody : .failed, "\(path): \(SystemFault())") }
            self.folder = OpenFolder(number)
            short = "/proc/self/fd/\(number)/" + name
            guard access("/proc/self/fd/\(number)", F_OK) == 0 else {
                throw ControlFault(
                    .failed,
                    "\(path): is too long for a socket: \(path.utf8.count) bytes, at most \(room) fit; name a shorter folder with --state")
            }
        } else {
            self.folder = nil
        }
        precondition(short.utf8.count <= room, "the path of a socket does not fit into its address")
        withUnsafeMutableBytes(of: &address.sun_path) { room in room.copyBytes(from: short.utf8) }
    }

    /// Calls the body with the address in the form that the system needs.
    func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafeBytes(of: address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress!, socklen_t(bytes.count)) }
        }
    }
}
