// The HTTP sources of a run. They are made for its plan, start before the first event is read, and end when every request has its answer or
// has waited too long.

internal import Glibc
internal import Ingest
internal import InspectCommands
internal import Listener
internal import Plans
internal import Platform
internal import Router
internal import Terminal

struct Listeners: Sendable {
    private let listeners: [HTTPListener]
    private let names: [String]
    /// How long accepted requests may wait for their answers at the end of the run.
    private static let farewell = Duration.seconds(2)

    init(_ plan: Plan, _ router: Router, watchdog: Watchdog) {
        let inherited = ServiceManager.inherited { name in getenv(name).map { String(cString: $0) } }
        var listeners: [HTTPListener] = []
        var names: [String] = []
        for (index, source) in plan.sources.enumerated() {
            guard let http = source.http, let sink = router.sink else { continue }
            listeners.append(
                HTTPListener(name: source.name, plan: http, source: index, sink: sink, watchdog: watchdog, inherited: inherited))
            names.append(source.name)
        }
        self.listeners = listeners
        self.names = names
    }

    /// Starts all listeners, or none if one of them fails.
    func start(say: @Sendable (String) -> Void) throws {
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
