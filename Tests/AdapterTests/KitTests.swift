import Glibc
import Testing

@testable import PluginKit

@Suite("the kit")
struct KitTests {
    @Test("a description renders to the JSON that the host reads")
    func describes() throws {
        let description = Description(
            name: "mine", version: "1.2.3", summary: "Says \"hi\"\n",
            settings: [
                "path": .text("where", pattern: "a+").required,
                "size": .size("how big", default: "1MB"),
                "rate": .number("how often", default: 0.5, minimum: 0, maximum: 1),
                "hosts": .list("names", of: .text("a name")),
                "headers": .object("free", [:], others: .text("")),
            ],
            limits: Description.Limits(events: 10), concurrency: 4, delivery: Description.Delivery(batchWait: "10ms", ordered: true))
        let expected = """
            {"name":"mine","version":"1.2.3","summary":"Says \\"hi\\"\\u000a","settings":{"type":"object","properties":{\
            "path":{"type":"string","description":"where","pattern":"a+"},\
            "size":{"type":"string","description":"how big","format":"size","default":"1MB"},\
            "rate":{"type":"number","description":"how often","minimum":0.0,"maximum":1.0,"default":0.5},\
            "hosts":{"type":"array","description":"names","items":{"type":"string","description":"a name"}},\
            "headers":{"type":"object","description":"free","properties":{},"additionalProperties":{"type":"string"}}},\
            "required":["path"],"additionalProperties":false},\
            "limits":{"events":10},"capabilities":{"erase":true,"concurrency":4},"delivery":{"batch":{"wait":"10ms"},"ordered":true}}
            """
        #expect(description.json(erase: true) == expected)
        #expect(try Settings(json: expected).get("summary") == "Says \"hi\"\n")
    }

    enum Pace: String, SettingValue { case fast, slow }

    @Test("settings are read by type, and a setting that is absent or has another type is nil")
    func settings() throws {
        let settings = try Settings(
            json:
                #"{"text":"a\u0000b","int":3,"real":2.5,"yes":true,"list":["a","b"],"mixed":["a",1],"inner":{"deep":7},"pace":"slow","null":null}"#
        )
        #expect(settings.get("text") == "a\0b")
        #expect(settings.get("int") == 3)
        #expect(settings.get("int") == 3.0)
        #expect(settings.get("real") == 2.5)
        #expect(settings.get("yes") == true)
        #expect(settings.get("list") == ["a", "b"])
        #expect(settings.get("mixed", as: [String].self) == nil)
        #expect(settings.get("inner", as: Settings.self)?.get("deep") == 7)
        #expect(settings.get("pace") == Pace.slow)
        #expect(settings.get("null", as: String.self) == nil)
        #expect(settings.get("absent", as: Int.self) == nil)
        #expect(settings.get("text", as: Int.self) == nil)
        #expect(settings.names.sorted() == ["inner", "int", "list", "mixed", "null", "pace", "real", "text", "yes"])
        #expect(throws: SettingsFault.self) { try settings.require("absent", as: Int.self) }
        #expect(throws: SettingsFault.self) { try Settings(json: "[]") }
        #expect(throws: SettingsFault.self) { try Settings(json: "{") }
        #expect(throws: SettingsFault.self) { try Settings(json: "{\"a\":1\0}") }
        #expect(throws: SettingsFault.self) { try Settings(json: #"{"a":1,"a":2}"#) }
    }

    @Test("lines can be split between any events, and count the lines that end within a number of bytes")
    func lines() {
        Batch.with(["{}", "{\"a\":1}", "{\"b\":22}"]) { batch in
            let tail = batch.lines[1..<3]
            #expect(tail.count == 2)
            #expect(String(decoding: tail.bytes, as: UTF8.self) == "{\"a\":1}\n{\"b\":22}\n")
            #expect(String(decoding: tail.text(of: 1), as: UTF8.self) == "{\"b\":22}")
            #expect([0, 7, 8, 9, 16, 17, 99].map(tail.whole) == [0, 0, 1, 1, 1, 2, 2])
            #expect(batch.lines[3..<3].isEmpty)
        }
    }
}

@Suite("lines to a stream")
struct LineStreamTests {
    /// A stream with scripted calls, one step per call: it accepts that many bytes, or fails with the errno.
    final class Script: Sendable {
        let state: Monitor<(steps: [Int], out: [UInt8], waits: Int)>
        init(_ steps: [Int]) { state = Monitor((steps, [], 0)) }
        var text: String { state.withLock { String(decoding: $0.out, as: UTF8.self) } }
        var calls: StreamCalls {
            StreamCalls(
                write: { _, bytes in
                    self.state.withLock { state in
                        let step = state.steps.isEmpty ? bytes.count : state.steps.removeFirst()
                        let count = min(step, bytes.count)
                        if count > 0 { state.out += Array(bytes[..<count]) }
                        return count
                    }
                },
                wait: { _, timeout in
                    self.state.withLock { $0.waits += 1 }
                    return timeout < 0 ? 1 : 0
                })
        }
    }

    private func write(_ events: [String], _ stream: LineStream) -> LineStream.Progress { Batch.with(events) { stream.write($0.lines) } }

    @Test("short writes, signals and a full pipe never tear a line")
    func perseveres() {
        let script = Script([3, -Int(EINTR), 1, -Int(EAGAIN), 2])
        let stream = LineStream(descriptor: 9, calls: script.calls)
        #expect(write(["{\"a\":1}", "{}"], stream) == LineStream.Progress(lines: 2, error: 0))
        #expect(script.text == "{\"a\":1}\n{}\n")
        #expect(script.state.withLock { $0.waits } == 1)
    }

    @Test("a torn line is continued if it comes again")
    func continues() {
        let script = Script([6, -Int(ENOSPC)])
        let stream = LineStream(descriptor: 9, calls: script.calls)
        #expect(write(["{}", "{\"a\":1}"], stream) == LineStream.Progress(lines: 1, error: ENOSPC))
        #expect(write(["{\"a\":1}", "{}"], stream) == LineStream.Progress(lines: 2, error: 0))
        #expect(script.text == "{}\n{\"a\":1}\n{}\n")
    }

    @Test("a torn line that does not come again is ended, so that it does not damage the next line")
    func ends() {
        let script = Script([3, -Int(ENOSPC)])
        let stream = LineStream(descriptor: 9, calls: script.calls)
        #expect(write(["{\"a\":1}"], stream) == LineStream.Progress(lines: 0, error: ENOSPC))
        #expect(write(["{\"b\":1}"], stream) == LineStream.Progress(lines: 1, error: 0))
        #expect(script.text == "{\"a\n{\"b\":1}\n")
    }

    @Test("a stream that accepts nothing stops the write after the time limit")
    func losesPatience() {
        let script = Script([3, -Int(EAGAIN)])
        let stream = LineStream(descriptor: 9, timeout: 5, calls: script.calls)
        #expect(write(["{}", "{}"], stream) == LineStream.Progress(lines: 1, error: EAGAIN))
        #expect(write(["{}"], stream) == LineStream.Progress(lines: 1, error: 0))
        #expect(script.text == "{}\n{}\n")
    }

    @Test("a new reader of a pipe never sees the rest of a line whose beginning the previous reader got")
    func forgetsWithTheReader() {
        let script = Script([2, -Int(EPIPE)])
        let stream = LineStream(descriptor: 9, calls: script.calls)
        #expect(write(["{\"a\":1}"], stream) == LineStream.Progress(lines: 0, error: EPIPE))
        script.state.withLock { $0.out = [] }
        #expect(write(["{\"a\":1}"], stream) == LineStream.Progress(lines: 1, error: 0))
        #expect(script.text == "{\"a\":1}\n")
    }
}
