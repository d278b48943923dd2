import PluginKit
import Testing
import VendorSupport

@testable import HTTPKit
@testable import OTLP
@testable import VendorKit

private let event = #"{"type":"track","event":"A","messageId":"m","timestamp":"2099-01-01T00:00:00Z"}"#
private let bad = #"{"type":"track","event":"bad","messageId":"b","timestamp":"2099-01-01T00:00:00Z"}"#
private let encodings = ["protobuf", "json"]

@Suite("otlp: answers")
struct AnswerTests {
    private func exchange(_ encoding: String, _ settings: String = "") throws -> (FakeCollector, Exchange) {
        let fake = FakeCollector(isJSON: encoding == "json")
        let all = "\"encoding\":\"\(encoding)\",\"compression\":\"none\"\(settings.isEmpty ? "" : ",")\(settings)"
        return (fake, try Exchange(OTLP.self, all) { fake.answer($0, $1) })
    }

    @Test("events arrive at a server that follows the specification", arguments: encodings)
    func arrive(encoding: String) throws {
        let (fake, exchange) = try exchange(encoding, #""headers":{"Authorization":"Bearer t0ken","User-Agent":"me"}"#)
        defer { exchange.close() }
        let ending = exchange.deliver([event, event, #"{"event":"B","context":{"app":{"name":"x"}}}"#])
        #expect(ending.name == "delivered" && fake.kept.map(\.name).sorted() == ["A", "A", "B"])
        let headers = exchange.server.requests.map(\.headers)
        #expect(headers.count == 2 && headers.allSatisfy { $0["authorization"] == "Bearer t0ken" && $0["user-agent"] == "me" })
    }

    @Test("random events are all taken by such a server", arguments: encodings)
    func random(encoding: String) throws {
        let (fake, exchange) = try exchange(encoding)
        defer { exchange.close() }
        var random = RandomEvents(seed: 6)
        let events = (0..<500).map { _ in random.event() }
        let ending = exchange.deliver(events)
        #expect(ending.name == "delivered" && fake.malformed.isEmpty)
        #expect(fake.kept.count == events.count - ending.events.count)
    }

    @Test("a record that is rejected alone is refused with the server's words", arguments: encodings)
    func alone(encoding: String) throws {
        let (fake, exchange) = try exchange(encoding)
        defer { exchange.close() }
        let ending = exchange.deliver([bad])
        #expect(ending.events == [0: "rejected 200"] || ending.name == "rejected")
        #expect((ending.messages[0] ?? ending.message) == "the server rejected the record: no bad ones" && fake.kept.isEmpty)
        // If it rejects all records of a request, each of them is known.
        #expect(exchange.deliver([bad, bad]).messages.count == 2)
    }

    @Test(
        "a request of which some records are rejected is not delivered: it is halved until the rejected one is alone", arguments: encodings)
    func partial(encoding: String) throws {
        let (fake, exchange) = try exchange(encoding)
        defer { exchange.close() }
        // What the router does: it sends each half of a refused batch again.
        func deliver(_ events: [String]) -> [String] {
            let ending = exchange.deliver(events)
            if ending.name == "rejected", events.count > 1 {
                let half = events.count / 2
                return deliver(Array(events[..<half])) + deliver(Array(events[half...]))
            }
            return events.indices.map { ending.events[$0] ?? ending.name }
        }
        let endings = deliver([event, event, bad, event, event])
        #expect(endings.map { $0.prefix(8) } == ["delivere", "delivere", "rejected", "delivere", "delivere"])
        // Each taken one arrived, and it may have arrived again.
        #expect(fake.kept.count >= 4 && fake.kept.count <= 12)
    }

    @Test("by setting, a request of which some records are rejected is refused whole, and nothing is sent again", arguments: encodings)
    func rejectAll(encoding: String) throws {
        let (fake, exchange) = try exchange(encoding, #""partial_success":"reject""#)
        defer { exchange.close() }
        let ending = exchange.deliver([event, bad, event])
        #expect(ending.events.count == 3 && ending.events.values.allSatisfy { $0 == "rejected 200" } || ending.events.isEmpty)
        #expect(ending.name != "delivered" || ending.events.count == 3)
        #expect(fake.kept.count == 2 && exchange.server.requests.count == 1)
    }

    private func judgement(_ status: Int, _ body: [UInt8], count: Int = 3, isCut: Bool = false) throws -> String {
        var setup = Setup(try Settings(json: "{}"), Host(log: { _, _ in }, closed: { _ in }))
        let vendor = try OTLP(&setup)
        let reply = Reply(status: status, body: body, isCut: isCut)
        func words(_ outcome: Outcome) -> String {
            switch outcome {
            case .rejected(let code, let words): "rejected \(code) \(words)"
            case .fault(let code, let words): "fault \(code) \(words)"
            case .unknown(let code, let words): "unknown \(code) \(words)"
            default: "\(outcome)"
            }
        }
        switch vendor.judge(reply, to: SentRequest(endpoint: .init(index: 0), count: count, hasSeveralEvents: count > 1)) {
        case .standard: return "standard"
        case .whole(let outcome): return "whole " + words(outcome)
        case .each(let outcome): return "each " + words(outcome)
        case .mixed: return "mixed"
        }
    }

    @Test(
        "what a 2xx says in JSON",
        arguments: [
            ("", "standard"), ("{}", "standard"), (" {\"partialSuccess\":{}} ", "standard"), (#"{"partialSuccess":null}"#, "standard"),
            (#"{"partialSuccess":{"errorMessage":"a warning"}}"#, "standard"), (#"{"other":1}"#, "standard"),
            (#"{"partialSuccess":{"rejectedLogRecords":"0"}}"#, "standard"),
            (#"{"partialSuccess":{"rejectedLogRecords":null}}"#, "standard"),
            (#"{"partialSuccess":{"rejectedLogRecords":"2"}}"#, "whole rejected 200 the server rejected some records of a request"),
            (
                #"{"partialSuccess":{"rejectedLogRecords":1,"errorMessage":"x"}}"#,
                "whole rejected 200 the server rejected some records of a request: x"
            ),
            (#"{"partialSuccess":{"rejectedLogRecords":"3"}}"#, "each rejected 200 the server rejected the record"),
            (#"{"partialSuccess":{"rejectedLogRecords":4}}"#, "each rejected 200 the server rejected the record"),
            (#"{"partialSuccess":{"rejectedLogRecords":"-1"}}"#, "whole fault"),
            (#"{"partialSuccess":{"rejectedLogRecords":"x"}}"#, "whole fault"),
            (#"{"partialSuccess":1}"#, "whole fault"), ("{\"half\":", "whole fault"), ("<html>login</html>", "whole fault"),
        ])
    func json(body: String, expected: String) throws {
        let said = try judgement(200, Array(body.utf8))
        #expect(expected == "whole fault" ? said.hasPrefix(expected) : said == expected)
    }

    @Test(
        "what a 2xx says as a protocol buffer",
        arguments: [
            ([0x0a, 0x00], "standard"), ([0x0a, 0x02, 0x08, 0x00], "standard"), ([0x0a, 0x03, 0x12, 0x01, 0x78], "standard"),
            ([0x0a, 0x02, 0x08, 0x02], "whole rejected 200 the server rejected some records of a request"),
            ([0x0a, 0x05, 0x08, 0x03, 0x12, 0x01, 0x78], "each rejected 200 the server rejected the record: x"),
            // Unknown fields are skipped.
            (
                [0x10, 0x01, 0x1d, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0x02, 0x08, 0x03],
                "each rejected 200 the server rejected the record"
            ),
            // -1, a length beyond the end, an unknown wire type, a cut number, and field 0.
            ([0x0a, 0x0b, 0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], "whole fault"), ([0x0a, 0x7f, 0x08], "whole fault"),
            ([0x0b], "whole fault"), ([0x08, 0x80], "whole fault"), ([0x00, 0x01], "whole fault"), ([0x0a, 0x01, 0x0a], "whole fault"),
            ([0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], "whole fault"),
        ] as [([UInt8], String)])
    func protobuf(body: [UInt8], expected: String) throws {
        let said = try judgement(200, body)
        #expect(expected == "whole fault" ? said.hasPrefix(expected) : said == expected)
    }

    @Test("an answer that was cut says nothing about the records")
    func cut() throws { #expect(try judgement(200, [0x0a, 0x00], isCut: true).hasPrefix("whole unknown")) }

    @Test(
        "only 429, 502, 503 and 504 are sent again; other answers of 5xx and 400 refuse the request, with the server's words",
        arguments: [
            (429, "standard"), (502, "standard"), (503, "standard"), (504, "standard"), (401, "standard"), (404, "standard"),
            (400, "whole rejected 400 the server answered 400: no"), (500, "whole rejected 500 the server answered 500: no"),
            (501, "whole rejected 501 the server answered 501: no"), (413, "whole rejected 413 the server answered 413: no"),
        ])
    func statuses(status: Int, expected: String) throws {
        #expect(try judgement(status, [0x08, 0x03, 0x12, 0x02, 0x6e, 0x6f]) == expected)
        #expect(try judgement(status, Array(#"{"code":3,"message":"no"}"#.utf8)) == expected)
    }

    @Test("a refusal without words is one too")
    func wordless() throws {
        #expect(try judgement(500, []) == "whole rejected 500 the server answered 500" && judgement(400, [0x0b]) == "standard")
    }

    @Test("a server may ask for a pause with each answer that is sent again", arguments: ["429 Limit", "503 Busy"])
    func pause(status: String) throws {
        let exchange = try Exchange(OTLP.self, "", status: status, headers: "Retry-After: 7\r\n")
        defer { exchange.close() }
        let ending = exchange.deliver([event, event])
        #expect(ending.name == "retry" && ending.after == 7000 && ending.events.isEmpty)
    }

    @Test("headers are never shown, and the type of the body is not one of them")
    func headers() throws {
        let exchange = try Exchange(OTLP.self, #""headers":{"Authorization":"Bearer s3cret"}"#) { _, connection in
            connection.answer("401 Unauthorized", "s3cret is not valid")
        }
        defer { exchange.close() }
        #expect(exchange.deliver([event]).message.hasSuffix("answered 401: *** is not valid; correct headers"))
        #expect(throws: SettingsFault.self) { try Mapped(OTLP.self, #"{"headers":{"content-type":"text/plain"}}"#, []) }
        #expect(throws: SettingsFault.self) { try Mapped(OTLP.self, #"{"resource":{"a":1}}"#, []) }
        #expect(throws: SettingsFault.self) { try Mapped(OTLP.self, #"{"resource":{"":"x"}}"#, []) }
    }

    @Test("the address is the collector's on this machine, or another one")
    func addresses() throws {
        func address(_ settings: String) throws -> [String] {
            var setup = Setup(try Settings(json: settings), Host(log: { _, _ in }, closed: { _ in }))
            _ = try OTLP(&setup)
            return setup.endpoints.map { $0.base + $0.path }
        }
        #expect(try address("{}") == ["http://localhost:4318/v1/logs"])
        #expect(try address(#"{"url":"https://otlp.example/x/"}"#) == ["https://otlp.example/x/v1/logs"])
    }
}
