// Modules that call exit() in the router's own process, and files that cannot be loaded as modules.

import Foundation
import Glibc
import TestSupport
import Testing

/// A yard whose module folder contains the module exits.c.
private struct Shop {
    let yard: Yard
    init(_ where: String, _ bad: String = "", queue: String = "") throws {
        yard = try Yard(routes: Shop.routes(`where`, bad, queue: queue))
        try build()
    }

    /// Returns the plan. `bad` adds members to the provider that calls exit(), and `queue` adds members to its delivery.
    static func routes(_ where: String, _ bad: String = "", queue: String = "") -> String {
        let (quick, own) = (#""delivery":{"batch":{"wait":"1ms"}}"#, #""delivery":{"batch":{"wait":"1ms"}\#(queue)}"#)
        return
            #"{"providers":{"bad":{"plugin":"exits","where":"\#(`where`)"\#(bad),\#(own)},"kept":{"plugin":"file","path":"kept.ndjson",\#(quick)}},"#
            + #""routes":[{"to":["bad","kept"]}]}"#
    }

    var file: String { yard.path("modules/exits.so") }

    func build(_ options: String...) throws { try yard.compile("exits", options) }

    var environment: [String: String] { yard.moduleFolder }

    func run(_ arguments: [String] = [], input: String = "") throws -> Result {
        try yard.run(arguments, environment: environment, input: input)
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
        let shop = try Shop(`where`)
        let result = try shop.run(["run", "--stats", "text"], input: input)
        #expect(result.code == 69, "\(result.errors)")
        #expect(shop.yard.lines("kept.ndjson") == events)
        #expect(result.errors.contains("switchyard: bad: the module \(shop.file) called exit(0) \(place)") || `where`.hasPrefix("thread"))
        #expect(
            result.errors.contains("the module \(shop.file) called exit(0) \(place) and is not called again; the router ends, with code 69")
        )
        #expect(result.errors.contains("bad: the module called exit(0) \(place); "))
        #expect(result.errors.contains("received"), "the account: \(result.errors)")
        #expect(!result.errors.contains("the module's"), "\(result.errors)")
        if `where` != "flush" { #expect(shop.yard.deadLetters.count == 6) }
    }

    @Test("a call of exit() by the C library is caught too, and its events are counted")
    func errx() throws {
        let shop = try Shop("errx")
        let result = try shop.run(input: input)
        #expect(result.code == 69 && shop.yard.lines("kept.ndjson") == events && shop.yard.deadLetters.count == 6, "\(result.errors)")
    }

    @Test("exit() in destroy ends the router with 69 after everything was delivered")
    func destroy() throws {
        let shop = try Shop("destroy")
        let result = try shop.run(["run", "--drain", "600s"], input: input)
        #expect(result.code == 69 && shop.yard.lines("kept.ndjson") == events && shop.yard.deadLetters.isEmpty, "\(result.errors)")
        #expect(result.errors.contains("bad: the module \(shop.file) called exit(0) in destroy"))
    }

    @Test("check and run refuse exit() in create like bad settings, with the place in the file")
    func create() throws {
        let shop = try Shop("create")
        for command in [["check"], ["run"]] {
            let result = try shop.run(command, input: input)
            #expect(result.code == 78 && result.output.isEmpty)
            #expect(
                result.errors.contains(
                    "the module exits (\(shop.file)) called exit(0) in create; a module refuses settings by returning NULL"),
                "\(result.errors)")
            #expect(result.errors.hasPrefix("routes.json:1:"), "\(result.errors)")
        }
    }

    @Test("exit() in a replay ends it with 69, and the letters stay for the next one")
    func replay() throws {
        let shop = try Shop("deliver")
        #expect(try shop.run(input: input).code == 69)
        let replay = try shop.run(["replay", "--state", shop.yard.path("state")])
        #expect(replay.code == 69 && replay.errors.contains("bad: the module \(shop.file) called exit(0) in deliver"), "\(replay.errors)")
        #expect(shop.yard.deadLetters.count == 6)
        try shop.yard.replace("routes.json", with: Shop.routes("none"))
        let again = try shop.run(["replay", "--state", shop.yard.path("state")])
        #expect(again.code == 0 && shop.yard.deadLetters.isEmpty, "\(again.errors)")
    }

    @Test("after exit(), events on disk wait for the next run")
    func durable() throws {
        let disk = #","queue":{"disk":"1MB"}"#
        let shop = try Shop("thread", queue: disk)
        #expect(try shop.run(input: input).code == 69)
        #expect(shop.yard.deadLetters.isEmpty)
        try shop.yard.replace("routes.json", with: Shop.routes("none", queue: disk))
        let next = try shop.run(["run", "--stats", "text"])
        #expect(next.code == 0 && next.errors.contains("6 resumed: 6 delivered"), "\(next.errors)")
    }

    @Test("exit() at the end of the process does not change the exit code of the router")
    func late() throws {
        let shop = try Shop("late")
        #expect(try shop.run(input: input).code == 0)
        #expect(try shop.run(["run", "--strict"], input: input + "no JSON\n").code == 65)
    }

    @Test(
        "exit() in a process that the module has forked does not affect the router",
        .disabled(if: isSanitized, "the leak sanitizer reports the memory of threads that a forked process does not have"))
    func fork() throws {
        let shop = try Shop("fork")
        let result = try shop.run(input: input)
        #expect(result.code == 0 && shop.yard.deadLetters.isEmpty, "\(result.errors)")
    }

    @Test("exit() in an isolated module causes a resend and does not end the router")
    func isolated() throws {
        let shop = try Shop("deliver", #","isolate":true"#)
        let run = try shop.yard.start(["run", "--drain", "0s"], environment: shop.environment)
        run.send(input)
        _ = run.waitForError("the process of the module exits ended with code 0")
        waitUntil("the other provider has them") { shop.yard.lines("kept.ndjson") == events }
        #expect(run.finish().code == 69)
    }
}

@Suite("A module that cannot be loaded", .timeLimit(.minutes(20)))
struct ModuleFileTests {
    // A sanitizer changes the message and the exit code of a process that ends this way.
    @Test(
        "a module whose constructor exits or crashes is reported, with the right exit code", .disabled(if: Sanitizer.isOn))
    func constructor() throws {
        let shop = try Shop("none")
        for (code, end) in [("_exit(0)", "ended the process with code 0"), ("abort()", "was killed by signal 6 (SIGABRT)")] {
            try shop.build("-DIN_CONSTRUCTOR=\(code)")
            let words = "\(shop.file): its constructor \(end)"
            let check = try shop.run(["check"])
            #expect(check.code == 78 && check.errors.contains(words), "\(check.errors)")
            let list = try shop.run(["providers"])
            #expect(list.code == 0 && list.text.contains("exits cannot be used: \(words)"), "\(list.text)")
            #expect(list.lines.contains { $0.hasPrefix("file ") }, "the others are listed")
            #expect(try shop.run(["providers", "exits"]).code == 78)
            #expect(try shop.run().code == 78)
        }
    }

    @Test("a running router refuses a reload with a cut module file, wherever it is cut, and accepts a whole one")
    func reload() throws {
        let shop = try Shop("none")
        let run = try shop.yard.start(["run"], environment: shop.environment)
        waitUntil("the control socket") { access(shop.yard.path("state/control.sock"), F_OK) == 0 }
        let whole = try Data(contentsOf: URL(fileURLWithPath: shop.file)).count
        for (turn, count) in [3000, whole / 2, whole - 1, 0].enumerated() {
            // The file is cut in place, so the file that the router has loaded is cut too.
            try shop.cut(count)
            try shop.yard.replace("routes.json", with: Shop.routes("turn \(turn)"))
            let answer = try shop.yard.command("reload")
            #expect(answer.code == 78 && answer.errors.contains("\(shop.file): is "), "\(answer.code) \(answer.errors) \(answer.text)")
            try shop.build()
        }
        try shop.build("-DIN_CONSTRUCTOR=_exit(0)")
        let end = try shop.yard.command("reload").errors
        #expect(end.contains("its constructor ended the process with code \(Sanitizer.isOn ? "" : "0")"), "\(end)")
        try shop.build()
        try shop.yard.replace("routes.json", with: Shop.routes("create"))
        #expect(try shop.yard.command("reload").errors.contains("called exit(0) in create"))
        try shop.yard.replace("routes.json", with: Shop.routes("other"))
        let last = try shop.yard.command("reload")
        #expect(last.code == 0, "\(last.errors)")
        let result = run.finish(feeding: Data("{\"n\":1}\n".utf8))
        #expect(result.code == 0 && shop.yard.lines("kept.ndjson") == ["{\"n\":1}"], "\(result.errors)")
    }
}
