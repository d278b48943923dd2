// Programs as sources, in the real executable: the boundary of sources from the module to the account.

import Foundation
import Glibc
import Testing

@Suite("A program as a source", .timeLimit(.minutes(20)))
struct ExecSourceTests {
    private func routes(_ script: String, _ more: String = "", root: String = "", queue: String = "") throws -> String {
        let command = String(decoding: try JSONSerialization.data(withJSONObject: ["sh", "-c", script]), as: UTF8.self)
        return """
            { "sources": { "feed": { "plugin": "exec", "command": \(command)\(more) } }\(root),
              "providers": { "out": { "plugin": "console", "format": "ndjson"\(queue) } },
              "routes": [ { "to": ["out"] } ] }
            """
    }

    @Test("its lines are events, and the router ends after it has ended with code 0")
    func finite() throws {
        let router = try TestRouter(routes: routes(#"echo '{"n":1}'; echo; echo '{"n":2}'; printf '{"n":3}'"#))
        let result = try router.run()
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.lines == ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"])
    }

    @Test("it reads how far its lines are safe, and blank lines count")
    func acknowledgements() throws {
        let script = #"echo '{"n":1}'; echo; echo '{"n":2}'; while read -r n; do echo "$n" >>safe; [ "$n" != 3 ] || exit 0; done"#
        let router = try TestRouter(routes: routes(script))
        let result = try router.run()
        #expect(result.code == 0 && result.lines == ["{\"n\":1}", "{\"n\":2}"], "\(result.errors)")
        #expect(router.lines("safe").last == "3")
    }

    @Test("an invalid line is reported and kept with its number, and harms no other line")
    func invalid() throws {
        let router = try TestRouter(routes: routes(#"echo '{"n":1}'; echo no; echo '{"n":2}'"#))
        let result = try router.run(["--rejects", "rejects"])
        #expect(result.lines == ["{\"n\":1}", "{\"n\":2}"])
        #expect(result.errors.contains("feed:2:1: "), "\(result.errors)")
        #expect(router.read("rejects").contains(#""source":"feed","line":2,"column":1,"number":2,"#), "\(router.read("rejects"))")
    }

    @Test("a program that fails is started again, and its standard error becomes log lines")
    func restarts() throws {
        let script = #"[ -e again ] && { echo '{"n":2}'; exit 0; }; touch again; echo '{"n":1}'; echo "it is $KEY" >&2; exit 3"#
        let router = try TestRouter(routes: routes(script, #", "environment": {"KEY": "${env:KEY}"}"#))
        let result = try router.run(environment: ["KEY": "hunter2hunter2"])
        #expect(result.code == 0 && result.lines == ["{\"n\":1}", "{\"n\":2}"], "\(result.errors)")
        #expect(result.errors.contains("feed: it is (secret)"))
        #expect(result.errors.contains("feed: connecting: the program sh ended with code 3; it is started again in 250 ms"))
    }

    @Test("SIGTERM ends the router and the program")
    func stops() throws {
        let script = #"echo '{"n":1}'; exec 9>held; while :; do sleep 1000; done"#
        let router = try TestRouter(routes: routes(script))
        #expect(mkfifo(router.path("held"), 0o600) == 0)
        let run = try router.start()
        let held = try #require(FileHandle(forReadingAtPath: router.path("held")))
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        run.signal(SIGTERM)
        let result = run.finish()
        #expect(result.code == 0, "\(result.errors)")
        // The read ends when no process has the FIFO open.
        #expect(try held.readToEnd() ?? Data() == Data())
    }

    @Test("check shows it without starting it, and refuses what a source cannot have")
    func check() throws {
        let router = try TestRouter(routes: routes("echo started >begun", #", "in_flight": "1MB""#))
        let good = try router.run(["check"])
        #expect(good.code == 0 && router.read("begun") == "")
        #expect(good.text.contains("feed: exec from "), "\(good.text)")
        #expect(good.text.contains("it pauses while 1,000,000 bytes of its events have not come to their end"), "\(good.text)")
        try router.write(routes("true", #", "isolate": true"#), to: "routes.json")
        #expect(try router.run(["check"]).errors.contains("a source cannot be isolated"))
        try router.write(routes("true", #", "tiemout": "1s""#), to: "routes.json")
        #expect(try router.run(["check"]).errors.contains("tiemout"))
        try router.write(routes("true").replacing("\"exec\"", with: "\"noop\""), to: "routes.json")
        #expect(try router.run(["check"]).errors.contains("the module 'noop' is a provider, and offers no source"))
        try router.write(routes("true").replacing("\"exec\"", with: "\"exce\""), to: "routes.json")
        #expect(try router.run(["check"]).errors.contains("unknown plugin 'exce', did you mean 'exec'?"))
        try router.write(routes("true").replacing("\"sh\"", with: "\"no-such-program\""), to: "routes.json")
        let missing = try router.run(["check"])
        #expect(missing.code == 78)
        #expect(missing.errors.contains("sources.feed: the program no-such-program cannot be started"), "\(missing.errors)")
    }

    @Test("its events cannot grant consent without the right to write the ledger")
    func consent() throws {
        let granting = #"echo '{"type":"consent","userId":"u1","consent":{"level":"all"}}'; echo '{"userId":"u1","event":"a"}'"#
        let section = #", "consent": { "levels": { "none": [], "all": ["analytics"] }, "default": "all", "ledger": "ids" }"#
        func events(_ right: String) throws -> [String] {
            let keys = #", "keys": { "k": "0123456789abcdef" }"#
            let router = try TestRouter(routes: routes(granting, right, root: section.replacing("\"ids\"", with: "\"k\"") + keys))
            let result = try router.run()
            return result.lines.filter { $0.contains("\"event\":\"a\"") }
        }
        #expect(try events("") == [])
        #expect(try events(#", "consent": "write""#).count == 1)
    }
}
