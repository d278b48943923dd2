import Plans
import Testing

@testable import Listener

@Suite struct CodingTests {
    static let event = Array("{\"a\":1}\n".utf8)

    @Test func `Bodies in gzip, deflate, zstd and br are decoded, also with several codings`() throws {
        let event = CodingTests.event
        let bodies: [(String, [UInt8])] = [
            ("gzip", gzipped(event)), ("x-gzip", gzipped(event)), ("GZIP", gzipped(event) + gzipped(event)),
            ("deflate", compressed(event, windowBits: 15)), ("deflate", compressed(event, windowBits: -15)),
            ("zstd", zstandard(event)), ("br", brotliStored(event)), ("gzip, zstd", zstandard(gzipped(event))), ("identity", event),
        ]
        try withListener { _, sink, address in
            let client = try TestClient(address)
            for (coding, body) in bodies {
                client.post(body, ["Content-Encoding: \(coding)"])
                #expect(client.answer()?.status == 200, "\(coding)")
            }
            #expect(sink.lines == Array(repeating: "{\"a\":1}", count: 10))
        }
    }

    @Test func `An unknown coding, or one too many, is refused, and the answer names the known codings`() throws {
        try withListener { _, _, address in
            let client = try TestClient(address)
            for coding in ["compress", "gzip, gzip, gzip"] {
                client.post(CodingTests.event, ["Content-Encoding: \(coding)"])
                let answer = try #require(client.answer())
                #expect(answer.status == 415 && answer.headers["accept-encoding"] == "gzip, deflate, zstd, br")
            }
        }
    }

    @Test func `A body that is cut off or has another coding is refused`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            let event = CodingTests.event
            for (coding, body) in [
                ("gzip", gzipped(event)), ("zstd", zstandard(event)), ("br", brotliStored(event)),
                ("deflate", compressed(event, windowBits: 15)),
            ] {
                for bad in [Array(body.dropLast(3)), event, body + [1, 2, 3], []] {
                    client.post(bad, ["Content-Encoding: \(coding)"])
                    #expect(client.answer()?.status == 400, "\(coding) \(bad.count)")
                }
            }
            #expect(sink.lines.isEmpty)
        }
    }

    @Test func `A decompression bomb uses no more memory than a valid body may`() throws {
        let zeros = [UInt8](repeating: 0x20, count: 30_000_000)
        let bombs = [("gzip", gzipped(zeros)), ("zstd", zstandard(zeros)), ("gzip, gzip", gzipped(gzipped(zeros)))]
        try withListener { listener, _, address in
            let client = try TestClient(address)
            for (coding, bomb) in bombs {
                client.post(bomb, ["Content-Encoding: \(coding)"])
                let answer = try #require(client.answer())
                #expect(answer.status == 413)
            }
        }
    }

    @Test func `The ratio and the decoded length are accepted up to the limit, and not one byte beyond`() throws {
        // A gzip of blanks is about one thousandth of their length.
        let good = [UInt8](repeating: 0x20, count: 2_000_000)
        let body = gzipped(good)
        try withListener(
            listening {
                $0.limits.decoded = 2_000_000
                $0.limits.ratio = 2000
            }
        ) { _, _, address in
            let client = try TestClient(address)
            client.post(body, ["Content-Encoding: gzip"])
            #expect(client.answer()?.status == 200)
            client.post(gzipped(good + [0x20]), ["Content-Encoding: gzip"])
            let answer = try #require(client.answer())
            #expect(answer.status == 413 && answer.body.contains("more than 2000000 bytes when it is decoded"))
        }
        let ratio = (good.count + body.count - 1) / body.count
        try withListener(listening { $0.limits.ratio = ratio }) { _, _, address in
            let client = try TestClient(address)
            client.post(body, ["Content-Encoding: gzip"])
            #expect(client.answer()?.status == 200)
        }
        try withListener(listening { $0.limits.ratio = ratio - 1 }) { _, _, address in
            let client = try TestClient(address)
            client.post(body, ["Content-Encoding: gzip"])
            #expect(client.answer()?.status == 413)
        }
    }
}
