// Tests for servers that ask for a pause.

import HTTPSupport
import Platform
import Testing

@testable import HTTP
@testable import PluginKit

@Suite("http: a server that asks for a pause")
struct PauseTests {
    @Test("nothing more is sent to the server, neither waiting deliveries nor later ones")
    func nothingMore() throws {
        let gate = Monitor(false)
        let server = Server.answering { _, connection in
            gate.wait(while: { !$0 })
            connection.answer("429 Slow Down", headers: "Retry-After: 3000\r\n")
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, #""in_flight": 2"#)
        let tokens = (0..<6).map { _ in instance.begin(["{\"n\":1}"]) }
        server.wait(requests: 2)
        gate.withLock { $0 = true }
        gate.wake()
        for ending in tokens.map(instance.ending) {
            #expect(ending.name == "retry" && ending.code == 429)
            #expect((1...3_000_000).contains(ending.after))
        }
        let later = instance.deliver()
        #expect(later.name == "retry" && later.code == 429 && (1...3_000_000).contains(later.after))
        #expect(server.requests.count == 2)
    }

    @Test("with one event per request, the pause applies to the whole batch, even if its last event asks for it")
    func eventByEvent() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("2") ? "503 Busy" : "200 OK", headers: "Retry-After: 3000\r\n")
        }
        defer { server.close() }
        let instance = try Instance(url: server.url, #""body": "event", "in_flight": 1"#)
        let ending = instance.deliver(["{\"n\":0}", "{\"n\":1}", "{\"n\":2}"])
        #expect(ending.name == "retry" && ending.code == 503 && ending.after == 3_000_000)
        #expect(ending.events == [0: "delivered 0", 1: "delivered 0", 2: "retry 503"])
    }

    @Test("an answer without a time does not stop other requests")
    func withoutTime() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("bad") ? "503 Busy" : "200 OK")
        }
        defer { server.close() }
        let instance = try Instance(url: server.url)
        #expect(instance.deliver(["{\"bad\":1}"]).after == 0)
        #expect(instance.deliver().name == "delivered")
    }

    @Test("after the pause requests are sent again")
    func isOver() throws {
        let server = Server.answering { request, connection in
            connection.answer(request.text.contains("bad") ? "503 Busy" : "200 OK", headers: "Retry-After: 30\r\n")
        }
        defer { server.close() }
        let time = Monitor(Int64(0))
        let clock = Clock(now: { Instant(nanoseconds: time.withLock { $0 }) }, wall: { 0 })
        let endings = Monitor<[Outcome]>([])
        let link = HostLink(
            log: { _, _ in }, closed: { _ in },
            complete: { _, outcome in
                endings.withLock { $0.append(outcome) }
                endings.wake()
            })
        let provider = try HTTPProvider(
            settings: Settings(json: "{\"url\":\"\(server.url)\"}"), host: Host(link: link), clock: clock)
        defer { provider.close() }
        func deliver(_ event: String) -> String {
            let before = endings.withLock { $0.count }
            let text = Array((event + "\n").utf8)
            var ends = [UInt64(text.count)]
            var arrivals = [Int64(0)]
            return text.withUnsafeBufferPointer { text in
                withUnsafeMutablePointer(to: &ends[0]) { ends in
                    withUnsafeMutablePointer(to: &arrivals[0]) { arrivals in
                        var raw = switchyard_batch()
                        raw.ndjson = switchyard_bytes(data: text.baseAddress, size: text.count)
                        raw.ends = UnsafePointer(ends)
                        raw.arrivals = UnsafePointer(arrivals)
                        raw.count = 1
                        provider.deliver(Delivery(batch: Batch(&raw), completion: Completion(link: link, token: 1)))
                        endings.wait(while: { $0.count == before })
                        return "\(endings.withLock { $0[before] })"
                    }
                }
            }
        }
        #expect(deliver("{\"bad\":1}").contains("30000"))
        time.withLock { $0 = 29_999_999_999 }
        #expect(deliver("{}").contains("Optional(1)"))
        #expect(server.requests.count == 1)
        time.withLock { $0 = 30_000_000_000 }
        #expect(deliver("{}") == "delivered")
    }
}
