// The faults with which every vendor is tried: what a server can do wrong, and the outcome that the events must have. A vendor's test runs
// each with events of its own.

public import HTTPSupport
public import VendorKit

public struct ServerFault: Sendable, CustomStringConvertible {
    public let description: String
    /// The outcomes that are right. A kernel may report a reset before or after the last byte was sent.
    public let outcomes: [String]
    let serve: @Sendable (Server, Server.Connection) -> Void

    public static let all: [ServerFault] = [
        answer("a busy server", "503 Busy", "retry"),
        answer("a server that limits requests", "429 Slow Down", "retry"),
        answer("a server that limits requests and names a time", "429 Slow Down", "retry", headers: "Retry-After: 7\r\n"),
        answer("a wrong key", "401 Unauthorized", "fault"),
        answer("a redirect", "302 Elsewhere", "fault", headers: "Location: http://127.0.0.1:1/\r\n"),
        answer("a wrong path", "404 Not Found", "fault"),
        ServerFault("a reset before the request is read", ["retry", "unknown"]) { _, connection in connection.reset() },
        ServerFault("a reset after the request is read", ["unknown"]) { _, connection in
            _ = connection.request()
            connection.reset()
        },
        ServerFault("a connection that ends without an answer", ["unknown"]) { _, connection in _ = connection.request() },
        ServerFault("garbage", ["unknown"]) { _, connection in
            _ = connection.request()
            connection.send("\u{0}\u{1}hello\r\n\r\n")
        },
        ServerFault("a truncated answer", ["unknown"]) { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"half\":")
        },
    ]

    private init(_ description: String, _ outcomes: [String], _ serve: @escaping @Sendable (Server, Server.Connection) -> Void) {
        self.description = description
        self.outcomes = outcomes
        self.serve = serve
    }

    private static func answer(_ about: String, _ status: String, _ outcome: String, headers: String = "") -> ServerFault {
        ServerFault(about, [outcome]) { _, connection in
            while connection.request() != nil { connection.answer(status, "{}", headers: headers) }
        }
    }

    /// Delivers the events to a server with this fault.
    public func play<V: Vendor>(_ vendor: V.Type, _ settings: String, _ events: [String]) throws -> Ending {
        let server = Server(serve)
        defer { server.close() }
        let instance = try Exchange.instance(vendor, settings, url: server.url)
        defer { instance.close() }
        return instance.deliver(events)
    }
}
