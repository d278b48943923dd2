// Tests for servers that answer before they have the whole request.

import HTTPSupport
import PluginKit
import Testing

@testable import HTTP

@Suite("http: a server that answers before it has the whole body")
struct EarlyTests {
    /// Text that compression makes only a little smaller. It is made once.
    private static let pad: String = {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        return String(unsafeUninitializedCapacity: 1 << 24) { room in
            var state: UInt64 = 7
            for index in 0..<(1 << 24) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                room[index] = letters[Int(truncatingIfNeeded: state >> 58)]
            }
            return 1 << 24
        }
    }()

    /// Returns `count` events of about `bytes` bytes each, together at most 16 MB.
    private func large(_ count: Int, bytes: Int = 1 << 18) -> [String] {
        (0..<count).map { number in
            let start = EarlyTests.pad.utf8.index(EarlyTests.pad.startIndex, offsetBy: number * bytes)
            let end = EarlyTests.pad.utf8.index(start, offsetBy: bytes)
            return "{\"n\":\(number),\"pad\":\"\(EarlyTests.pad[start..<end])\"}"
        }
    }

    /// The action of the server after its answer.
    enum Afterwards: CaseIterable { case readsOn, stalls, closes, resets }

    private func answering(_ status: String, _ afterwards: Afterwards, receiveBuffer: Int32? = nil) -> Server {
        Server(receiveBuffer: receiveBuffer) { server, connection in
            guard let head = connection.head() else { return }
            server.note(head)
            connection.answer(status, headers: [.readsOn, .stalls].contains(afterwards) ? "" : "Connection: close\r\n")
            switch afterwards {
            case .readsOn: connection.linger()
            case .stalls: connection.stall()
            case .closes: break
            case .resets: connection.reset()
            }
        }
    }

    @Test("an early 2xx is unknown at once, whatever the server does afterwards", arguments: Afterwards.allCases)
    func success(_ afterwards: Afterwards) throws {
        let server = answering("200 OK", afterwards)
        defer { server.close() }
        let instance = try Instance(url: server.url)
        defer { instance.close() }
        let ending = instance.deliver(large(64))
        #expect(ending.name == "unknown", "\(ending)")
        if afterwards == .readsOn || afterwards == .stalls {
            let words = "answered 200 before it was sent the whole body, so it cannot have taken all of it; "
            #expect(ending.code == 200 && ending.message.hasSuffix(words + "the server must read a request before it answers"))
            #expect(instance.deliver(large(64)).message == ending.message, "the message is the same each time, so that it is logged once")
        }
    }

    @Test(
        "an early 2xx is unknown with every form of the body, compressed or not",
        arguments: [("ndjson", "gzip"), ("array", "none"), ("array", "zstd"), ("event", "none"), ("event", "gzip")])
    func forms(body: String, compression: String) throws {
        let server = answering("204 No Content", .readsOn, receiveBuffer: 2048)
        defer { server.close() }
        let instance = try Instance(url: server.url, "\"body\": \"\(body)\", \"compression\": \"\(compression)\"")
        defer { instance.close() }
        // With one event per request, that event alone is larger than the buffers of a connection.
        let ending = instance.deliver(large(body == "event" ? 1 : 32, bytes: body == "event" ? 1 << 23 : 1 << 18))
        #expect(ending.name == "unknown" && ending.code == 204, "\(ending)")
    }

    @Test(
        "an early refusal keeps its meaning",
        arguments: [("400 Bad", "rejected"), ("413 Large", "rejected"), ("429 Slow", "retry"), ("503 Busy", "retry"), ("401 Who", "fault")])
    func refusal(status: String, name: String) throws {
        let server = answering(status, .readsOn)
        defer { server.close() }
        let instance = try Instance(url: server.url)
        defer { instance.close() }
        #expect(instance.deliver(large(64)).name == name)
    }

    @Test("a 2xx after the whole body is a delivery, however large the body is and however slowly the server reads")
    func whole() throws {
        for buffer in [nil, 2048] as [Int32?] {
            let server = Server(receiveBuffer: buffer) { server, connection in
                while let request = connection.request() {
                    server.note(request)
                    connection.answer("200 OK")
                }
            }
            defer { server.close() }
            let instance = try Instance(url: server.url)
            defer { instance.close() }
            for size in [1, 1000, 60_000, 300_000, 3_000_000] { #expect(instance.deliver(large(1, bytes: size)).name == "delivered") }
        }
    }

    @Test("an interim answer before the end of the body is ignored")
    func interim() throws {
        let server = Server { server, connection in
            guard let head = connection.head() else { return }
            connection.send("HTTP/1.1 103 Early Hints\r\n\r\n")
            guard connection.body(of: head) != nil else { return }
            connection.answer("200 OK")
            connection.linger()
        }
        defer { server.close() }
        let instance = try Instance(url: server.url)
        defer { instance.close() }
        #expect(instance.deliver(large(64)).name == "delivered")
    }
}
