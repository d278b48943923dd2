// A router that listens and has few descriptors, and what it says about refused events and to systemd.

import Foundation
import Glibc
import TestSupport
import Testing

private let plan = #"""
    { "sources": { "http": { "plugin": "http", "listen": "127.0.0.1:0" } },
      "providers": { "out": { "plugin": "file", "path": "out.ndjson", "delivery": { "batch": { "wait": "1ms" }, "queue": { "disk": "10MB" } } } },
      "message_id": { "add": false }, "routes": [ { "to": ["out"] } ] }
    """#

@Suite("A router that listens with few descriptors")
struct ListeningLimitTests {
    @Test("keeps some for files and the control socket, ends idle connections, answers new clients and delivers")
    func crowd() throws {
        let router = try TestRouter(routes: plan)
        let post = try ListeningRouter(
            router, ["-c", "ulimit -Sn 64; ulimit -Hn 192; exec \"$0\" run --state state", Run.executable], executable: "/bin/sh")
        let idle = try (0..<60).map { _ in try post.connect() }
        defer { for one in idle { close(one) } }
        // The control socket and a file of a provider need descriptors while all that connections may have are taken.
        #expect(try router.command("status").code == 0)
        #expect(try post.send("{\"n\":1}").status == 200)
        waitUntil("the event is in the file") { router.lines("out.ndjson") == ["{\"n\":1}"] }
        #expect(try router.command("status").code == 0)
        let result = post.finish()
        #expect(result.code == 0 && result.errors.contains(" idle connections to make room for others"), "\(result.errors)")
        let said = (post.said + result.errors).split(separator: "\n").filter { $0.contains("connections at once, not 10000") }
        #expect(said.count == 1 && said[0].contains("the process may have 192 descriptors open"), "\(said)")
    }

    @Test("gives the same reason for a refused record in its answer and in its messages")
    func reasons() throws {
        let router = try TestRouter(routes: plan)
        let post = try ListeningRouter(router, ["run", "--rejects", "rejects"])
        let logs = try post.send(
            #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"d"},{"severityNumber":"x"},{"body":{"bytesValue":"?"}}]}]}]}"#,
            path: "/v1/logs", headers: ["Content-Type: application/json"])
        #expect(logs.status == 200 && logs.body.contains("log record 1: severityNumber must be an integer"), "\(logs.body)")
        let result = post.finish()
        #expect(result.errors.contains("http:2:1: severityNumber must be an integer"), "\(result.errors)")
        #expect(result.errors.contains("http:3:1: bytesValue must be a string in base64"), "\(result.errors)")
        #expect(router.lines("rejects").count == 2 && router.read("rejects").contains(#""reason":"severityNumber must be an integer""#))
    }

    @Test("pings systemd while it is healthy, after it has said that it is ready")
    func pings() throws {
        let router = try TestRouter(routes: plan)
        let receiver = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(receiver) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: router.path("notify").utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(receiver, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) } == 0
        }
        try #require(isBound)
        let post = try ListeningRouter(
            router, ["run"], environment: ["NOTIFY_SOCKET": router.path("notify"), "WATCHDOG_USEC": "4000"])
        var said: [String] = []
        var text = [UInt8](repeating: 0, count: 100)
        while said.count < 3 {
            let count = recv(receiver, &text, text.count, 0)
            try #require(count > 0)
            said.append(String(decoding: text[..<count], as: UTF8.self))
        }
        #expect(said == ["READY=1", "WATCHDOG=1", "WATCHDOG=1"])
        #expect(post.finish().code == 0)
    }

    @Test("refuses with ?strict=1 what it repairs otherwise, as standard input does")
    func strictness() throws {
        let router = try TestRouter(routes: plan)
        let post = try ListeningRouter(router, ["run"])
        for body in ["{\"a\":NaN}", "{\"a\":\"\u{1}\"}", "{\"a\":1,\n\"b\":\"x\ny\"}"] {
            #expect(try post.send(body).status == 200, "\(body)")
            #expect(try post.send(body, path: "/v1/events?strict=1").status == 400, "\(body)")
        }
        #expect(try post.send("{\"a\":1}", path: "/v1/events?strict=1").status == 200)
        let result = post.finish()
        #expect(result.code == 0 && router.lines("out.ndjson").count == 4)
    }
}
