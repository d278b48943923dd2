// The way into the page of a running router: what a request gets without a session, from another origin, and with both.

import Foundation
import Glibc
import TestSupport
import Testing

private let routes = #"""
    { "keys": { "audit": "a literal audit secret of enough bytes", "ids": "0123456789abcdef0123456789abcdef" },
      "audit": { "key": "audit", "origin": "example.com/log" },
      "admin": { "listen": "127.0.0.1:0", "page": true, "origins": ["https://router.example"] },
      "providers": { "out": { "plugin": "noop" },
                     "picky": { "plugin": "exec", "delivery": { "batch": { "wait": "1ms" } },
                                "command": ["sh", "-c", "while read l; do echo '{\"outcome\":\"rejected\",\"message\":\"too odd\"}'; done"] } },
      "routes": [ { "name": "all", "to": ["out"] },
                  { "name": "odd", "events": ["odd"], "to": ["picky"],
                    "transform": [ { "hash": { "fields": ["userId"], "key": "ids" } } ] } ] }
    """#

/// The answer of a server.
private struct Answer {
    var status: Int
    var headers: [String: String] = [:]
    var body: String

    init(_ text: String) {
        let parts = text.components(separatedBy: "\r\n\r\n")
        status = Int(text.dropFirst(9).prefix(3)) ?? 0
        body = parts.dropFirst().joined(separator: "\r\n\r\n")
        for line in parts[0].components(separatedBy: "\r\n").dropFirst() {
            let halves = line.components(separatedBy: ": ")
            headers[halves[0].lowercased()] = halves.dropFirst().joined(separator: ": ")
        }
    }
}

/// A router with a page, and a client of it.
private struct PageClient {
    let router: TestRouter
    let run: Run
    let port: UInt16

    init() throws {
        router = try TestRouter(routes: routes)
        run = try router.start()
        let said = run.waitForError("admin: listening at 127.0.0.1:")
        port = try #require(UInt16(said.components(separatedBy: "127.0.0.1:").last!.prefix { $0.isNumber }))
    }

    var host: String { "127.0.0.1:\(port)" }
    var origin: String { "http://\(host)" }

    /// Sends a request. A header that is nil is left out.
    func ask(_ method: String, _ path: String, _ headers: [String: String?] = [:], body: String = "") throws -> Answer {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
        defer { close(descriptor) }
        try #require(connected == 0)
        let sent = ["Host": host].merging(headers) { $1 }.compactMapValues(\.self)
        let text =
            "\(method) \(path) HTTP/1.1\r\n" + sent.map { "\($0): \($1)\r\n" }.joined()
            + (headers["Content-Length"] == nil ? "Content-Length: \(body.utf8.count)\r\n" : "") + "\r\n\(body)"
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
        return Answer(String(decoding: FileHandle(fileDescriptor: descriptor).readDataToEndOfFile(), as: UTF8.self))
    }

    /// Returns the code of a new link.
    func code() throws -> String {
        let result = try router.run(["page"])
        #expect(result.code == 0 && result.lines.count == 2 && result.lines[1].hasPrefix("https://router.example/page/#"))
        let link = try #require(result.lines.first)
        #expect(link.hasPrefix("\(origin)/page/#"))
        return String(link.split(separator: "#")[1])
    }

    func enter(_ code: String, _ headers: [String: String?] = [:]) throws -> Answer {
        try ask("POST", "/page/enter", ["Origin": origin].merging(headers) { $1 }, body: "code=\(code)")
    }

    /// Opens a session. Returns the headers of a request that may change something.
    func session() throws -> [String: String?] {
        let entered = try enter(try code())
        let cookie = try #require(entered.headers["set-cookie"]?.split(separator: ";").first.map(String.init))
        let answer = try ask("GET", "/page/data/session", ["Cookie": cookie])
        let token = answer.body.components(separatedBy: "\"")[3]
        return ["Cookie": cookie, "Origin": origin, "X-Switchyard-Token": token]
    }

    func end() { run.end(by: SIGTERM) }
}

@Suite("The page of a router", .timeLimit(.minutes(10)))
struct PageEntryTests {
    @Test("without a session, only the document that asks for a link is shown, and everything else is refused without a word")
    func closed() throws {
        let client = try PageClient()
        defer { client.end() }
        let door = try client.ask("GET", "/page/")
        #expect(door.status == 200 && door.body.contains("opened by a link") && !door.body.contains("Overview"))
        #expect(try client.ask("GET", "/page/door.js").status == 200)
        for path in ["page.js", "page.html", "data/status", "data/flow", "data/history", "data/session", "nothing", "../status"] {
            for method in ["GET", "POST", "PUT", "HEAD"] {
                let answer = try client.ask(method, "/page/\(path)", ["Origin": client.origin])
                #expect(answer.status == 401 && answer.body.isEmpty, "\(method) \(path): \(answer.status) \(answer.body)")
            }
        }
        let wrong = try client.ask("GET", "/page/data/status", ["Cookie": "switchyard-\(client.port)=\(String(repeating: "0", count: 64))"])
        #expect(wrong.status == 401 && wrong.body.isEmpty)
        // The address still answers what it answers without a page, and the control socket is not there.
        #expect(try client.ask("GET", "/healthz").status == 200)
        #expect(try client.ask("POST", "/page").status == 404)
    }

    @Test("nothing of a body is read before it is known that the sender may send it")
    func bodies() throws {
        let client = try PageClient()
        defer { client.end() }
        let session = try client.session()
        let promised = ["Content-Length": "1000000"]
        /// The body never comes, so an answer was given by the head.
        func status(_ path: String, _ headers: [String: String?]) throws -> Int {
            try client.ask("POST", path, headers.merging(promised) { $1 }).status
        }
        #expect(try status("/page/draft/check", ["Origin": client.origin]) == 401)
        #expect(try status("/page/draft/check", session.merging(["X-Switchyard-Token": "0"]) { $1 }) == 403)
        #expect(try status("/page/draft/check", session.merging(["Host": "evil.example"]) { $1 }) == 403)
        #expect(try status("/page/enter", ["Origin": client.origin]) == 413)
        #expect(try status("/page/draft/check", session) == 413)
        #expect(try status("/page/letters", session) == 413)
    }

    @Test("a link gives one session, which shows the page, its files and the status that the command shows")
    func enters() throws {
        let client = try PageClient()
        defer { client.end() }
        let code = try client.code()
        let entered = try client.enter(code)
        #expect(entered.status == 200)
        let header = try #require(entered.headers["set-cookie"])
        #expect(header.hasSuffix("; Path=/page/; HttpOnly; SameSite=Strict") && header.hasPrefix("switchyard-\(client.port)="))
        let cookie = ["Cookie": header.split(separator: ";").first.map(String.init)]
        #expect(try client.ask("GET", "/page/", cookie).body.contains("Overview"))
        #expect(try client.ask("GET", "/page/page.js", cookie).headers["content-type"] == "text/javascript; charset=utf-8")
        let shown = try client.ask("GET", "/page/data/status", cookie).body
        let command = try client.router.run(["status", "--json"]).text
        func still(_ text: String) -> String { text.replacing(#/"uptime_s":[0-9.]+/#, with: "") }
        #expect(still(shown) == still(command) && shown.contains("\"lanes\":[{\"provider\":\"out\""))
        #expect(
            try client.ask("GET", "/page/data/flow", cookie).body.contains(#""routes":[{"name":"all","asks_consent":false,"to":["out"]},"#))
        #expect(try client.ask("GET", "/page/data/history", cookie).body.hasPrefix(#"{"every_s":30,"#))
        // The same link again, a part of it, and none.
        for again in [code, String(code.dropLast()), ""] {
            let answer = try client.enter(again)
            #expect(answer.status == 401 && answer.body.isEmpty && answer.headers["set-cookie"] == nil)
        }
    }

    @Test("a link is used up by nobody whose request comes from another place")
    func foreignEntry() throws {
        let client = try PageClient()
        defer { client.end() }
        let code = try client.code()
        for headers in [
            ["Origin": nil], ["Origin": "http://evil.example"], ["Origin": "null"], ["Host": "evil.example"],
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "http://localhost:\(client.port)"],
        ] as [[String: String?]] {
            let answer = try client.enter(code, headers)
            #expect(answer.status == 403 && answer.body.isEmpty, "\(headers): \(answer.status)")
        }
        #expect(try client.enter(code).status == 200)
    }

    @Test("a request for another host or from another origin gets nothing, even with a session")
    func foreign() throws {
        let client = try PageClient()
        defer { client.end() }
        let session = try client.session()
        for headers in [
            ["Host": "evil.example:\(client.port)"], ["Host": "127.0.0.1"], ["Host": nil], ["Origin": "http://evil.example"],
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
        ] as [[String: String?]] {
            for path in ["", "page.js", "door.js", "page.css", "data/status", "data/session"] {
                let answer = try client.ask("GET", "/page/\(path)", session.merging(headers) { $1 })
                #expect(answer.status == 403 && answer.body.isEmpty, "\(path) \(headers): \(answer.status)")
            }
        }
        // Somebody follows a link of another site. The document has nothing of the router, whatever the cookie is.
        let navigation = ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Origin": nil]
        let door = try client.ask("GET", "/page/", session.merging(navigation) { $1 })
        #expect(door.status == 200 && door.body.contains("opened by a link"))
    }

    @Test("a change needs a POST, the origin of the page and the token of the session")
    func changes() throws {
        let client = try PageClient()
        defer { client.end() }
        let session = try client.session()
        for headers in [
            ["Origin": nil], ["Origin": "http://evil.example"], ["X-Switchyard-Token": nil], ["X-Switchyard-Token": "0"],
            ["Sec-Fetch-Site": "none"],
        ] as [[String: String?]] {
            let answer = try client.ask("POST", "/page/leave", session.merging(headers) { $1 })
            #expect(answer.status == 403 && answer.body.isEmpty, "\(headers): \(answer.status)")
        }
        #expect(try client.ask("GET", "/page/leave", session).status == 404)
        #expect(try client.ask("GET", "/page/data/status", session).status == 200)
        #expect(try client.ask("POST", "/page/leave", session).status == 200)
        #expect(try client.ask("GET", "/page/data/status", session).status == 401)
    }

    @Test("every answer, also a refusal, forbids other sources, frames, guesses of the type, referrers and keeping it")
    func headers() throws {
        let client = try PageClient()
        defer { client.end() }
        let session = try client.session()
        for answer in [
            try client.ask("GET", "/page/"), try client.ask("GET", "/page/data/status"),
            try client.ask("GET", "/page/data/status", session),
            try client.ask("GET", "/page/data/status", ["Host": "evil.example"]), try client.ask("POST", "/page/nothing", session),
        ] {
            let policy = try #require(answer.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'") && policy.hasSuffix("frame-ancestors 'none'"))
            #expect(answer.headers["x-content-type-options"] == "nosniff" && answer.headers["referrer-policy"] == "no-referrer")
            #expect(answer.headers["cache-control"] == "no-store")
        }
    }

    @Test("a tap on the page shows what the command shows, and never values as they are")
    func tap() throws {
        let client = try PageClient()
        defer { client.end() }
        let session = try client.session()
        let raw = try client.ask("POST", "/page/tap", session, body: "stage=in&raw=1")
        #expect(raw.status == 403 && raw.body.contains("as they are"))
        let opened = try client.ask("POST", "/page/tap", session, body: "stage=in")
        let number = try #require(Int(opened.body.filter(\.isNumber)))
        client.run.send("{\"event\":\"view\",\"userId\":\"ada\"}\n")
        var shown = ""
        try waitUntil("the event is shown") {
            shown += try client.ask("POST", "/page/tap/\(number)", session).body
            return !shown.isEmpty
        }
        #expect(shown.contains(#""members":["event","userId"]"#) && !shown.contains("ada"))
        #expect(try client.ask("POST", "/page/tap/\(number)/end", session).status == 200)
        #expect(try client.ask("POST", "/page/tap/\(number)", session).status == 404)
        #expect(try client.ask("POST", "/page/tap", session, body: "stage=nothing").status == 400)
    }

    @Test("dead letters are shown with their hashes masked, and a replay sends them again beside the router")
    func letters() throws {
        let client = try PageClient()
        let session = try client.session()
        client.run.send("{\"event\":\"odd\",\"userId\":\"ada\",\"n\":1}\n")
        try waitUntil("the letter is there") {
            try client.ask("GET", "/page/data/letters", session).body.contains(#""provider":"picky","reason":"rejected","count":1"#)
        }
        let letters = try client.ask("POST", "/page/letters", session, body: "after=0")
        #expect(
            letters.body.contains(#""answer":"too odd""#) && letters.body.contains(#""event":{"event":"odd","userId":"(hashed)","n":1}"#))
        #expect(try client.ask("POST", "/page/replay", session, body: "provider=nobody").status == 404)
        #expect(try client.ask("POST", "/page/replay", session, body: "provider=picky").status == 200)
        try waitUntil("the replay has ended") {
            let body = try client.ask("GET", "/page/data/letters", session).body
            return body.contains(#""running":false"#) && body.contains("1 failed again and stay")
        }
        client.end()
        let audit = try client.router.run(["audit", "list"]).text
        #expect(audit.contains(#""what":"dead letters","uid":\#(getuid())"#))
        #expect(audit.contains(#""what":"replay of dead letters, provider picky","uid":\#(getuid())"#))
    }

    /// The draft as a form.
    private func form(_ draft: String) -> String {
        "text="
            + draft.utf8.map { byte in
                let digits = String(byte, radix: 16)
                return "%" + (digits.count == 1 ? "0" : "") + digits
            }.joined()
    }

    @Test("the check of a draft fetches no value of a placeholder, reads no file, and names what it could not check")
    func drafts() throws {
        let client = try PageClient()
        defer { client.end() }
        let session = try client.session()
        try client.router.write("short", to: "short")
        func check(_ draft: String) throws -> String {
            let answer = try client.ask("POST", "/page/draft/check", session, body: form(draft))
            #expect(answer.status == 200, "\(answer.body)")
            return answer.body
        }
        let rest = #""providers":{"out":{"plugin":"noop"}},"routes":[{"name":"all","to":["out"]}]}"#
        // The key in the file is too short, and the variable is not set: a router would not start.
        #expect(try check(#"{"keys":{"a":"${file:short}","b":"${env:NOT_SET}"},"# + rest) == "{\"faults\":[],\"left\":[]}\n")
        #expect(try check(#"{"plan":"short","# + rest).hasPrefix(#"{"faults":[],"left":["the tracking plan"#))
        #expect(try check(#"{"limits":{"line":"${env:NOT_SET}"},"# + rest).hasPrefix(#"{"faults":[],"left":["line 1, whose value"#))
        #expect(try check(#"{"surprise":1,"# + rest).hasPrefix(#"{"faults":[{"line":1,"column":2,"message":"unknown key 'surprise'"#))
        let large = try client.ask("POST", "/page/draft/check", session, body: form(String(repeating: " ", count: 257 << 10)))
        #expect(large.status == 413)
        let schema = try client.ask("GET", "/page/data/schema", session)
        #expect(schema.body.contains("\"noop\""))
    }

    @Test("the configuration begins a draft without its literal keys")
    func configuration() throws {
        let client = try PageClient()
        defer { client.end() }
        let answer = try client.ask("POST", "/page/configuration", try client.session())
        #expect(answer.body.contains(#""audit": "${env:SECRET_1}", "ids": "${env:SECRET_2}""#) && !answer.body.contains("0123456789abcdef"))
    }

    @Test("a comparison says what a draft would do with the next events, without what they hold")
    func comparison() throws {
        let client = try PageClient()
        let session = try client.session()
        let draft = #"{"providers":{"out":{"plugin":"noop"}},"routes":[{"name":"all","not":{"events":["v*"]},"to":["out"]}]}"#
        let begun = try client.ask("POST", "/page/draft/try", session, body: form(draft))
        let number = try #require(Int(begun.body.filter(\.isNumber)), "\(begun.body)")
        client.run.send("{\"event\":\"view\",\"userId\":\"ada\"}\n{\"event\":\"buy\"}\n")
        var state = ""
        try waitUntil("the events are compared") {
            state = try client.ask("POST", "/page/draft/try/\(number)", session).body
            return state.hasPrefix("{\"events\":2,")
        }
        #expect(state.contains("2 events: 1 come out the same, 1 do not") && state.contains("1 fewer by route all, now: filtered\\n"))
        #expect(!state.contains("view") && !state.contains("ada"), "\(state)")
        #expect(try client.ask("POST", "/page/draft/try/\(number)/end", session).status == 200)
        #expect(try client.ask("POST", "/page/draft/try/\(number)", session).status == 404)
        client.end()
        #expect(try client.router.run(["audit", "list"]).text.contains(#""what":"comparison of a draft with events""#))
    }

    @Test("--end ends the sessions, and the audit trail has each person who entered")
    func ends() throws {
        let client = try PageClient()
        let session = try client.session()
        let ended = try client.router.run(["page", "--end"])
        #expect(ended.code == 0 && ended.errors.contains("sessions ended: 1"))
        #expect(try client.ask("GET", "/page/data/status", session).status == 401)
        client.end()
        let audit = try client.router.run(["audit", "list"])
        #expect(audit.text.contains(#""what":"page","uid":\#(getuid())"#), "\(audit.text) \(audit.errors)")
    }

    @Test("without a page the address has none, and the command says what is missing")
    func without() throws {
        let router = try TestRouter(routes: passThrough)
        let run = try router.startRouter()
        let result = try router.run(["page"])
        #expect(result.code == 78 && result.errors.contains("\"page\": true"), "\(result.errors)")
        run.end(by: SIGTERM)
        let none = try router.run(["page"])
        #expect(none.code == 69 && none.errors.contains("no router answers"))
    }
}
