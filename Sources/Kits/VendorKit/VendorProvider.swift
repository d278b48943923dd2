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
        if V.self is any ErasingVendor.Type {
            description.add([
                "erase_url": .text("another address of the vendor's API for erasures; that of url when left out, or else the vendor's own")
            ])
        }
        description.byHand = about.byHand
        (description.mapping, description.refuses, description.cuts) = (about.mapping, about.refuses, about.cuts)
        return description
    }

    private let client: HTTPClient
    private let mapper: Monitor<Mapper<V>>
    private let rules: ClientRules
    private let probing: VendorProbe
    let vendor: V
    let erasing: VendorErasing

    public convenience init(settings: Settings, host: Host) throws { try self.init(settings: settings, host: host, clock: .system) }

    /// `clock` takes the place of the system's clock in a test.
    public init(settings: Settings, host: Host, clock: Clock) throws {
        var setup = Setup(settings, host)
        let vendor = try V(&setup)
        let (rules, compression) = try VendorRules.make(setup, V.about)
        self.rules = rules
        self.vendor = vendor
        erasing = VendorErasing(
            try VendorRules.forErasures(setup, V.about), setup.erasureEndpoints, Secrets(setup.secrets), clock)
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
        let body: [UInt8]
        switch probing.body {
        case .bytes(let bytes): body = bytes
        case .sample(let event, let wrap):
            switch mapper.withLock({ $0.sample(event) }) {
            case .made(let text): body = Array(wrap(text).utf8)
            case .refused(let reason): return .failed("with these settings no sample can be made: \(reason)")
            }
        }
        // The target of the probe is behind those of the endpoints.
        return client.probe(rules.targets.count - 1, body, within: milliseconds) { [probing] in probing.judge($0) }
    }

    public func flush(_ completion: consuming Completion) { client.flush(completion) }

    public func close() {
        erasing.close()
        client.close()
    }
}

/// Makes the client's rules from the endpoints of a vendor.
enum VendorRules {
    static func make(_ setup: Setup, _ about: VendorDescription) throws(SettingsFault) -> (ClientRules, Compression) {
        // The target of the probe is behind those of the endpoints. Its body is never compressed.
        let endpoints = setup.endpoints + [setup.probing.endpoint]
        let addresses = try addresses(of: endpoints, setting: "url", setup)
        let common = try ClientSettings(setup.settings, isSecure: addresses.contains { $0.isSecure })
        guard about.compressions.contains(common.compression) else {
            throw SettingsFault("compression: \(about.name) does not take \(common.compression.rawValue)")
        }
        let targets = zip(endpoints, addresses).enumerated().map { index, place in
            let isCompressed = common.compression != .none && place.0.takesCompression && index < setup.endpoints.count
            return target(place.0, place.1, about, setup, setting: "url", compression: isCompressed ? common.compression : .none)
        }
        return (ClientRules(common, targets: targets, secrets: Secrets(setup.secrets)), common.compression)
    }

    /// Returns the rules for the requests of erasures, or nil if the vendor declares no endpoint for them.
    static func forErasures(_ setup: Setup, _ about: VendorDescription) throws(SettingsFault) -> ClientRules? {
        guard !setup.erasureEndpoints.isEmpty else { return nil }
        let addresses = try addresses(of: setup.erasureEndpoints, setting: "erase_url", setup)
        let common = try ClientSettings(setup.settings, isSecure: addresses.contains { $0.isSecure })
        let targets = zip(setup.erasureEndpoints, addresses).map {
            target($0, $1, about, setup, setting: "erase_url", compression: .none)
        }
        return ClientRules(common, targets: targets, secrets: Secrets(setup.secrets))
    }

    private static func addresses(of endpoints: [Endpoint], setting: String, _ setup: Setup) throws(SettingsFault) -> [Address] {
        var addresses: [Address] = []
        for endpoint in endpoints {
            let address = try Address(endpoint.base + endpoint.path, setting: setting)
            guard !address.hasUser else { throw SettingsFault("\(setting) holds a user or a password") }
            guard !address.hasFragment else { throw SettingsFault("\(setting) has a part after '#', which is never sent") }
            addresses.append(address)
        }
        if let url = setup.settings.get(setting, as: String.self), try !Address(url, setting: setting).query.isEmpty {
            throw SettingsFault("\(setting) has a query; write only the scheme, the host and a path")
        }
        return addresses
    }

    private static func target(
        _ endpoint: Endpoint, _ address: Address, _ about: VendorDescription, _ setup: Setup, setting: String, compression: Compression
    ) -> Target {
        var headers = [Header("User-Agent", "switchyard/\(about.version)"), Header("Accept", "*/*")]
        if !endpoint.contentType.isEmpty { headers.append(Header("Content-Type", endpoint.contentType)) }
        // A header that the vendor or the user sets takes the place of the kit's.
        headers.removeAll { own in endpoint.headers.contains { $0.isNamed(own.name) } }
        if compression != .none { headers.append(Header("Content-Encoding", compression.rawValue)) }
        var target = Target(endpoint.method, address, headers: headers + endpoint.headers)
        target.remedies.redirect = "correct \(setting)"
        target.remedies.credentials = setup.credentialsRemedy
        target.remedies.notFound = "correct \(setting)"
        target.keptHeaders = endpoint.keptHeaders
        // A vendor names refused events one by one, so its answers may be long.
        target.longestAnswer = 2 << 20
        target.keptOfBody = 2 << 20
        return target
    }
}
