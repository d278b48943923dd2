// Taps of a running router: what they show at each stage, what they never show, and what becomes of them.

import Foundation
import Glibc
import TestSupport
import Testing

private let routes = #"""
    { "keys": { "ids": "0123456789abcdef0123456789abcdef", "hash": "fedcba9876543210fedcba9876543210", "audit": "a literal audit secret of enough bytes" },
      "audit": { "key": "audit", "origin": "example.com/log" },
      "consent": { "ledger": "ids", "levels": { "none": [], "all": ["analytics"] } },
      "providers": { "out": { "plugin": "noop", "delivery": { "batch": { "wait": "1ms" } } },
                     "picky": { "plugin": "exec", "delivery": { "batch": { "wait": "1ms" } },
                                "command": ["sh", "-c", "while read l; do echo '{\"outcome\":\"rejected\",\"message\":\"too odd\"}'; done"] } },
      "routes": [
        { "name": "open", "consent": "none", "not": { "events": ["odd"] }, "to": ["out"],
          "transform": [ { "hash": { "fields": ["userId"], "key": "hash" } }, { "set": { "context.by": "${env:BY}" } } ] },
        { "name": "strict", "consent": "all", "events": ["buy", "view"], "to": ["out"] },
        { "name": "few", "consent": "none", "events": ["rare"], "sample": { "rate": 0 }, "to": ["out"] },
        { "name": "odd", "consent": "none", "events": ["odd"], "to": ["picky"] } ] }
    """#

private let environment = ["BY": "hunter2hunter2"]

/// A tap that a test opens and asks itself, as a client does.
private struct OpenTap {
    let router: TestRouter
    let number: Int

    init(_ router: TestRouter, _ form: String) throws {
        self.router = router
        let answer = try ControlSocket.post(router.path("state/control.sock"), "/tap", form)
        #expect(answer.status == 200, "\(answer.body)")
        number = try #require(Int(answer.body.filter(\.isNumber)))
    }

    /// Asks until it has shown that many lines.
    func lines(_ count: Int) throws -> [String] {
        var lines: [String] = []
        try waitUntil("\(count) lines") {
            let answer = try ControlSocket.post(router.path("state/control.sock"), "/tap/\(number)")
            #expect(answer.status == 200, "\(answer.body)")
            lines += answer.body.split(separator: "\n").map(String.init)
            return lines.count >= count || answer.status != 200
        }
        return lines
    }

    func events(_ count: Int) throws -> [[String: Any]] {
        try lines(count).map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }
}

/// A client of the control socket.
enum ControlSocket {
    static func post(_ path: String, _ target: String, _ body: String = "") throws -> (status: Int, body: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8.prefix(107))) }
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
        }
        guard connected == 0 else { return (0, "") }
        let text = "POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
        let answer = String(decoding: FileHandle(fileDescriptor: descriptor).readDataToEndOfFile(), as: UTF8.self)
        let parts = answer.components(separatedBy: "\r\n\r\n")
        return (Int(answer.dropFirst(9).prefix(3)) ?? 0, parts.dropFirst().joined(separator: "\r\n\r\n"))
    }
}

@Suite("A tap", .timeLimit(.minutes(20)))
struct TapTests {
    private func start() throws -> (TestRouter, Run) {
        let router = try TestRouter(routes: routes)
        return (router, try router.startRouter(environment: environment))
    }

    private func verdicts(_ event: [String: Any]) -> [String] {
        (event["routes"] as? [[String: Any]] ?? []).map { route in
            let reason = (route["reason"] as? String).map { ":" + $0 } ?? ""
            return "\(route["name"]!)=\(route["verdict"]!)\(reason)"
        }
    }

    private let buy = #"{"event":"buy","userId":"ann-planted","properties":{"price":7,"tags":["x"],"none":{}}}"#

    @Test("at the stage in it shows the verdict of each route and the names of members, and no value", arguments: ["in", "denied"])
    func names(stage: String) throws {
        let (router, run) = try start()
        let tap = try OpenTap(router, "stage=\(stage)")
        run.send(buy + "\n")
        let line = try tap.lines(1)[0]
        let event = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(event["stage"] as? String == stage && event["source"] as? String == "stdin" && event["event"] == nil)
        #expect(verdicts(event) == ["open=admitted", "strict=denied:unknown", "few=filtered", "odd=filtered"])
        #expect(event["members"] as? [String] == ["event", "userId", "properties.price", "properties.tags", "properties.none"])
        for value in ["ann-planted", "\"buy\""] { #expect(!line.contains(value), "\(line)") }
        #expect(run.finish().code == 0)
    }

    @Test("raw shows the values to the owner, without secrets of the configuration")
    func raw() throws {
        let (router, run) = try start()
        let tap = try OpenTap(router, "stage=in&raw=1")
        run.send(buy + "\n" + #"{"event":"hunter2hunter2"}"# + "\n")
        let lines = try tap.lines(2)
        #expect(lines[0].hasSuffix(",\"event\":\(buy)}"))
        #expect(lines[1].hasSuffix(#","event":{"event":"(secret)"}}"#))
        #expect(run.finish().code == 0)
    }

    @Test("a filtered event is shown with masked values only if no route denies it and one has asked for its consent")
    func filtered() throws {
        let (router, run) = try start()
        let tap = try OpenTap(router, "stage=filtered&route=few")
        run.send(buy + "\n" + #"{"event":"other","userId":"bob-planted","n":1}"# + "\n")
        let events = try tap.events(2)
        #expect(events[0]["event"] == nil && events[0]["members"] != nil)
        #expect(events[1]["event"] as? NSDictionary == ["event": "other", "userId": "(hashed)", "n": 1])
        #expect(events.map(verdicts) == [["few=filtered"], ["few=filtered"]])
        #expect(run.finish().code == 0)
    }

    @Test("a sampled event is shown masked")
    func sampled() throws {
        let (router, run) = try start()
        let tap = try OpenTap(router, "stage=sampled")
        run.send(buy + "\n" + #"{"event":"rare","userId":"bob-planted"}"# + "\n")
        let events = try tap.events(1)
        #expect(events[0]["event"] as? NSDictionary == ["event": "rare", "userId": "(hashed)"])
        #expect(verdicts(events[0]).contains("few=sampled_out"))
        #expect(run.finish().code == 0)
    }

    @Test("a sent event is shown as the provider got it, with hashes and secrets masked")
    func sent() throws {
        let (router, run) = try start()
        let tap = try OpenTap(router, "stage=sent&provider=out")
        run.send(#"{"event":"look","userId":"bob-planted","messageId":"m1"}"# + "\n")
        let event = try tap.events(1)[0]
        #expect(event["provider"] as? String == "out" && event["route"] as? String == "open")
        #expect(
            event["event"] as? NSDictionary == [
                "event": "look", "userId": "(hashed)", "messageId": "m1", "context": ["by": "(secret)"],
            ])
        #expect(run.finish().code == 0)
    }

    @Test("a refused event is shown with the answer, and then as a dead letter")
    func rejected() throws {
        let (router, run) = try start()
        let (refused, dead) = (try OpenTap(router, "stage=rejected"), try OpenTap(router, "stage=dead&provider=picky&route=odd"))
        run.send(#"{"event":"odd","n":1,"messageId":"m1"}"# + "\n")
        for (tap, reason) in [(refused, nil), (dead, "rejected")] {
            let event = try tap.events(1)[0]
            #expect(event["provider"] as? String == "picky" && event["route"] as? String == "odd")
            #expect(event["answer"] as? String == "too odd" && event["reason"] as? String == reason)
            #expect((event["event"] as? [String: Any])?["n"] as? Int == 1)
        }
        _ = run.finish()
    }

    @Test("only events are shown for which the condition holds, and one that fails does not hold")
    func condition() throws {
        let (router, run) = try start()
        let tap = try OpenTap(router, "stage=in&raw=1&where=properties.price%20%3E%205%20%26%26%20source%20%3D%3D%20%22stdin%22")
        run.send(#"{"n":1}"# + "\n" + #"{"properties":{"price":3}}"# + "\n" + #"{"properties":{"price":9}}"# + "\n")
        #expect(try tap.lines(1).map { $0.hasSuffix(#"{"properties":{"price":9}}}"#) } == [true])
        #expect(run.finish().code == 0)
    }

    @Test("each tap is in the audit trail before it shows anything, with the user and without the condition")
    func audit() throws {
        let (router, run) = try start()
        _ = try OpenTap(router, "stage=sent&route=open&raw=1&where=userId%20%3D%3D%20%22ann-planted%22")
        let entries = try router.run(["audit", "list"], environment: environment).lines
            .map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
        let access = try #require(entries.last { $0["kind"] as? String == "access" })
        #expect(access["what"] as? String == "tap sent, route open, raw" && access["uid"] as? Int == Int(getuid()))
        #expect(run.finish().code == 0)
    }

    @Test("what was captured of a person and is not shown yet goes with a withdrawal")
    func withdrawal() throws {
        let (router, run) = try start()
        for id in ["ann", "bob"] {
            #expect(try router.run(["consent", "set", id, "--level", "all"], environment: environment).code == 0)
        }
        let tap = try OpenTap(router, "stage=in&raw=1")
        run.send(#"{"event":"buy","userId":"ann"}"# + "\n" + #"{"event":"buy","userId":"bob"}"# + "\n")
        try waitUntil("both were judged") { try router.status()["events"] as? Int == 2 }
        #expect(try router.run(["consent", "withdraw", "ann"], environment: environment).code == 0)
        #expect(try tap.lines(1).map { $0.hasSuffix(#"{"event":"buy","userId":"bob"}}"#) } == [true])
        #expect(run.finish().code == 0)
    }

    @Test(
        "a request that is not understood is refused, with a reason",
        arguments: [
            ("stage=all", 400, "the stage must be one of in, denied, filtered"), ("route=gone", 404, "no route 'gone'"),
            ("provider=gone", 404, "no provider 'gone'"), ("where=1%20%2B", 422, "--where:1:"),
            ("where=1", 422, "a condition is true or false"),
            ("limit=0", 400, "above 0"), ("raw=1&raw=1", 400, "given twice"), ("colour=1", 400, "and nothing else"),
            ("stage=%zz", 400, "a form"),
        ])
    func refused(form: String, status: Int, words: String) throws {
        let (router, run) = try start()
        let answer = try ControlSocket.post(router.path("state/control.sock"), "/tap", form)
        #expect(answer.status == status && answer.body.contains(words), "\(answer)")
        #expect(run.finish().code == 0)
    }

    @Test("a fifth tap is refused, and a tap that was closed leaves its place")
    func most() throws {
        let (router, run) = try start()
        let taps = try (0..<4).map { _ in try OpenTap(router, "") }
        let socket = router.path("state/control.sock")
        let fifth = try ControlSocket.post(socket, "/tap")
        #expect(fifth.status == 503 && fifth.body.contains("4 taps are open"))
        #expect(try ControlSocket.post(socket, "/tap/\(taps[0].number)/end").status == 200)
        #expect(try ControlSocket.post(socket, "/tap").status == 200)
        #expect(try ControlSocket.post(socket, "/tap/\(taps[0].number)").status == 404)
        #expect(run.finish().code == 0)
    }

    @Test("the command shows lines until its limit, and then ends its tap")
    func command() throws {
        let (router, run) = try start()
        let tap = try router.start(["tap", "--limit", "3", "--route", "open", "--raw"])
        waitUntil("it has ended") {
            run.send(#"{"event":"look"}"# + "\n")
            return !tap.process.isRunning
        }
        let result = tap.finish()
        #expect(result.code == 0)
        let shown = result.lines.filter { !$0.contains("\"dropped\"") }
        #expect(shown.count == 3 && shown.allSatisfy { $0.hasSuffix(#","event":{"event":"look"}}"#) })
        #expect(run.finish().code == 0)
    }

    @Test("the command says why it cannot show anything")
    func commandFaults() throws {
        let (router, run) = try start()
        func tap(_ words: String...) throws -> Result { try router.run(["tap"] + words) }
        #expect(try tap("--stage", "all").code == 64)
        #expect(try tap("--where", "1 +").code == 78)
        #expect(try tap("--limit", "0").code == 64)
        let wrong = try tap("--state", router.path("nowhere"))
        #expect(wrong.code == 69 && wrong.errors.contains("no router answers"))
        #expect(run.finish().code == 0)
    }

    @Test("Ctrl-C ends the command and its tap at the router", arguments: [SIGINT, SIGTERM])
    func interrupted(signal: Int32) throws {
        let (router, run) = try start()
        let socket = router.path("state/control.sock")
        let tap = try router.start(["tap", "--raw"])
        try waitUntil("the tap is open") { try ControlSocket.post(socket, "/tap/1").status == 200 }
        tap.signal(signal)
        #expect(tap.finish().code == 0)
        #expect(try ControlSocket.post(socket, "/tap/1").status == 404)
        #expect(run.finish().code == 0)
    }

    @Test("when the router ends, the command says so")
    func end() throws {
        let (router, run) = try start()
        let tap = try router.start(["tap", "--raw"])
        try waitUntil("the tap is open") { try ControlSocket.post(router.path("state/control.sock"), "/tap/1").status == 200 }
        #expect(run.finish().code == 0)
        let result = tap.finish()
        #expect(result.code == 69 && result.errors.contains("the router"))
    }
}
