import Glibc
import PluginKit
import TestSupport
import Testing

@testable import Exec

/// A provider that runs a shell command, with a clock that the test controls.
private struct Shell {
    let provider: ExecProvider
    let recorder = HostRecorder()
    let time = Monitor(Instant(nanoseconds: 0))

    init(
        _ command: [String], _ more: String = "", timeouts: Program.Timeouts = Program.Timeouts(), now: (@Sendable () -> Instant)? = nil
    ) throws {
        signal(SIGPIPE, SIG_IGN)
        let words = command.map { word in
            let escaped = word.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : $0 == "\0" ? "\\u0000" : String($0) }.joined()
            return "\"\(escaped)\""
        }
        let time = time
        provider = try ExecProvider(
            settings: Settings(json: "{\"command\":[\(words.joined(separator: ","))]\(more)}"), host: recorder.host, timeouts: timeouts,
            now: now ?? { time.withLock { $0 } })
    }

    init(_ script: String, _ more: String = "", timeouts: Program.Timeouts = Program.Timeouts()) throws {
        try self.init(["sh", "-c", script], more, timeouts: timeouts)
    }

    /// Delivers the events and returns the outcomes of the batch and of its events as text.
    func deliver(_ events: String..., mayBegin: (@Sendable ([Int]?) -> Bool)? = nil) -> String {
        Batch.with(events, mayBegin: mayBegin) { words(provider.deliver($0)) }
    }
}

@Suite("The provider exec", .timeLimit(.minutes(20)))
struct ExecTests {
    /// Returns the shell command that prints an answer.
    private static func say(_ outcome: String) -> String { #"echo '{"outcome":"\#(outcome)"}'"# }

    @Test("an answer to an event that the program has not read is invalid, however small the event is")
    func answersUnread() throws {
        // The program reads the first of three lines, byte by byte as a shell does, and answers all three.
        let liar = try Shell("read line; \(Self.say("delivered")); \(Self.say("delivered")); \(Self.say("delivered")); exec sleep 1000")
        let words = "unknown the program sh gave an answer before it had read the line and was ended"
        #expect(liar.deliver("{}", "{\"n\":2}", "{\"n\":3}") == words + "; 0 delivered")
        // The program has read nothing.
        let blind = try Shell("yes '{\"outcome\":\"delivered\"}'")
        let large = "{\"pad\":\"\(String(repeating: "x", count: 1 << 20))\"}"
        let said = blind.deliver(large, "{}")
        #expect(!said.contains("delivered"), "\(said)")
    }

    @Test("a program may answer before it has read the newline of the event, and may close its input after it has read all events")
    func readsExactly() throws {
        let takes = [7, 8].map { "head -c \($0) >/dev/null; \(Self.say("delivered"));" }.joined(separator: " ")
        let exact = try Shell(takes + " exec <&-; exec sleep 1000")
        #expect(exact.deliver("{\"n\":1}", "{\"n\":2}") == "delivered")
    }

    @Test("the Python example answers each event separately")
    func example() throws {
        let shout = try Shell(["python3", Project.root + "/Examples/providers/shout.py"])
        #expect(shout.deliver(#"{"event":"hello"}"#, #"{"a":1}"#, #"{"event":"bye"}"#) == "delivered; 1 rejected 1 the event has no name")
        #expect(shout.deliver(#"{"event":"again"}"#) == "delivered")
        shout.provider.close()
        #expect(shout.recorder.logs == ["HELLO", "BYE", "AGAIN"])
    }

    @Test("if a program cannot be started because no descriptors are left, none leaks, and the router does not end")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            try withFewDescriptors { _ = try Program(["true"], []) { _ in } }
        }
    }

    @Test("it asks before it writes, and what may not leave is untried, and never reaches the program")
    func asks() throws {
        let out = try Shell(["sed", "-u", #"s/.*/{"outcome":"delivered"}/"#])
        let large = "{\"pad\":\"\(String(repeating: "x", count: 1 << 16))\"}"
        let asked = Monitor<[[Int]?]>([])
        let said = out.deliver(large, "{}", large) { events in
            asked.withLock { $0.append(events) }
            return events == [0]
        }
        #expect(said == "untried; 0 delivered" && asked.withLock { $0 } == [[0], [1]])
        #expect(out.deliver("{}", "{}") { _ in false } == "untried")
        #expect(out.deliver("{}") == "delivered", "the program has read whole events and goes on")
        out.provider.close()
    }

    @Test("a batch larger than both pipes goes through")
    func large() throws {
        let out = try Shell(["sed", "-u", #"s/.*/{"outcome":"delivered"}/"#])
        let events = (0..<10_000).map { "{\"number\":\($0),\"text\":\"\(String(repeating: "x", count: 100))\"}" }
        let isDelivered = Batch.with(events) { if case .delivered = out.provider.deliver($0) { true } else { false } }
        #expect(isDelivered)
        out.provider.close()
    }

    @Test("if a program ends, unanswered events are unknown, and the program is started again after a pause that doubles")
    func ends() throws {
        let out = try Shell("read line; \(ExecTests.say("delivered")); read line; exit 3")
        #expect(out.deliver("{}", "[]") == "unknown the program sh ended with code 3; 0 delivered")
        #expect(out.deliver("{}") == "retry 0 the program sh ended with code 3 after 251")
        out.time.withLock { $0 = Instant(nanoseconds: 250_000_000) }
        #expect(out.deliver("{}") == "delivered")
        let other = try Shell("read line; exit 3")
        #expect(other.deliver("{}") == "unknown the program sh ended with code 3")
        other.time.withLock { $0 = Instant(nanoseconds: 250_000_000) }
        #expect(other.deliver("{}") == "unknown the program sh ended with code 3")
        #expect(other.deliver("{}") == "retry 0 the program sh ended with code 3 after 501")
        #expect(other.recorder.logs.count == 2)
    }

    @Test("a program that gives no answer in time is ended")
    func hangs() throws {
        let out = try Shell(["sleep", "1000"], #","timeout":50"#)
        #expect(out.deliver("{}") == "unknown the program sleep gave no answer within 50 ms and was ended")
    }

    @Test(
        "a part of an answer, or reading more input, does not extend the time for the answer",
        arguments: [
            ("{}", "read line; : >FILE; printf '{'"),
            (String(repeating: "x", count: 1 << 20), "head -c 100000 >/dev/null; : >FILE; head -c 400000 >/dev/null"),
        ])
    func drips(event: String, script: String) throws {
        let folder = TemporaryFolder()
        let begun = folder.path + "/begun"
        // The clock passes the timeout as soon as the program has started.
        let out = try Shell(
            ["sh", "-c", script.replacing("FILE", with: begun) + "; exec sleep 60"], #","timeout":1000000"#,
            now: { Instant(nanoseconds: access(begun, F_OK) == 0 ? 2_000_000_000_000 : 0) })
        #expect(out.deliver(event) == "unknown the program sh gave no answer within 1000000 ms and was ended")
    }

    @Test("an extra answer ends the program, since the next answers would belong to the wrong events")
    func tooMany() throws {
        let twice = try Shell("read line; \(ExecTests.say("delivered")); \(ExecTests.say("delivered")); read line; read line")
        // The second answer can arrive together with the first one or after it.
        let first = twice.deliver("{}")
        let fault = "the program sh gave an answer that it was not asked for"
        #expect(first == "delivered" || first == "unknown \(fault); 0 delivered")
    }

    @Test(
        "invalid answers end the program",
        arguments: ["", "hello", "{}", "[1]", #"{"outcome":"maybe"}"#, #"{"outcome":"retry","outcome":"delivered"}"#])
    func senseless(line: String) throws {
        let out = try Shell("read line; echo '\(line)'; read line")
        #expect(out.deliver("{}") == "unknown the program sh gave an invalid answer and was ended")
    }

    @Test("an endless answer is not kept in memory")
    func endless() throws {
        let out = try Shell("read line; cat /dev/zero")
        #expect(out.deliver("{}") == "unknown the program sh gave an invalid answer and was ended")
    }

    @Test("if the destination is permanently gone for one event, it is gone for the events after it")
    func gone() throws {
        let out = try Shell(
            "read line; \(ExecTests.say("delivered")); read line; \(ExecTests.say("closed")); \(ExecTests.say("delivered")); read line")
        #expect(out.deliver("{}", "{}", "{}") == "closed the program said closed; 0 delivered")
    }

    @Test("the program gets few of the router's variables, and all variables of its settings")
    func environment() throws {
        setenv("SWITCHYARD_TEST_SECRET", "not yours", 1)
        let out = try Shell(
            #"read line; printf '{"outcome":"rejected","message":"%s"}\n' "$SWITCHYARD_TEST_SECRET|$MINE|${PATH:+path}"; read line"#,
            #","environment":{"MINE":"yours"}"#)
        #expect(out.deliver("{}") == "delivered; 0 rejected 0 |yours|path")
    }

    @Test(
        "a program that does not exist, a command without a program, and a text with a zero byte are refused",
        arguments: [["/no/such/program"], [""], [], ["sh\0"], ["sh", "-c", "a\0b"]])
    func refused(command: [String]) {
        #expect(throws: SettingsFault.self) { _ = try Shell(command) }
        #expect(throws: SettingsFault.self) { _ = try Shell(["sh"], #", "environment": { "A": "b\u0000" }"#) }
    }

    @Test("closing ends the program's input and waits for the program")
    func closes() throws {
        let folder = TemporaryFolder()
        let out = try Shell("read line; \(ExecTests.say("delivered")); cat >/dev/null; echo done >\(folder.path)/end; exit 4")
        #expect(out.deliver("{}") == "delivered")
        out.provider.close()
        #expect(folder.text("end") == "done\n")
        #expect(out.recorder.logs == ["the program sh ended with code 4"])
    }

    @Test("a program is started by the first delivery and not before")
    func lazy() throws {
        let folder = TemporaryFolder()
        let out = try Shell("echo started >\(folder.path)/begin; read line; \(ExecTests.say("delivered"))")
        out.provider.close()
        #expect(folder.names == [])
        let other = try Shell("echo started >\(folder.path)/begin; read line; \(ExecTests.say("delivered")); cat")
        #expect(other.deliver("{}") == "delivered")
        #expect(folder.names == ["begin"])
        other.provider.close()
    }

    @Test("a program that does not end after its input gets SIGTERM, and then it is killed with all processes that it has started")
    func stubborn() throws {
        let timeouts = Program.Timeouts(afterInput: .milliseconds(1), afterTerminate: .seconds(600))
        let polite = try Shell(
            // It starts no process: a child that has not yet executed its program would not get the signal.
            "trap 'echo \"I go\" >&2; exit' TERM; read line; \(ExecTests.say("delivered")); while :; do :; done",
            timeouts: timeouts)
        #expect(polite.deliver("{}") == "delivered")
        polite.provider.close()
        #expect(polite.recorder.logs == ["I go", "the program sh did not end within 1 ms after the end of its input and got SIGTERM"])

        let deaf = try Shell(
            "trap '' TERM; sleep 1000 & read line; \(ExecTests.say("delivered")); while :; do sleep 1000; done",
            timeouts: Program.Timeouts(afterInput: .milliseconds(1), afterTerminate: .milliseconds(1)))
        #expect(deaf.deliver("{}") == "delivered")
        deaf.provider.close()
        #expect(deaf.recorder.logs == ["the program sh did not end within 2 ms after the end of its input and was killed"])
    }

    @Test("the end of a program is noticed at once, even if its child holds the output, and its earlier answers count")
    func orphan() throws {
        let out = try Shell("(sleep 1000 &); read line; \(ExecTests.say("delivered")); exit 3", #","timeout":1000000"#)
        #expect(out.deliver("{}", "{}") == "unknown the program sh ended with code 3; 0 delivered")
    }

    @Test("standard error is logged line by line, and never blocks the program, however much it writes")
    func errors() throws {
        let out = try Shell(
            "read line; i=0; while [ $i -lt 5000 ]; do echo \"line $i of the complaint, which is long enough\"; i=$((i+1)); done >&2; \(ExecTests.say("delivered")); cat"
        )
        #expect(out.deliver("{}") == "delivered")
        out.provider.close()
        let logs = out.recorder.logs
        #expect(logs.first == "line 0 of the complaint, which is long enough")
        #expect(logs.contains("writes more than 5 lines a second to standard error; the others are left out and counted"))
        #expect(logs.last?.hasSuffix(" lines of its standard error were left out") == true)
        #expect(logs.count < 1000)
    }
}

@Suite("An answer of a program")
struct AnswerTests {
    private func read(_ text: [UInt8]) -> Answer? { text.withUnsafeBytes { Answer($0) } }
    private func read(_ text: String) -> Answer? { read(Array(text.utf8)) }

    @Test("an answer has an outcome, and may have a code, a message and a pause")
    func outcomes() {
        guard case .retry(429, "later", 1500)? = read(#"{"outcome":"retry","code":429,"message":"later","retry_after_ms":1500}"#)?.outcome
        else {
            Issue.record("no retry")
            return
        }
        guard case .rejected(0, "the program said rejected")? = read(#" {"outcome" : "rejected"} "#)?.outcome else {
            Issue.record("no rejection")
            return
        }
    }

    @Test(
        "an answer with anything unknown in it is refused",
        arguments: [
            #"{"outcome":"Delivered"}"#, #"{"outcome":1}"#, #"{"outcome":"delivered","why":"x"}"#,
            #"{"outcome":"retry","retry_after_ms":-1}"#,
            #"{"outcome":"delivered","retry_after_ms":1}"#, #"{"outcome":"rejected","code":"422"}"#,
            #"{"outcome":"rejected","message":null}"#,
            #"{"outcome":"delivered"}{}"#, "\u{feff}" + #"{"outcome":"delivered"}"#,
        ])
    func refusals(line: String) { #expect(read(line) == nil) }

    @Test("a randomly changed answer is refused or parsed, and causes no harm")
    func fuzz() {
        let seeds = [
            #"{"outcome":"delivered"}"#, #"{"outcome":"retry","code":429,"message":"käse \u0000 \ud83e\uddc0","retry_after_ms":1500}"#,
            #"{"outcome":"rejected","code":-2147483649,"message":""}"#,
        ].map { Array($0.utf8) }
        // xorshift with a fixed seed.
        var state: UInt64 = 20_261_121
        func chance(_ most: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(most))
        }
        var (taken, refused) = (0, 0)
        for _ in 0..<20_000 {
            var line = seeds[chance(seeds.count)]
            for _ in 0...chance(3) {
                let place = chance(line.count + 1)
                switch chance(4) {
                case 0 where place < line.count: line[place] = UInt8(chance(256))
                case 1: line.insert(Array(#"{}[]",:\0123"#.utf8)[chance(12)], at: place)
                case 2: line.removeSubrange(place..<min(line.count, place + chance(4)))
                default: if place < line.count { line[place] ^= 1 << UInt8(chance(8)) }
                }
            }
            if read(line) == nil { refused += 1 } else { taken += 1 }
        }
        #expect(taken > 200 && refused > 200, "the changes are neither too small nor too large")
    }
}
