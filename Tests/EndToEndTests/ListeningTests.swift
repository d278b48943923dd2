// A router that accepts events over HTTP: its answers, and whether the answers are true.

import Foundation
import Glibc
import Testing

/// A router that listens at a port that the system chooses.
final class ListeningRouter: Sendable {
    let run: Run
    let port: UInt16
    /// What the router said until it listened.
    let said: String

    init(
        _ router: TestRouter, _ arguments: [String] = [], environment: [String: String] = [:], executable: String = Run.executable
    ) throws {
        run = try router.start(arguments, environment: environment, executable: executable)
        said = run.waitForError("listening at 127.0.0.1:")
        let digits = said.components(separatedBy: "listening at 127.0.0.1:").last!.prefix { $0.isNumber }
        port = try #require(UInt16(digits), "\(said)")
    }

    /// Posts the body and returns the status and the body of the answer.
    func send(_ body: String, path: String = "/v1/events", headers: [String] = []) throws -> (status: Int, body: String) {
        let answer = try exchange(body, path, headers)
        let parts = answer.components(separatedBy: "\r\n\r\n")
        let status = parts[0].split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return (try #require(status, "\(answer)"), parts.dropFirst().joined(separator: "\r\n\r\n"))
    }

    /// Posts the body and returns the whole answer.
    func exchange(_ body: String, _ path: String = "/v1/events", _ headers: [String] = []) throws -> String {
        let socket = try connect()
        defer { close(socket) }
        let head = ["POST \(path) HTTP/1.1", "Host: localhost", "Connection: close", "Content-Length: \(body.utf8.count)"] + headers
        let request = Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        #expect(Glibc.send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let n = recv(socket, &chunk, chunk.count, 0)
            if n <= 0 { break }
            answer += chunk[..<n]
        }
        return String(decoding: answer, as: UTF8.self)
    }

    /// Opens a connection, which the caller closes.
    func connect() throws -> Int32 {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(status == 0)
        return socket
    }

    /// Ends the router with SIGTERM, as an operator does.
    func finish() -> Result {
        run.signal(SIGTERM)
        return run.finish()
    }
}

private func routes(_ provider: String, sources: String = #""http": { "plugin": "http", "listen": "127.0.0.1:0" }"#, more: String = "")
    -> String
{
    #"{ "sources": { \#(sources) }, "providers": { "out": { \#(provider) } }, "routes": [ { "to": ["out"] } ]\#(more) }"#
}

private let console = #""plugin": "console", "format": "ndjson", "delivery": { "batch": { "wait": "1ms" } }"#

@Suite("A router that listens")
struct ListeningTests {
    @Test("accepts the good events of a request, rejects only the bad one, and reports its position")
    func badEvent() throws {
        let router = try TestRouter(routes: routes(console))
        let post = try ListeningRouter(router)
        let answer = try post.send("{\"n\":1}\n{\"n\":}\n{\"n\":3}\n", path: "/v1/events?results=each")
        #expect(answer.status == 200)
        #expect(
            answer.body
                == #"{"accepted":2,"rejected":1,"results":[{"status":"accepted"},{"status":"rejected","error":"expected a value, found 0x7d '}', at byte 6"},{"status":"accepted"}]}"#
                + "\n")
        #expect(post.run.outputLines(2) == [#"{"n":1}"#, #"{"n":3}"#])
        let result = post.finish()
        #expect(result.code == 0)
        #expect(result.errors.contains("http:2:6: expected a value, found 0x7d '}'"))
    }

    @Test("listens with --http and the smallest configuration, and does not read standard input")
    func smallest() throws {
        let router = try TestRouter(routes: passThrough)
        let post = try ListeningRouter(router, ["run", "--http", "127.0.0.1:0"])
        #expect(try post.send("{\"n\":1}").status == 200)
        #expect(post.run.outputLines(1) == [#"{"n":1}"#])
        #expect(post.finish().code == 0)
    }

    @Test("refuses an invalid address of --http, and one that needs keys")
    func badAddress() throws {
        let router = try TestRouter(routes: passThrough)
        let wrong = try router.run(["run", "--http", "nowhere"])
        #expect(wrong.code == 64 && wrong.errors.contains("--http must be an address such as 127.0.0.1:8088"))
        let wide = try router.run(["run", "--http=0.0.0.0:80"])
        #expect(wide.code == 64 && wide.errors.contains("can be reached over the network"))
    }

    @Test("sends events of a key only to the routes of that key, as check and the account show")
    func boundKeys() throws {
        let router = try TestRouter(
            routes: #"""
                { "sources": { "http": { "plugin": "http", "listen": "127.0.0.1:0",
                    "keys": { "web": { "secret": "${env:WEB}", "routes": ["web"] }, "ops": { "secret": "${env:OPS}" } } } },
                  "providers": { "out": { \#(console) }, "log": { "plugin": "file", "path": "log.ndjson" } },
                  "routes": [ { "name": "web", "to": ["out"] }, { "name": "all", "to": ["log"] } ] }
                """#)
        let secrets = ["WEB": "web-secret-000001", "OPS": "ops-secret-000001"]
        let check = try router.run(["check"], environment: secrets)
        #expect(check.text.contains("keys web (to web), ops"), "\(check.text)")
        let post = try ListeningRouter(router, ["run", "--stats", "json"], environment: secrets)
        #expect(try post.send("{\"n\":1}", headers: ["Authorization: Bearer \(secrets["WEB"]!)"]).status == 200)
        #expect(try post.send("{\"n\":2}", headers: ["Authorization: Bearer \(secrets["OPS"]!)"]).status == 200)
        #expect(post.run.outputLines(2) == [#"{"n":1}"#, #"{"n":2}"#])
        let result = post.finish()
        #expect(router.lines("log.ndjson") == [#"{"n":2}"#])
        #expect(result.errors.contains(#""filtered_key":1"#), "\(result.errors)")
    }

    @Test("reads standard input as well if it is configured, and continues after its end")
    func both() throws {
        let router = try TestRouter(
            routes: routes(console, sources: #""http": { "plugin": "http", "listen": "127.0.0.1:0" }, "in": { "plugin": "stdin" }"#))
        let post = try ListeningRouter(router)
        post.run.send("{\"n\":1}\nbad\n")
        #expect(post.run.outputLines(1) == [#"{"n":1}"#])
        post.run.endInput()
        #expect(try post.send("{\"n\":2}").status == 200)
        #expect(post.run.outputLines(1) == [#"{"n":2}"#])
        let result = post.finish()
        #expect(result.code == 0)
        #expect(result.errors.contains("in:2:1: "))
    }

    @Test("stores events before it answers: they survive a kill, and the next run delivers them")
    func killed() throws {
        let router = try TestRouter(
            routes: routes(#""plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "10MB" } }"#))
        let post = try ListeningRouter(router)
        for number in 1...20 { #expect(try post.send("{\"messageId\":\"m\(number)\"}").status == 200) }
        post.run.signal(SIGKILL)
        post.run.process.waitUntilExit()
        try router.write(
            routes(console.replacingOccurrences(of: "\"delivery\": {", with: "\"delivery\": { \"queue\": { \"disk\": \"10MB\" },")),
            to: "routes.json")
        let next = try ListeningRouter(router)
        #expect(next.run.outputLines(20) == (1...20).map { "{\"messageId\":\"m\($0)\"}" })
        #expect(next.finish().code == 0)
    }

    @Test("tells clients in time to try again when a lane is full, and has taken none of their events")
    func overload() throws {
        let router = try TestRouter(
            routes: routes(
                #""plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "memory": "2KB" }, "batch": { "bytes": "1KB" }, "retry": { "first": "1m" } }"#
            ))
        let post = try ListeningRouter(router, ["run", "--workers", "1", "--stats", "json"])
        let event = "{\"pad\":\"" + String(repeating: "x", count: 900) + "\"}"
        for _ in 0..<2 { #expect(try post.send(event).status == 200) }
        // The provider never comes back, and every request is answered all the same.
        let body = String(repeating: event + "\n", count: 20)
        for _ in 0..<3 { #expect(try post.send(body).status == 429) }
        post.run.signal(SIGTERM)
        post.run.signal(SIGTERM)
        let account = post.run.finish().errorLines.first { $0.hasPrefix("{") } ?? ""
        #expect(account.contains("\"received\":2,"), "no event of a request that was answered with 429 counts: \(account)")
    }

    @Test("names an address that another process uses, and ends with 69")
    func taken() throws {
        let router = try TestRouter(routes: routes(console))
        let post = try ListeningRouter(router)
        let other = try TestRouter(routes: passThrough)
        let result = try other.run(["run", "--http", "127.0.0.1:\(post.port)"])
        #expect(result.code == 69)
        #expect(
            result.errors
                == "switchyard: http: cannot listen at 127.0.0.1:\(post.port): Address already in use; another process listens there\n"
        )
        #expect(post.finish().code == 0)
    }

    @Test("answers a duplicate once the first of the two is safe")
    func duplicates() throws {
        let router = try TestRouter(routes: routes(console, more: #", "message_id": { "deduplicate": {} }"#))
        let post = try ListeningRouter(router)
        #expect(try post.send("{\"messageId\":\"a\"}").body == "{\"accepted\":1,\"rejected\":0}\n")
        #expect(try post.send("{\"messageId\":\"a\"}").body == "{\"accepted\":1,\"rejected\":0}\n")
        #expect(try post.send("{\"messageId\":\"b\"}").status == 200)
        #expect(post.run.outputLines(2) == [#"{"messageId":"a"}"#, #"{"messageId":"b"}"#])
        #expect(post.finish().code == 0)
    }

    @Test("survives a lack of descriptors: open connections are served, and others once descriptors are free")
    func descriptors() throws {
        let router = try TestRouter(routes: routes(console))
        let post = try ListeningRouter(router)
        #expect(try post.send("{\"n\":1}").status == 200)
        let process = post.run.process.processIdentifier
        let highest = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").compactMap { Int($0) }.max() ?? 0
        let prlimit = try Process.run(
            URL(fileURLWithPath: "/usr/bin/prlimit"), arguments: ["--pid=\(process)", "--nofile=\(highest + 4)"])
        prlimit.waitUntilExit()
        try #require(prlimit.terminationStatus == 0)
        // There are more connections than descriptors, so most of them wait at the socket.
        let connections = try (0..<40).map { _ in try post.connect() }
        let request = Array("POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"n\":2}".utf8)
        #expect(Glibc.send(connections[0], request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
        var answer = [UInt8](repeating: 0, count: 12)
        #expect(recv(connections[0], &answer, 12, Int32(MSG_WAITALL)) == 12)
        #expect(String(decoding: answer, as: UTF8.self) == "HTTP/1.1 200")
        for connection in connections { close(connection) }
        #expect(try post.send("{\"n\":3}").status == 200)
        #expect(post.run.outputLines(3) == (1...3).map { "{\"n\":\($0)}" })
        #expect(post.finish().code == 0)
    }

    @Test("accepts and repairs the requests of vendor clients, and counts what it rejects")
    func dialects() throws {
        let router = try TestRouter(routes: routes(console))
        let post = try ListeningRouter(router, ["run", "--stats", "json"])
        let batch = try post.send(
            #"{"batch":[{"event":"a","receivedAt":"x","n":NaN},{"event":"b","n":},{"event":"c","context":1}],"context":{"l":2}}"#,
            path: "/v1/batch")
        #expect(batch.status == 200 && batch.body == #"{"success": true}"#)
        let logs = try post.send(
            #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"d"},{"eventName":1}]}]}]}"#, path: "/v1/logs",
            headers: ["Content-Type: application/json"])
        #expect(logs.status == 200 && logs.body.contains(#""rejectedLogRecords":"1","errorMessage":"log record 1: "#))
        let lines = post.run.outputLines(2)
        try #require(lines.count == 2)
        #expect(lines[0].hasPrefix(#"{"event":"a","receivedAt":"2"#) && lines[0].contains(#""n":"NaN""#))
        #expect(lines[1].hasPrefix(#"{"type":"track","event":"d""#))
        let result = post.finish()
        #expect(result.code == 0)
        let account = result.errorLines.first { $0.hasPrefix("{") } ?? ""
        #expect(account.contains(#""received":5,"valid":2,"rejected":3"#), "\(account)")
    }

    @Test("can be reloaded, also with the address from --http")
    func reloaded() throws {
        let router = try TestRouter(routes: passThrough)
        let post = try ListeningRouter(router, ["run", "--http", "127.0.0.1:0"])
        try router.write(
            #"{ "providers": { "out": { "plugin": "console", "format": "ndjson" } }, "routes": [ { "transform": [ { "set": { "v": 2 } } ], "to": ["out"] } ] }"#,
            to: "routes.json")
        #expect(try router.command("reload").code == 0)
        #expect(try post.send("{}").status == 200)
        #expect(post.run.outputLines(1) == [#"{"v":2}"#])
        #expect(post.finish().code == 0)
    }
}

/// Requests in flight, each on its own thread.
private final class Held: @unchecked Sendable {
    private let lock = NSCondition()
    private var results: [Int] = []

    func start(_ body: @escaping @Sendable () -> Int) {
        Thread.detachNewThread { [self] in
            let result = body()
            lock.withLock { results.append(result) }
            lock.broadcast()
        }
    }

    func wait(for count: Int) -> [Int] {
        lock.lock()
        defer { lock.unlock() }
        while results.count < count { lock.wait() }
        return results
    }
}
