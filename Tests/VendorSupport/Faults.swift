// The faults with which every vendor is tried: what a server can do wrong, and the outcome that the events must have. VendorTests runs each
// of them with each vendor. The faults that concern only some events of a request need what the vendor answers then: see `Exchange.settle`.

public import HTTPSupport
public import VendorKit

public struct ServerFault: Sendable, CustomStringConvertible {
    public let description: String
    /// The outcomes that are right. A kernel may report a reset before or after the last byte was sent.
    public let outcomes: [String]
    /// The pause that the outcome must name, in milliseconds.
    public var pause: UInt64?
    /// The number of events that are delivered.
    public var events = 1
    /// True if the fault ends only when the client's time is up.
    private var isEndless = false
    private var receiveBuffer: Int32?
    private let serve: @Sendable (Server, Server.Connection) -> Void

    public static let all: [ServerFault] = [
        answer("a busy server", "503 Busy", "retry"),
        answer("a server that limits requests", "429 Slow Down", "retry"),
        answer("a server that limits requests and names a time", "429 Slow Down", "retry", headers: "Retry-After: 7\r\n")
            .with { $0.pause = 7000 },
        answer("a wrong key", "401 Unauthorized", "fault"),
        answer("a wrong path", "404 Not Found", "fault"),
        answer("a body that is too large", "413 Payload Too Large", "rejected"),
        ServerFault("a redirect, which must not be followed", ["fault"]) { server, connection in
            while let request = connection.request() {
                server.note(request)
                connection.answer("307 Elsewhere", headers: "Location: http://127.0.0.1:\(server.port)/canary\r\n")
            }
        },
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
        endless("an endless refusal", "503 Busy", ["retry"]),
        // The status says that the events were taken. A vendor may want to read the whole answer, and then cannot know.
        endless("an endless answer", "200 OK", ["delivered", "unknown"]),
        ServerFault("no answer", ["unknown"]) { _, connection in
            _ = connection.request()
            connection.linger()
        }.with { $0.isEndless = true },
        ServerFault("an answer that drips", ["unknown"]) { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while connection.linger(milliseconds: 20), connection.send(".") {}
        }.with { $0.isEndless = true },
        ServerFault("a server that reads slowly", ["delivered"]) { _, connection in
            while connection.request() != nil { connection.answer("200 OK", "{}") }
        }.with {
            $0.receiveBuffer = 2048
            $0.events = 200
        },
    ]

    private init(_ description: String, _ outcomes: [String], _ serve: @escaping @Sendable (Server, Server.Connection) -> Void) {
        self.description = description
        self.outcomes = outcomes
        self.serve = serve
    }

    private func with(_ change: (inout ServerFault) -> Void) -> ServerFault {
        var copy = self
        change(&copy)
        return copy
    }

    private static func answer(_ about: String, _ status: String, _ outcome: String, headers: String = "") -> ServerFault {
        ServerFault(about, [outcome]) { _, connection in
            while connection.request() != nil { connection.answer(status, "{}", headers: headers) }
        }
    }

    private static func endless(_ about: String, _ status: String, _ outcomes: [String]) -> ServerFault {
        ServerFault(about, outcomes) { _, connection in
            _ = connection.request()
            connection.send("HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\n\r\n")
            while connection.send("10000\r\n\(String(repeating: "y", count: 1 << 16))\r\n") {}
        }
    }

    /// Delivers events to a server with this fault. `event` makes each of them by its number. It throws if a redirect is followed.
    public func play<V: Vendor>(_ vendor: V.Type, _ settings: String, event: (Int) -> String) throws -> Ending {
        // If a busy machine does not even send a request in a short time, a longer one is tried.
        let times = isEndless ? [300, 3000, 30_000] : [600_000]
        for time in times {
            let server = Server(receiveBuffer: receiveBuffer, serve)
            defer { server.close() }
            let instance = try Exchange.instance(vendor, settings, url: server.url, milliseconds: time)
            defer { instance.close() }
            let ending = instance.deliver((0..<events).map(event))
            if server.requests.contains(where: { $0.line.contains("canary") }) { throw SettingsFault("a redirect was followed") }
            if outcomes.contains(ending.outcome(of: 0)) || time == times.last { return ending }
        }
        fatalError("the last time always returns")
    }
}
