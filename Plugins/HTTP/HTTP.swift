// The provider `http`: sends batches to a URL. It promises that an event is delivered only if the server answered with a 2xx status after
// it got the whole body. HTTPKit, which carries out the requests, promises the rest: pauses, credentials, redirects and certificates.

internal import HTTPKit
public import PluginKit

final class HTTPProvider: ConcurrentProvider, Previewer, Prober {
    static let version = "0.1.0"
    static let description = Description(
        name: "http", version: version, summary: "Sends events to a URL over HTTP/1.1 or HTTP/2.", settings: HTTPRules.schema,
        concurrency: ClientSettings.mostInFlight, deduplicates: true, delivery: Description.Delivery(ordered: false))

    private let client: HTTPClient
    private let packer: Monitor<Packer>
    private let rules: HTTPRules

    convenience init(settings: Settings, host: Host) throws {
        try self.init(settings: settings, host: host, clock: .system)
    }

    init(settings: Settings, host: Host, clock: Clock) throws {
        rules = try HTTPRules(settings)
        packer = Monitor(try Packer(rules.body, rules.compression))
        client = try HTTPClient(rules.client, clock)
    }

    func deliver(_ delivery: consuming Delivery) {
        guard delivery.batch.count > 0 else { return delivery.finish(.delivered) }
        // Bodies are packed here, on the lane's thread, so that the single transfer thread only moves bytes.
        let lines = delivery.batch.lines
        guard let bodies = packer.withLock({ $0.pack(lines) }) else { return delivery.finish(.retry("the events could not be compressed")) }
        client.send(bodies, of: delivery)
    }

    func preview(_ batch: borrowing Batch) -> Preview {
        var preview = Preview()
        guard batch.count > 0, let bodies = (try? Packer(rules.body, .none))?.pack(batch.lines) else { return preview }
        for index in 0..<bodies.count {
            let events = rules.body == .event ? [index] : Array(0..<batch.count)
            preview.requests.append(rules.client.shown(target: 0, body: Array(bodies.body(index)), events: events))
        }
        return preview
    }

    func probe(within milliseconds: Int) -> Probe {
        client.probe(1, [], within: milliseconds) { reply in
            .reached(
                code: reply.status, "it was reached; whether it accepts the credentials in headers cannot be checked without an event")
        }
    }

    func flush(_ completion: consuming Completion) { client.flush(completion) }

    func close() { client.close() }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(HTTPProvider.self) }
