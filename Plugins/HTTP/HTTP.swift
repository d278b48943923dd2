// The provider `http`: sends batches to a URL. It promises that an event is delivered only if the server answered with a 2xx status after
// it got the whole body. HTTPKit, which carries out the requests, promises the rest: pauses, credentials, redirects and certificates.

internal import ExpressionKit
internal import HTTPKit
public import PluginKit

final class HTTPProvider: ConcurrentProvider, Previewer, Prober, SubjectEraser {
    static let version = "0.1.0"
    static let description: Description = {
        var description = Description(
            name: "http", version: version, summary: "Sends events to a URL over HTTP/1.1 or HTTP/2.", settings: HTTPRules.schema,
            concurrency: ClientSettings.mostInFlight, deduplicates: true, asks: true,
            delivery: Description.Delivery(ordered: false))
        description.byHand = HTTPErasing.byHand
        return description
    }()

    private let client: HTTPClient
    private let bodies: Monitor<BodyMaker>
    private let rules: HTTPRules
    private let erasing: HTTPErasing?

    convenience init(settings: Settings, host: Host) throws {
        try self.init(settings: settings, host: host, clock: .system)
    }

    init(settings: Settings, host: Host, clock: Clock) throws {
        rules = try HTTPRules(settings)
        bodies = Monitor(try BodyMaker(rules, compression: rules.compression) { host.log(.warning, $0) })
        client = try HTTPClient(rules.client, clock)
        erasing = rules.erasing.map { HTTPErasing($0, clock) }
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

    func preview(_ batch: borrowing Batch) -> Preview {
        var preview = Preview()
        // A builder of its own, so that a preview leaves no trace in the one that delivers.
        guard batch.count > 0, let bodies = try? BodyMaker(rules, compression: .none, note: { _ in }),
            let requests = bodies.requests(batch.lines, arrivals: batch.arrivals)
        else { return preview }
        for index in 0..<requests.count {
            let shown = rules.client.shown(
                target: 0, at: requests.place(of: index), body: Array(requests.body(index)),
                events: requests.events(of: index, count: batch.count))
            preview.requests.append(shown)
        }
        preview.refused = requests.refusals
        return preview
    }

    func probe(within milliseconds: Int) -> Probe {
        client.probe(1, [], within: milliseconds) { reply in
            .reached(
                code: reply.status, "it was reached; whether it accepts the credentials in headers cannot be checked without an event")
        }
    }

    func erase(_ erasure: Erasure) -> Erasure.Answer { erasing?.answer(erasure) ?? .cannot(HTTPErasing.byHand) }

    func flush(_ completion: consuming Completion) { client.flush(completion) }

    func close() {
        erasing?.close()
        client.close()
    }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(HTTPProvider.self) }
