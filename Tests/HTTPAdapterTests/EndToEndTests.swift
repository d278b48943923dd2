import Foundation
import Glibc
import HTTPSupport
import TestSupport
import Testing

@Suite("http, end to end")
struct HTTPEndToEndTests {
    private static let executable: String = {
        // The built programs are in the folder of the test runner, or in a folder above it.
        var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let candidate = folder.appendingPathComponent("switchyard").path
            if FileManager.default.isExecutableFile(atPath: candidate), FileManager.default.fileExists(atPath: folder.path + "/libHTTP.so")
            {
                return candidate
            }
        }
        fatalError("there is no switchyard beside \(CommandLine.arguments[0])")
    }()

    /// Runs the router in the folder with this input. Returns its exit code and its standard error. The input ends when `whenFed` has
    /// returned.
    private func run(
        _ arguments: [String], in folder: TemporaryFolder, input: String, environment: [String: String] = [:],
        whenFed: (() -> Void)? = nil
    ) throws -> (code: Int32, errors: String) {
        folder.write("input", input)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.executable)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = ["STATE_DIRECTORY": folder.path("state"), "TOKEN": "tops3cret", "BROKEN": "a\r\nX: b"]
            .merging(environment) { $1 }
            // These are the variables that `make tsan`, `make asan` and `make mutants` set for the programs that the tests start.
            .merging(
                ProcessInfo.processInfo.environment.filter {
                    $0.key.hasSuffix("SAN_OPTIONS") || ["ASAN_SYMBOLIZER_PATH", "SWIFT_BACKTRACE", "SWITCHYARD_MUTANT"].contains($0.key)
                }
            ) { $1 }
        let feed = Pipe()
        process.standardInput = whenFed == nil ? FileHandle(forReadingAtPath: folder.path("input")) : feed
        process.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        if let whenFed {
            try feed.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            whenFed()
            try feed.fileHandleForWriting.close()
        }
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    private func routes(_ settings: String, _ more: String = "") -> String {
        #"{ \#(more)"providers": { "collector": { "plugin": "http", \#(settings) } }, "#
            + #""routes": [ { "name": "all", "to": ["collector"] } ] }"#
    }

    private let asTheyCame = #""message_id": { "add": false }, "#

    @Test("of 500 events only the one that the server refuses becomes a dead letter, with the answer")
    func poison() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("poison") ? "400 Bad Request" : "202 Accepted", "no \"poison\" here\nmore")
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        let settings = #""url": "\#(server.url)", "headers": { "Authorization": "Bearer ${env:TOKEN}" }"#
        folder.write("routes.json", routes(settings, asTheyCame))
        let events = (0..<500).map { $0 == 321 ? #"{"n":321,"poison":true}"# : "{\"n\":\($0)}" }
        let result = try run([], in: folder, input: events.map { $0 + "\n" }.joined())
        #expect(result.code == 69)
        #expect(result.errors.contains("provider collector: 500 taken: 499 delivered, 1 rejected"), "\(result.errors)")
        let letters = deadLetters(in: folder.path + "/state/dead-letters.sqlite")
        #expect(letters.count == 1)
        #expect(letters.first?.contains(#""reason":"rejected","attempts":1,"code":400,"#) == true)
        #expect(letters.first?.contains(#"answered 400: no \"poison\" here","#) == true)
        #expect(letters.first?.hasSuffix(#""event":{"n":321,"poison":true}}"#) == true)
        // Each of the other events arrived once, and every request has the credentials.
        let arrived = server.requests.filter { !$0.text.contains("poison") }.flatMap { $0.text.split(separator: "\n") }.map(String.init)
        #expect(arrived.sorted() == events.filter { !$0.contains("poison") }.sorted())
        #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer tops3cret" })
        #expect(!result.errors.contains("tops3cret") && letters.first?.contains("tops3cret") == false)
    }

    @Test("an event without an id gets one, and keeps it when it is sent again")
    func sameIDs() throws {
        let server = Server { server, connection in
            guard let request = connection.request() else { return }
            server.note(request)
            // The server has taken the events, but the router cannot know this.
            if connection.number <= 2 { connection.reset() } else { connection.answer("200 OK", headers: "Connection: close\r\n") }
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        folder.write("routes.json", routes(#""url": "\#(server.url)", "delivery": { "retry": { "first": "1ms" } }"#))
        let result = try run([], in: folder, input: "{\"n\":1}\n{\"messageId\":\"own\"}\n")
        #expect(result.code == 0, "\(result.errors)")
        let texts = server.requests.map(\.text)
        #expect(texts.count == 3 && Set(texts).count == 1)
        let lines = (texts.first ?? "").split(separator: "\n")
        try #require(lines.count == 2)
        #expect(lines[0].hasPrefix("{\"n\":1,\"messageId\":\"") && lines[1] == "{\"messageId\":\"own\"}")

        folder.write("routes.json", routes(#""url": "\#(server.url)""#, asTheyCame))
        #expect(try run([], in: folder, input: "{\"n\":1}\n").code == 0)
        #expect(server.requests.last?.text == "{\"n\":1}\n")
    }

    @Test("if a server stores events and always resets the connection, they count as unknown and never as undelivered")
    func resets() throws {
        let server = Server { server, connection in
            guard let request = connection.request() else { return }
            server.note(request)
            connection.reset()
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        // All events are in one batch, which is tried several times before the input ends.
        let delivery =
            #""delivery": { "batch": { "events": 10, "wait": "1h" }, "retry": { "first": "1ms", "most": "2ms" }, "breaker": 1000000 }"#
        folder.write("routes.json", routes(#""url": "\#(server.url)", \#(delivery)"#))
        let events = (0..<10).map { "{\"n\":\($0)}\n" }.joined()
        let result = try run(["--drain", "1ms"], in: folder, input: events) { server.wait(requests: 3) }
        #expect(result.code == 69)
        #expect(result.errors.contains("provider collector: 10 taken: 10 unknown"), "\(result.errors)")
        let letters = deadLetters(in: folder.path + "/state/dead-letters.sqlite")
        #expect(letters.count == 10 && letters.allSatisfy { $0.contains(#""reason":"unknown""#) })
    }

    /// Runs a server that answers each request after its head, and delivers one batch that is larger than the buffers of both systems.
    private func sendEarly(
        retry: String, _ arguments: [String] = [], untilRequests count: Int = 0
    ) throws -> (code: Int32, errors: [Substring], letters: [String]) {
        let server = Server(receiveBuffer: 2048) { server, connection in
            guard let head = connection.head() else { return }
            server.note(head)
            connection.answer("204 No Content")
            connection.stall()
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        let delivery =
            #""delivery": { "retry": { "first": "1ms", "most": "2ms", \#(retry) }, "queue": { "memory": "64MB" }, "#
            + #""batch": { "events": 20, "bytes": "32MB", "wait": "1h" } }"#
        folder.write("routes.json", routes(#""url": "\#(server.url)", \#(delivery)"#))
        // All of them are one request, which no buffer of the system holds: a request of one event could be sent whole before the answer is read.
        let pad = String(repeating: "x", count: 800_000)
        let input = (0..<20).map { "{\"n\":\($0),\"pad\":\"\(pad)\"}\n" }.joined()
        let result = try run(arguments, in: folder, input: input) { server.wait(requests: count) }
        return (result.code, result.errors.split(separator: "\n"), deadLetters(in: folder.path + "/state/dead-letters.sqlite"))
    }

    @Test("a server that always answers before the end of the body is reported once, however many requests it gets")
    func alwaysEarly() throws {
        let result = try sendEarly(retry: #""for": "1h""#, ["--drain", "1ms"], untilRequests: 5)
        #expect(result.code == 69)
        let named = result.errors.filter {
            $0.contains("answered 204 before it was sent the whole body") && $0.contains("its events wait")
        }
        #expect(named.count == 1, "\(result.errors)")
        #expect(result.letters.count == 20)
    }

    @Test("retry.for limits how long events are sent to a server that always answers before the end of the body")
    func boundedEarly() throws {
        let result = try sendEarly(retry: #""for": "50ms""#)
        #expect(result.code == 69)
        #expect(result.errors.contains { $0.hasPrefix("provider collector: 20 taken: 20 unknown") }, "\(result.errors)")
        #expect(
            result.errors.contains { $0.contains("20 events unknown: ") && $0.contains("answered 204 before it was sent the whole body") },
            "\(result.errors)")
        #expect(result.letters.count == 20)
    }

    @Test("with one event per request, only the refused event becomes a dead letter")
    func poisonAlone() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("poison") ? "422 No" : "204 No Content")
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        folder.write("routes.json", routes(#""url": "\#(server.url)", "body": "event""#))
        let events = (0..<500).map { $0 == 7 ? #"{"poison":true}"# : "{\"n\":\($0)}" }
        let result = try run([], in: folder, input: events.map { $0 + "\n" }.joined())
        #expect(result.errors.contains("500 taken: 499 delivered, 1 rejected"), "\(result.errors)")
        #expect(server.requests.count == 500)
        #expect(deadLetters(in: folder.path + "/state/dead-letters.sqlite").count == 1)
    }

    @Test("a server that is temporarily busy gets every event, and nothing is lost")
    func busy() throws {
        let server = Server.answering { request, connection in
            connection.answer(
                connection.number == 1 ? "503 Busy" : "200 OK", headers: connection.number == 1 ? "Connection: close\r\n" : "")
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        folder.write(
            "routes.json", routes(#""url": "\#(server.url)", "in_flight": 1, "delivery": { "retry": { "first": "1ms" } }"#))
        let result = try run([], in: folder, input: (0..<500).map { "{\"n\":\($0)}\n" }.joined())
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.errors.contains("answered 503"))
    }

    @Test("a line break from the environment is refused with its place, but without its value")
    func environment() throws {
        let folder = TemporaryFolder()
        folder.write("routes.json", routes(#""url": "http://127.0.0.1:1", "headers": { "X-Key": "${env:BROKEN}" }"#))
        let result = try run([], in: folder, input: "{}\n")
        #expect(result.code == 78)
        #expect(result.errors.contains("headers.X-Key: the value holds a line break"), "\(result.errors)")
        #expect(!result.errors.contains("X: b"))
    }

    @Test("the proxies and the .netrc of the environment are ignored")
    func noProxy() throws {
        let folder = TemporaryFolder()
        folder.write(".netrc", "machine 127.0.0.1 login someone password netrcsecret\n")
        chmod(folder.path(".netrc"), 0o600)
        let canary = Server.answering("200 OK")
        let server = Server.answering("200 OK")
        defer {
            server.close()
            canary.close()
        }
        folder.write("routes.json", routes(#""url": "\#(server.url)""#))
        var environment = ["HOME": folder.path]
        for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            environment[name] = "http://127.0.0.1:\(canary.port)"
        }
        #expect(try run([], in: folder, input: "{}\n", environment: environment).code == 0)
        #expect(canary.connections == 0)
        #expect(server.requests.count == 1 && server.requests.first?.headers["authorization"] == nil)
    }

    @Test("a configured proxy is used, and exceptions in the environment are ignored")
    func proxy() throws {
        let folder = TemporaryFolder()
        let server = Server.answering("200 OK")
        defer { server.close() }
        folder.write("routes.json", routes(#""url": "http://collector.invalid/in", "proxy": "\#(server.url)""#))
        let environment = ["no_proxy": "*", "NO_PROXY": "*"]
        #expect(try run([], in: folder, input: "{}\n", environment: environment).code == 0)
        #expect(server.requests.map(\.line) == ["POST http://collector.invalid/in HTTP/1.1"])
    }
}
