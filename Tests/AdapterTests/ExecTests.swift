import Glibc
import PluginKit
import TestSupport
import Testing

@testable import Exec

/// A provider of a shell command, with a clock that the test turns.
private struct Shell {
    let provider: ExecProvider
    let ears = Ears()
    let time = Monitor(Instant(nanoseconds: 0))

    init(
        _ command: [String], _ more: String = "", patience: Program.Patience = Program.Patience(), now: (@Sendable () -> Instant)? = nil
    ) throws {
        signal(SIGPIPE, SIG_IGN)
        let words = command.map { word in
            let escaped = word.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : $0 == "\0" ? "\\u0000" : String($0) }.joined()
            return "\"\(escaped)\""
        }
        let time = time
        provider = try ExecProvider(
            settings: Settings(json: "{\"command\":[\(words.joined(separator: ","))]\(more)}"), host: ears.host, patience: patience,
            now: now ?? { time.withLock { $0 } })
    }

    init(_ script: String, _ more: String = "", patience: Program.Patience = Program.Patience()) throws {
        try self.init(["sh", "-c", script], more, patience: patience)
    }

    /// In words: the batch's outcome, and those of its events.
    func deliver(_ events: String...) -> String {
        Batch.with(events) { batch in
            func words(_ outcome: Outcome) -> String {
                switch outcome {
                case .delivered: "delivered"
                case .rejected(let code, let message): "rejected \(code) \(message)"
                case .retry(let code, let message, let after): "retry \(code) \(message)\(after.map { " after \($0)" } ?? "")"
                case .unknown(_, let message): "unknown \(message)"
                case .fault(let code, let message): "fault \(code) \(message)"
                case .closed(let message): "closed \(message)"
                case .mixed(let rest, let events): words(rest) + events.map { "; \($0.index) \(words($0.outcome))" }.joined()
                }
            }
            return words(provider.deliver(batch))
        }
    }
}

@Suite("The provider exec", .timeLimit(.minutes(20)))
struct ExecTests {
    /// The shell's words for an answer.
    private static func say(_ outcome: String) -> String { #"echo '{"outcome":"\#(outcome)"}'"# }

    @Test("an answer to an event that the program has not read is none, however small the event is")
    func answersUnread() throws {
        // It reads the first of three lines, byte by byte as a shell does, and answers them all.
        let liar = try Shell("read line; \(Self.say("delivered")); \(Self.say("delivered")); \(Self.say("delivered")); exec sleep 1000")
        let words = "unknown the program sh answered an event before it had read it and was ended"
        #expect(liar.deliver("{}", "{\"n\":2}", "{\"n\":3}") == words + "; 0 delivered")
        // It has read nothing at all.
        let blind = try Shell("yes '{\"outcome\":\"delivered\"}'")
        let large = "{\"pad\":\"\(String(repeating: "x", count: 1 << 20))\"}"
        let said = blind.deliver(large, "{}")
        #expect(!said.contains("delivered"), "\(said)")
    }

    @Test("a program may answer when it has read the event and not yet its newline, and close its input when it has read all")
    func readsExactly() throws {
        let takes = [7, 8].map { "head -c \($0) >/dev/null; \(Self.say("delivered"));" }.joined(separator: " ")
        let exact = try Shell(takes + " exec <&-; exec sleep 1000")
        #expect(exact.deliver("{\"n\":1}", "{\"n\":2}") == "delivered")
    }

    @Test("the example in Python answers each event on its own")
    func example() throws {
        let root = #filePath.dropLast("/Tests/AdapterTests/ExecTests.swift".count)
        let shout = try Shell(["python3", root + "/Examples/providers/shout.py"])
        #expect(shout.deliver(#"{"event":"hello"}"#, #"{"a":1}"#, #"{"event":"bye"}"#) == "delivered; 1 rejected 1 it has no name")
        #expect(shout.deliver(#"{"event":"again"}"#) == "delivered")
        shout.provider.close()
        #expect(shout.ears.logs == ["HELLO", "BYE", "AGAIN"])
    }

    @Test("one that cannot be started, since the descriptors are used up, costs the router none of them, and does not end it")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_IGN)
            try withFewDescriptors { _ = try Program(["true"], []) { _ in } }
        }
    }

    @Test("a batch larger than both pipes goes through")
    func large() throws {
        let out = try Shell(["sed", "-u", #"s/.*/{"outcome":"delivered"}/"#])
        let events = (0..<10_000).map { "{\"number\":\($0),\"text\":\"\(String(repeating: "x", count: 100))\"}" }
        let isDelivered = Batch.with(events) { if case .delivered = out.provider.deliver($0) { true } else { false } }
        #expect(isDelivered)
        out.provider.close()
    }

    @Test("a program that ends leaves what it had not answered unknown, and is started again after a pause that doubles")
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
        #expect(other.ears.logs.count == 2)
    }

    @Test("a program that gives no answer in time is ended")
    func hangs() throws {
        let out = try Shell(["sleep", "1000"], #","timeout":50"#)
        #expect(out.deliver("{}") == "unknown the program sleep gave no answer within 50 ms and was ended")
    }

    @Test(
        "a program that says a part of an answer, or takes in more of its input, has no longer for the answer",
        arguments: [
            ("{}", "read line; : >FILE; printf '{'"),
            (String(repeating: "x", count: 1 << 20), "head -c 100000 >/dev/null; : >FILE; head -c 400000 >/dev/null"),
        ])
    func drips(event: String, script: String) throws {
        let folder = TemporaryFolder()
        let begun = folder.path + "/begun"
        // Its time is over as soon as it has begun.
        let out = try Shell(
            ["sh", "-c", script.replacing("FILE", with: begun) + "; exec sleep 60"], #","timeout":1000000"#,
            now: { Instant(nanoseconds: access(begun, F_OK) == 0 ? 2_000_000_000_000 : 0) })
        #expect(out.deliver(event) == "unknown the program sh gave no answer within 1000000 ms and was ended")
    }

    @Test("an answer too many ends the program, since the next ones would be of other events")
    func tooMany() throws {
        let twice = try Shell("read line; \(ExecTests.say("delivered")); \(ExecTests.say("delivered")); read line; read line")
        // The second answer may come with the first or after it.
        let first = twice.deliver("{}")
        let fault = "the program sh answered an event that it was not given"
        #expect(first == "delivered" || first == "unknown \(fault); 0 delivered")
    }

    @Test(
        "answers that make no sense end the program",
        arguments: ["", "hello", "{}", "[1]", #"{"outcome":"maybe"}"#, #"{"outcome":"retry","outcome":"delivered"}"#])
    func senseless(line: String) throws {
        let out = try Shell("read line; echo '\(line)'; read line")
        #expect(out.deliver("{}") == "unknown the program sh gave an answer that is none and was ended")
    }

    @Test("an answer without end is not kept")
    func endless() throws {
        let out = try Shell("read line; cat /dev/zero")
        #expect(out.deliver("{}") == "unknown the program sh gave an answer that is none and was ended")
    }

    @Test("a destination that is gone for one event is gone for those after it")
    func gone() throws {
        let out = try Shell(
            "read line; \(ExecTests.say("delivered")); read line; \(ExecTests.say("closed")); \(ExecTests.say("delivered")); read line")
        #expect(out.deliver("{}", "{}", "{}") == "closed the program said closed; 0 delivered")
    }

    @Test("of the router's variables the program gets few, of its own all")
    func environment() throws {
        setenv("SWITCHYARD_TEST_SECRET", "not yours", 1)
        let out = try Shell(
            #"read line; printf '{"outcome":"rejected","message":"%s"}\n' "$SWITCHYARD_TEST_SECRET|$MINE|${PATH:+path}"; read line"#,
            #","environment":{"MINE":"yours"}"#)
        #expect(out.deliver("{}") == "delivered; 0 rejected 0 |yours|path")
    }

    @Test(
        "a program that is not there, a command without one, and a text that would be cut at its zero byte are refused",
        arguments: [["/no/such/program"], [""], [], ["sh\0"], ["sh", "-c", "a\0b"]])
    func refused(command: [String]) {
        #expect(throws: SettingsFault.self) { _ = try Shell(command) }
        #expect(throws: SettingsFault.self) { _ = try Shell(["sh"], #", "environment": { "A": "b\u0000" }"#) }
    }

    @Test("closing ends its input and waits for it")
    func closes() throws {
        let folder = TemporaryFolder()
        let out = try Shell("read line; \(ExecTests.say("delivered")); cat >/dev/null; echo done >\(folder.path)/end; exit 4")
        #expect(out.deliver("{}") == "delivered")
        out.provider.close()
        #expect(folder.text("end") == "done\n")
        #expect(out.ears.logs == ["the program sh ended with code 4"])
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

    @Test("one that does not end with its input is asked to, and one that does not listen either is killed, with what it has started")
    func stubborn() throws {
        let patience = Program.Patience(afterInput: .milliseconds(1), afterTerminate: .seconds(600))
        let polite = try Shell(
            // It starts nothing: a child that is not yet the program it is to be would not hear the signal.
            "trap 'echo \"I go\" >&2; exit' TERM; read line; \(ExecTests.say("delivered")); while :; do :; done",
            patience: patience)
        #expect(polite.deliver("{}") == "delivered")
        polite.provider.close()
        #expect(polite.ears.logs == ["I go", "the program sh did not end within 1 ms after its input and was asked to"])

        let deaf = try Shell(
            "trap '' TERM; sleep 1000 & read line; \(ExecTests.say("delivered")); while :; do sleep 1000; done",
            patience: Program.Patience(afterInput: .milliseconds(1), afterTerminate: .milliseconds(1)))
        #expect(deaf.deliver("{}") == "delivered")
        deaf.provider.close()
        #expect(deaf.ears.logs == ["the program sh did not end within 2 ms after its input and was killed"])
    }

    @Test("one that has ended while a child of its own holds its output is noticed at once; what it answered before counts")
    func orphan() throws {
        let out = try Shell("(sleep 1000 &); read line; \(ExecTests.say("delivered")); exit 3", #","timeout":1000000"#)
        #expect(out.deliver("{}", "{}") == "unknown the program sh ended with code 3; 0 delivered")
    }

    @Test("what it writes to standard error is said line by line, and does not hold it however much that is")
    func errors() throws {
        let out = try Shell(
            "read line; i=0; while [ $i -lt 5000 ]; do echo \"line $i of the complaint, which is long enough\"; i=$((i+1)); done >&2; \(ExecTests.say("delivered")); cat"
        )
        #expect(out.deliver("{}") == "delivered")
        out.provider.close()
        let logs = out.ears.logs
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

    @Test("has an outcome, and a code, a message and a pause where they belong")
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
        "is refused when something in it is not understood",
        arguments: [
            #"{"outcome":"Delivered"}"#, #"{"outcome":1}"#, #"{"outcome":"delivered","why":"x"}"#,
            #"{"outcome":"retry","retry_after_ms":-1}"#,
            #"{"outcome":"delivered","retry_after_ms":1}"#, #"{"outcome":"rejected","code":"422"}"#,
            #"{"outcome":"rejected","message":null}"#,
            #"{"outcome":"delivered"}{}"#, "\u{feff}" + #"{"outcome":"delivered"}"#,
        ])
    func refusals(line: String) { #expect(read(line) == nil) }

    @Test("that chance has changed is refused or read, and harms nothing")
    func fuzz() {
        let seeds = [
            #"{"outcome":"delivered"}"#, #"{"outcome":"retry","code":429,"message":"käse \u0000 \ud83e\uddc0","retry_after_ms":1500}"#,
            #"{"outcome":"rejected","code":-2147483649,"message":""}"#,
        ].map { Array($0.utf8) }
        // xorshift, from a fixed beginning.
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
