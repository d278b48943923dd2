import Testing

@testable import Control

/// Reads a request in pieces of this size.
private func read(_ text: String, pieces: Int = 1) -> RequestReader.Progress {
    var reader = RequestReader()
    let bytes = Array(text.utf8)
    var at = 0
    while at < bytes.count {
        let progress = reader.read(bytes[at..<min(at + pieces, bytes.count)])
        if progress != .more { return progress }
        at += pieces
    }
    return .more
}

@Suite("A request over the control socket")
struct ExchangeTests {
    @Test("is understood in pieces of any size", arguments: [1, 2, 7, 1000])
    func pieces(size: Int) {
        let text = "POST /reload?a=1&b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        var request = Request(method: "POST", path: "/reload", query: "a=1&b", body: Array("abc".utf8))
        request.headers = ["host": "x"]
        #expect(read(text, pieces: size) == .done(request))
        #expect(read("GET /status HTTP/1.0\n\n", pieces: size) == .done(Request(method: "GET", path: "/status")))
    }

    @Test(
        "that is invalid is refused",
        arguments: [
            "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "get / HTTP/1.1\r\n\r\n", "GET status HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1 \r\n\r\n", "\u{0}\u{1}\u{2}\n\n",
        ])
    func nonsense(text: String) {
        guard case .refused(let response) = read(text) else {
            Issue.record("was not refused")
            return
        }
        #expect(response.status == 400)
    }

    @Test("may have a body as long as a piece of a file, and ends where its length says", arguments: [1000, 16384])
    func body(size: Int) {
        let body = String(repeating: "x", count: Request.mostBody)
        let text = "POST / HTTP/1.1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        #expect(read(text + "more", pieces: size) == .done(Request(method: "POST", path: "/", body: Array(body.utf8))))
        #expect(read(String(text.dropLast()), pieces: size) == .more)
    }

    @Test("is limited: an endless head, a body that is too long, an invalid length and a body without a length are refused")
    func bounds() {
        func status(_ text: String) -> Int? {
            if case .refused(let response) = read(text, pieces: 100) { response.status } else { nil }
        }
        #expect(status("GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 9000)) == 431)
        #expect(status("POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n") == 413)
        #expect(status("POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n") == 400)
        #expect(status("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n") == 400)
        #expect(status("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n") == 411)
    }

    @Test("can be refused by its head, before anything of its body has come", arguments: [1, 1000])
    func screened(size: Int) {
        let head = Array("POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n".utf8)
        var reader = RequestReader { head, bodyBytes in
            .fault(403, "\(head.method) \(head.path) \(head.headers["host"] ?? "") \(bodyBytes)")
        }
        var last = RequestReader.Progress.more
        for at in stride(from: 0, to: head.count, by: size) { last = reader.read(head[at..<min(at + size, head.count)]) }
        #expect(last == .refused(.fault(403, "POST /a x 7")))
        var other = RequestReader { _, bodyBytes in bodyBytes == 7 ? nil : .fault(403, "no") }
        var request = Request(method: "POST", path: "/a", query: "b", body: Array("1234567".utf8))
        request.headers = ["host": "x"]
        #expect(other.read(head + request.body) == .done(request))
    }

    @Test("keeps the headers by which admin and its page know who asks, and no others; a repeated one has all its values")
    func headers() {
        let text = "GET / HTTP/1.1\r\nHOST: a\r\nOrigin:  http://b \r\nX-Other: c\r\nhost: d\r\nX-Switchyard-Token: e\r\n\r\n"
        var request = Request(method: "GET", path: "/")
        request.headers = ["host": "a, d", "origin": "http://b", "x-switchyard-token": "e"]
        #expect(read(text) == .done(request))
    }

    @Test("is answered with further headers in a fixed order")
    func answer() {
        var response = Response(401, type: "text/plain", "")
        response.headers = ["X-B": "2", "X-A": "1"]
        #expect(
            String(decoding: response.bytes, as: UTF8.self)
                == "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain\r\nX-A: 1\r\nX-B: 2\r\nContent-Length: 0\r\n"
                + "Connection: close\r\n\r\n")
    }
}
