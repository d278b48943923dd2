// The commands that an operator runs beside a router or on its state folder: status, reload, spool, dead-letters and replay.

import Foundation
import Glibc
import Testing

@Suite("A router as a service")
struct OperationTests {
    @Test("a second router refuses a state folder in use, with the process id of the first one")
    func twoRouters() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.startRouter()
        let second = try router.run(["run"])
        #expect(second.code == 69)
        #expect(
            second.errors
                == "switchyard: \(router.path("state")): the router with process id \(run.process.processIdentifier) has this state folder; "
                + "end it, or give this one a folder of its own (--state)\n")
        #expect(run.finish().code == 0)
        #expect(try router.run(["run"]).code == 0, "the folder is free again")
    }

    @Test(
        "if its state folder or a file that it needs is removed, the router accepts nothing more and ends with 69",
        arguments: ["", "/spool-out.sqlite", "/router.pid", "/subject.key"])
    func stateRemoved(file: String) throws {
        let router = try TestRouter(
            routes: #"""
                { "sources": { "http": { "plugin": "http", "listen": "127.0.0.1:0" } }, "shutdown": { "deadline": "0s" },
                  "providers": { "out": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "10MB" } } } },
                  "routes": [ { "to": ["out"] } ] }
                """#)
        let post = try ListeningRouter(router)
        #expect(try post.send("{\"n\":1}\n{\"n\":2}").status == 200)
        // A rename takes everything away at once. Files that were still in place when the router ends would not be lost.
        rename(router.path("state") + file, router.path("elsewhere"))
        // The router ends without a signal.
        let result = post.run.finish()
        #expect(result.code == 69, "\(result.errors)")
        let isSpool = file == "" || file == "/spool-out.sqlite"
        // Other missing files of the folder are reported in separate lines.
        let lines = result.errorLines.filter { $0.contains("nothing more is taken, and the router ends") }
        #expect(
            lines.count == 1 && lines[0].contains("was removed, moved away or replaced while the router has it"), "\(result.errors)")
        #expect(result.errors.contains("2 events that waited are lost with the files of its queue") == isSpool, "\(result.errors)")
        #expect(result.errors.contains("2 damaged") == isSpool, "\(result.errors)")
    }

    @Test("without its control socket the router continues, and reports that it cannot be asked")
    func socketRemoved() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.startRouter()
        try FileManager.default.removeItem(atPath: router.path("state/control.sock"))
        #expect(run.waitForError("cannot be asked").contains("control.sock: was removed"))
        run.send("{\"n\":1}\n")
        let result = run.finish()
        #expect(result.lines == ["{\"n\":1}"])
        #expect(result.code == 0, "\(result.errors)")
    }

    @Test("a plain filter locks no folder and leaves no file behind")
    func plainFilter() throws {
        let router = try TestRouter(routes: passThrough)
        let result = try router.run(environment: ["STATE_DIRECTORY": "", "XDG_STATE_HOME": router.path("xdg")], input: "{\"n\":1}\n")
        #expect(result.code == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: router.folder) == ["routes.json"])
    }

    @Test("the status has the documented keys")
    func statusKeys() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.startRouter()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        waitUntil("it is accounted for") { (try! router.status()["lanes"] as! [[String: Any]])[0]["delivered"] as? Int == 1 }
        let status = try router.status()
        #expect(
            Set(status.keys) == [
                "running", "version", "state", "pid", "configuration", "started", "uptime_s", "generation", "events", "sources", "inputs",
                "module_sources",
                "routes", "lanes",
                "held", "erasures", "spools",
            ])
        #expect(status["erasures"] is NSNull)
        #expect(status["held"] is NSNull)
        #expect(status["pid"] as? Int32 == run.process.processIdentifier)
        #expect(status["running"] as? Bool == true)
        let lane = (status["lanes"] as! [[String: Any]])[0]
        #expect(
            Set(lane.keys) == [
                "provider", "phase", "durable", "events", "memory_bytes", "disk_bytes", "oldest", "oldest_age_s", "rate_per_s", "in_flight",
                "breaker", "paused_s", "failed_attempts", "last_error", "store_fault", "taken", "resumed", "delivered", "filtered",
                "rejected", "expired",
                "dropped",
                "unknown", "undelivered", "damaged", "withdrawn", "aged", "retries", "age_bounds_s", "age_counts",
            ])
        #expect((lane["age_counts"] as? [Int])?.reduce(0, +) == 1)
        let consent = ["taken": 0, "forbidden": 0, "broken": 0, "unwritten": 0]
        #expect(status["inputs"] as? [NSDictionary] == [["name": "stdin", "events": 1, "rejected": 0, "consent": consent]])
        let route = (status["routes"] as! [[String: Any]])[0]
        #expect(
            Set(route.keys) == [
                "name", "admitted", "filtered", "denied", "held", "sampled_out", "limited", "withheld", "expired", "withdrawn", "outdated",
                "violating",
            ])
        #expect(route["admitted"] as? Int == 1)
        #expect(lane["provider"] as? String == "out")
        #expect(lane["phase"] as? String == "open")
        #expect(lane["breaker"] as? String == "closed")
        #expect(router.mode("state/control.sock") == 0o600)
        #expect(router.mode("state") == 0o700)
        let text = try router.command("status").lines
        try #require(text.count > 2)
        #expect(text[1].split(separator: " ") == ["PROVIDER", "STATE", "WAITING", "MEMORY", "DISK", "OLDEST", "RATE", "BREAKER"])
        #expect(text[2].hasPrefix("out       open   0        0 B"))
        #expect(!text.joined().contains("\u{1b}"), "colours are for a terminal")
        #expect(run.finish().code == 0)
    }

    @Test("without a running router the status comes from the folder and says that no router runs")
    func noRouter() throws {
        let router = try TestRouter(routes: passThrough)
        let result = try router.command("status")
        #expect(result.code == 0)
        #expect(result.text == "no router runs with the state folder \(router.path("state"))\n")
        #expect(try router.status()["running"] as? Bool == false)
        let reload = try router.command("reload")
        #expect(reload.code == 69)
        #expect(reload.errors == "switchyard: no router answers at \(router.path("state")); --state names another folder\n")
    }

    @Test("a spool is destroyed only by its name and only after confirmation")
    func destroy() throws {
        let router = try TestRouter(
            routes: #"""
                { "shutdown": { "deadline": "1ms" }, "routes": [ { "to": ["down"] } ],
                  "providers": { "down": { "plugin": "http", "url": "http://127.0.0.1:9/", "delivery": { "queue": { "disk": "10MB" } } } } }
                """#)
        let run = try router.startRouter()
        run.send("{\"n\":1}\n")
        waitUntil("it waits") { (try! router.status()["lanes"] as! [[String: Any]])[0]["events"] as? Int == 1 }
        run.signal(SIGTERM)
        #expect(run.finish().code == 0)
        let list = try JSONSerialization.jsonObject(with: router.command("spool", "list", "--json").output) as! [String: Any]
        #expect((list["spools"] as! [[String: Any]])[0]["events"] as? Int == 1)
        #expect(try router.command("spool", "destroy", "down").code == 64, "nobody confirmed it")
        #expect(try router.command("spool", "destroy", "up", "--yes").code == 69)
        #expect(try router.command("spool", "destroy", "down", "--yes").text == "1 events for down were destroyed\n")
        #expect(try router.command("spool").text == "nothing waits in \(router.path("state"))\n")
    }
}

@Suite("Dead letters")
struct ReplayTests {
    /// Writes a plan with a program that rejects every event, or that writes every event to the file `taken`.
    private func routes(_ router: TestRouter, takes: Bool, route: String = #"{ "name": "all", "to": ["out"] }"#) throws {
        let script =
            takes
            ? #"while read -r line; do echo "$line" >> taken; echo '{"outcome":"delivered"}'; done"#
            : #"while read -r line; do echo '{"outcome":"rejected","code":7,"message":"no"}'; done"#
        try router.write(script, to: "provider.sh")
        try router.write(
            #"{ "keys": { "k": "0123456789abcdef" }, "providers": { "out": { "plugin": "exec", "command": ["sh", "provider.sh"] } }, "routes": [ \#(route) ] }"#,
            to: "routes.json")
    }

    private func refused(_ events: [String], route: String = #"{ "name": "all", "to": ["out"] }"#) throws -> TestRouter {
        let router = try TestRouter()
        try routes(router, takes: false, route: route)
        #expect(try router.run(["run"], input: events.joined(separator: "\n") + "\n").code == 69)
        return router
    }

    @Test("are counted and listed with the provider's answer")
    func list() throws {
        let router = try refused([#"{"event":"a","n":1}"#, #"{"event":"b","n":2}"#])
        let counts = try router.command("dead-letters").text
        #expect(counts.hasPrefix("  out  2 rejected, from 20"))
        #expect(try router.command("dead-letters", "--events").lines == [#"{"event":"a","n":1}"#, #"{"event":"b","n":2}"#])
        #expect(try router.command("dead-letters", "--provider", "other").text == "there are no dead letters\n")
        #expect(try router.command("dead-letters", "--since", "2999-01-01T00:00:00Z").text == "there are no dead letters\n")
        #expect(try router.command("dead-letters", "--since", "soon").code == 64)
        let first = try #require(router.command("dead-letters", "--json").lines.first)
        let letter = try JSONSerialization.jsonObject(with: Data(first.utf8)) as! [String: Any]
        #expect(letter["provider"] as? String == "out" && letter["answer"] as? String == "no" && letter["code"] as? Int == 7)
    }

    @Test("are replayed in order, and removed once they are delivered")
    func replay() throws {
        let events = (0..<1200).map { "{\"n\":\($0)}" }
        let router = try refused(events)
        let dry = try router.command("replay", "--dry-run")
        #expect(dry.text == "out: 1,200 letters, 1,200 would be sent\n")
        #expect(dry.code == 0)
        #expect(try router.command("dead-letters", "--events").lines.count == 1200, "a dry run changes nothing")
        try routes(router, takes: true)
        let result = try router.command("replay")
        #expect(result.text == "out: 1,200 letters, 1,200 delivered\n")
        #expect(result.code == 0)
        #expect(router.lines("taken") == events)
        #expect(try router.command("dead-letters").text == "there are no dead letters\n")
    }

    /// Writes a program that delivers `count` - 1 events, and then reads everything else without an answer.
    private func stalling(_ router: TestRouter, after count: Int) throws {
        try router.write(
            #"""
            n=0; while read -r line; do n=$((n+1)); echo "$line" >> taken
            [ $n -ge \#(count) ] && { echo >> stalled; exec cat >/dev/null; }
            echo '{"outcome":"delivered"}'; done
            """#,
            to: "provider.sh")
    }

    @Test("a killed replay has removed the delivered dead letters, and each further replay makes progress")
    func killed() throws {
        let events = (0..<120).map { "{\"n\":\($0)}" }
        let router = try refused(events)
        try stalling(router, after: 25)
        var kills = 0
        var left = events
        while left.count > 25 {
            let taken = router.lines("taken").count
            try router.write("", to: "stalled")
            let run = try router.start(["replay"])
            waitUntil("it has sent 25") { !router.read("stalled").isEmpty }
            run.end(by: SIGKILL)
            kills += 1
            let rest = try router.command("dead-letters", "--events").lines
            #expect(router.lines("taken").count == taken + 25)
            // The size of a group doubles each time. So the group in doubt holds at most one more event than all groups before it.
            try #require(rest == Array(left.suffix(rest.count)) && rest.count <= left.count - 12, "\(rest.count) of \(left.count)")
            left = rest
        }
        try routes(router, takes: true)
        #expect(try router.command("replay").text == "out: \(left.count) letters, \(left.count) delivered\n")
        let taken = router.lines("taken")
        #expect(Set(taken) == Set(events))
        #expect(taken.count <= events.count + 13 * kills, "\(taken.count) were sent, with \(kills) kills")
    }

    @Test("SIGTERM makes a replay wait for the letters it has sent and keep the others")
    func toldToEnd() throws {
        let events = (0..<120).map { "{\"n\":\($0)}" }
        let router = try refused(events)
        try router.write(
            #"""
            n=0; while read -r line; do n=$((n+1)); echo "$line" >> taken
            [ $n -ge 25 ] && { echo >> stalled; until [ -e go ]; do sleep 0.01; done; }
            echo '{"outcome":"delivered"}'; done
            """#,
            to: "provider.sh")
        let run = try router.start(["replay"])
        waitUntil("it has sent 25") { !router.read("stalled").isEmpty }
        run.signal(SIGTERM)
        #expect(run.waitForError("ending").contains("ending: sending nothing more"))
        try router.write("", to: "go")
        let result = run.finish()
        let taken = router.lines("taken")
        #expect(taken.count >= 25 && taken.count < 120)
        #expect(result.text == "out: 120 letters, \(taken.count) delivered, \(120 - taken.count) not tried and stay\n")
        #expect(result.code == 69)
        #expect(try router.command("dead-letters", "--events").lines == Array(events[taken.count...]))
        #expect(try router.command("replay").code == 0)
        #expect(router.lines("taken") == events, "each once")
    }

    @Test("damaged dead letters are reported and kept aside, never replayed and never listed, and the command that finds them ends with 69")
    func damaged() throws {
        let events = (1...3).map { "{\"n\":\($0),\"text\":\"planted-\($0)\"}" }
        func spoil(_ router: TestRouter) throws {
            // The last process that closes the file moves its log into it.
            #expect(try router.command("dead-letters").code == 0)
            let file = router.path("state/dead-letters.sqlite")
            var bytes = try #require(FileManager.default.contents(atPath: file))
            let at = try #require(bytes.range(of: Data("planted-2".utf8)))
            bytes[at.upperBound - 1] = UInt8(ascii: "7")
            try bytes.write(to: URL(fileURLWithPath: file))
        }
        let router = try refused(events)
        try spoil(router)
        for words in [["dead-letters"], ["dead-letters", "--events"], ["replay", "--dry-run"]] {
            let told = try router.run(words + ["--state", router.path("state")])
            #expect(told.code == 69 && told.text == "" && told.errors.contains("of table letters is damaged"), "\(words): \(told.errors)")
        }
        #expect(try router.command("check").text.contains("of table letters is damaged"))
        try routes(router, takes: true)
        var result = try router.command("replay")
        #expect(result.code == 69 && result.text == "out: 2 letters, 2 delivered\n", "\(result.errors)")
        #expect(result.errors.contains("2 dead letters were read from it, 1 of 3 dead letters are lost"), "\(result.errors)")
        #expect(router.lines("taken") == [events[0], events[2]])
        #expect(try router.command("replay").code == 0)
        // The start of a run finds the damage too.
        let other = try refused(events)
        try spoil(other)
        try routes(other, takes: true)
        result = try other.run(["run", "--stats", "json"], input: "{}\n")
        #expect(result.code == 69 && result.errors.contains("\"dead_letters_damaged\":1"), "\(result.errors)")
        #expect(other.lines("taken").count == 1)
        #expect(try other.command("dead-letters", "--events").lines == [events[0], events[2]])
        #expect(try other.run(["run"], input: "{}\n").code == 0)
    }

    @Test("dead letters that fail again stay, and the exit code is 69")
    func failsAgain() throws {
        let router = try refused(["{\"n\":1}", "{\"n\":2}"])
        let result = try router.command("replay")
        #expect(result.text == "out: 2 letters, 2 failed again and stay\n")
        #expect(result.code == 69)
        #expect(try router.command("dead-letters", "--events").lines == ["{\"n\":1}", "{\"n\":2}"], "each once")
    }

    @Test("pass the present filter and consent, and are not hashed a second time")
    func today() throws {
        let before = #"{ "name": "all", "transform": [ { "hash": { "fields": ["userId"], "key": "k" } } ], "to": ["out"] }"#
        let router = try refused([#"{"event":"a","userId":"u"}"#, #"{"event":"b","userId":"v"}"#], route: before)
        let hashed = try router.command("dead-letters", "--events").lines
        #expect(!hashed[0].contains("\"u\""))
        try routes(
            router, takes: true,
            route: #"{ "name": "all", "events": "a", "transform": [ { "hash": { "fields": ["userId"], "key": "k" } } ], "to": ["out"] }"#)
        #expect(try router.command("replay").text == "out: 2 letters, 1 delivered, 1 filtered\n")
        #expect(router.lines("taken") == [hashed[0]])
        #expect(try router.command("dead-letters").text == "there are no dead letters\n")
    }

    @Test("can be chosen by event name or expression, and those of a removed provider stay")
    func chosen() throws {
        let router = try refused([#"{"event":"item_a"}"#, #"{"event":"b"}"#, #"{"event":"c","n":7}"#])
        try routes(router, takes: true)
        #expect(try router.command("replay", "--where", "n > 9").text == "out: 0 letters\n")
        let wrong = try router.command("replay", "--where", "n >")
        #expect(wrong.code == 64 && wrong.errors.contains("--where, at byte 4: "), "\(wrong.errors)")
        #expect(try router.command("replay", "--where", "n > 6").text == "out: 1 letters, 1 delivered\n")
        #expect(router.lines("taken") == [#"{"event":"c","n":7}"#])
        try router.write("", to: "taken")
        #expect(try router.command("replay", "--event", "item_*").text == "out: 1 letters, 1 delivered\n")
        #expect(router.lines("taken") == [#"{"event":"item_a"}"#])
        try router.write(passThrough.replacingOccurrences(of: "\"out\"", with: "\"new\""), to: "routes.json")
        let gone = try router.command("replay")
        #expect(gone.text == "out: 1 letters, 1 not tried and stay; no provider of the configuration has this name\n")
        #expect(gone.code == 69)
        #expect(try router.command("dead-letters", "--events").lines == [#"{"event":"b"}"#])
    }

    @Test("are replayed beside a running router, and a message names its process id")
    func besideARouter() throws {
        let router = try refused(["{\"n\":1}"])
        try routes(router, takes: true)
        let run = try router.startRouter()
        let result = try router.command("replay")
        #expect(result.errors == "switchyard: the router with process id \(run.process.processIdentifier) keeps running\n")
        #expect(result.text == "out: 1 letters, 1 delivered\n")
        #expect(run.finish().code == 0)
    }
}
