// The servers of a router that answer requests about it: one on the control socket in its state folder, one at the address of `admin`.

internal import Control
internal import InspectCommands
internal import Plans
internal import Terminal

struct ControlServers {
    private var servers: [ControlServer] = []

    /// `folder` is the state folder. It is nil if this router has not claimed it.
    init(_ plan: Plan, _ service: ControlService, folder: String?, say: (String) -> Void) throws {
        do throws(ControlFault) {
            if let folder { start(try ControlServer(folder: folder, handler: service.answer)) }
            if let admin = plan.admin, case .tcp(let host, let port) = admin.listen {
                let ticks = service.page.map { page in ControlServer.Ticks(every: PageService.interval) { page.sample() } }
                let hosts = HostRules(origins: admin.origins, isOpen: admin.isOpen)
                let server = try ControlServer(
                    host: host, port: port, ticks: ticks, screen: { service.refuse($0, bodyBytes: $1, hosts) },
                    handler: service.answerLooking)
                service.page?.listens(host: host, port: server.port ?? port)
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
