import Glibc
import Platform
import Seeded
import Testing

@testable import HTTPServer

@Suite struct PartsTests {
    @Test func `The order of idle connections begins with the one that waits longest, whatever comes and goes`() {
        var random = Seeded(state: 7)
        var order = IdleOrder()
        var model: [(slot: Int, since: Int64)] = []
        for now in Int64(1)...2000 {
            let slot = Int.random(in: 0..<20, using: &random)
            model.removeAll { $0.slot == slot }
            if Bool.random(using: &random) {
                order.add(slot, at: Instant(nanoseconds: now))
                model.append((slot, now))
            } else {
                order.remove(slot)
            }
            #expect(order.oldest?.slot == model.first?.slot)
            #expect(order.oldest?.since == model.first.map { Instant(nanoseconds: $0.since) })
        }
    }

    @Test func `The bytes of a connection keep their order, however they arrive, are used and rest`() {
        var random = Seeded(state: 8)
        var pool = BufferPool()
        var input = InputBuffer()
        var model: [UInt8] = []
        for round in 0..<2000 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                let room = input.makeRoom(&pool)
                #expect(!room.isEmpty)
                let count = min(room.count, Int.random(in: 1...40_000, using: &random))
                memset(room.baseAddress!, Int32(round & 0xff), count)
                model += [UInt8](repeating: UInt8(round & 0xff), count: count)
                input.arrived(count)
            case 2:
                let count = min(model.count, Int.random(in: 0...90_000, using: &random))
                input.pass(count)
                model.removeFirst(count)
            default: input.rest(&pool)
            }
            guard input.waiting.count == model.count, model.isEmpty || memcmp(input.waiting.baseAddress!, model, model.count) == 0 else {
                Issue.record("the bytes are not those that have arrived")
                return
            }
        }
    }

    @Test func `A client for which there is no descriptor learns why, by the descriptor in reserve`() throws {
        var template = Array("/tmp/sy-http-XXXXXX".utf8CString)
        let folder = String(cString: mkdtemp(&template))
        let path = try UnixAddress(path: folder + "/s")
        defer {
            unlink(folder + "/s")
            rmdir(folder)
        }
        let socket = try StreamSocket.listening(at: path, mode: 0o600, existing: .removed)
        let isShort = Monitor(true)
        let acceptor = Acceptor(socket.number) { socket in
            if isShort.withLock({ $0 }) {
                errno = EMFILE
                return -1
            }
            return StreamSocket.accept(from: socket)?.release() ?? -1
        }
        let client = try RawClient(path)
        client.send("GET / HTTP/1.1\r\n")
        #expect(acceptor.next() == .exhausted)
        isShort.withLock { $0 = false }
        #expect(acceptor.refuse(ReplyText.noDescriptor))
        let answer = client.read()
        #expect(answer.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n") && answer.contains("Retry-After: 1\r\n"))
        #expect(answer.hasSuffix("no descriptor left for this connection; send the events again later\"}\n"))
        #expect(!acceptor.refuse(ReplyText.noDescriptor), "nobody waits")
        #expect(acceptor.next() == .none)
    }

    @Test(arguments: [
        (Int64(0), "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
    ])
    func `The date of an answer is that of RFC 9110`(second: Int64, text: String) {
        var date = DateText()
        #expect(date.at(second * 1_000_000_000 + 999_999_999) == text)
    }
}
