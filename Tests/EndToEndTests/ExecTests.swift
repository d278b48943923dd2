import Foundation
import Testing

@Suite("A router with an exec program", .timeLimit(.minutes(20)))
struct ExecTests {
    /// Returns a plan whose program is this shell script. In the script, `$say` holds the line that answers an event.
    private func routes(_ script: String, _ more: String = "") throws -> String {
        let text = "say='{\"outcome\":\"delivered\"}'; " + script
        let command = String(decoding: try JSONSerialization.data(withJSONObject: ["sh", "-c", text]), as: UTF8.self)
        return
            #"{"providers":{"out":{"plugin":"exec","command":\#(command)\#(more),"delivery":{"batch":{"wait":"1ms"}}}},"routes":[{"to":["out"]}]}"#
    }

    @Test("when the router is killed, the program and all its children end, whatever signals they ignore")
    func killed() throws {
        let script = """
            trap '' TERM INT HUP; exec 9>held; sleep 1000 & setsid sleep 1000 &
            while read line; do echo "$say"; done; while :; do sleep 1000; done
            """
        let router = try TestRouter(routes: routes(script))
        #expect(mkfifo(router.path("held"), 0o600) == 0)
        let run = try router.start()
        run.send("{}\n")
        // This opens once the program has opened the FIFO. The read ends when no process has the FIFO open.
        let held = try #require(FileHandle(forReadingAtPath: router.path("held")))
        run.signal(SIGKILL)
        #expect(try held.readToEnd() ?? Data() == Data())
        run.process.waitUntilExit()
    }

    @Test("after the end of the input, the router ends a program that does not end, with all its children")
    func ends() throws {
        let script = "exec 9>held; sleep 1000 & while read line; do echo \"$say\"; done; while :; do sleep 1000; done"
        let router = try TestRouter(routes: routes(script))
        #expect(mkfifo(router.path("held"), 0o600) == 0)
        let run = try router.start()
        run.send("{}\n")
        let held = try #require(FileHandle(forReadingAtPath: router.path("held")))
        let result = run.finish()
        #expect(result.code == 0)
        #expect(result.errors.contains("out: the program sh did not end within 4000 ms after the end of its input and got SIGTERM"))
        #expect(try held.readToEnd() ?? Data() == Data())
    }

    @Test("the standard error of the program becomes log lines of the router, in its format, escaped and without secrets")
    func errors() throws {
        let script = "while read line; do printf '\\033[2Jthe key is %s\\n' \"$KEY\" >&2; echo \"$say\"; done"
        let router = try TestRouter(routes: routes(script, #","environment":{"KEY":"${env:KEY}"}"#))
        let result = try router.run(["--log", "json"], environment: ["KEY": "hunter2hunter2"], input: "{}\n")
        #expect(result.code == 0 && result.text == "")
        let messages = try result.errorLines.map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])["message"]
        }
        #expect(messages == [#"out: \u{1B}[2Jthe key is (secret)"#])
    }

    @Test("a flood on the standard error of the program does not block it, and the router counts the lines it left out")
    func flood() throws {
        let router = try TestRouter(routes: routes("while read line; do yes complaint | head -n 200000 >&2; echo \"$say\"; done"))
        let result = try router.run(input: "{}\n")
        #expect(result.code == 0)
        #expect(result.errorLines.count < 10_000)
        #expect(result.errors.contains("lines of its standard error were left out"))
    }

    @Test("check does not start the program")
    func check() throws {
        let router = try TestRouter(routes: routes("echo started >begun"))
        #expect(try router.run(["check"]).code == 0)
        #expect(router.read("begun") == "")
        try router.write(
            #"{"providers":{"out":{"plugin":"exec","command":["no-such-program"]}},"routes":[{"to":["out"]}]}"#, to: "routes.json")
        let refused = try router.run(["check"])
        #expect(refused.code == 78)
        #expect(refused.errors.contains("the program no-such-program cannot be started: No such file or directory"))
    }
}
