// A corpus of heads and bodies that two programs could frame in two ways, each with its one answer. Behind each stands a whole request: if
// it were read as a request of its own, it would be answered too, and its event would reach the sink.

import Foundation
import Testing

@testable import Listener

/// A request, and the status of its answer.
struct Attack: Sendable, CustomTestStringConvertible {
    let name: String
    let status: Int
    let text: String

    var testDescription: String { name }

    /// A whole head and what follows it.
    init(_ name: String, _ status: Int = 400, whole text: String) { (self.name, self.status, self.text) = (name, status, text) }

    /// A request with these lines behind its host.
    init(_ name: String, _ status: Int = 400, lines: String, body: String = "{}") {
        self.init(name, status, whole: "POST /v1/events HTTP/1.1\r\nHost: x\r\n\(lines)\r\n\r\n\(body)")
    }

    static let inner = "POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n{\"a\":1}"

    static let lengths = [
        Attack("the same length twice", lines: "Content-Length: 2\r\nContent-Length: 2"),
        Attack("two lengths", lines: "Content-Length: 2\r\nContent-Length: 3"),
        Attack("a list of lengths", lines: "Content-Length: 2, 2"), Attack("a length with a plus", lines: "Content-Length: +2"),
        Attack("a length with a minus", lines: "Content-Length: -2"), Attack("a hexadecimal length", lines: "Content-Length: 0x2"),
        Attack("a length with a blank inside", lines: "Content-Length: 2 0"), Attack("an empty length", lines: "Content-Length:"),
        Attack("a length with a fraction", lines: "Content-Length: 2.0"), Attack("a length with an exponent", lines: "Content-Length: 2e0"),
        Attack("a length in quotes", lines: "Content-Length: \"2\""),
        Attack("a length in other digits", lines: "Content-Length: \u{0662}"),
        Attack("a length beyond 64 bits", lines: "Content-Length: 18446744073709551618"),
        Attack("a length of 2^63", lines: "Content-Length: 9223372036854775808"),
        Attack("a blank before the colon", lines: "Content-Length : 2"), Attack("a tab before the colon", lines: "Content-Length\t: 2"),
        Attack("a blank before the name", lines: " Content-Length: 2"),
        Attack("a huge length", 413, lines: "Content-Length: 999999999999"),
    ]

    static let codings = [
        Attack("a length and chunks", lines: "Content-Length: 12\r\nTransfer-Encoding: chunked", body: "2\r\n{}\r\n0\r\n\r\n"),
        Attack("chunks and a length", lines: "Transfer-Encoding: chunked\r\nContent-Length: 12", body: "2\r\n{}\r\n0\r\n\r\n"),
        Attack("chunked twice", lines: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", body: "0\r\n\r\n"),
        Attack("chunked twice in a list", lines: "Transfer-Encoding: chunked, chunked", body: "0\r\n\r\n"),
        Attack("chunked and not the last", lines: "Transfer-Encoding: chunked, identity", body: "0\r\n\r\n"),
        Attack("another coding before", lines: "Transfer-Encoding: gzip, chunked", body: "0\r\n\r\n"),
        Attack("an unknown coding", lines: "Transfer-Encoding: xchunked", body: "0\r\n\r\n"),
        Attack("identity", lines: "Transfer-Encoding: identity"), Attack("an empty coding", lines: "Transfer-Encoding:"),
        Attack("a coding in quotes", lines: "Transfer-Encoding: \"chunked\"", body: "0\r\n\r\n"),
        Attack("a parameter of the coding", lines: "Transfer-Encoding: chunked;a=b", body: "0\r\n\r\n"),
        Attack("a vertical tab before the coding", lines: "Transfer-Encoding: \u{0b}chunked", body: "0\r\n\r\n"),
        Attack("a blank before the colon of the coding", lines: "Transfer-Encoding : chunked", body: "0\r\n\r\n"),
        Attack("a coding in HTTP 1.0", whole: "POST /v1/events HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ]

    static let lines = [
        Attack("a folded length", lines: "Content-Length:\r\n 79"), Attack("a folded coding", lines: "Transfer-Encoding:\r\n chunked"),
        Attack("a fold with a tab", lines: "A: b\r\n\tc\r\nContent-Length: 2"), Attack("an empty fold", lines: "Content-Length: 2\r\n "),
        Attack("a fold of the first header", whole: "POST /v1/events HTTP/1.1\r\n Host: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a bare line feed", lines: "A: b\nContent-Length: 2"), Attack("a bare line feed at the end", lines: "Content-Length: 2\n"),
        Attack("bare line feeds only", whole: "POST /v1/events HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}"),
        Attack("a bare carriage return", lines: "A: b\rContent-Length: 2"),
        Attack("two carriage returns", lines: "Content-Length: 2\r"),
        Attack("a zero byte in a value", lines: "A: b\u{0}c\r\nContent-Length: 2"),
        Attack("a zero byte in a length", lines: "Content-Length: 2\u{0}0"),
        Attack("a zero byte in a name", lines: "A\u{0}: b\r\nContent-Length: 2"),
        Attack("a line without a colon", lines: "Content-Length 2"), Attack("a line without a name", lines: ": b\r\nContent-Length: 2"),
        Attack("a name with a blank", lines: "A B: c\r\nContent-Length: 2"), Attack("a name in other letters", lines: "\u{c4}: b"),
        Attack("a deletion in a value", lines: "A: \u{7f}\r\nContent-Length: 2"),
    ]

    static let requestLines = [
        Attack("no host", whole: "POST /v1/events HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("two hosts", lines: "Host: y\r\nContent-Length: 2"),
        Attack("a host with a path", whole: "POST /v1/events HTTP/1.1\r\nHost: x/y\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a host with a user", whole: "POST /v1/events HTTP/1.1\r\nHost: a@x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a zero byte in the path", whole: "POST /v1/events\u{0}x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a blank in the path", whole: "POST /v1/events x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a fragment in the path", whole: "POST /v1/events#x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("other letters in the path", whole: "POST /v1/\u{c4} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a tab between the parts", whole: "POST\t/v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("two blanks between the parts", whole: "POST  /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a blank before the method", whole: " POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("no version", whole: "POST /v1/events\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("a version in small letters", whole: "POST /v1/events http/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("version 1.2", whole: "POST /v1/events HTTP/1.2\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        Attack("version 2.0", whole: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        Attack("a blank behind the version", whole: "POST / HTTP/1.1 \r\nHost: x\r\n\r\n"),
        Attack("bytes of TLS", whole: "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}"),
        Attack("two empty lines before the request", whole: "\r\n\r\nPOST /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"),
        Attack("a long target", 414, whole: "POST /\(String(repeating: "x", count: 60_000)) HTTP/1.1\r\nHost: x\r\n\r\n"),
        Attack("a long header", 431, lines: "A: \(String(repeating: "x", count: 60_000))"),
        Attack("many headers", 431, lines: (0..<200).map { "A\($0): b" }.joined(separator: "\r\n")),
    ]

    static let chunks = [
        "an empty size": "\r\n", "a size with a plus": "+2\r\n{}\r\n", "a size with a minus": "-2\r\n{}\r\n",
        "a size with 0x": "0x2\r\n{}\r\n",
        "a blank before a size": " 2\r\n{}\r\n", "a blank behind a size": "2 \r\n{}\r\n", "a bare line feed behind a size": "2\n{}\r\n",
        "a bare line feed behind a chunk": "2\r\n{}\n", "a chunk that is longer than its size": "2\r\n{} \r\n",
        "a size beyond 64 bits": "10000000000000002\r\n{}\r\n", "a zero byte in an extension": "2;a=\u{0}\r\n{}\r\n",
        "a carriage return in an extension": "2;a=\rb\r\n{}\r\n", "a line feed in an extension": "2;a\nb\r\n{}\r\n",
        "a trailer without a colon": "0\r\nA\r\n\r\n", "a folded trailer": "0\r\nA: b\r\n c\r\n\r\n",
        "a bare line feed in the trailers": "0\r\nA: b\n\r\n", "a bare line feed at the end": "0\r\n\n",
    ].map { Attack($0.key, lines: "Transfer-Encoding: chunked", body: $0.value) }

    static let all = lengths + codings + lines + requestLines + chunks
}

@Suite struct FramingTests {
    @Test(arguments: Attack.all)
    func `What two programs could frame in two ways gets one answer in JSON, and the connection ends`(_ attack: Attack) throws {
        try withListener { listener, sink, address in
            let client = try TestClient(address)
            client.send(attack.text + Attack.inner)
            let answer = try #require(client.answer())
            #expect(answer.status == attack.status)
            #expect(answer.headers["connection"] == "close" && answer.headers["content-type"] == "application/json")
            let error = try #require(JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any])
            #expect((error["error"] as? String)?.isEmpty == false)
            #expect(client.ends(), "something follows the answer")
            #expect(sink.lines.isEmpty)
            #expect(listener.counts.requests == 1)
        }
    }

    @Test(arguments: [
        "Content-Length: 2\r\n\r\n{}", "content-length:2\r\n\r\n{}", "CONTENT-LENGTH:\t 2 \t\r\n\r\n{}", "Content-Length: 002\r\n\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        "Transfer-Encoding: CHUNKED\r\n\r\n002;a=\"b c\";d\r\n{}\r\n0;e\r\nA: b\r\n\r\n",
        "A:\r\nContent-Length: 2\r\n\r\n{}", "A: \u{c4}\r\nContent-Length: 2\r\n\r\n{}", "A: b:c\r\nContent-Length: 2\r\n\r\n{}",
        "Content-Length: 2\r\n\r\n{}\r\n",
    ])
    func `What RFC 9112 allows is read, and the request behind it too`(_ rest: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.send("POST /v1/events HTTP/1.1\r\nHost: x\r\n" + rest + Attack.inner)
            #expect(client.answer()?.status == 200)
            #expect(client.answer()?.status == 200)
            #expect(sink.lines == ["{}", "{\"a\":1}"])
        }
    }

    @Test func `However its bytes arrive, a pipeline gets the same answers`() throws {
        let post = "POST /v1/events HTTP/1.1\r\nHost: x\r\n"
        let text = Array(
            ("\(post)Content-Length: 7\r\n\r\n{\"a\":1}\(post)Transfer-Encoding: chunked\r\n\r\n3\r\n{\"b\r\n4\r\n\":2}\r\n0\r\n\r\n"
                + "HEAD /nothing HTTP/1.1\r\nHost: x\r\n\r\n\(post)Content-Length: 2\r\nConnection: close\r\n\r\n{}").utf8)
        for step in [1, 7, 64, text.count] {
            try withListener { _, sink, address in
                let client = try TestClient(address)
                var on: Int32 = 1
                setsockopt(client.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
                for start in stride(from: 0, to: text.count, by: step) { client.send(Array(text[start..<min(text.count, start + step)])) }
                #expect(client.answer()?.status == 200)
                #expect(client.answer()?.status == 200)
                #expect(client.answer(head: true)?.status == 404)
                let last = try #require(client.answer())
                #expect(last.status == 200 && last.headers["connection"] == "close" && client.ends())
                #expect(sink.lines == ["{\"a\":1}", "{\"b\":2}", "{}"])
            }
        }
    }
}
