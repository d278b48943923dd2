import Foundation
import Testing

@Suite("As a filter")
struct FilterTests {
    @Test("an event that no rule edits is written byte for byte")
    func bytes() throws {
        let events = [
            #"{"n":9007199254740993,"f":0.30000000000000004,"a":1.0,"b":1e0,"c":-0,"d":1E400,"e":123456789012345678901234567890}"#,
            "{ \"spaced\" : [ 1 , 2 ] ,\t\"tab\":\ttrue }",
            #"{"escapes":"\u0041\/\b\ud800 \"q\" \ud83d\ude97","é":"東京🚗"}"#,
            #"{"z":1,"a":2,"z":3}"#,
            "{}",
            #"  {"lead":1}  "#,
        ]
        let input = events.joined(separator: "\n") + "\n"
        let result = try TestRouter(routes: passThrough).run(input: input)
        #expect(result.text == input)
        #expect(result.errors == "")
        #expect(result.code == 0)
    }

    @Test("CR LF, blank lines and a last line without a newline are accepted")
    func lineEnds() throws {
        let result = try TestRouter(routes: passThrough).run(input: "{\"a\":1}\r\n\r\n\n   \n{\"b\":2}")
        #expect(result.text == "{\"a\":1}\n{\"b\":2}\n")
        #expect(result.errors == "")
        #expect(result.code == 0)
    }

    @Test("an empty input, /dev/null and a closed standard input end the run at once with 0")
    func emptyInput() throws {
        let router = try TestRouter(routes: passThrough)
        #expect(try router.run().code == 0)
        let null = try router.start(input: FileHandle(forReadingAtPath: "/dev/null"))
        #expect(null.finish().code == 0)
        let closed = Process()
        closed.executableURL = URL(fileURLWithPath: "/bin/sh")
        closed.arguments = ["-c", "exec \(Run.executable) -c \(router.path("routes.json")) <&-"]
        try closed.run()
        closed.waitUntilExit()
        #expect(closed.terminationStatus == 0)
    }

    @Test("a folder on standard input is reported, and the run exits with 69")
    func folderAsInput() throws {
        let router = try TestRouter(routes: passThrough)
        let result = try router.start(input: FileHandle(forReadingAtPath: "/")).finish()
        #expect(result.errors.contains("stdin: the input could not be read: Is a directory"))
        #expect(result.code == 69)
    }

    @Test("a bad line loses no other line, and is reported with its line and column")
    func badLines() throws {
        let input = "{\"a\":1}\n{\"a\":tru}\n\n{\"b\":2}\n[1]\n{\"c\":3}\n"
        let result = try TestRouter(routes: passThrough).run(["--rejects", "bad.ndjson"], input: input)
        #expect(result.text == "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n")
        #expect(result.errorLines.count == 3)
        try #require(result.errorLines.count == 3)
        #expect(result.errorLines[0].hasPrefix("switchyard: stdin:2:"))
        #expect(result.errorLines[1].hasPrefix("switchyard: stdin:5:1: an event must be a JSON object"))
        #expect(result.errorLines[2] == "switchyard: 2 of 5 lines were not valid events")
        #expect(!result.errors.contains("tru}"), "the text itself is not shown")
        #expect(result.code == 0)
    }

    @Test("--strict exits with 65 when some input was invalid, --show-input quotes it safely")
    func strict() throws {
        let router = try TestRouter(routes: passThrough)
        #expect(try router.run(["--strict"], input: "{}\n").code == 0)
        let result = try router.run(["--strict", "--show-input"], input: "\u{1b}[31mred\n")
        #expect(result.code == 65)
        #expect(result.errors.contains("\\u001b[31mred"))
        #expect(!result.errors.contains("\u{1b}"))
    }

    @Test("--rejects keeps bad lines with their reason, for the owner alone")
    func rejects() throws {
        let router = try TestRouter(routes: passThrough)
        var data = Data("{\"a\":}\n{}\n".utf8)
        data += [0xff, 0x22, 0x0a]
        let result = try router.run(["--rejects", "bad.ndjson"], data: data)
        #expect(result.code == 0)
        #expect(router.mode("bad.ndjson") == 0o600)
        let kept = try router.lines("bad.ndjson").map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        #expect(kept.count == 2)
        #expect(kept[0]?["input"] as? String == #"{"a":}"#)
        #expect(kept[0]?["line"] as? Int == 1)
        #expect(kept[0]?["column"] as? Int == 6)
        #expect(kept[1]?["input_base64"] as? String == "/yI=")
    }

    @Test("many bad lines are summarised")
    func manyBadLines() throws {
        let result = try TestRouter(routes: passThrough).run(["--workers", "3"], input: String(repeating: "x\n", count: 5000) + "{}\n")
        #expect(result.text == "{}\n")
        #expect(result.errorLines.count < 30)
        #expect(result.errors.contains("stdin:20:1:"))
        #expect(result.errors.contains("and 4,980 more invalid lines, 5,000 in all"))
    }

    @Test("a line over limits.line is dropped, and the lines before and after it are delivered")
    func overlongLine() throws {
        let router = try TestRouter(
            routes: passThrough.replacingOccurrences(of: "{ \"prov", with: "{ \"limits\": { \"line\": \"1KB\" }, \"prov"))
        for count in [1001, 100_000, 3_000_000] {
            let long = "{\"x\":\"" + String(repeating: "x", count: count - 8) + "\"}"
            let result = try router.run(input: "{\"before\":1}\n\(long)\n{\"after\":1}\n")
            #expect(result.text == "{\"before\":1}\n{\"after\":1}\n")
            #expect(result.errors.contains("stdin:2:1001: the line has \(count) bytes, more than limits.line allows (1000)"))
        }
        let fits = "{\"x\":\"" + String(repeating: "x", count: 992) + "\"}"
        #expect(try router.run(input: fits).text == fits + "\n")
    }

    @Test("a huge line is not held in memory")
    func hugeLine() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.start()
        Thread.detachNewThread {
            run.send("{\"before\":1}\n")
            let chunk = String(repeating: "x", count: 1 << 20)
            for _ in 0..<(Sanitizer.isOn ? 32 : 256) { run.send(chunk) }
            run.send("\n{\"after\":1}\n")
        }
        #expect(run.outputLines(1) == [#"{"before":1}"#])
        #expect(run.outputLines(1) == [#"{"after":1}"#])
        let peak = try String(contentsOfFile: "/proc/\(run.process.processIdentifier)/status", encoding: .utf8)
            .split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        #expect(run.finish().code == 0)
        guard !Sanitizer.isOn else { return }
        #expect(try #require(peak) < 100 << 10, "in KiB; the line has 256 MiB")
    }

    @Test("order is kept with many workers")
    func order() throws {
        let events = (0..<60_000).map { #"{"n":\#($0),"pad":"\#(String(repeating: "p", count: $0 % 200))"}"# }
        let result = try TestRouter(routes: passThrough).run(["--workers", "4"], input: events.joined(separator: "\n") + "\n")
        #expect(result.lines == events)
    }

    @Test("an event is written while the input stays open")
    func followsInput() throws {
        let run = try TestRouter(routes: passThrough).start()
        for number in 0..<5 {
            run.send("{\"n\":\(number)}\n")
            #expect(run.outputLines(1) == ["{\"n\":\(number)}"])
        }
        #expect(run.finish().code == 0)
    }

    @Test("a closed output ends the router with one message and 69, even without input")
    func closedOutput() throws {
        let run = try TestRouter(routes: passThrough).start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1).count == 1)
        run.closeOutput()
        run.process.waitUntilExit()
        #expect(run.process.terminationStatus == 69)
        let errors = run.waitForError("\u{0}")
        #expect(errors.split(separator: "\n").count == 1, "\(errors)")
    }

    @Test("if the reader leaves, the undelivered events are counted and are not dead letters, and no input line is called unfinished")
    func closedUnderLoad() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.start(["--stats", "json"])
        // The test sends more than a pipe holds, so the input ends within a line, and then nobody reads the output.
        Thread.detachNewThread {
            let chunk = String(repeating: "{\"event\":\"item_viewed\",\"pad\":\"xxxxxxxxxxxxx\"}\n", count: 100)
            for _ in 0..<2000 { run.send(chunk) }
        }
        #expect(run.outputLines(1).count >= 1)
        run.closeOutput()
        run.process.waitUntilExit()
        #expect(run.process.terminationStatus == 69)
        let errors = run.waitForError("\u{0}")
        #expect(errors.contains("events were left when its destination went away; they are not kept as dead letters"), "\(errors)")
        #expect(errors.contains("\"unkept\":") && !errors.contains("\"unkept\":0"), "\(errors)")
        #expect(!errors.contains("had not ended"), "\(errors)")
        #expect(!FileManager.default.fileExists(atPath: router.path("state/dead-letters.sqlite")))
    }

    @Test("a closed output closes only its own lane while another lane is open")
    func closedLane() throws {
        let router = try TestRouter(
            routes: """
                { "providers": { "out": { "plugin": "console", "format": "ndjson" }, "kept": { "plugin": "file", "path": "kept.ndjson" } },
                  "routes": [ { "to": ["out", "kept"] } ] }
                """)
        let run = try router.start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1).count == 1)
        run.closeOutput()
        #expect(run.waitForError("the lane is closed").contains("out:"))
        run.send("{\"n\":2}\n")
        run.endInput()
        run.process.waitUntilExit()
        #expect(run.process.terminationStatus == 69)
        #expect(router.lines("kept.ndjson") == ["{\"n\":1}", "{\"n\":2}"])
    }
}

@Suite("Message ids in the router")
struct MessageIDRunTests {
    @Test("an event that arrives twice is accepted once, and the duplicate is counted")
    func duplicates() throws {
        let router = try TestRouter(
            routes: #"""
                { "message_id": { "deduplicate": { "for": "1m", "most": 100 } },
                  "providers": { "out": { "plugin": "console" } }, "routes": [ { "to": ["out"] } ] }
                """#)
        let result = try router.run(
            ["--stats", "json"], input: "{\"messageId\":\"a\"}\n{\"messageId\":\"b\"}\n{\"messageId\":\"a\"}\n{}\n{}\n")
        #expect(result.lines == [#"{"messageId":"a"}"#, #"{"messageId":"b"}"#, "{}", "{}"])
        #expect(result.errors.contains(#""received":5,"valid":4,"rejected":0,"duplicates":1"#), "\(result.errors)")
        #expect(result.code == 0)
    }

    @Test("the next run knows the accepted ids, even if their file was cut off, and forgets the oldest ones first")
    func duplicatesOverRestarts() throws {
        let router = try TestRouter(
            routes: #"""
                { "message_id": { "deduplicate": { "most": 3 } },
                  "providers": { "out": { "plugin": "console" } }, "routes": [ { "to": ["out"] } ] }
                """#)
        func ids(_ ids: String) throws -> String {
            let input = ids.map { "{\"messageId\":\"\($0)\"}\n" }.joined()
            let result = try router.run(["--state", router.path("state")], input: input)
            #expect(result.code == 0, "\(result.errors)")
            return result.lines.map { String($0.dropFirst(14).prefix(1)) }.joined()
        }
        #expect(try ids("ab") == "ab")
        #expect(try ids("ac") == "c")
        #expect(router.mode("state/message-ids") == 0o600)
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: router.path("state/message-ids")))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([1, 2, 3, 4, 5]))
        try handle.close()
        #expect(try ids("cbd") == "d")
        #expect(try ids("dcb") == "", "the third before the last is still known")
        #expect(try ids("a") == "a", "the fourth is not")
    }

    @Test("explain reports an added id, and check reports that ids are added")
    func told() throws {
        let router = try TestRouter(
            routes: #"{"message_id":{"add":true},"providers":{"out":{"plugin":"console"}},"routes":[{"to":["out"]}]}"#)
        let explained = try router.run(["explain"], input: "{\"a\":1}\n")
        #expect(explained.text.contains("adds messageId"), "\(explained.text)")
        #expect(try router.run(["explain"], input: "{\"messageId\":\"x\"}\n").text.contains("adds") == false)
        #expect(try router.run(["check"]).text.contains("Message ids: added where there is none"))
    }
}
