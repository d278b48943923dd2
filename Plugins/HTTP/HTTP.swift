// The provider `http`: sends batches to a URL. It promises that an event is delivered only if the server answered with a 2xx status after
// it got the whole body. HTTPKit, which carries out the requests, promises the rest: pauses, credentials, redirects and certificates.

internal import ExpressionKit
internal import HTTPKit
public import PluginKit

final class HTTPProvider: ConcurrentProvider {
    static let version = "0.1.0"
    static let description = Description(
        name: "http", version: version, summary: "Sends events to a URL over HTTP/1.1 or HTTP/2.", settings: HTTPRules.schema,
        concurrency: ClientSettings.mostInFlight, deduplicates: true, delivery: Description.Delivery(ordered: false))

    private let client: HTTPClient
    private let bodies: Monitor<BodyMaker>

    convenience init(settings: Settings, host: Host) throws {
        try self.init(settings: settings, host: host, clock: .system)
    }

    init(settings: Settings, host: Host, clock: Clock) throws {
        let rules = try HTTPRules(settings)
        bodies = Monitor(try BodyMaker(rules, host))
        client = try HTTPClient(rules.client, clock)
    }

    func deliver(_ delivery: consuming Delivery) {
        guard delivery.batch.count > 0 else { return delivery.finish(.delivered) }
        // Bodies are made here, on the lane's thread, so that the single transfer thread only moves bytes and judges answers.
        let (lines, arrivals) = (delivery.batch.lines, delivery.batch.arrivals)
        guard let requests = bodies.withLock({ $0.requests(lines, arrivals: arrivals) }) else {
            return delivery.finish(.retry("the events could not be compressed"))
        }
        guard requests.count > 0 else { return delivery.finish(requests.outcome(of: [], rest: nil)) }
        client.send(requests, of: delivery)
    }

    func flush(_ completion: consuming Completion) { client.flush(completion) }

    func close() { client.close() }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(HTTPProvider.self) }
