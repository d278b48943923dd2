// The servers of a router that answer requests about it: one on the control socket in its state folder, one at the address of `admin`.

internal import Control
internal import Plans
internal import Terminal

struct ControlServers {
    private var servers: [ControlServer] = []

    /// `folder` is the state folder. It is nil if this router has not claimed it.
    init(_ plan: Plan, _ service: ControlService, folder: String?, say: (String) -> Void) throws {
        do throws(ControlFault) {
            if let folder { start(try ControlServer(folder: folder, handler: service.answer)) }
            if let admin = plan.admin, case .tcp(let host, let port) = admin.listen {
                let server = try ControlServer(host: host, port: port, handler: service.answerLooking)
                start(server)
                say("admin: listening at \(ListenAddress.tcp(host: host, port: server.port ?? port))")
            }
        } catch {
            close()
            throw StateFailure(error.description)
        }
    }

    private mutating func start(_ server: ControlServer) {
        server.start()
        servers.append(server)
    }

    func close() { for server in servers { server.close() } }
}
