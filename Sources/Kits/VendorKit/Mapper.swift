// Makes the requests of a batch: reads each event, lets the vendor map it, joins the wire events to bodies, and compresses them. Its memory
// is reused from one batch to the next.

internal import Events
internal import HTTPKit
package import PluginKit

package final class Mapper<V: Vendor> {
    private let vendor: V
    private let endpoints: [Endpoint]
    private let clock: Clock
    private let compressor: (any BodyCompressor)?
    private let secrets: Secrets
    private let reserved: [(member: Member, fault: String)]
    private var reader: EventReader
    private var wire: WireEvents
    private var plain = ByteBuffer()

    /// Makes the mapper of an instance, for tests and measurements of a vendor.
    package convenience init(settings: Settings, host: Host, clock: Clock) throws {
        var setup = Setup(settings, host)
        let vendor = try V(&setup)
        try self.init(vendor, setup, settings.get("compression") ?? .none, clock)
    }

    init(_ vendor: V, _ setup: Setup, _ compression: Compression, _ clock: Clock) throws(SettingsFault) {
        self.vendor = vendor
        self.clock = clock
        endpoints = setup.endpoints
        secrets = Secrets(setup.secrets)
        reserved = setup.reserved
        compressor = try compression.compressor()
        let shape = EventShape(setup.paths)
        reader = EventReader(shape)
        wire = WireEvents(shape, setup.endpoints)
    }

    /// Returns the requests, or nil if there is no memory for the compression.
    package func requests(_ lines: Lines, arrivals: UnsafeBufferPointer<Int64>) -> VendorRequests<V>? {
        map(lines, arrivals)
        let bodies = Bodies(wire, endpoints).bodies
        let requests = VendorRequests(vendor, events: lines.count, refused: wire.refused, secrets: secrets)
        if compressor == nil {
            plain.removeAll()
            for body in bodies {
                Bodies.write(body, of: wire, endpoints[body.endpoint.index].envelope, into: &plain)
                requests.add(body, of: wire, end: plain.count)
            }
            requests.own(plain.bytes)
            return requests
        }
        var packed: [UInt8] = []
        for body in bodies {
            plain.removeAll()
            Bodies.write(body, of: wire, endpoints[body.endpoint.index].envelope, into: &plain)
            if endpoints[body.endpoint.index].takesCompression {
                guard compressor?.append(plain.bytes, to: &packed) ?? false else { return nil }
            } else {
                packed.append(contentsOf: plain.bytes)
            }
            requests.add(body, of: wire, end: packed.count)
        }
        packed.withUnsafeBytes { requests.own($0) }
        return requests
    }

    /// Returns what the requests would be, for people: without compression, and without secrets.
    func preview(_ lines: Lines, arrivals: UnsafeBufferPointer<Int64>, _ rules: ClientRules) -> Preview {
        map(lines, arrivals, isPreview: true)
        var preview = Preview()
        for body in Bodies(wire, endpoints).bodies {
            plain.removeAll()
            Bodies.write(body, of: wire, endpoints[body.endpoint.index].envelope, into: &plain)
            let events = body.events.map { Int(wire.events[Int($0)].event) }
            preview.requests.append(rules.shown(target: body.endpoint.index, body: Array(plain.bytes), events: events))
        }
        preview.refused = wire.refused.map { (index: $0.event, reason: $0.reason) }
        preview.losses = wire.losses.map { (index: $0.event, what: $0.what) }
        return preview
    }

    enum SampleBody {
        case made(String)
        case refused(String)
    }

    /// Returns the first body of one event that arrives now.
    func sample(_ event: String) -> SampleBody {
        Batch.with([event], arrivals: [clock.wall()]) { batch in
            map(batch.lines, batch.arrivals)
            guard let body = Bodies(wire, endpoints).bodies.first else {
                return .refused(wire.refused.first?.reason ?? "it makes no request")
            }
            plain.removeAll()
            Bodies.write(body, of: wire, endpoints[body.endpoint.index].envelope, into: &plain)
            return .made(String(decoding: plain.bytes, as: UTF8.self))
        }
    }

    /// Maps every event of the batch into `wire`.
    private func map(_ lines: Lines, _ arrivals: UnsafeBufferPointer<Int64>, isPreview: Bool = false) {
        let now = clock.wall()
        wire.beginBatch(isPreview: isPreview)
        reader.begin(lines)
        for index in 0..<lines.count {
            wire.beginEvent(index)
            if let event = reader.event(index, arrival: arrivals[index], now: now) {
                if event.kind != .other { wire.take(event.type) }
                if let own = reserved.first(where: { event[$0.member] != nil }) {
                    wire.refuse(own.fault)
                } else {
                    vendor.map(event, to: &wire)
                }
            } else {
                wire.refuse("the event cannot be read: \(reader.fault)")
            }
            wire.endEvent()
        }
    }
}
