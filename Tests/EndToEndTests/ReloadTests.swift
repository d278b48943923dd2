// Reloads: a running router changes to another configuration.

import Foundation
import Glibc
import TestSupport
import Testing

/// Waits until a condition holds that another process makes true.
func waitUntil(_ what: String, _ condition: () throws -> Bool) rethrows {
    // Only a fault makes the condition take this long.
    let end = Date().addingTimeInterval(300)
    while try !condition() {
        guard Date() < end else {
            Issue.record("did not happen within 5 minutes: \(what)")
            return
        }
        usleep(1000)
    }
}

extension TestRouter {
    /// Replaces the file as an editor does. No reader ever sees half of it.
    func replace(_ name: String, with text: String) throws {
        try write(text, to: name + ".new")
        rename(path(name + ".new"), path(name))
    }

    func command(_ words: String...) throws -> Result { try run(words + ["--state", path("state")]) }

    /// Starts a router and waits for its control socket, or for its end, which is a fault.
    func startRouter(_ arguments: [String] = [], environment: [String: String] = [:]) throws -> Run {
        // A killed router leaves its socket behind.
        unlink(path("state/control.sock"))
        let run = try start(["run"] + arguments, environment: environment)
        let hasSocket = { access(self.path("state/control.sock"), F_OK) == 0 }
        waitUntil("the control socket") { hasSocket() || !run.process.isRunning }
        #expect(hasSocket(), "the router ended")
        return run
    }

    /// The status as JSON.
    func status() throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: command("status", "--json").output) as! [String: Any]
    }
}

private func files(_ providers: [String: String], routes: String? = nil) -> String {
    let parts = providers.sorted { $0.key < $1.key }.map { name, path in
        #""\#(name)": { "plugin": "file", "path": "\#(path)", "delivery": { "batch": { "wait": "1ms" } } }"#
    }
    let all = providers.keys.sorted().map { "\"\($0)\"" }.joined(separator: ",")
    return #"{ "providers": { \#(parts.joined(separator: ",\n")) }, "routes": \#(routes ?? #"[ { "name": "all", "to": [\#(all)] } ]"#) }"#
}

@Suite("A reload")
struct ReloadTests {
    @Test("a reload under load swaps providers between two blocks: no event is lost or delivered twice")
    func underLoad() throws {
        let router = try TestRouter(routes: files(["kept": "kept.ndjson", "swapped": "first.ndjson"]))
        let run = try router.startRouter(["--workers", "4", "--stats", "json"])
        let count = 200_000
        let feeder = Thread {
            for start in stride(from: 0, to: count, by: 1000) {
                run.send((start..<start + 1000).map { "{\"n\":\($0)}\n" }.joined())
            }
        }
        feeder.start()
        for turn in 1...6 {
            // Each reload happens while events flow.
            waitUntil("events flow") { router.lines("kept.ndjson").count > turn * 2000 }
            try router.replace(
                "routes.json", with: files(["kept": "kept.ndjson", "swapped": turn % 2 == 1 ? "second.ndjson" : "first.ndjson"]))
            #expect(try router.command("reload").text == "routes.json was loaded; kept: kept; changed: swapped\n")
        }
        waitUntil("all was fed") { feeder.isFinished }
        let result = run.finish()
        #expect(result.code == 0)
        let all = (0..<count).map { "{\"n\":\($0)}" }
        #expect(router.lines("kept.ndjson") == all, "in order, each once")
        let swapped = router.lines("first.ndjson") + router.lines("second.ndjson")
        #expect(swapped.count == count)
        #expect(Set(swapped) == Set(all))
        #expect(!router.lines("second.ndjson").isEmpty)
    }

    @Test("every event is judged by exactly one plan: the old and the new route share all events")
    func onePlan() throws {
        func routes(_ name: String) -> String { files(["out": "out.ndjson"], routes: #"[ { "name": "\#(name)", "to": ["out"] } ]"#) }
        let router = try TestRouter(routes: routes("odd"))
        let run = try router.startRouter(["--workers", "4", "--stats", "json"])
        let count = 100_000
        let feeder = Thread { for n in 0..<count / 100 { run.send((0..<100).map { "{\"n\":\(n * 100 + $0)}\n" }.joined()) } }
        feeder.start()
        for turn in 1...5 {
            waitUntil("events flow") { router.lines("out.ndjson").count > turn * 1000 }
            try router.replace("routes.json", with: routes(turn % 2 == 1 ? "even" : "odd"))
            #expect(try router.command("reload").code == 0)
        }
        waitUntil("all was fed") { feeder.isFinished }
        let result = run.finish()
        #expect(result.code == 0, "the account balances")
        let line = result.errorLines.last { $0.hasPrefix("{") } ?? ""
        let account = try JSONSerialization.jsonObject(with: Data(line.utf8)) as! [String: Any]
        let admitted = (account["routes"] as! [[String: Any]]).map { $0["admitted"] as! Int }
        #expect(admitted.count == 2 && admitted.reduce(0, +) == count)
        #expect(router.lines("out.ndjson") == (0..<count).map { "{\"n\":\($0)}" })
    }

    @Test("a reload of a bad file changes nothing, reports the place of the fault, and exits with 78")
    func badFile() throws {
        let router = try TestRouter(routes: files(["out": "out.ndjson"]))
        let run = try router.startRouter()
        try router.replace("routes.json", with: #"{ "providers": { "out": { "plugin": "file" } }, "routes": [ { "to": ["uot"] } ] }"#)
        let refused = try router.command("reload")
        #expect(refused.code == 78)
        #expect(refused.errors.contains("routes.json:1:"))
        #expect(refused.errors.contains("did you mean 'out'?"))
        run.send("{\"n\":1}\n")
        waitUntil("the event arrives by the old plan") { router.lines("out.ndjson") == ["{\"n\":1}"] }
        #expect(try router.status()["generation"] as? Int == 1)
        let result = run.finish()
        #expect(result.errors.contains("switchyard: routes.json was not loaded; the router keeps its old configuration"))
        #expect(result.code == 0)
    }

    @Test(
        "a reload that needs a restart is refused as a whole, with a message",
        arguments: [
            (#""limits": { "line": "1MB" }, "#, "limits.line"), (#""message_id": { "deduplicate": {} }, "#, "message_id.deduplicate"),
            (#""sources": { "other": { "plugin": "stdin" } }, "#, "sources"),
        ])
    func needsRestart(section: String, key: String) throws {
        let router = try TestRouter(routes: files(["out": "out.ndjson"]))
        let run = try router.startRouter()
        try router.replace("routes.json", with: "{ " + section + files(["out": "other.ndjson"]).dropFirst(2))
        let refused = try router.command("reload")
        #expect(refused.code == 78)
        #expect(
            refused.errors == "routes.json: \(key) cannot be changed while the router runs; restart it\n")
        #expect(run.finish().code == 0)
    }

    @Test("SIGHUP reloads the configuration")
    func hangUp() throws {
        let router = try TestRouter(routes: files(["out": "first.ndjson"]))
        let run = try router.startRouter()
        try router.replace("routes.json", with: files(["out": "second.ndjson"]))
        run.signal(SIGHUP)
        _ = run.waitForError("was loaded; changed: out")
        run.send("{\"n\":1}\n")
        #expect(run.finish().code == 0)
        #expect(router.lines("second.ndjson") == ["{\"n\":1}"])
    }

    @Test("--watch reloads the file if it is written, replaced or turned into a link")
    func watch() throws {
        let router = try TestRouter(routes: files(["zero": "0.ndjson"]))
        let run = try router.startRouter(["--watch"])
        // A file that is written in place can be read twice, so the number of the generation does not say which contents were read.
        func waitUntilLoaded(_ provider: String, _ what: String) {
            waitUntil(what) { (try! router.status()["lanes"] as! [[String: Any]]).contains { $0["provider"] as? String == provider } }
        }
        try router.write(files(["one": "1.ndjson"]), to: "routes.json")
        waitUntilLoaded("one", "it was written in place")
        try router.replace("routes.json", with: files(["two": "2.ndjson"]))
        waitUntilLoaded("two", "it was replaced")
        try router.write(files(["three": "3.ndjson"]), to: "elsewhere.json")
        symlink("elsewhere.json", router.path("link"))
        rename(router.path("link"), router.path("routes.json"))
        waitUntilLoaded("three", "it leads elsewhere")
        run.send("{\"n\":1}\n")
        #expect(run.finish().code == 0)
        #expect(router.lines("3.ndjson") == ["{\"n\":1}"])
    }

    @Test(
        "a reload can describe and isolate a new module even if the file of the executable was removed",
        // The leak sanitizer suppresses known leaks by function names, and it reads those from the executable at the end.
        .enabled(if: !isSanitized, "a sanitizer reads the removed file"))
    func withoutItsFile() throws {
        let router = try TestRouter(routes: files(["out": "out.ndjson"]))
        let copy = router.path("switchyard")
        try FileManager.default.copyItem(atPath: Run.executable, toPath: copy)
        let modules = (Run.executable as NSString).deletingLastPathComponent
        let run = try router.start(["run"], environment: ["SWITCHYARD_PLUGINS": modules], executable: copy)
        waitUntil("the control socket") { access(router.path("state/control.sock"), F_OK) == 0 }
        unlink(copy)
        try router.write(
            #"""
            { "providers": { "out": { "plugin": "file", "path": "out.ndjson" },
                             "apart": { "plugin": "console", "format": "ndjson", "isolate": true } },
              "routes": [ { "to": ["out", "apart"] } ] }
            """#, to: "routes.json")
        #expect(try router.command("reload").text == "routes.json was loaded; kept: out; added: apart\n")
        let result = run.finish(feeding: Data("{\"n\":1}\n".utf8))
        #expect(result.code == 0 && result.lines == ["{\"n\":1}"], "\(result.errors)")
        #expect(router.lines("out.ndjson") == ["{\"n\":1}"])
    }

    @Test("a removed provider delivers its events and then ends")
    func removed() throws {
        let router = try TestRouter(routes: files(["gone": "gone.ndjson", "out": "out.ndjson"]))
        let run = try router.startRouter()
        run.send("{\"n\":1}\n")
        waitUntil("it arrives") { router.lines("out.ndjson").count == 1 }
        try router.replace("routes.json", with: files(["out": "out.ndjson"]))
        #expect(try router.command("reload").text == "routes.json was loaded; kept: out; removed: gone\n")
        waitUntil("its lane is over") { (try! router.status()["lanes"] as! [[String: Any]]).count == 1 }
        run.send("{\"n\":2}\n")
        #expect(run.finish().code == 0)
        #expect(router.lines("gone.ndjson") == ["{\"n\":1}"])
        #expect(router.lines("out.ndjson") == ["{\"n\":1}", "{\"n\":2}"])
    }

    @Test("undelivered events of a removed provider stay in its spool, are listed, and can be moved to another provider")
    func removedAndKept() throws {
        func routes(_ providers: String, to: String) -> String {
            #"{ "shutdown": { "deadline": "1ms" }, "providers": { \#(providers) }, "routes": [ { "name": "all", "to": ["\#(to)"] } ] }"#
        }
        // No server listens at port 9.
        let down = #""down": { "plugin": "http", "url": "http://127.0.0.1:9/", "delivery": { "queue": { "disk": "10MB" } } }"#
        let other = #""other": { "plugin": "file", "path": "other.ndjson", "delivery": { "queue": { "disk": "10MB" } } }"#
        let router = try TestRouter(routes: routes(down + "," + other, to: "down"))
        let run = try router.startRouter()
        run.send("{\"messageId\":\"a\"}\n{\"messageId\":\"b\"}\n")
        func lanes() -> [[String: Any]] { try! router.status()["lanes"] as! [[String: Any]] }
        waitUntil("they wait") { lanes().first?["events"] as? Int == 2 && lanes().first?["failed_attempts"] as? Int ?? 0 > 0 }
        try router.replace("routes.json", with: routes(other, to: "other"))
        #expect(try router.command("reload").code == 0)
        waitUntil("the lane is over") { lanes().count == 1 }
        let spools = try router.status()["spools"] as! [[String: Any]]
        #expect(spools.count == 1)
        #expect(spools.first?["provider"] as? String == "down")
        #expect(spools.first?["events"] as? Int == 2)
        let busy = try router.command("spool", "move", "down", "other")
        #expect(busy.code == 69 && busy.errors.contains("process id \(run.process.processIdentifier) has this state folder"))
        #expect(run.finish().code == 0)

        #expect(try router.command("spool", "move", "down", "other").text == "2 events wait for other now\n")
        #expect(try router.run(["run"]).code == 0)
        #expect(router.lines("other.ndjson") == ["{\"messageId\":\"a\"}", "{\"messageId\":\"b\"}"])
    }

    @Test("the queue of a replaced provider goes to the one that replaces it")
    func takesOver() throws {
        func routes(_ provider: String) -> String {
            #"{ "message_id": { "add": false }, "providers": { "out": \#(provider) }, "routes": [ { "to": ["out"] } ] }"#
        }
        let router = try TestRouter(routes: routes(#"{ "plugin": "http", "url": "http://127.0.0.1:9/" }"#))
        let run = try router.startRouter()
        run.send("{\"n\":1}\n{\"n\":2}\n")
        waitUntil("they wait") { (try! router.status()["lanes"] as! [[String: Any]])[0]["failed_attempts"] as? Int ?? 0 > 0 }
        try router.replace("routes.json", with: routes(#"{ "plugin": "file", "path": "out.ndjson" }"#))
        #expect(try router.command("reload").code == 0)
        waitUntil("they arrive") { router.lines("out.ndjson") == ["{\"n\":1}", "{\"n\":2}"] }
        #expect(run.finish().code == 0)
    }
}
