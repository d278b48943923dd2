// The sockets at which listeners accept connections: made here, or handed over by systemd.

internal import Glibc
internal import Plans
internal import Platform

/// The reason why a listener cannot start. The message names the listener and says what to do where possible.
public struct ListenerFault: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}

/// A socket at which connections are accepted.
struct ListeningSocket: Sendable {
    let descriptor: Int32
    /// Its address, with the port that the system chose if the configured port is 0.
    let address: ListenAddress
    /// True if systemd opened the socket. Then systemd keeps listening there.
    let isInherited: Bool

    static func open(_ plan: HTTPSourcePlan, inherited: [ServiceManager.Inherited]) throws(ListenerFault) -> ListeningSocket {
        switch plan.listen {
        case .tcp(let host, let port):
            let socket = try network(host, port: port, plan)
            let chosen = StreamSocket.port(of: socket.number) ?? port
            return ListeningSocket(descriptor: socket.release(), address: .tcp(host: host, port: chosen), isInherited: false)
        case .unix(let path):
            let socket = try unix(path, plan)
            return ListeningSocket(descriptor: socket.release(), address: plan.listen, isInherited: false)
        case .inherited(let name): return try take(name, of: inherited, plan.listen)
        }
    }

    /// Stops listening, so that nobody can connect any more. It does nothing if systemd owns the socket.
    func shut() {
        if isInherited { return }
        if case .unix(let path) = address { unlink(path) }
        shutdown(descriptor, Int32(SHUT_RD))
    }

    private static func take(_ name: String?, of inherited: [ServiceManager.Inherited], _ address: ListenAddress) throws(ListenerFault)
        -> ListeningSocket
    {
        let fitting = name.map { name in inherited.filter { $0.name == name } } ?? inherited
        guard let first = fitting.first else {
            throw ListenerFault("cannot listen at \(address): systemd has handed over no such socket; start it by its .socket unit")
        }
        guard fitting.count == 1 else {
            throw ListenerFault(
                "cannot listen at \(address): systemd has handed over \(fitting.count) such sockets; name one as systemd:NAME")
        }
        guard StreamSocket.adopt(first.descriptor) else {
            throw ListenerFault("cannot listen at \(address): what systemd has handed over is not a listening stream socket")
        }
        return ListeningSocket(descriptor: first.descriptor, address: address, isInherited: true)
    }

    private static func network(_ host: String, port: UInt16, _ plan: HTTPSourcePlan) throws(ListenerFault) -> Descriptor {
        do throws(ListenFault) {
            return try StreamSocket.listening(host: host, port: port)
        } catch {
            throw ListenerFault("cannot listen at \(plan.listen): \(error)")
        }
    }

    private static func unix(_ path: String, _ plan: HTTPSourcePlan) throws(ListenerFault) -> Descriptor {
        let address: UnixAddress
        do throws(UnixAddress.Fault) {
            address = try UnixAddress(path: path)
        } catch {
            throw ListenerFault("cannot listen at \(plan.listen): \(error)")
        }
        do throws(ListenFault) {
            return try StreamSocket.listening(at: address, mode: plan.mode, owner: plan.owner, existing: .keptUnlessDead)
        } catch {
            throw ListenerFault("cannot listen at \(plan.listen): \(error)")
        }
    }
}
