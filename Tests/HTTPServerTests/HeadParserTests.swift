import Testing

@testable import HTTPServer

/// Parses the bytes, in one piece or one byte at a time.
func parsed(_ text: String, bytewise: Bool = false, limits: HeadParser.Limits = .init()) throws(FramingFault) -> (HeadParser, Int?) {
    let bytes = Array(text.utf8)
    var parser = HeadParser(limits)
    for count in bytewise ? Array(0...bytes.count) : [bytes.count] {
        let progress: Result<HeadParser.Progress, FramingFault> = bytes.withUnsafeBufferPointer { all in
            do throws(FramingFault) { return .success(try parser.parse(UnsafeBufferPointer(rebasing: all[..<count]))) } catch {
                return .failure(error)
            }
        }
        if case .complete(let end) = try progress.get() { return (parser, end) }
    }
    return (parser, nil)
}

/// Returns how a head says that its body is framed.
func framing(_ head: String) throws(FramingFault) -> RequestFraming {
    let parser = try parsed(head).0
    let result: Result<RequestFraming, FramingFault> = Array(head.utf8).withUnsafeBufferPointer { all in
        do throws(FramingFault) { return .success(try RequestFraming(parser, all)) } catch { return .failure(error) }
    }
    return try result.get()
}

@Suite struct HeadParserTests {
    private static let good = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nA:\t b c \t\r\nEmpty:\r\n\r\n"

    @Test(arguments: [false, true])
    func `A head is read to its end, in one piece or byte by byte, and its values have no blanks around them`(bytewise: Bool) throws {
        let (parser, end) = try parsed(HeadParserTests.good + "next", bytewise: bytewise)
        let text = Array(HeadParserTests.good.utf8)
        func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
        #expect(end == text.count)
        #expect(part(parser.method) == "POST" && part(parser.target) == "/a?b=c" && parser.minorVersion == 1)
        #expect(parser.fields.map { part($0.name) } == ["Host", "A", "Empty"])
        #expect(parser.fields.map { part($0.value) } == ["x", "b c", ""])
    }

    @Test func `A head that is cut anywhere is incomplete, and never complete or broken`() throws {
        let head = HeadParserTests.good
        for count in 0..<head.utf8.count {
            let (_, end) = try parsed(String(decoding: Array(head.utf8)[..<count], as: UTF8.self))
            #expect(end == nil, "\(count) bytes")
        }
    }

    @Test func `One empty line before the request line is skipped, and a second one is refused`() throws {
        #expect(try parsed("\r\nGET / HTTP/1.0\r\n\r\n").1 == 20)
        #expect(throws: FramingFault.self) { try parsed("\r\n\r\nGET / HTTP/1.1\r\n\r\n") }
    }

    @Test func `Limits hold for the request line, for the head and for the number of headers`() throws {
        let limits = HeadParser.Limits(bytes: 60, fields: 2)
        #expect(throws: FramingFault.longTarget) { try parsed("GET /" + String(repeating: "x", count: 70), limits: limits) }
        #expect(throws: FramingFault.largeHead) {
            try parsed("GET / HTTP/1.1\r\nA: " + String(repeating: "x", count: 70), limits: limits)
        }
        #expect(throws: FramingFault.manyFields) { try parsed("GET / HTTP/1.1\r\nA: b\r\nB: c\r\nC: d\r\n\r\n", limits: limits) }
        #expect(try parsed("GET / HTTP/1.1\r\nA: b\r\nB: c\r\n\r\n", limits: limits).1 != nil)
    }

    @Test func `A reset parser reads the next head as a new one does`() throws {
        var (parser, _) = try parsed(HeadParserTests.good)
        parser.reset()
        let next = Array("HEAD /x HTTP/1.0\r\nB: c\r\n\r\n".utf8)
        let progress = try next.withUnsafeBufferPointer { try parser.parse($0) }
        #expect(progress == .complete(end: next.count))
        #expect(parser.fields.count == 1 && parser.minorVersion == 0)
    }
}

@Suite struct RequestFramingTests {
    private func post(_ headers: String, version: String = "1.1") throws -> RequestFraming {
        try framing("POST / HTTP/\(version)\r\nHost: x\r\n\(headers)\r\n\r\n")
    }

    @Test func `The body ends by its length, by its last chunk, or is empty`() throws {
        #expect(try post("A: b").body == .length(0))
        #expect(try post("Content-Length: 7").body == .length(7))
        #expect(try post("CONTENT-LENGTH: 007").body == .length(7))
        #expect(try post("Content-Length: 999999999999999999").body == .length(999_999_999_999_999_999))
        #expect(try post("Transfer-Encoding: Chunked").body == .chunked)
    }

    @Test func `HTTP 1.1 keeps the connection unless a header says close, and HTTP 1.0 only if a header says so`() throws {
        #expect(try post("A: b").keepsAlive)
        #expect(try !post("Connection: Keep-Alive, CLOSE").keepsAlive)
        #expect(try !post("Connection: x\r\nConnection: close").keepsAlive)
        #expect(try post("Connection: closed").keepsAlive)
        #expect(try !post("A: b", version: "1.0").keepsAlive)
        #expect(try post("Connection: keep-alive", version: "1.0").keepsAlive)
    }

    @Test func `100 Continue is sent only to a client of HTTP 1.1 that announces a body`() throws {
        #expect(try post("Expect: 100-Continue\r\nContent-Length: 1").expectsContinue)
        #expect(try post("Expect: 100-continue\r\nTransfer-Encoding: chunked").expectsContinue)
        #expect(try !post("Expect: 100-continue").expectsContinue)
        #expect(try !post("Expect: other\r\nContent-Length: 1").expectsContinue)
        #expect(try !post("Expect: 100-continue\r\nContent-Length: 1", version: "1.0").expectsContinue)
    }

    @Test func `Only HTTP 1.0 may leave out the host`() throws {
        #expect(throws: FramingFault.malformed("Host is missing")) { try framing("GET / HTTP/1.1\r\n\r\n") }
        #expect(try framing("GET / HTTP/1.0\r\n\r\n").body == .length(0))
    }
}
