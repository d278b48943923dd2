// Modules that call exit() in the router's own process, and files that cannot be loaded as modules.

import Foundation
import Glibc
import TestSupport
import Testing

/// A router whose module folder contains the module exits.c.
private struct ExitsRouter {
    let router: TestRouter
    init(_ where: String, _ bad: String = "", queue: String = "") throws {
        router = try TestRouter(routes: ExitsRouter.routes(`where`, bad, queue: queue))
        try build()
    }

    /// Returns the plan. `bad` adds members to the provider that calls exit(), and `queue` adds members to its delivery.
    static func routes(_ where: String, _ bad: String = "", queue: String = "") -> String {
        let (quick, own) = (#""delivery":{"batch":{"wait":"1ms"}}"#, #""delivery":{"batch":{"wait":"1ms"}\#(queue)}"#)
        return
            #"{"providers":{"bad":{"plugin":"exits","where":"\#(`where`)"\#(bad),\#(own)},"kept":{"plugin":"file","path":"kept.ndjson",\#(quick)}},"#
            + #""routes":[{"to":["bad","kept"]}]}"#
    }

    var file: String { router.path("modules/exits.so") }

    func build(_ options: String...) throws { try router.compile("exits", options) }

    var environment: [String: String] { router.moduleFolder }

    func run(_ arguments: [String] = [], input: String = "") throws -> Result {
        try router.run(arguments, environment: environment, input: input)
    }

    /// Shortens the file, as an interrupted copy does.
    func cut(_ count: Int) throws {
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        try whole.prefix(count).write(to: URL(fileURLWithPath: file))
    }
}

@Suite("A module that calls exit", .timeLimit(.minutes(20)))
struct ModuleExitTests {
    private let events = (1...6).map { "{\"n\":\($0),\"do\":\"exit\"}" }
    private var input: String { events.joined(separator: "\n") + "\n" }

    @Test(
        "exit() in a delivery ends the router with 69: only its lane stops, the account is printed, and the module is not called again",
        arguments: [
            ("deliver", "in deliver"), ("quick", "in deliver"), ("thread", "on a thread of its own"), ("threads", "on a thread of its own"),
            ("flush", "in flush"),
        ])
    func delivery(where: String, place: String) throws {
        let exits = try ExitsRouter(`where`)
        let result = try exits.run(["run", "--stats", "text"], input: input)
        #expect(result.code == 69, "\(result.errors)")
        #expect(exits.router.lines("kept.ndjson") == events)
        #expect(result.errors.contains("switchyard: bad: the module \(exits.file) called exit(0) \(place)") || `where`.hasPrefix("thread"))
        #expect(
            result.errors.contains(
                "the module \(exits.file) called exit(0) \(place) and is not called again; the router ends, with code 69")
        )
        #expect(result.errors.contains("bad: the module called exit(0) \(place); "))
        #expect(result.errors.contains("received"), "the account: \(result.errors)")
        #expect(!result.errors.contains("the module's"), "\(result.errors)")
        if `where` != "flush" { #expect(exits.router.deadLetters.count == 6) }
    }

    @Test("a call of exit() by the C library is caught too, and its events are counted")
    func errx() throws {
        let exits = try ExitsRouter("errx")
        let result = try exits.run(input: input)
        #expect(result.code == 69 && exits.router.lines("kept.ndjson") == events && exits.router.deadLetters.count == 6, "\(result.errors)")
    }

    @Test("exit() in destroy ends the router with 69 after everything was delivered")
    func destroy() throws {
        let exits = try ExitsRouter("destroy")
        let result = try exits.run(["run", "--drain", "600s"], input: input)
        #expect(result.code == 69 && exits.router.lines("kept.ndjson") == events && exits.router.deadLetters.isEmpty, "\(result.errors)")
        #expect(result.errors.contains("bad: the module \(exits.file) called exit(0) in destroy"))
    }

    @Test("check and run refuse exit() in create like bad settings, with the place in the file")
    func create() throws {
        let exits = try ExitsRouter("create")
        for command in [["check"], ["run"]] {
            let result = try exits.run(command, input: input)
            #expect(result.code == 78 && result.output.isEmpty)
            #expect(
                result.errors.contains(
                    "the module exits (\(exits.file)) called exit(0) in create; a module refuses settings by returning NULL"),
                "\(result.errors)")
            #expect(result.errors.hasPrefix("routes.json:1:"), "\(result.errors)")
        }
    }

    @Test("exit() in a replay ends it with 69, and the letters stay for the next one")
    func replay() throws {
        let exits = try ExitsRouter("deliver")
        #expect(try exits.run(input: input).code == 69)
        let replay = try exits.run(["replay", "--state", exits.router.path("state")])
        #expect(replay.code == 69 && replay.errors.contains("bad: the module \(exits.file) called exit(0) in deliver"), "\(replay.errors)")
        #expect(exits.router.deadLetters.count == 6)
        try exits.router.replace("routes.json", with: ExitsRouter.routes("none"))
        let again = try exits.run(["replay", "--state", exits.router.path("state")])
        #expect(again.code == 0 && exits.router.deadLetters.isEmpty, "\(again.errors)")
    }

    @Test("after exit(), events on disk wait for the next run")
    func durable() throws {
        let disk = #","queue":{"disk":"1MB"}"#
        let exits = try ExitsRouter("thread", queue: disk)
        #expect(try exits.run(input: input).code == 69)
        #expect(exits.router.deadLetters.isEmpty)
        try exits.router.replace("routes.json", with: ExitsRouter.routes("none", queue: disk))
        let next = try exits.run(["run", "--stats", "text"])
        #expect(next.code == 0 && next.errors.contains("6 resumed: 6 delivered"), "\(next.errors)")
    }

    @Test("exit() at the end of the process does not change the exit code of the router")
    func late() throws {
        let exits = try ExitsRouter("late")
        #expect(try exits.run(input: input).code == 0)
        #expect(try exits.run(["run", "--strict"], input: input + "no JSON\n").code == 65)
    }

    @Test(
        "exit() in a process that the module has forked does not affect the router",
        .disabled(if: isSanitized, "the leak sanitizer reports the memory of threads that a forked process does not have"))
    func fork() throws {
        let exits = try ExitsRouter("fork")
        let result = try exits.run(input: input)
        #expect(result.code == 0 && exits.router.deadLetters.isEmpty, "\(result.errors)")
    }

    @Test("exit() in an isolated module causes a resend and does not end the router")
    func isolated() throws {
        let exits = try ExitsRouter("deliver", #","isolate":true"#)
        let run = try exits.router.start(["run", "--drain", "0s"], environment: exits.environment)
        run.send(input)
        _ = run.waitForError("the process of the module exits ended with code 0")
        waitUntil("the other provider has them") { exits.router.lines("kept.ndjson") == events }
        #expect(run.finish().code == 69)
    }
}

@Suite("A module that cannot be loaded", .timeLimit(.minutes(20)))
struct ModuleFileTests {
    // A sanitizer changes the message and the exit code of a process that ends this way.
    @Test(
        "a module whose constructor exits or crashes is reported, with the right exit code", .disabled(if: Sanitizer.isOn))
    func constructor() throws {
        let exits = try ExitsRouter("none")
        for (code, end) in [("_exit(0)", "ended the process with code 0"), ("abort()", "was killed by signal 6 (SIGABRT)")] {
            try exits.build("-DIN_CONSTRUCTOR=\(code)")
            let words = "\(exits.file): its constructor \(end)"
            let check = try exits.run(["check"])
            #expect(check.code == 78 && check.errors.contains(words), "\(check.errors)")
            let list = try exits.run(["providers"])
            #expect(list.code == 0 && list.text.contains("exits cannot be used: \(words)"), "\(list.text)")
            #expect(list.lines.contains { $0.hasPrefix("file ") }, "the others are listed")
            #expect(try exits.run(["providers", "exits"]).code == 78)
            #expect(try exits.run().code == 78)
        }
    }

    @Test("a running router refuses a reload with a cut module file, wherever it is cut, and accepts a whole one")
    func reload() throws {
        let exits = try ExitsRouter("none")
        let run = try exits.router.start(["run"], environment: exits.environment)
        waitUntil("the control socket") { access(exits.router.path("state/control.sock"), F_OK) == 0 }
        let whole = try Data(contentsOf: URL(fileURLWithPath: exits.file)).count
        for (turn, count) in [3000, whole / 2, whole - 1, 0].enumerated() {
            // The file is cut in place, so the file that the router has loaded is cut too.
            try exits.cut(count)
            try exits.router.replace("routes.json", with: ExitsRouter.routes("turn \(turn)"))
            let answer = try exits.router.command("reload")
            #expect(answer.code == 78 && answer.errors.contains("\(exits.file): is "), "\(answer.code) \(answer.errors) \(answer.text)")
            try exits.build()
        }
        try exits.build("-DIN_CONSTRUCTOR=_exit(0)")
        let end = try exits.router.command("reload").errors
        #expect(end.contains("its constructor ended the process with code \(Sanitizer.isOn ? "" : "0")"), "\(end)")
        try exits.build()
        try exits.router.replace("routes.json", with: ExitsRouter.routes("create"))
        #expect(try exits.router.command("reload").errors.contains("called exit(0) in create"))
        try exits.router.replace("routes.json", with: ExitsRouter.routes("other"))
        let last = try exits.router.command("reload")
        #expect(last.code == 0, "\(last.errors)")
        let result = run.finish(feeding: Data("{\"n\":1}\n".utf8))
        #expect(result.code == 0 && exits.router.lines("kept.ndjson") == ["{\"n\":1}"], "\(result.errors)")
    }
}
