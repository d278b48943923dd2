// The place of the control socket in its state folder, and why a control socket cannot be used.

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

enum SocketPlace {
    static let name = "control.sock"
    /// The name of the socket until it takes connections.
    static let unfinished = "control.sock.new"

    static func address(in folder: String, name: String) throws(ControlFault) -> UnixAddress {
        let path = folder + "/" + name
        do throws(UnixAddress.Fault) {
            return try UnixAddress(path: path)
        } catch {
            switch error {
            case .folder(let fault): throw ControlFault(fault.code == ENOENT ? .nobody : .failed, "\(path): \(fault)")
            case .long:
                throw ControlFault(
                    .failed,
                    "\(path): is too long for a socket: \(path.utf8.count) bytes, at most \(UnixAddress.most) fit; "
                        + "name a shorter folder with --state")
            }
        }
    }
}
