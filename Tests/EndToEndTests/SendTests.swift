// `switchyard send` against a server whose answers the test chooses.

import Foundation
import Glibc
import TestSupport
import Testing

@Suite("switchyard send")
struct SendTests {
    private func events(_ numbers: Range<Int>) -> [String] { numbers.map { "{\"n\":\($0)}" } }
    private func text(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }
    /// The names in the state folder.
    private func state(_ router: TestRouter) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: router.path("state"))) ?? []
    }

    @Test("it sends files, reports what it did, and leaves no file behind")
    func files() throws {
        let server = EventServer()
        defer { server.close() }
        let router = try TestRouter()
        try router.write(text(events(0..<3)), to: "a")
        try router.write(text(events(3..<5)), to: "b")
        let result = try router.run(["send", "a", "b", "--to", server.url])
        #expect(result.code == 0 && result.text == "" && server.taken == events(0..<5))
        #expect(result.errorLines.count == 1 && result.errors.hasPrefix("switchyard: sent 5 events (40 B) to \(server.url) in "))
        #expect(state(router) == [])
    }

    @Test("it sends standard input")
    func input() throws {
        let server = EventServer()
        defer { server.close() }
        let result = try TestRouter().run(["send", "--to", server.url, "--batch", "2"], input: text(events(0..<5)))
        #expect(result.code == 0 && server.taken == events(0..<5))
    }

    @Test("a rejected line is reported with its place, and the exit code is 65")
    func rejected() throws {
        let server = EventServer(rejects: { $0 == "no" ? "not JSON" : nil })
        defer { server.close() }
        let router = try TestRouter()
        try router.write("{\"n\":0}\nno\n", to: "a")
        let result = try router.run(["send", "a", "--to", server.url])
        #expect(result.code == 65 && result.errors.contains("switchyard: a:2: rejected: not JSON\n"))
        #expect(result.errors.contains("1 rejected"))
    }

    @Test("after a kill it continues where it stopped: no event is lost, and only events without an answer arrive twice")
    func killed() throws {
        let isGone = DispatchSemaphore(value: 0)
        let server = EventServer { number in
            switch number {
            case ..<3: .take
            case 3: .takeSilently
            // Requests that it sends again get no answer before it is killed.
            default:
                .takeAfter {
                    isGone.wait()
                    isGone.signal()
                }
            }
        }
        let router = try TestRouter()
        try router.write(text(events(0..<20)), to: "a")
        let run = try router.start(["send", "a", "--to", server.url, "--batch", "2"])
        server.wait(requests: 4)
        run.end(by: SIGKILL)
        #expect(server.taken == events(0..<8))
        #expect(state(router).count == 1)
        isGone.signal()
        server.close()

        let other = EventServer()
        defer { other.close() }
        // A checkpoint is valid only for its address.
        let checkpoint = try #require(state(router).first)
        let json = router.read("state/" + checkpoint)
        try router.write(json.replacingOccurrences(of: server.url, with: other.url), to: "checkpoint")
        let result = try router.run(["send", "a", "--to", other.url, "--batch", "2", "--resume", "checkpoint"])
        #expect(result.code == 0 && result.errors.contains("a: continuing after line "))
        let all = server.taken + other.taken
        #expect(Set(all) == Set(events(0..<20)))
        // At most two batches arrive twice: the one whose answer was lost, and its repetition before the kill.
        #expect(all.count <= 20 + 4)
    }

    @Test("after a fatal answer the next run continues, and after a complete run the next one begins at the start")
    func stopped() throws {
        let server = EventServer { $0 == 1 ? .answer("401 No", body: #"{"error":"the key is not valid"}"#) : .take }
        defer { server.close() }
        let router = try TestRouter()
        try router.write(text(events(0..<4)), to: "a")
        let words = ["send", "a", "--to", server.url, "--batch", "2"]
        let first = try router.run(words)
        #expect(first.code == 69 && first.errors.contains("\(server.url) refuses the key: 401, the key is not valid"))
        #expect(first.errors.contains("stopped, run it again to continue"))
        let second = try router.run(words)
        #expect(second.code == 0 && second.errors.contains("a: continuing after line 2; --anew begins at the start"))
        #expect(server.taken == events(0..<4))
        #expect(try router.run(words).code == 0)
        #expect(server.taken == events(0..<4) + events(0..<4))
    }

    @Test("with --resume a growing file is sent piece by piece, and an unfinished line waits for the next run")
    func grows() throws {
        let server = EventServer()
        defer { server.close() }
        let router = try TestRouter()
        let words = ["send", "a", "--to", server.url, "--resume", "checkpoint"]
        try router.write(text(events(0..<2)) + "{\"n\":", to: "a")
        let first = try router.run(words)
        #expect(first.code == 0 && first.errors.contains("a:3: this line is unfinished and is left for the next run"))
        try router.write(text(events(0..<4)), to: "a")
        #expect(try router.run(words).code == 0)
        #expect(try router.run(words).code == 0)
        #expect(server.taken == events(0..<4) && router.mode("checkpoint") == 0o600)
        #expect(try router.run(words + ["--anew"]).code == 0)
        #expect(server.taken.count == 8)
    }

    @Test("the key comes from a file or the environment, and is never shown")
    func key() throws {
        let server = EventServer { $0 == 1 ? .answer("403 No") : .take }
        defer { server.close() }
        let router = try TestRouter()
        try router.write("k3y-of-the-file\n", to: "key")
        chmod(router.path("key"), 0o644)
        let first = try router.run(["send", "--to", server.url, "--key-file", "key"], input: "{}\n")
        #expect(first.errors.contains("warning: key can be read by others: chmod 600 'key'"))
        let second = try router.run(["send", "--to", server.url], environment: ["SWITCHYARD_KEY": "k3y-of-the-environment"], input: "{}\n")
        #expect(second.code == 69)
        let heads = server.requests.map(\.head)
        #expect(heads[0].contains("Authorization: Bearer k3y-of-the-file\r\n") || heads[0].hasSuffix("Bearer k3y-of-the-file"))
        #expect(heads[1].contains("Bearer k3y-of-the-environment"))
        #expect(!(first.errors + second.errors).contains("k3y"))
        let broken = try router.run(["send", "--to", server.url], environment: ["SWITCHYARD_KEY": "two\nlines"])
        #expect(broken.code == 69 && broken.errors == "switchyard: SWITCHYARD_KEY: expected a key of plain characters in one line\n")
    }

    @Test("it gives up after --retry, and says where it stopped")
    func givesUp() throws {
        let server = EventServer()
        server.close()
        let result = try TestRouter().run(["send", "--to", server.url, "--retry", "0"], input: "{}\n")
        #expect(result.code == 69)
        #expect(result.errors.contains("\(server.url) cannot be reached: Connection refused; given up after 1 attempt\n"))
    }

    @Test(
        "wrong usage is refused with a message",
        arguments: [
            (["--to", "x"], Int32(64), "--to must be http://HOST[:PORT], https://HOST[:PORT] or unix:/PATH, is 'x'"),
            (["--batch", "0"], 64, "--batch must be a number from 1 to 100000, is '0'"),
            (["--resume", "x"], 64, "--resume needs files: a pipe cannot be read a second time"),
            (["nowhere"], 69, "nowhere: cannot be opened: No such file or directory"),
            (["/"], 69, "/: is a folder, expected a file"),
        ])
    func wrong(words: [String], code: Int32, message: String) throws {
        let result = try TestRouter().run(["send"] + words)
        #expect(result.code == code && result.errors == "switchyard: \(message)\n")
    }

    @Test("a router accepts events at its Unix socket and reports the line that is not an event")
    func router() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.start(["run", "--http", "unix:\(router.path("s"))"])
        _ = run.waitForError("listening at")
        try router.write("{\"n\":0}\n\nno\n{\"n\":1}\n", to: "a")
        let result = try router.run(
            ["send", "a", "--to", "unix:\(router.path("s"))"], environment: ["STATE_DIRECTORY": router.path("other")])
        #expect(result.code == 65 && result.errors.contains("switchyard: a:3: rejected: "), "\(result.errors)")
        #expect(run.outputLines(2) == events(0..<2))
        run.signal(SIGTERM)
        #expect(run.finish().code == 0)
    }

    @Test("the program does not link libcurl")
    func lean() throws {
        let maps = try TestRouter().run(["--version"], environment: ["LD_TRACE_LOADED_OBJECTS": "1"])
        #expect(maps.text.contains("libjansson") && !maps.text.contains("libcurl"))
    }
}
