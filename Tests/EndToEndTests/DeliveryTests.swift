import Foundation
import Testing

@Suite("Delivery, end to end")
struct DeliveryEndToEndTests {
    private func twoOutputs(_ path: String) -> String {
        """
        { "providers": { "good": { "plugin": "file", "path": "good.ndjson" }, "bad": { "plugin": "file", "path": "\(path)" } },
          "routes": [ { "name": "all", "to": ["good", "bad"] } ] }
        """
    }

    @Test("a failing provider delays no other one, its events become dead letters, and the exit code is 69")
    func failingProvider() throws {
        let router = try TestRouter(routes: twoOutputs("/dev/full"))
        let run = try router.startRouter(["--drain", "1ms", "--stats", "text"])
        run.send("{\"n\":1}\n{\"n\":2}\n")
        let failing = run.waitForError("No space left on device")
        // Only then the end of the input leaves nothing of the good lane to the short drain.
        try waitUntil("the other one has delivered them") {
            (try router.status()["lanes"] as! [[String: Any]]).contains { $0["delivered"] as? Int == 2 }
        }
        let result = run.finish()
        #expect(router.lines("good.ndjson") == ["{\"n\":1}", "{\"n\":2}"])
        #expect(failing.contains("No space left on device"))
        #expect(result.code == 69)
        #expect(result.errors.contains("provider good: 2 taken: 2 delivered"))
        #expect(result.errors.contains("provider bad: 2 taken: 2 undelivered"))
        try #require(router.deadLetters.count == 2)
        #expect(router.deadLetters[0].hasSuffix(#""event":{"n":1}}"#))
        #expect(router.mode("state/dead-letters.sqlite") == 0o600)
        #expect(router.mode("state") == 0o700)
    }

    @Test("a FIFO without a reader waits, and delivers when a reader comes")
    func fifo() throws {
        let router = try TestRouter(routes: twoOutputs("fifo"))
        mkfifo(router.path("fifo"), 0o600)
        let run = try router.start()
        run.send("{\"n\":1}\n")
        #expect(run.waitForError("next try").contains("bad:"))
        let reader = try #require(FileHandle(forReadingAtPath: router.path("fifo")))
        #expect(String(decoding: reader.availableData, as: UTF8.self) == "{\"n\":1}\n")
        #expect(run.finish().code == 0)
    }

    @Test("after SIGTERM the router delivers what it has read, and ends")
    func terminates() throws {
        let router = try TestRouter(routes: twoOutputs("bad.ndjson"))
        let run = try router.start()
        run.send("{\"n\":1}\n")
        while router.lines("good.ndjson").isEmpty { usleep(1000) }
        run.signal(SIGTERM)
        #expect(run.waitForError("ending").contains("ending: delivering what was read"))
        run.process.waitUntilExit()
        #expect(run.process.terminationStatus == 0)
        #expect(router.lines("good.ndjson") == ["{\"n\":1}"])
        #expect(router.lines("bad.ndjson") == ["{\"n\":1}"])
    }

    @Test("after SIGHUP a file that was moved away is opened again")
    func reopens() throws {
        let router = try TestRouter(
            routes:
                #"{ "providers": { "out": { "plugin": "file", "path": "log", "sync": "never" }, "echo": { "plugin": "console", "format": "ndjson" } }, "routes": [ { "to": ["out"] }, { "to": ["echo"] } ] }"#
        )
        let run = try router.start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1).count == 1)
        while router.lines("log").count < 1 { usleep(1000) }
        try FileManager.default.moveItem(atPath: router.path("log"), toPath: router.path("log.old"))
        run.signal(SIGHUP)
        run.send("{\"n\":2}\n")
        #expect(run.finish().code == 0)
        #expect(router.lines("log.old") == ["{\"n\":1}"])
        #expect(router.lines("log") == ["{\"n\":2}"])
    }

    @Test("kill -9 during a write leaves no torn line after the next start")
    func killed() throws {
        let router = try TestRouter(
            routes: #"{ "providers": { "out": { "plugin": "file", "path": "log" } }, "routes": [ { "to": ["out"] } ] }"#)
        for _ in 0..<5 {
            let run = try router.start()
            Thread.detachNewThread {
                let chunk = (0..<2000).map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 500))\"}\n" }.joined()
                while run.process.isRunning { run.send(chunk) }
            }
            while (try? FileManager.default.attributesOfItem(atPath: router.path("log"))[.size] as? Int) ?? 0 < 1 << 20 { usleep(1000) }
            run.signal(SIGKILL)
            run.process.waitUntilExit()
            #expect(try router.run(input: "{\"last\":1}\n").code == 0)
            let text = router.read("log")
            #expect(text.hasSuffix("{\"last\":1}\n"))
            for line in text.split(separator: "\n") where !line.hasSuffix("\"}") { #expect(line == "{\"last\":1}") }
            try FileManager.default.removeItem(atPath: router.path("log"))
        }
    }

    @Test("the account balances exactly, by route and by provider")
    func account() throws {
        let router = try TestRouter(
            routes: """
                { "consent": { "levels": ["none", "some", "all"], "unknown": "deny", "default": "some" },
                  "providers": { "a": { "plugin": "noop" }, "b": { "plugin": "noop" } },
                  "routes": [
                    { "name": "everything", "consent": "none", "to": ["a", "b"] },
                    { "name": "named", "events": ["x_*"], "to": ["a"] },
                    { "name": "half", "match": { "type": "track" }, "consent": "all", "sample": { "rate": 0.5, "by": "user" }, "to": ["b"] } ] }
                """)
        var input = ""
        for number in 0..<3000 {
            let level = ["none", "some", "all"][number % 3]
            let consent = number % 7 == 0 ? "" : #","context":{"consent":{"level":"\#(level)"}}"#
            input +=
                #"{"type":"\#(number % 2 == 0 ? "track" : "page")","event":"\#(number % 5 == 0 ? "x_1" : "y")","user":"u\#(number)"\#(consent)}"#
                + "\n"
            if number % 100 == 0 { input += "oops\n" }
        }
        let result = try router.run(["--stats", "json"], input: input)
        #expect(result.code == 0)
        let last = try #require(result.errorLines.last)
        let account = try #require(try JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
        #expect(account["received"] as? Int == 3030)
        #expect(account["rejected"] as? Int == 30)
        for route in try #require(account["routes"] as? [[String: Any]]) {
            #expect(route.values.compactMap { $0 as? Int }.reduce(0, +) == 3000)
        }
        let routes = try #require(account["routes"] as? [[String: Any]])
        let admitted = routes.map { $0["admitted"] as? Int ?? -1 }
        #expect(admitted[0] == 3000)
        #expect(admitted[1] > 0 && admitted[2] > 0)
        let providers = try #require(account["providers"] as? [[String: Any]])
        #expect(providers[0]["delivered"] as? Int == admitted[0] + admitted[1])
        #expect(providers[1]["delivered"] as? Int == admitted[0] + admitted[2])
    }

    @Test("the sample has the same users in another order, with more workers and in another run")
    func sampleIsStable() throws {
        let router = try TestRouter(
            routes:
                #"{ "providers": { "out": { "plugin": "console", "format": "ndjson" } }, "routes": [ { "sample": { "rate": 0.3, "by": "user" }, "to": ["out"] } ] }"#
        )
        let events = (0..<2000).map { #"{"user":"u\#($0 % 400)","n":\#($0)}"# }
        let first = try router.run(["--workers", "1"], input: events.joined(separator: "\n")).lines
        let second = try router.run(["--workers", "4"], input: events.reversed().joined(separator: "\n")).lines
        #expect(Set(first) == Set(second))
        #expect(first.count > 400 && first.count < 800)
    }
}
