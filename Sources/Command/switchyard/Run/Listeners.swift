// The HTTP sources of a run. They are made for its plan, start before the first event is read, and end when every request has its answer or
// has waited too long.

internal import Glibc
internal import Ingest
internal import InspectCommands
internal import Listener
internal import Plans
internal import Platform
internal import Router
internal import Startup
internal import Terminal

struct Listeners: Sendable {
    private let listeners: [HTTPListener]
    private let names: [String]
    /// What is said at the start about listeners that get fewer connections than they are configured for.
    private let messages: [String]
    /// How long accepted requests may wait for their answers at the end of the run.
    private static let farewell = Duration.seconds(2)

    /// `shares` says how many connections each listener may have.
    init(_ plan: Plan, _ router: Router, shares: DescriptorShares, watchdog: Watchdog, say: @escaping @Sendable (String) -> Void) {
        let inherited = ServiceManager.inherited { name in getenv(name).map { String(cString: $0) } }
        var listeners: [HTTPListener] = []
        var names: [String] = []
        for (index, source) in plan.sources.enumerated() {
            guard var http = source.http, let sink = router.sink else { continue }
            http.limits.connections = shares.connections[index] ?? http.limits.connections
            listeners.append(
                HTTPListener(
                    name: source.name, plan: http, source: index, sink: sink, watchdog: watchdog, inherited: inherited, say: say))
            names.append(source.name)
        }
        self.listeners = listeners
        self.names = names
        messages = plan.sources.indices.compactMap { shares.message(source: $0, in: plan) }
    }

    /// Starts all listeners, or none if one of them fails.
    func start(say: @Sendable (String) -> Void) throws {
        for message in messages { say(message) }
        do throws(ListenerFault) {
            for listener in listeners { try listener.start() }
        } catch {
            stop()
            throw StateFailure(error.description)
        }
        for (name, listener) in zip(names, listeners) {
            if let address = listener.address { say("\(name): listening at \(address)") }
        }
    }

    /// Takes no more events. Clients get an answer that tells them to retry.
    func quiesce() { for listener in listeners { listener.quiesce() } }

    /// Returns when every request has its answer, or has waited long enough.
    func stop() { for listener in listeners { listener.stop(within: Listeners.farewell) } }

    var status: [SourceStatus] {
        zip(names, listeners).map { SourceStatus(name: $0, address: $1.address?.description ?? "-", counts: $1.counts) }
    }
}
