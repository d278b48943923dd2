import Glibc
import PluginKit
import Testing

@testable import Console

/// Both ends of a pipe. SIGPIPE is ignored, as in the router.
private final class Pipe {
    private(set) var read: Int32
    private(set) var write: Int32
    init() {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        (read, write) = (ends[0], ends[1])
    }
    func closeReader() {
        if read >= 0 { Glibc.close(read) }
        read = -1
    }
    /// Closes both ends. Each test calls it at its end, so that no descriptor is closed before its last use.
    func close() {
        closeReader()
        Glibc.close(write)
    }
    /// Reads the current content of the pipe.
    func text() -> String {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(read, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

private func console(
    _ descriptor: Int32, _ settings: String = "{}", _ recorder: HostRecorder = HostRecorder(), _ environment: [String: String] = [:]
) throws
    -> ConsoleProvider
{
    try ConsoleProvider(
        settings: Settings(json: settings), host: recorder.host, outlet: Outlet(descriptor: descriptor, name: "standard output"),
        environment: { environment[$0] })
}

@Suite("console")
struct ConsoleTests {
    @Test("events are written byte for byte if the output is not a terminal")
    func ndjson() throws {
        let pipe = Pipe()
        defer { pipe.close() }
        let provider = try console(pipe.write)
        let events = ["{ \"n\":1e0,\t\"n2\":-0 }", "{\"t\":\"\\u0041\"}"]
        #expect(Batch.with(events, provider.deliver).text == "delivered")
        #expect(pipe.text() == events.joined(separator: "\n") + "\n")
        provider.close()
    }

    @Test("if the reader has left, the outcome is closed")
    func readerLeft() throws {
        let ends = Pipe()
        defer { ends.close() }
        let provider = try console(ends.write)
        ends.closeReader()
        #expect(Batch.with(["{}"], provider.deliver).text == "closed: the reader of standard output has left")
        provider.close()
    }

    @Test("a reader that leaves while nothing is written is reported once")
    func readerLeavesSilently() throws {
        let ends = Pipe()
        defer { ends.close() }
        let recorder = HostRecorder()
        let provider = try console(ends.write, "{}", recorder)
        ends.closeReader()
        recorder.waitForClosed()
        provider.close()
        #expect(recorder.closed == ["the reader of standard output has left"])
    }

    @Test("a socket peer that leaves is reported too")
    func peerLeaves() throws {
        var ends: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        let recorder = HostRecorder()
        let provider = try console(ends[0], "{}", recorder)
        close(ends[1])
        recorder.waitForClosed()
        provider.close()
        close(ends[0])
    }

    @Test("the end of the provider ends its watch without a report")
    func endsQuietly() throws {
        let recorder = HostRecorder()
        let pipe = Pipe()
        defer { pipe.close() }
        try console(pipe.write, "{}", recorder).close()
        #expect(recorder.closed.isEmpty)
    }

    @Test("a full disk behind the stream is a retry with the system's message")
    func full() throws {
        let device = open("/dev/full", O_WRONLY)
        let provider = try console(device)
        #expect(
            Batch.with(["{}"], provider.deliver).text == "retry 28: cannot write to standard output: No space left on device")
        provider.close()
        close(device)
    }

    @Test("a write waits for a full non-blocking stream, and nothing is lost")
    func nonBlocking() throws {
        let pipe = Pipe()
        defer { pipe.close() }
        _ = fcntl(pipe.write, F_SETFL, O_NONBLOCK)
        let provider = try console(pipe.write)
        let events = (0..<2000).map { "{\"n\":\($0),\"padding\":\"\(String(repeating: "x", count: 100))\"}" }
        let expected = events.joined(separator: "\n") + "\n"
        let (read, size) = (pipe.read, expected.utf8.count)
        let got = Monitor("")
        let reader = Thread.start("reader") {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while bytes.count < size {
                let count = Glibc.read(read, &chunk, chunk.count)
                guard count > 0 else { break }
                bytes += chunk.prefix(count)
            }
            got.withLock { $0 = String(decoding: bytes, as: UTF8.self) }
        }
        #expect(Batch.with(events, provider.deliver).text == "delivered")
        reader.join()
        #expect(got.withLock { $0 } == expected)
        provider.close()
    }

    @Test("on a terminal events are shown in the pretty format, with color unless NO_COLOR or TERM=dumb forbids it")
    func terminal() throws {
        var (master, slave): (Int32, Int32) = (0, 0)
        try #require(openpty(&master, &slave, nil, nil, nil) == 0)
        func shown(_ settings: String, _ environment: [String: String]) throws -> String {
            let provider = try console(slave, settings, HostRecorder(), environment)
            #expect(Batch.with([#"{"type":"track","event":"hello"}"#], provider.deliver).text == "delivered")
            provider.close()
            // A terminal may hand over a line in parts.
            var shown: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4096)
            while shown.last != UInt8(ascii: "\n") {
                let count = read(master, &chunk, chunk.count)
                guard count > 0 else { break }
                shown += chunk.prefix(count)
            }
            return String(decoding: shown, as: UTF8.self)
        }
        let plain = "1970-01-01T00:00:00.000Z  track  hello\r\n"
        #expect(try shown("{}", ["TERM": "xterm"]).contains("\u{1b}[1mhello\u{1b}[0m"))
        #expect(try shown("{}", ["NO_COLOR": "1"]) == plain)
        #expect(try shown("{}", ["TERM": "dumb"]) == plain)
        #expect(try shown(#"{"color":"never"}"#, [:]) == plain)
        #expect(try shown(#"{"color":"always"}"#, ["NO_COLOR": "1"]).contains("\u{1b}["))
        #expect(try shown(#"{"format":"ndjson"}"#, [:]) == #"{"type":"track","event":"hello"}"# + "\r\n")
        close(slave)
        close(master)
    }
}

@Suite("pretty")
struct PrettyTests {
    private func shown(_ event: String, color: Bool = false, arrival: Int64 = 1_767_323_045_678_000_000) -> String {
        var page = Page(color: color)
        Array(event.utf8).withUnsafeBytes { Pretty(color: color).event($0, arrival: arrival, on: &page) }
        return String(decoding: page.bytes, as: UTF8.self)
    }

    @Test("an event is shown as a head line and aligned members")
    func event() {
        let event = #"""
            {"type":"track","event":"item_viewed","userId":"u-42","timestamp":"2026-01-02T03:04:05Z","messageId":"m1","properties":{"price":12.50,"title":"Blue \"shoe\"","tags":["a", "b"],"empty":{},"none":[],"deep":{"ok":true,"nothing":null}},"list":[{"a":1},2]}
            """#
        #expect(
            shown(event) == #"""
                2026-01-02T03:04:05Z  track  item_viewed  user u-42
                  messageId   "m1"
                  properties
                    price  12.50
                    title  "Blue \"shoe\""
                    tags   ["a", "b"]
                    empty  {}
                    none   []
                    deep
                      ok       true
                      nothing  null
                  list        [{"a": 1}, 2]

                """#)
    }

    @Test("an event without the usual members shows its arrival time")
    func bare() {
        #expect(shown(#"{"a":1}"#) == "2026-01-02T03:04:05.678Z\n  a  1\n")
        #expect(shown("{}") == "2026-01-02T03:04:05.678Z\n")
        #expect(shown(#" { "type" : 7 , "anonymousId" : "x" } "#) == "2026-01-02T03:04:05.678Z  anonymous x\n  type  7\n")
    }

    @Test("characters that could deceive or control the terminal are escaped, and all others are unchanged")
    func hostile() {
        let event = "{\"type\":\"t\u{9b}2J\",\"event\":\"é\u{202e}x\u{7f}\",\"k\u{85}\":\"\\u001b[2J 👩‍🚀 日本\u{e0041}\"}"
        #expect(
            shown(event)
                == "2026-01-02T03:04:05.678Z  t\\u009b2J  é\\u202ex\\u007f\n  k\\u0085  \"\\u001b[2J 👩‍🚀 日本\\udb40\\udc41\"\n")
        var bytes: [UInt8] = []
        [UInt8]([0x1b, 0xff, 0xc3, 0x41]).withUnsafeBytes { Page.escape($0, 0..<4, into: &bytes) }
        #expect(String(decoding: bytes, as: UTF8.self) == "\\u001b\\xff\\xc3A")
    }

    @Test("a list that does not fit into 80 columns is shown with one line for each element")
    func longList() {
        let long = String(repeating: "x", count: 40)
        #expect(
            shown("{\"l\":[\"\(long)\",{\"a\":1,\"b\":[2]},\"\(long)\"]}")
                == "2026-01-02T03:04:05.678Z\n  l\n    - \"\(long)\"\n    -\n      a  1\n      b  [2]\n    - \"\(long)\"\n")
    }

    @Test("a long name is cut in the head line and shown in full below, and a very long value is cut with a note")
    func long() {
        let name = String(repeating: "é", count: 40)
        #expect(
            shown("{\"event\":\"\(name)\"}")
                == "2026-01-02T03:04:05.678Z  \(name.prefix(30))…\n  event  \"\(name)\"\n")
        let text = shown("{\"v\":\"\(String(repeating: "x", count: 3000))\"}")
        #expect(text.hasSuffix("x … 1002 bytes more\n"))
    }

    @Test("invalid text is shown in some form, and never read beyond its end")
    func broken() {
        let whole = #"{"type":"track","a":{"b":[1,"\u0041",{"c":null}]},"d":"e\\"}"#
        for length in 0...whole.utf8.count {
            #expect(shown(String(decoding: whole.utf8.prefix(length), as: UTF8.self)).hasPrefix("2026"))
        }
        for text in ["[", "]", "\"", "\\", "{\"a\"", "{\"a\":", "{\"a\":]", "{:", "{,", "{\"a\" \"b\"", "nul"] {
            #expect(shown(text).hasPrefix("2026"))
        }
        #expect(shown(String(repeating: "{\"a\":", count: 2000)).hasPrefix("2026"))
        #expect(shown("{\"a\":" + String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000) + "}").hasPrefix("2026"))
    }
}
