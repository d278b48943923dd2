// A vendor's provider with a server that a test scripts: events in, requests and outcomes out.

@_exported public import HTTPSupport
internal import PluginKit
public import VendorKit

public final class Exchange: Sendable {
    public let server: Server
    public let instance: Instance

    /// Starts a server, and makes an instance that posts to it. `settings` are members of an object, without its braces.
    public init<V: Vendor>(
        _ vendor: V.Type, _ settings: String, _ answer: @escaping @Sendable (Request, Server.Connection) -> Void
    ) throws {
        server = Server.answering(answer)
        instance = try Exchange.instance(vendor, settings, url: server.url)
    }

    /// Starts a server that always answers the same.
    public convenience init<V: Vendor>(
        _ vendor: V.Type, _ settings: String, status: String = "200 OK", body: String = "{}", headers: String = ""
    ) throws {
        try self.init(vendor, settings) { _, connection in connection.answer(status, body, headers: headers) }
    }

    /// Makes an instance. By default its time limits are long, since under a sanitizer an answer can take very long.
    public static func instance<V: Vendor>(
        _ vendor: V.Type, _ settings: String, url: String, milliseconds: Int = 600_000
    ) throws -> Instance {
        let timeout = "{\"connect\":600000,\"total\":\(milliseconds)}"
        return try Instance(
            of: export(VendorProvider<V>.self),
            "{\"url\":\"\(url)\",\"timeout\":\(timeout)\(settings.isEmpty ? "" : ",")\(settings)}")
    }

    public func deliver(_ events: [String], arrivals: [Int64]? = nil) -> Ending { instance.deliver(events, arrivals: arrivals) }

    /// Asks a server that answers like this whether it accepts the settings. Returns the answer and the request. `settings` are members of
    /// an object, without its braces.
    public static func probe<V: Vendor>(
        _ vendor: V.Type, _ settings: String, status: String, body: String = "{}"
    ) throws -> (answer: Instance.Probed, request: Request) {
        let exchange = try Exchange(vendor, settings, status: status, body: body)
        defer { exchange.close() }
        guard let answer = exchange.instance.probe() else { throw SettingsFault("the vendor cannot be asked") }
        return (answer, exchange.server.requests.first ?? Request(line: "none", headers: [:], body: []))
    }

    /// Delivers events as the router does, and returns the last outcome of each: it halves what is refused together, and sends again what
    /// waits. It gives up after some deliveries.
    public func settle(_ events: [String]) -> [String] {
        var outcomes = events.map { _ in "" }
        var batches = [Array(events.indices)]
        for _ in 0..<40 {
            guard let batch = batches.popLast() else { break }
            let ending = deliver(batch.map { events[$0] })
            var again: [Int] = []
            var rest: [Int] = []
            for (place, event) in batch.enumerated() {
                outcomes[event] = ending.outcome(of: place)
                if ending.events[place] == nil {
                    rest.append(event)
                } else if outcomes[event] == "retry" || outcomes[event] == "unknown" {
                    again.append(event)
                }
            }
            if ending.name == "rejected", rest.count > 1 {
                batches += [Array(rest[..<(rest.count / 2)]), Array(rest[(rest.count / 2)...])]
            } else if ending.name == "retry" || ending.name == "unknown" {
                again += rest
            }
            // An event that always waits must not keep those behind it from being sent.
            if !again.isEmpty { batches.insert(again.reversed(), at: 0) }
        }
        return outcomes
    }

    /// Ends the instance and the server.
    public func close() {
        instance.close()
        server.close()
    }
}
