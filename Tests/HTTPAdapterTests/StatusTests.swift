import HTTPSupport
import PluginKit
import Testing

@Suite("http: outcomes of answers")
struct StatusTests {
    @Test(
        "each status has its outcome",
        arguments: [
            (200, "delivered"), (201, "delivered"), (202, "delivered"), (204, "delivered"), (299, "delivered"),
            (408, "retry"), (425, "retry"), (429, "retry"), (500, "retry"), (502, "retry"), (503, "retry"), (504, "retry"), (599, "retry"),
            (400, "rejected"), (409, "rejected"), (413, "rejected"), (422, "rejected"),
            (401, "fault"), (403, "fault"), (404, "fault"), (407, "fault"), (405, "fault"), (415, "fault"), (431, "fault"),
            (300, "fault"), (301, "fault"), (302, "fault"), (304, "fault"), (307, "fault"), (308, "fault"),
        ])
    func statuses(status: Int, name: String) throws {
        let server = Server.answering { _, connection in
            // These statuses have no body.
            if status == 204 || status == 304 { connection.send("HTTP/1.1 \(status) X\r\n\r\n") } else { connection.answer("\(status) X") }
        }
        defer { server.close() }
        let ending = try Instance(url: server.url).deliver()
        #expect(ending.name == name)
        if name != "delivered" {
            #expect(ending.code == status)
            #expect(ending.message.hasPrefix("http://127.0.0.1:\(server.port) answered \(status)"))
        }
    }

    @Test("Retry-After is honored in seconds and as a date, up to one hour")
    func retryAfter() throws {
        for (header, after) in [
            ("Retry-After: 7", 7000), ("retry-after:  120 ", 120_000), ("Retry-After: 0", 0), ("Retry-After: -3", 0),
            ("Retry-After: soon", 0),
            ("Retry-After: 99999999999999999999999", 3_600_000), ("Retry-After: Fri, 31 Dec 2100 23:59:59 GMT", 3_600_000),
            ("Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", 0), ("X-Retry-After: 7", 0),
        ] {
            let server = Server.answering("429 Slow Down", headers: header + "\r\n")
            defer { server.close() }
            let ending = try Instance(url: server.url).deliver()
            #expect(ending.name == "retry")
            #expect(ending.after == UInt64(after), "\(header)")
        }
    }

    @Test("an interim answer is ignored")
    func interim() throws {
        let server = Server.answering { _, connection in
            connection.send("HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n")
            connection.answer("503 Busy")
        }
        defer { server.close() }
        let ending = try Instance(url: server.url).deliver()
        #expect(ending.name == "retry" && ending.code == 503 && ending.after == 0)
    }

    @Test("a refusal contains the first line of the answer, safe to show")
    func words() throws {
        let body = "\r\n  bad \u{1b}[31mfield\u{7}\tname \\u{202e}\nsecond line"
        let server = Server.answering("400 Bad Request", body)
        defer { server.close() }
        let ending = try Instance(url: server.url).deliver()
        #expect(ending.name == "rejected" && ending.code == 400)
        #expect(
            ending.message == "http://127.0.0.1:\(server.port) answered 400: bad \\u001b[31mfield\\u0007\\tname \\u{202e}")
    }

    @Test("a long first line is cut between characters")
    func longWords() throws {
        let server = Server.answering("422 No", String(repeating: "é", count: 1000))
        defer { server.close() }
        let ending = try Instance(url: server.url).deliver()
        #expect(ending.message.hasSuffix("..."))
        #expect(ending.message.utf8.count < 400 && !ending.message.contains("\u{fffd}"))
    }

    @Test("a secret that the server repeats is not shown")
    func echo() throws {
        let server = Server.answering("401 Unauthorized", "token tops3cret of 'Bearer tops3cret' and key k3y-in-url is bad")
        defer { server.close() }
        let ending = try Instance(url: server.url + "?api=k3y-in-url", #""headers": {"Authorization": "Bearer tops3cret"}"#).deliver()
        #expect(ending.name == "fault")
        #expect(ending.message.contains("token *** of '***' and key *** is bad"))
        #expect(!ending.message.contains("tops3cret") && !ending.message.contains("k3y"))
        #expect(server.requests.first?.headers["authorization"] == "Bearer tops3cret")
        #expect(server.requests.first?.line == "POST /in?api=k3y-in-url HTTP/1.1")
    }

    @Test("a redirect is a fault, and no request goes to its target", arguments: [301, 302, 303, 307, 308])
    func redirect(status: Int) throws {
        let canary = Server.answering("200 OK")
        let server = Server.answering("\(status) Elsewhere", headers: "Location: \(canary.url)?with=secret\r\n")
        let ending = try Instance(url: server.url, #""headers": {"Authorization": "Bearer tops3cret"}"#).deliver()
        server.close()
        canary.close()
        #expect(ending.name == "fault" && Int(ending.code) == status)
        #expect(ending.message.contains("a redirect to http://127.0.0.1:\(canary.port), and none is followed"))
        #expect(!ending.message.contains("with=secret"))
        #expect(canary.connections == 0 && server.requests.count == 1)
    }

    @Test("with one event per request, each event has its own outcome")
    func eachEvent() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("bad") ? "400 Bad" : "200 OK", "no")
        }
        defer { server.close() }
        let ending = try Instance(url: server.url, #""body": "event""#).deliver(["{\"n\":0}", "{\"bad\":1}", "{\"n\":2}", "{\"bad\":3}"])
        #expect(ending.name == "delivered")
        #expect(ending.events == [1: "rejected 400", 3: "rejected 400"])
    }

    @Test("after an event with a retry, the next events are not sent")
    func putOff() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("5") ? "503 Busy" : "200 OK", headers: "Retry-After: 3\r\n")
        }
        defer { server.close() }
        let ending = try Instance(url: server.url, #""body": "event", "in_flight": 1"#).deliver((0..<50).map { "{\"n\":\($0)}" })
        #expect(ending.name == "retry" && ending.code == 503 && ending.after == 3000)
        #expect(
            ending.events == [0: "delivered 0", 1: "delivered 0", 2: "delivered 0", 3: "delivered 0", 4: "delivered 0", 5: "retry 503"])
        #expect(server.requests.count == 6)
    }

    @Test("events after one with an unknown outcome are not sent, and get a retry")
    func behindUnknown() throws {
        let server = Server { server, connection in
            while let request = connection.request() {
                server.note(request)
                if request.text.contains("3") { return connection.reset() }
                connection.answer("200 OK")
            }
        }
        defer { server.close() }
        let ending = try Instance(url: server.url, #""body": "event", "in_flight": 1"#).deliver((0..<9).map { "{\"n\":\($0)}" })
        #expect(ending.name == "retry")
        #expect(ending.events == [0: "delivered 0", 1: "delivered 0", 2: "delivered 0", 3: "unknown 0"])
    }

    @Test("a refusal before the end of the body keeps its meaning")
    func early() throws {
        let server = Server { server, connection in
            guard let head = connection.head() else { return }
            server.note(head)
            connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\nConnection: close\r\n\r\nlimit")
            connection.linger()
        }
        defer { server.close() }
        let large = (0..<64).map { "{\"n\":\($0),\"pad\":\"\(String(repeating: "x", count: 1 << 18))\"}" }
        let ending = try Instance(url: server.url).deliver(large)
        #expect(ending.name == "rejected" && ending.code == 413)
        #expect(ending.message.hasSuffix("answered 413: limit"))
    }
}
