import Foundation
import Testing

@Suite("A router with isolated modules", .timeLimit(.minutes(20)))
struct IsolationTests {
    private let routes = #"""
        {"providers":{"out":{"plugin":"console","isolate":true},
                      "kept":{"plugin":"file","path":"kept.ndjson","isolate":{"memory":"1GB"},"delivery":{"batch":{"wait":"1ms"}}}},
        "routes":[{"to":["out","kept"]}]}
        """#

    /// The processes that the router has started.
    private func children(of run: Run) -> [Int32] {
        let folder = "/proc/\(run.process.processIdentifier)/task"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).flatMap { thread in
            ((try? String(contentsOfFile: "\(folder)/\(thread)/children", encoding: .utf8)) ?? "").split(separator: " ").compactMap {
                Int32($0)
            }
        }
    }

    @Test("it delivers the same events as without isolation")
    func delivers() throws {
        let router = try TestRouter(routes: routes)
        let events = (0..<1000).map { "{\"n\":\($0)}" }
        let result = try router.run(input: events.joined(separator: "\n") + "\n")
        #expect(result.code == 0 && result.lines == events && result.errors == "")
        #expect(router.lines("kept.ndjson") == events)
    }

    @Test("it continues after all module processes were killed, and loses nothing")
    func killed() throws {
        let router = try TestRouter(routes: routes)
        let run = try router.start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        let processes = children(of: run)
        #expect(processes.count == 2)
        for process in processes { kill(process, SIGKILL) }
        _ = run.waitForError("out: the process of the module console died of signal 9")
        let result = run.finish(feeding: Data("{\"n\":2}\n".utf8))
        #expect(result.code == 0)
        // Events that a process had written but not yet answered are sent again.
        #expect(result.lines.last == "{\"n\":2}")
        #expect(Set(router.lines("kept.ndjson")) == ["{\"n\":1}", "{\"n\":2}"])
    }

    @Test("when the router is killed, the module processes end too")
    func orphans() throws {
        let router = try TestRouter(routes: routes)
        let run = try router.start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        run.signal(SIGKILL)
        // The module processes hold the last copies of standard output, so it ends when they do.
        #expect(run.nextOutput() == "")
        run.process.waitUntilExit()
    }

    private func hanging(deadline: String) -> String {
        #"{"providers":{"out":{"plugin":"hostile","isolate":true,"delivery":{"deadline":"\#(deadline)","batch":{"wait":"1ms"}}}},"#
            + #""routes":[{"to":["out"]}]}"#
    }

    @Test("the process of a module that hangs past its deadline is ended, and its events are sent again to another process")
    func hangs() throws {
        let router = try TestRouter(routes: hanging(deadline: "200ms"))
        try router.compile("hostile")
        let result = try router.run(["run", "--stats", "text"], environment: router.moduleFolder, input: "{\"do\":\"hang\"}\n")
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.errors.contains("out: the process of the module hostile gave no answer within 200ms and was ended"))
        #expect(result.errors.contains("provider out: 1 taken: 1 delivered"))
    }

    @Test("a reload applies another deadline to an isolated module")
    func changedDeadline() throws {
        let router = try TestRouter(routes: hanging(deadline: "1h"))
        try router.compile("hostile")
        let run = try router.startRouter(environment: router.moduleFolder)
        try router.write(hanging(deadline: "200ms"), to: "routes.json")
        #expect(try router.command("reload").text == "routes.json was loaded; changed: out\n")
        let result = run.finish(feeding: Data("{\"do\":\"hang\"}\n".utf8))
        #expect(result.code == 0, "\(result.errors)")
        #expect(result.errors.contains("out: the process of the module hostile gave no answer within 200ms and was ended"))
    }
}
