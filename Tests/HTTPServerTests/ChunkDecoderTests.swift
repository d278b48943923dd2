import Testing

@testable import HTTPServer

/// Decodes a chunked body that arrives in pieces of so many bytes. Returns the body, and the number of bytes up to its end or nil.
func dechunked(_ text: String, step: Int) throws(FramingFault) -> (body: String, end: Int?) {
    let bytes = Array(text.utf8)
    var decoder = ChunkDecoder()
    var body: [UInt8] = []
    var (used, arrived) = (0, 0)
    while true {
        var at = 0
        let result: Result<ChunkDecoder.Step, FramingFault> = bytes[used..<arrived].withUnsafeBufferPointer { waiting in
            do throws(FramingFault) { return .success(try decoder.next(waiting, at: &at)) } catch { return .failure(error) }
        }
        let found = try result.get()
        used += at
        switch found {
        case .piece(let count):
            body += bytes[used..<used + count]
            used += count
        case .end: return (String(decoding: body, as: UTF8.self), used)
        case .incomplete:
            if arrived == bytes.count { return (String(decoding: body, as: UTF8.self), nil) }
            arrived = min(bytes.count, arrived + step)
        }
    }
}

@Suite struct ChunkDecoderTests {
    @Test(arguments: [1, 2, 3, 1000])
    func `A chunked body is decoded however its bytes arrive, and what follows is left`(step: Int) throws {
        let text = "4\r\n{\"a\"\r\n00003;x=\"y\"\r\n:1}\r\n0\r\nTrailer: x\r\n\r\n"
        let (body, end) = try dechunked(text + "POST", step: step)
        #expect(body == "{\"a\":1}")
        #expect(end == text.utf8.count)
        #expect(try dechunked("A\r\n0123456789\r\n0\r\n\r\n", step: step).body == "0123456789")
        #expect(try dechunked("2\r\n{}\r\n", step: step).end == nil)
    }

    @Test(arguments: [
        "1 \r\na\r\n", " 1\r\na\r\n", "+1\r\na\r\n", "1x\r\na\r\n",
        "\r\n", "x\r\n", "-1\r\n", "+1\r\n", "0x1\r\n", " 1\r\n", "1 \r\n", "1\n", "\n", "1\r\r\n", "1;\u{0}\r\n", "1\r\nab\r\n",
        "1\r\na\n",
        "1\r\na\rb", "FFFFFFFFFFFFFFFFFF\r\n", "0\r\nbroken\r\n", "0\r\n: x\r\n", "0\r\nA: b\n\r\n", "0\r\n A: b\r\n", "0\r\nA : b\r\n",
        "1\r\na1\r\n",
    ])
    func `What is not strictly a chunked body is refused`(text: String) {
        for step in [1, 1000] {
            #expect(throws: FramingFault.self) { try dechunked(text + "0\r\n\r\n", step: step) }
        }
    }

    @Test func `Lines and trailers are bounded`() throws {
        let long = String(repeating: "x", count: ChunkDecoder.mostLine)
        #expect(throws: FramingFault.self) { try dechunked("1;" + long, step: 100) }
        #expect(throws: FramingFault.self) { try dechunked("1;" + long + "\r\n", step: 10_000) }
        let trailers = String(repeating: "A: b\r\n", count: ChunkDecoder.mostTrailers)
        #expect(try dechunked("0\r\n" + trailers + "\r\n", step: 1000).end != nil)
        #expect(throws: FramingFault.self) { try dechunked("0\r\n" + trailers + "A: b\r\n\r\n", step: 1000) }
    }
}
