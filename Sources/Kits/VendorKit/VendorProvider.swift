// The provider of a vendor: the vendor maps and judges, and the kit does the rest. It promises that an event is delivered only if every
// request that holds a part of it was answered so, and that each event of a batch has an outcome.

internal import HTTPKit
public import PluginKit

public final class VendorProvider<V: Vendor>: ConcurrentProvider, Previewer, Prober {
    public static var description: Description {
        let about = V.about
        var description = Description(
            name: about.name, version: about.version, summary: about.summary, settings: about.settings,
            concurrency: ClientSettings.mostInFlight, deduplicates: about.deduplicates, asks: true, delivery: about.delivery)
        description.add([
            "url": .text("another address of the vendor's API: of a proxy, or of a server of one's own; https:// or http://"),
            "compression": .choice(
                "how bodies are compressed (Content-Encoding)", of: about.compressions.map(\.rawValue),
                default: about.compressions.first?.rawValue),
            "timeout": ClientSettings.timeoutSchema,
            "tls": ClientSettings.tlsSchema,
            "proxy": ClientSettings.proxySchema,
            "in_flight": ClientSettings.inFlightSchema,
        ])
        (description.mapping, description.refuses, description.cuts) = (about.mapping, about.refuses, about.cuts)
        return description
    }

    private let client: HTTPClient
    private let mapper: Monitor<Mapper<V>>
    private let rules: ClientRules
    private let probing: VendorProbe

    public convenience init(settings: Settings, host: Host) throws { try self.init(settings: settings, host: host, clock: .system) }

    /// `clock` takes the place of the system's clock in a test.
    public init(settings: Settings, host: Host, clock: Clock) throws {
        var setup = Setup(settings, host)
        let vendor = try V(&setup)
        let (rules, compression) = try VendorRules.make(setup, V.about)
        self.rules = rules
        probing = setup.probing
        mapper = Monitor(try Mapper(vendor, setup, compression, clock))
        client = try HTTPClient(rules, clock)
    }

    public func deliver(_ delivery: consuming Delivery) {
        guard delivery.batch.count > 0 else { return delivery.finish(.delivered) }
        // Events are mapped here, on the lane's thread, so that the single transfer thread only moves bytes.
        let (lines, arrivals) = (delivery.batch.lines, delivery.batch.arrivals)
        guard let requests = mapper.withLock({ $0.requests(lines, arrivals: arrivals) }) else {
            return delivery.finish(.retry("the events could not be compressed"))
        }
        guard requests.count > 0 else { return delivery.finish(requests.outcome(of: [], rest: nil)) }
        client.send(requests, of: delivery)
    }

    public func preview(_ batch: borrowing Batch) -> Preview {
        let (lines, arrivals) = (batch.lines, batch.arrivals)
        return mapper.withLock { $0.preview(lines, arrivals: arrivals, rules) }
    }

    public func probe(within milliseconds: Int) -> Probe {
        // The target of the probe is behind those of the endpoints.
        client.probe(rules.targets.count - 1, probing.body, within: milliseconds) { [probing] in probing.judge($0) }
    }

    public func flush(_ completion: consuming Completion) { client.flush(completion) }

    public func close() { client.close() }
}

/// Makes the client's rules from the endpoints of a vendor.
enum VendorRules {
    static func make(_ setup: Setup, _ about: VendorDescription) throws(SettingsFault) -> (ClientRules, Compression) {
        var addresses: [Address] = []
        let endpoints = setup.endpoints + [setup.probing.endpoint]
        for endpoint in endpoints {
            let address = try Address(endpoint.base + endpoint.path, setting: "url")
            guard !address.hasUser else { throw SettingsFault("url holds a user or a password") }
            guard !address.hasFragment else { throw SettingsFault("url has a part after '#', which is never sent") }
            addresses.append(address)
        }
        if let url = setup.settings.get("url", as: String.self), try !Address(url, setting: "url").query.isEmpty {
            throw SettingsFault("url has a query; write only the scheme, the host and a path")
        }
        let common = try ClientSettings(setup.settings, isSecure: addresses.contains { $0.isSecure })
        guard about.compressions.contains(common.compression) else {
            throw SettingsFault("compression: \(about.name) does not take \(common.compression.rawValue)")
        }
        let targets = zip(endpoints, addresses).enumerated().map { index, place in
            let (endpoint, address) = place
            var headers = [Header("User-Agent", "switchyard/\(about.version)"), Header("Accept", "*/*")]
            if !endpoint.contentType.isEmpty { headers.append(Header("Content-Type", endpoint.contentType)) }
            // A header that the vendor or the user sets takes the place of the kit's.
            headers.removeAll { own in endpoint.headers.contains { $0.isNamed(own.name) } }
            // The body of a probe, which is the last one, is never compressed.
            if common.compression != .none, endpoint.takesCompression, index < setup.endpoints.count {
                headers.append(Header("Content-Encoding", common.compression.rawValue))
            }
            var target = Target(endpoint.method, address, headers: headers + endpoint.headers)
            target.remedies.redirect = "correct url"
            target.remedies.credentials = setup.credentialsRemedy
            target.remedies.notFound = "correct url"
            target.keptHeaders = endpoint.keptHeaders
            // A vendor names refused events one by one, so its answers may be long.
            target.longestAnswer = 2 << 20
            target.keptOfBody = 2 << 20
            return target
        }
        return (ClientRules(common, targets: targets, secrets: Secrets(setup.secrets)), common.compression)
    }
}
