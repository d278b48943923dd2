// Segment's API and OTLP/HTTP as their clients see them: the events of a body, and the answer.

import Foundation
import Ingest
import Plans
import Platform
import TestSupport
import Testing

@testable import Listener

private let secret = "a-key-of-32-bytes-0123456789abcd"
private let keyed = [AccessKey(name: "web", secrets: [Array(secret.utf8)])]
private let otherKey = [AccessKey(name: "web", secrets: [Array(secret.utf8)], dialects: ["native"])]
/// 2026-11-21T06:00:00.000Z.
private let startTime: Int64 = 1_795_240_800_000_000_000

private func object(_ text: String) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
}

@Suite struct SegmentServiceTests {
    static let calls = ["track", "identify", "page", "screen", "group", "alias"]

    @Test(arguments: calls) func `Each call becomes an event of its type and is a success`(_ call: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.post(#"{"userId":"u","timestamp":"2026-01-01T00:00:00Z"}"#, to: "/v1/\(call)")
            let answer = try #require(client.answer())
            #expect(answer.status == 200 && answer.body == #"{"success": true}"#)
            #expect(answer.headers["content-type"] == "application/json")
            let event = try object(try #require(sink.lines.first))
            #expect(event["type"] as? String == call && event["userId"] as? String == "u" && event["receivedAt"] is String)
        }
    }

    @Test(arguments: ["batch", "import"]) func `A batch becomes its events, without the write key`(_ call: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            let body = #"{"batch":[{"type":"track","event":"a"},{"type":"page","writeKey":"k"}],"writeKey":"k","context":{"x":1}}"#
            client.post(gzipped(Array(body.utf8)), ["Content-Encoding: gzip"], to: "/v1/\(call)")
            #expect(client.answer()?.status == 200)
            #expect(sink.lines.count == 2)
            for line in sink.lines {
                #expect(!line.contains("writeKey"))
                #expect(try object(line)["context"] as? [String: Int] == ["x": 1])
            }
        }
    }

    @Test func `An invalid event in a batch affects no other event, so the client neither drops nor repeats them`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 1, message: "no")]) }
            let client = try TestClient(address)
            client.post(
                #"{"batch":[{"event":"a","n":NaN,"m":-Infinity},{"event":"b","n":},{"event":"c","s":"\ud800\u0000","big":1234567890123456789012345678901234567890,"k":1,"k":2}]}"#,
                to: "/v1/batch")
            let answer = try #require(client.answer())
            #expect(answer.status == 200 && answer.body == #"{"success": true}"#)
            let lines = sink.lines
            #expect(lines.count == 3)
            try #require(lines.count == 3)
            #expect(lines[0].contains(#""n":"NaN","m":"-Infinity""#))
            #expect(lines[1] == #"{"event":"b","n":}"#)
            #expect(lines[2].contains(#""s":"\ud800\u0000","big":1234567890123456789012345678901234567890,"k":1,"k":2"#))
        }
    }

    @Test(arguments: [
        ("/v1/batch", "application/json", #"{"batch":[{"event":"a"},{"event":"b"}],"sentAt":"2026-11-21T05:00:00Z"}"#),
        ("/v1/events", "application/json", #"[{"event":"a"},{"event":"b"}]"#),
        ("/v1/logs", "application/json", #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},{}]}]}]}"#),
    ])
    func `A list that is cut off anywhere is answered with 400, and none of its events is taken`(
        _ path: String, _ type: String, _ body: String
    ) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            for end in 1..<body.utf8.count {
                client.post(Array(body.utf8.prefix(end)), ["Content-Type: \(type)"], to: path)
                #expect(client.answer()?.status == 400, "\(end)")
            }
            #expect(sink.lines.isEmpty)
            client.post(body, ["Content-Type: \(type)"], to: path)
            #expect(client.answer()?.status == 200)
            #expect(sink.lines.count == 2)
        }
    }

    @Test(arguments: ["", "[]", "{}", "nonsense", #"{"batch":1}"#, #"{"batch":[],"context":{"a":}}"#])
    func `A body without a batch is answered with 400, a code and a message`(_ body: String) throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.post(body, to: "/v1/batch")
            let answer = try #require(client.answer())
            #expect(answer.status == 400)
            let said = try object(answer.body)
            #expect(said["success"] as? Bool == false && said["code"] as? String == "invalid_request" && said["message"] is String)
            #expect(sink.lines.isEmpty)
        }
    }

    @Test func `A batch without any valid event is answered with 400, and an empty batch succeeds`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 0, message: "no")]) }
            let client = try TestClient(address)
            client.post(#"{"batch":[nonsense]}"#, to: "/v1/batch")
            #expect(client.answer()?.status == 400)
            client.post(#"{"batch":[]}"#, to: "/v1/batch")
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `The key is the user name of Basic authentication or the write key of the body`() throws {
        try withListener(listening { $0.keys = keyed }) { _, sink, address in
            let client = try TestClient(address)
            let basic = "Authorization: Basic " + Data((secret + ":").utf8).base64EncodedString()
            client.post(#"{"batch":[{"a":1}]}"#, [basic], to: "/v1/batch")
            #expect(client.answer()?.status == 200)
            client.post(#"{"batch":[{"a":1}],"writeKey":"\#(secret)"}"#, to: "/v1/batch")
            #expect(client.answer()?.status == 200)
            client.post(#"{"event":"e","writeKey":"\#(secret)"}"#, to: "/v1/track")
            #expect(client.answer()?.status == 200)
            #expect(sink.lines.count == 3 && !sink.lines.joined().contains(secret))
        }
    }

    @Test func `A key that is wrong, missing or for another dialect is answered with 401, and no event is accepted`() throws {
        for (keys, body, headers) in [
            (keyed, #"{"batch":[{"a":1}]}"#, []), (keyed, #"{"batch":[{"a":1}],"writeKey":"other"}"#, []),
            (keyed, #"{"batch":[{"a":1}],"writeKey":"\#(secret)"}"#, ["Authorization: Basic b3RoZXI6"]),
            (otherKey, #"{"batch":[{"a":1}],"writeKey":"\#(secret)"}"#, []),
        ] {
            try withListener(listening { $0.keys = keys }) { _, sink, address in
                let client = try TestClient(address)
                client.post(body, headers, to: "/v1/batch")
                let answer = try #require(client.answer())
                #expect(answer.status == 401 && !answer.body.contains(secret))
                #expect(try object(answer.body)["code"] as? String == "unauthorized")
                #expect(sink.lines.isEmpty)
            }
        }
    }

    @Test func `Overload is answered with 429 and a stop with 503, both with Retry-After`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            for (submission, status, pause) in [(Submission.overloaded(retryAfter: 7), 429, "7"), (.closing, 503, "5")] {
                sink.state.withLock { $0.submission = submission }
                client.post("{}", to: "/v1/track")
                let answer = try #require(client.answer())
                #expect(answer.status == status && answer.headers["retry-after"] == pause)
                #expect(try object(answer.body)["success"] as? Bool == false)
            }
        }
    }

    @Test func `A client's clock is corrected with its sentAt`() throws {
        let time = ManualClock(wall: startTime)
        try withListener(clock: time.clock) { _, sink, address in
            let client = try TestClient(address)
            let event = #"{"event":"e","timestamp":"2026-11-21T04:59:50Z"}"#
            client.post(#"{"batch":[\#(event)],"sentAt":"2026-11-21T05:00:00Z"}"#, to: "/v1/batch")
            #expect(client.answer()?.status == 200)
            try #require(!sink.lines.isEmpty)
            let event2 = try object(sink.lines[0])
            #expect(event2["timestamp"] as? String == "2026-11-21T05:59:50.000Z")
            #expect(event2["originalTimestamp"] as? String == "2026-11-21T04:59:50Z")
            #expect(event2["receivedAt"] as? String == "2026-11-21T06:00:00.000Z")
        }
    }

    @Test func `Every refused limit has an answer in the format of Segment`() throws {
        try withListener(
            listening {
                $0.limits.events = 2
                $0.limits.body = 100
            }
        ) { _, sink, address in
            let client = try TestClient(address)
            for body in [#"{"batch":[{},{},{}]}"#, "{" + String(repeating: " ", count: 100)] {
                client.post(body, to: "/v1/batch")
                let answer = try #require(client.answer())
                #expect(answer.status == 400)
                #expect(try object(answer.body)["code"] as? String == "invalid_request")
            }
            client.send("GET /v1/batch HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(client.answer()?.status == 405)
            #expect(sink.lines.isEmpty)
        }
    }
}

@Suite struct OTLPServiceTests {
    static let json = ["Content-Type: application/json"]
    static let protobuf = ["Content-Type: application/x-protobuf"]
    /// One record with the name `e`.
    static let message: [UInt8] = [0x0a, 0x07, 0x12, 0x05, 0x12, 0x03, 0x62, 0x01, 0x65]

    private func records(_ records: String) -> String { #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[\#(records)]}]}]}"# }

    @Test func `Both encodings become events and are answered in the same encoding`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            client.post(records(#"{"eventName":"e"}"#), OTLPServiceTests.json, to: "/v1/logs")
            let answer = try #require(client.answer())
            #expect(answer.status == 200 && answer.body == "{}" && answer.headers["content-type"] == "application/json")
            client.post(OTLPServiceTests.message, OTLPServiceTests.protobuf, to: "/v1/logs")
            let binary = try #require(client.answer())
            #expect(binary.status == 200 && binary.body.isEmpty && binary.headers["content-type"] == "application/x-protobuf")
            #expect(sink.lines.count == 2)
            for line in sink.lines { #expect(line.hasPrefix(#"{"type":"track","event":"e","#)) }
            // An empty message has no records.
            client.post([], OTLPServiceTests.protobuf, to: "/v1/logs")
            #expect(client.answer()?.status == 200)
        }
    }

    @Test func `An invalid record is reported in a partial success with its reason, and is counted`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 1, message: "expected an object")]) }
            let client = try TestClient(address)
            client.post(records(#"{"eventName":"a"},{"eventName":1},{"eventName":"c"}"#), OTLPServiceTests.json, to: "/v1/logs")
            let answer = try #require(client.answer())
            #expect(answer.status == 200)
            let partial = try #require(try object(answer.body)["partialSuccess"] as? NSDictionary)
            #expect(partial["rejectedLogRecords"] as? String == "1")
            let message = try #require(partial["errorMessage"] as? String)
            #expect(message.hasPrefix("log record 1: ") && !message.contains("expected an object"))
            // The invalid record becomes a line too, which is not an event, so that the router counts it.
            #expect(sink.lines.count == 3 && sink.lines[1].hasPrefix("\""))
        }
    }

    @Test func `An unreadable body is answered with a status in its own encoding`() throws {
        try withListener { _, _, address in
            let client = try TestClient(address)
            client.post("[", OTLPServiceTests.json, to: "/v1/logs")
            let answer = try #require(client.answer())
            #expect(answer.status == 400)
            #expect(try object(answer.body)["code"] as? Int == 3)
            client.post([0x0a, 0x7f, 0x01], OTLPServiceTests.protobuf, to: "/v1/logs")
            let binary = try #require(client.answer())
            #expect(binary.status == 400 && binary.headers["content-type"] == "application/x-protobuf")
            #expect(Array(binary.body.utf8).starts(with: [0x08, 3, 0x12]))
            client.post("x", ["Content-Type: text/plain"], to: "/v1/logs")
            #expect(client.answer()?.status == 415)
        }
    }

    @Test func `Overload and a stop are answered with 503 and Retry-After, because some exporters drop records on 429`() throws {
        try withListener { _, sink, address in
            let client = try TestClient(address)
            for (submission, pause) in [(Submission.overloaded(retryAfter: 7), "7"), (.closing, "5")] {
                sink.state.withLock { $0.submission = submission }
                client.post(OTLPServiceTests.message, OTLPServiceTests.protobuf, to: "/v1/logs")
                let answer = try #require(client.answer())
                #expect(answer.status == 503 && answer.headers["retry-after"] == pause)
                #expect(Array(answer.body.utf8).starts(with: [0x08, 14, 0x12]))
            }
        }
    }

    @Test func `A key is required, and a key for another dialect is forbidden`() throws {
        for (keys, header, status, code) in [(keyed, "X: y", 401, 16), (otherKey, "Authorization: Bearer \(secret)", 403, 7)] {
            try withListener(listening { $0.keys = keys }) { _, sink, address in
                let client = try TestClient(address)
                client.post(records(""), OTLPServiceTests.json + [header], to: "/v1/logs")
                let answer = try #require(client.answer())
                #expect(answer.status == status)
                #expect(try object(answer.body)["code"] as? Int == code)
            }
        }
    }
}

@Suite struct ReceptionTests {
    @Test func `The client's address is added if configured, and never replaces an existing one`() throws {
        let otlp = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}"#
        for isWanted in [true, false] {
            try withListener(listening { $0.addsIP = isWanted }) { _, sink, address in
                let client = try TestClient(address)
                client.post(#"{"a":1}"#)
                client.post("{}", to: "/v1/track")
                client.post(otlp, ["Content-Type: application/json"], to: "/v1/logs")
                client.post(#"{"context":{"ip":"0.0.0.0"}}"#)
                for _ in 0..<4 { #expect(client.answer()?.status == 200) }
                let addresses = try sink.lines.map { (try object($0)["context"] as? NSDictionary)?["ip"] as? String }
                let mine = isWanted ? "127.0.0.1" : nil
                #expect(addresses == [mine, mine, mine, "0.0.0.0"])
            }
        }
    }

    @Test func `Native events without receivedAt get it if configured`() throws {
        let time = ManualClock(wall: startTime)
        try withListener(listening { $0.addsReceivedAt = true }, clock: time.clock) { _, sink, address in
            let client = try TestClient(address)
            client.post("{\"a\" : 1}\n{}\n{\"receivedAt\":\"x\"}\n")
            #expect(client.answer()?.status == 200)
            let stamp = #""receivedAt":"2026-11-21T06:00:00.000Z""#
            #expect(sink.lines == ["{\"a\" : 1,\(stamp)}", "{\(stamp)}", "{\"receivedAt\":\"x\"}"])
        }
    }

    @Test func `A native event with NaN is repaired, and an invalid one is passed on unchanged`() throws {
        try withListener { _, sink, address in
            sink.state.withLock { $0.submission = .stored(invalid: [InvalidLine(line: 1, message: "why")]) }
            let client = try TestClient(address)
            client.post("{\"a\":NaN}\n{\"a\":}\n{\"b\":2}\n")
            #expect(client.answer()?.body == "{\"accepted\":2,\"rejected\":1,\"errors\":[{\"event\":1,\"error\":\"why\"}]}\n")
            #expect(sink.lines == ["{\"a\":\"NaN\"}", "{\"a\":}", "{\"b\":2}"])
        }
    }

    @Test func `A source accepts only its configured dialects`() throws {
        try withListener(listening { $0.dialects = ["otlp"] }) { _, _, address in
            let client = try TestClient(address)
            client.post("{}")
            #expect(client.answer()?.status == 404)
            client.post("{}", to: "/v1/batch")
            #expect(client.answer()?.status == 404)
            client.post("{}", ["Content-Type: application/json"], to: "/v1/logs")
            #expect(client.answer()?.status == 200)
        }
    }
}
