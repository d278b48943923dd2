// Health, metrics and messages of a router that runs as a service.

import Foundation
import Glibc
import TestSupport
import Testing

private let plan = #"""
    { "admin": { "listen": "127.0.0.1:0" },
      "providers": { "out": { "plugin": "console", "format": "ndjson" }, "a \"b\"\\c": { "plugin": "noop" } },
      "routes": [ { "name": "all", "to": ["out", "a \"b\"\\c"] }, { "name": "none", "events": ["x"], "to": ["out"] } ] }
    """#

@Suite("Monitoring a router")
struct AdminTests {
    /// Sends a request over the control socket.
    private func ask(_ router: TestRouter, _ path: String) throws -> (status: Int, body: String) {
        try ask(router.path("state/control.sock"), path)
    }

    /// Sends a request to a local port or to a Unix socket. It promises a body of `promised` bytes and sends `sent` of them. An empty host is
    /// left out.
    private func ask(
        _ place: String, _ path: String, host: String = "127.0.0.1", promised: Int = 0, sent: Int = 0
    ) throws -> (status: Int, body: String) {
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = ["python3", "-c", asking, place, path, host, "\(promised)", "\(sent)"]
        let pipe = Pipe()
        python.standardOutput = pipe
        try python.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        python.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        return (Int(text.prefix(3)) ?? 0, String(text.dropFirst(4)))
    }

    @Test("the metrics match the documentation and the text format of Prometheus")
    func metrics() throws {
        let router = try TestRouter(routes: plan)
        let run = try router.startRouter()
        run.send("{\"n\":1}\nbad\n{\"n\":2}\n")
        _ = run.outputLines(2)
        waitUntil("both are accounted for") {
            try! ask(router, "/metrics").body.contains("switchyard_lane_settled_total{provider=\"out\",fate=\"delivered\"} 2\n")
        }
        let text = try ask(router, "/metrics").body
        let families = try Exposition(text).families
        let documented = try String(contentsOfFile: Project.root + "/docs/operating.md", encoding: .utf8)
        for name in families.keys { #expect(documented.contains("`\(name)`"), "\(name) is not in docs/operating.md") }
        let lines = text.split(separator: "\n")
        #expect(lines.contains(#"switchyard_source_events_total{source="stdin"} 2"#))
        #expect(lines.contains(#"switchyard_source_rejected_total{source="stdin"} 1"#))
        #expect(lines.contains(#"switchyard_route_events_total{route="none",verdict="filtered_events"} 2"#))
        #expect(lines.contains(#"switchyard_lane_taken_total{provider="a \"b\"\\c"} 2"#))
        #expect(lines.contains(#"switchyard_lane_delivery_age_seconds_count{provider="out"} 2"#))
        #expect(lines.contains(#"switchyard_lane_delivery_age_seconds_bucket{provider="out",le="30"} 2"#))
        #expect(run.finish().code == 0)
    }

    @Test("the control socket answers health and readiness, and lists its paths")
    func health() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.startRouter()
        #expect(try ask(router, "/healthz") == (200, "ok\n"))
        #expect(try ask(router, "/readyz") == (200, "ok\n"))
        let missing = try ask(router, "/nothing")
        #expect(missing.status == 404 && missing.body.contains("GET /metrics") && missing.body.contains("POST /reload"))
        #expect(run.finish().code == 0)
    }

    @Test("a router is healthy but not ready while a lane is full")
    func full() throws {
        let router = try TestRouter(
            routes: #"""
                { "providers": { "out": { "plugin": "http", "url": "http://127.0.0.1:9",
                  "delivery": { "queue": { "memory": "1KB" }, "batch": { "bytes": "1KB" }, "retry": { "first": "1m" } } } },
                  "routes": [ { "to": ["out"] } ] }
                """#)
        let run = try router.startRouter()
        run.send(String(repeating: "{\"pad\":\"\(String(repeating: "x", count: 900))\"}\n", count: 500))
        waitUntil("the lane is full") { try! ask(router, "/readyz").status == 503 }
        #expect(try ask(router, "/readyz").body == "lane out is full\n")
        #expect(try ask(router, "/healthz").status == 200)
        run.end(by: SIGTERM)
    }

    @Test("the admin address answers, but accepts no commands")
    func address() throws {
        let router = try TestRouter(routes: plan)
        let run = try router.start()
        let said = run.waitForError("admin: listening at 127.0.0.1:")
        let port = said.components(separatedBy: "127.0.0.1:").last!.prefix { $0.isNumber }
        func get(_ path: String) throws -> (status: Int, body: String) { try ask(String(port), path) }
        #expect(try get("/healthz") == (200, "ok\n"))
        #expect(try get("/metrics").body.contains("switchyard_info"))
        #expect(try get("/reload").status == 404)
        #expect(try get("/consent/stats").status == 404)
        #expect(run.finish().code == 0)
    }

    @Test("the admin address answers probes and scrapers, and under no name that a foreign site could have given it")
    func names() throws {
        let router = try TestRouter(
            routes: plan.replacingOccurrences(of: "0\" }", with: "0\", \"origins\": [\"https://router.example\"] }"))
        let run = try router.start()
        let said = run.waitForError("admin: listening at 127.0.0.1:")
        let port = String(said.components(separatedBy: "127.0.0.1:").last!.prefix { $0.isNumber })
        for host in ["127.0.0.1:\(port)", "localhost:\(port)", "localhost:8080", "10.0.0.7", "[::1]:\(port)", "router.example", ""] {
            for path in ["/healthz", "/readyz", "/metrics", "/status"] {
                #expect(try ask(port, path, host: host).status == 200, "\(host) \(path)")
            }
        }
        for path in ["/healthz", "/readyz", "/metrics", "/status", "/page/", "/nothing"] {
            let answer = try ask(port, path, host: "evil.example:\(port)")
            #expect(answer.status == 403 && answer.body.contains("origins"), "\(path)")
        }
        // The socket has no name that a site could take.
        #expect(try ask(router.path("state/control.sock"), "/status", host: "evil.example").status == 200)
        #expect(run.finish().code == 0)
    }

    @Test("the admin address refuses a body by the head of its request, and the client gets the answer while it still sends")
    func bodies() throws {
        let router = try TestRouter(routes: plan)
        let run = try router.start()
        let said = run.waitForError("admin: listening at 127.0.0.1:")
        let port = String(said.components(separatedBy: "127.0.0.1:").last!.prefix { $0.isNumber })
        #expect(try ask(port, "/status", promised: 1 << 20).status == 413)
        #expect(try ask(port, "/status", promised: 1 << 20, sent: 1 << 20).status == 413)
        #expect(run.finish().code == 0)
    }

    @Test("messages can be JSON or logfmt, one per line")
    func messages() throws {
        let router = try TestRouter(routes: passThrough)
        let json = try router.run(["run", "--log", "json"], input: "bad \u{1}\"\n")
        for line in json.errorLines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String]
            #expect(object.map { Set($0.keys) } == ["time", "message"])
        }
        #expect(json.errorLines.count == 2 && json.errors.contains("stdin:1:1: "))
        let logfmt = try router.run(["run", "--log", "logfmt"], input: "bad\n")
        let first = try #require(logfmt.errorLines.first)
        #expect(first.hasPrefix("time=20") && first.contains(" message=\"stdin:1:1: "))
        try router.write("{}", to: "routes.json")
        let broken = try router.run(["run", "--log", "json"])
        #expect(broken.code == 78 && broken.errorLines.allSatisfy { $0.hasPrefix("{\"time\":") } && !broken.errors.isEmpty)
        #expect(try router.run(["run", "--log", "xml"]).code == 64)
    }
}

private let asking = """
    import http.client, socket, sys
    class Unix(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(sys.argv[1])
    place = sys.argv[1]
    connection = http.client.HTTPConnection("127.0.0.1", int(place)) if place.isdigit() else Unix("localhost")
    connection.putrequest("GET", sys.argv[2], skip_host=True)
    if sys.argv[3]: connection.putheader("Host", sys.argv[3])
    if sys.argv[4] != "0": connection.putheader("Content-Length", sys.argv[4])
    connection.endheaders()
    if sys.argv[5] != "0": connection.send(b"x" * int(sys.argv[5]))
    answer = connection.getresponse()
    print(answer.status, answer.read().decode(), end="")
    """

/// A strict parser of the text format of Prometheus.
private struct Exposition {
    struct Wrong: Error { var what: String }
    var families: [String: String] = [:]

    init(_ text: String) throws {
        var current = ""
        var seen: Set<String> = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if words[0] == "#" {
                if words[1] == "TYPE" {
                    guard families.updateValue(words[3], forKey: words[2]) == nil else { throw Wrong(what: "twice: \(line)") }
                    current = words[2]
                }
                continue
            }
            let sample = line.prefix(upTo: line.lastIndex(of: " ")!)
            let name = String(sample.prefix { $0 != "{" })
            let suffixes = families[current] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            guard suffixes.contains(where: { current + $0 == name }) else { throw Wrong(what: "outside its family: \(line)") }
            guard families[current] != "counter" || name.hasSuffix("_total") else { throw Wrong(what: "a counter: \(line)") }
            guard seen.insert(String(sample)).inserted else { throw Wrong(what: "twice: \(line)") }
            guard Double(line[line.lastIndex(of: " ")!...].dropFirst()) != nil else { throw Wrong(what: "no number: \(line)") }
        }
        guard text.hasSuffix("\n"), !families.isEmpty else { throw Wrong(what: "the end") }
    }
}
