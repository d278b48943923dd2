import Foundation
import Glibc
import TestSupport
import Testing

@Suite("http, end to end")
struct HTTPEndToEndTests {
    private static let executable: String = {
        // The test runner lies beside what was built with it.
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

    /// Runs the router in the folder on this input; its exit code, and what it said.
    private func run(_ arguments: [String], in folder: TemporaryFolder, input: String, environment: [String: String] = [:]) throws -> (
        code: Int32, errors: String
    ) {
        folder.write("input", input)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.executable)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = ["STATE_DIRECTORY": folder.path("state"), "TOKEN": "tops3cret", "BROKEN": "a\r\nX: b"]
            .merging(environment) { $1 }
            // What `make tsan` and `make asan` set for the programs that the tests start.
            .merging(
                ProcessInfo.processInfo.environment.filter {
                    $0.key.hasSuffix("SAN_OPTIONS") || ["ASAN_SYMBOLIZER_PATH", "SWIFT_BACKTRACE"].contains($0.key)
                }
            ) { $1 }
        process.standardInput = FileHandle(forReadingAtPath: folder.path("input"))
        process.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let text = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: text, as: UTF8.self))
    }

    private func routes(_ settings: String) -> String {
        #"{ "providers": { "collector": { "plugin": "http", \#(settings) } }, "routes": [ { "name": "all", "to": ["collector"] } ] }"#
    }

    @Test("of 500 events the one that the server refuses ends alone in the dead letters, with the answer")
    func poison() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("poison") ? "400 Bad Request" : "202 Accepted", "no \"poison\" here\nmore")
        }
        defer { server.close() }
        let folder = TemporaryFolder()
        folder.write("routes.json", routes(#""url": "\#(server.url)", "headers": { "Authorization": "Bearer ${env:TOKEN}" }"#))
        let events = (0..<500).map { $0 == 321 ? #"{"n":321,"poison":true}"# : "{\"n\":\($0)}" }
        let result = try run([], in: folder, input: events.map { $0 + "\n" }.joined())
        #expect(result.code == 69)
        #expect(result.errors.contains("provider collector: 500 taken: 499 delivered, 1 rejected"), "\(result.errors)")
        let letters = deadLetters(in: folder.path + "/state/dead-letters.sqlite")
        #expect(letters.count == 1)
        #expect(letters.first?.contains(#""reason":"rejected","attempts":1,"code":400,"#) == true)
        #expect(letters.first?.contains(#"answered 400: no \"poison\" here","#) == true)
        #expect(letters.first?.hasSuffix(#""event":{"n":321,"poison":true}}"#) == true)
        // Each of the others arrived once, and the credentials with it.
        let arrived = server.requests.filter { !$0.text.contains("poison") }.flatMap { $0.text.split(separator: "\n") }.map(String.init)
        #expect(arrived.sorted() == events.filter { !$0.contains("poison") }.sorted())
        #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer tops3cret" })
        #expect(!result.errors.contains("tops3cret") && letters.first?.contains("tops3cret") == false)
    }

    @Test("with one event a request the refused one ends alone in the dead letters at once")
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

    @Test("a server that is busy for a while gets every event, and nothing is lost")
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

    @Test("a line break that comes out of the environment is refused by its place, without its value")
    func environment() throws {
        let folder = TemporaryFolder()
        folder.write("routes.json", routes(#""url": "http://127.0.0.1:1", "headers": { "X-Key": "${env:BROKEN}" }"#))
        let result = try run([], in: folder, input: "{}\n")
        #expect(result.code == 78)
        #expect(result.errors.contains("headers.X-Key: the value holds a line break"), "\(result.errors)")
        #expect(!result.errors.contains("X: b"))
    }

    @Test("the proxies and the .netrc of the environment are not asked")
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

    @Test("a proxy that is configured is used, whatever exceptions the environment makes")
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
