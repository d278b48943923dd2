// The provider `exec` asks its program to erase people: what the program gets, and what its answers are worth.

import Glibc
import PluginKit
import TestSupport
import Testing

@testable import Exec

/// A provider whose program is a shell script.
private struct Shell {
    let provider: ExecProvider
    let folder = TemporaryFolder()
    let recorder = HostRecorder()

    /// FOLDER in the script is the folder of the test.
    init(_ script: String, _ more: String = #","erase":true"#) throws {
        signal(SIGPIPE, SIG_IGN)
        let words = Self.quoted(script.replacing("FOLDER", with: folder.path))
        // The clock stands still, so a pause after an end never passes.
        provider = try ExecProvider(
            settings: Settings(json: "{\"command\":[\"sh\",\"-c\",\(words)]\(more)}"), host: recorder.host,
            now: { Instant(nanoseconds: 0) })
    }

    static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
    }

    func deliver(_ event: String) -> String { Batch.with([event]) { words(provider.deliver($0)) } }

    /// Asks to erase u1 and u2, and returns the outcome and the state as text.
    func erase(state: String = "", deadline: Int = 60_000) -> String {
        let subjects = [Erasure.Subject(member: "userId", id: "u1"), Erasure.Subject(member: "traits.email", id: #"é"\"#)]
        let answer = provider.erase(Erasure(subjects, state: Array(state.utf8), attempt: 3, deadlineMilliseconds: deadline))
        return words(answer.outcome) + (answer.state.map { " state " + String(decoding: $0, as: UTF8.self) } ?? "")
    }
}

/// A script whose program reads one line and answers with this text.
private func saying(_ answer: String) -> String { "read -r line; printf '%s\\n' '\(answer)'; exec cat >/dev/null" }

@Suite("Erasures by a program of exec", .timeLimit(.minutes(20)))
struct ExecErasureTests {
    @Test("the program gets a message that is a list, between the events, with the subjects, the state and the attempt")
    func message() throws {
        let say = #"case $line in "["*) echo '{"erase":"confirmed"}';; *) echo '{"outcome":"delivered"}';; esac"#
        let out = try Shell("while read -r line; do printf '%s\\n' \"$line\" >>FOLDER/got; \(say); done")
        #expect(out.deliver(#"{"n":1}"#) == "delivered")
        #expect(out.erase(state: "job 7") == "delivered")
        #expect(out.deliver(#"{"n":2}"#) == "delivered")
        let message =
            #"["erase",{"subjects":[{"member":"userId","id":"u1"},{"member":"traits.email","id":"é\"\\"}],"state":"job 7","attempt":3,"#
            + #""begun":"1970-01-01T00:00:00.000Z"}]"#
        #expect(out.folder.text("got") == "{\"n\":1}\n\(message)\n{\"n\":2}\n")
        out.provider.close()
    }

    @Test(
        "an answer says what became of all subjects, or of each",
        arguments: [
            (#"{"erase":"confirmed"}"#, "delivered"),
            (
                #"{"erase":"again","code":5,"message":"queued","retry_after_ms":90,"state":"7"}"#, "retry 5 queued after 90 state 7"
            ),
            (#"{"erase":"again"}"#, "retry 0 the program is at work"),
            (#"{"erase":"by_hand","message":"write to Ann"}"#, "rejected 0 write to Ann"),
            (#"{"erase":"fault","code":401,"message":"no key"}"#, "fault 401 no key"),
            (
                #"{"erase":"again","message":"wait","subjects":[{"member":"userId","id":"u1","erase":"confirmed"}]}"#,
                "retry 0 wait; 0 delivered"
            ),
            (
                #"{"erase":"confirmed","subjects":[{"member":"traits.email","id":"é\"\\","erase":"by_hand","message":"no"}]}"#,
                "delivered; 1 rejected 0 no"
            ),
        ])
    func answers(answer: String, outcome: String) throws {
        let out = try Shell(saying(answer))
        #expect(out.erase() == outcome)
        out.provider.close()
        #expect(out.recorder.logs == [])
    }

    @Test(
        "an answer that is invalid, or about somebody else, confirms nothing and ends the program",
        arguments: [
            "{}", #"["erase"]"#, #"{"erase":true}"#, #"{"erase":"done"}"#, #"{"erase":"confirmed","n":1}"#,
            #"{"erase":"confirmed","erase":"again"}"#, #"{"erase":"confirmed","retry_after_ms":1}"#, #"{"erase":"again","state":7}"#,
            #"{"erase":"confirmed","outcome":"delivered"}"#, #"{"erase":"confirmed","message":null}"#,
            #"{"erase":"confirmed","subjects":{}}"#,
            #"{"erase":"again","subjects":[{"member":"userId","id":"u3","erase":"confirmed"}]}"#,
            #"{"erase":"confirmed","subjects":[{"member":"traits.email","id":"u1","erase":"again"}]}"#,
            #"{"erase":"again","subjects":[{"member":"userId","id":"u1","erase":"confirmed"},{"member":"userId","id":"u1","erase":"again"}]}"#,
            #"{"erase":"again","subjects":[{"member":"userId","id":"u1","erase":"fault"}]}"#,
            #"{"erase":"again","state":""# + String(repeating: "x", count: 8193) + #""}"#,
        ])
    func invalid(answer: String) throws {
        let out = try Shell(saying(answer))
        #expect(out.erase() == "unknown the program sh gave an invalid answer and was ended")
        #expect(out.deliver("{}").hasPrefix("retry 0 the program sh gave an invalid answer and was ended after"))
    }

    @Test("a program that answers as to an event does not know the message, so a person erases")
    func takenForEvent() throws {
        for answer in [#"{"outcome":"delivered"}"#, #"{"outcome":"rejected","code":1,"message":"the event has no name"}"#] {
            let out = try Shell(saying(answer))
            #expect(out.erase().hasPrefix("rejected 0 the program took the request for an event"))
            out.provider.close()
        }
    }

    @Test("an answer in the form of an erasure is no answer to an event")
    func eventAnswered() throws {
        let out = try Shell(saying(#"{"erase":"confirmed"}"#))
        #expect(out.deliver("{}") == "unknown the program sh gave an invalid answer and was ended")
    }

    @Test("if the program ends, never answers, answers twice or before it has read the message, nothing is known")
    func faults() throws {
        #expect(try Shell("read -r line; exit 3").erase() == "unknown the program sh ended with code 3")
        let twice = try Shell(#"read -r line; printf '%s\n%s\n' '{"erase":"confirmed"}' '{"erase":"confirmed"}'; exec cat >/dev/null"#)
        #expect(twice.erase() == "unknown the program sh gave an answer that it was not asked for")
        let early = try Shell(#"echo '{"erase":"confirmed"}'; sleep 1000"#)
        #expect(early.erase().contains("unknown the program sh gave an answer "))
        let partly = try Shell(#"read -r line; printf '{"erase":"confirmed"}'; exit 0"#)
        #expect(partly.erase() == "unknown the program sh ended with code 0")
    }

    @Test("a program that does not answer within the timeout, or within the time of the call, is ended, so it cannot answer later")
    func never() throws {
        let slow = try ExecProvider(
            settings: Settings(json: #"{"command":["sleep","1000"],"erase":true,"timeout":20}"#), host: HostRecorder().host)
        let subjects = [Erasure.Subject(member: "userId", id: "u1")]
        guard case .unknown(_, let words) = slow.erase(Erasure(subjects)).outcome else { throw Missing() }
        #expect(words == "the program sleep gave no answer within 20 ms and was ended")
        let late = try ExecProvider(settings: Settings(json: #"{"command":["sleep","1000"],"erase":true}"#), host: HostRecorder().host)
        guard case .unknown(_, let why) = late.erase(Erasure(subjects, deadlineMilliseconds: 20)).outcome else { throw Missing() }
        #expect(why.hasPrefix("the program sleep gave no answer within "))
    }

    @Test("without the setting the program is not started, and gets no id")
    func unset() throws {
        let out = try Shell("cat >FOLDER/got", "")
        #expect(out.erase().hasPrefix("rejected 0 Erase the ids where the program stores events"))
        #expect(out.folder.names == [])
    }

    @Test("an erasure waits for the batch that is under way, at most for the time of its call")
    func busy() throws {
        let out = try Shell(
            #"mkfifo FOLDER/go; while read -r line; do read -r go <FOLDER/go; echo "$go"; done"#, #","erase":true,"timeout":1000000"#)
        let delivered = Monitor("")
        let thread = Thread.start("delivery") {
            let words = out.deliver("{}")
            delivered.withLock { $0 = words }
        }
        while out.folder.names.isEmpty { sched_yield() }
        #expect(out.erase(deadline: 20) == "retry 0 the program was busy with events for the whole time of the call")
        #expect(write(#"{"outcome":"delivered"}"#, to: out.folder.path + "/go"))
        thread.join()
        #expect(delivered.withLock { $0 } == "delivered")
    }

    private func write(_ line: String, to fifo: String) -> Bool {
        guard let file = fopen(fifo, "w") else { return false }
        fputs(line + "\n", file)
        return fclose(file) == 0
    }

    @Test("an erasure that waits is next after the batch that is under way, even if the lane has more")
    func turns() {
        let turns = Turns()
        let order = Monitor<[String]>([])
        turns.beginDelivery()
        let thread = Thread.start("erasure") {
            guard turns.beginErasure(until: Clock.system.now() + .seconds(600)) else { return }
            order.withLock { $0.append("erasure") }
            turns.endErasure()
        }
        while !turns.isWanted { sched_yield() }
        turns.endDelivery()
        turns.beginDelivery()
        order.withLock { $0.append("delivery") }
        turns.endDelivery()
        thread.join()
        #expect(order.withLock { $0 } == ["erasure", "delivery"])
    }

    @Test("the Python example keeps events and erases those of a person, also when it is asked twice")
    func example() throws {
        let folder = TemporaryFolder()
        let recorder = HostRecorder()
        let file = folder.path + "/events.db"
        let command = #"["python3","\#(Project.root)/Examples/providers/keep.py","\#(file)"]"#
        let keep = try ExecProvider(settings: Settings(json: #"{"command":\#(command),"erase":true}"#), host: recorder.host)
        let events = [
            #"{"userId":"ann-0123"}"#, #"{"userId":"bob-4567"}"#, #"{"traits":{"email":"ann@example"},"a":1}"#, #"{"userId":42}"#,
        ]
        guard case .delivered = Batch.with(events, { keep.deliver($0) }) else { throw Missing() }
        let subjects = [("userId", "ann-0123"), ("traits.email", "ann@example"), ("userId", "42")]
        for _ in 0..<2 {
            let answer = keep.erase(Erasure(subjects.map { Erasure.Subject(member: $0.0, id: $0.1) }))
            guard case .delivered = answer.outcome else { throw Missing() }
        }
        keep.close()
        let held = folder.bytes("events.db")
        #expect(held.contains("bob-4567") && !held.contains("ann-0123") && !held.contains("ann@example"))
        #expect(recorder.logs == [])
    }
}

private struct Missing: Error {}

extension TemporaryFolder {
    /// The bytes of a file, each as a character.
    fileprivate func bytes(_ name: String) -> String {
        guard let file = fopen(path + "/" + name, "r") else { return "" }
        defer { fclose(file) }
        var text: [UInt8] = []
        while case let byte = fgetc(file), byte != EOF { text.append(byte < 0x80 ? UInt8(byte) : UInt8(ascii: "?")) }
        return String(decoding: text, as: UTF8.self)
    }
}
