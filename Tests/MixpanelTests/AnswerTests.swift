import PluginKit
import Testing
import VendorSupport

@testable import HTTPKit
@testable import Mixpanel
@testable import VendorKit

private func event(_ number: Int, _ members: String = #""type":"track","event":"A""#) -> String {
    #"{\#(members),"userId":"u\#(number)","messageId":"m\#(number)","timestamp":"2026-11-20T00:00:00Z"}"#
}

/// Returns the outcome of two events whose request to /import is answered so.
private func ending(_ status: String, _ body: String, headers: String = "", _ events: [String] = [event(1), event(2)]) throws -> Ending {
    let exchange = try Exchange(Mixpanel.self, #""token":"t0k3n""#, status: status, body: body, headers: headers)
    defer { exchange.close() }
    return exchange.deliver(events)
}

@Suite("mixpanel: answers")
struct AnswerTests {
    @Test("events and profiles arrive at a server that follows Mixpanel's rules; of compressed bodies only events are")
    func arrive() throws {
        let fake = FakeMixpanel(credentials: "Basic dDBrM246")
        let exchange = try Exchange(Mixpanel.self, #""token":"t0k3n","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        let old = #"{"type":"track","event":"Old","userId":"u","messageId":"m9","timestamp":"1970-05-01T00:00:00Z"}"#
        let ending = exchange.deliver([
            event(1), old, event(3, #""type":"identify","traits":{"a":1}"#), event(4, #""type":"group","groupId":"g","traits":{}"#),
        ])
        #expect(ending.name == "delivered" && ending.events == [1: "rejected 400"])
        #expect(ending.messages[1] == "Mixpanel refused it: properties.time: is invalid")
        #expect(fake.events.values.sorted() == ["$identify", "A", "Group"] && fake.profiles.sorted() == ["g", "u3"])
    }

    @Test("with compression the bodies for profiles stay plain")
    func compression() throws {
        let encodings = Monitor<[String]>([])
        let exchange = try Exchange(Mixpanel.self, #""token":"t0k3n","compression":"gzip""#) { request, connection in
            let path = String(request.line.split(separator: " ")[1].prefix { $0 != "?" })
            encodings.withLock { $0.append("\(path) \(request.headers["content-encoding"] ?? "plain") \(request.body.first ?? 0)") }
            connection.answer("200 OK", "1")
        }
        defer { exchange.close() }
        #expect(exchange.deliver([event(1, #""type":"identify","traits":{"a":1}"#)]).name == "delivered")
        #expect(encodings.withLock { $0.sorted() } == ["/in/engage plain 91", "/in/import gzip 31"])
    }

    @Test("random events that are sent are all kept by such a server, or named by it")
    func random() throws {
        let fake = FakeMixpanel(credentials: "Basic c2E6czNjcjN0")
        let exchange = try Exchange(
            Mixpanel.self, #""token":"t0k3n","project_id":"1","service_account":"sa","service_secret":"s3cr3t""#
        ) { fake.answer($0, $1) }
        defer { exchange.close() }
        var random = RandomEvents(seed: 5)
        var (kept, rejected) = (0, 0)
        for number in 0..<300 {
            let text = random.event()
            // An id for each, since the same event can come twice among random ones.
            let event = text.contains("messageId") ? text : #"{"messageId":"r\#(number)",\#(text.dropFirst())"#
            let before = fake.events.count
            let ending = exchange.deliver([event], arrivals: [1_795_240_163_123_000_000])
            let isKept = ending.events.isEmpty
            if isKept { kept += 1 } else { rejected += 1 }
            #expect(ending.name == "delivered" && (isKept || ending.events[0]?.hasPrefix("rejected ") == true), "\(ending) for \(event)")
            #expect(!isKept || fake.events.count > before || text.contains("messageId"))
        }
        #expect(kept > 50 && rejected > 10, "\(kept) \(rejected) \(fake.failed)")
    }

    @Test(
        "an answer is believed only if it accounts for each event",
        arguments: [
            ("200 OK", #"{"code":200,"num_records_imported":2}"#, "delivered", [:]), ("200 OK", "1", "delivered", [:]),
            ("200 OK", #"{"status":1,"error":null}"#, "delivered", [:]), ("200 OK", "", "delivered", [:]),
            ("400 Bad", #"{"failed_records":[{"index":1}],"num_records_imported":1}"#, "delivered", [1: "rejected 400"]),
            ("400 Bad", #"{"failed_records":[{"index":1},{"index":1}]}"#, "delivered", [1: "rejected 400"]),
            (
                "400 Bad", #"{"failed_records":[{"index":0},{"index":1}],"num_records_imported":0}"#, "",
                [0: "rejected 400", 1: "rejected 400"]
            ),
            ("200 OK", #"{"failed_records":[{"index":0}],"num_records_imported":1}"#, "delivered", [0: "rejected 200"]),
            // These are halved: which event is bad is not known.
            ("400 Bad", #"{"failed_records":[{"index":1}],"num_records_imported":0}"#, "rejected", [:]),
            ("400 Bad", #"{"failed_records":[{"index":1},{"index":2}]}"#, "rejected", [:]),
            ("400 Bad", #"{"failed_records":[{"index":"1"}]}"#, "rejected", [:]), ("400 Bad", #"{"failed_records":[]}"#, "rejected", [:]),
            ("400 Bad", #"{"failed_records":[{"index":1}]"#, "rejected", [:]), ("400 Bad", "no", "rejected", [:]),
            ("200 OK", #"{"num_records_imported":1}"#, "rejected", [:]), ("200 OK", #"{"failed_records":[7]}"#, "rejected", [:]),
            ("200 OK", #"{"status":0,"error":"t0k3n, invalid"}"#, "rejected", [:]), ("200 OK", "0", "rejected", [:]),
            ("413 Too Large", "", "rejected", [:]),
        ] as [(String, String, String, [Int: String])])
    func accounts(status: String, body: String, name: String, events: [Int: String]) throws {
        let ending = try ending(status, body)
        #expect(ending.events == events && (name == "" || ending.name == name), "\(ending)")
        #expect(!ending.message.contains("t0k3n"))
    }

    @Test("a busy server gets the events again, at the time that it says")
    func busy() throws {
        #expect(try ending("429 Slow", "{}").name == "retry")
        let later = try ending("429 Slow", "{}", headers: "Retry-After: 7\r\n")
        #expect(later.name == "retry" && later.after >= 7000)
        #expect(try ending("502 Bad Gateway", "").name == "retry")
    }

    @Test("wrong credentials are a fault, and are not shown")
    func credentials() throws {
        let ending = try ending("401 Unauthorized", "t0k3n and dDBrM246 are not valid")
        #expect(ending.name == "fault" && ending.message.hasSuffix("answered 401: *** and *** are not valid; correct token, or region"))
    }

    @Test("an event of which only the profile is refused is not delivered")
    func profiles() throws {
        let exchange = try Exchange(Mixpanel.self, #""token":"t0k3n""#) { request, connection in
            connection.answer("200 OK", request.line.contains("/engage") ? #"{"status":0,"error":"no"}"# : #"{"num_records_imported":2}"#)
        }
        defer { exchange.close() }
        let ending = exchange.deliver([event(1, #""type":"identify","traits":{"a":1}"#), event(2)])
        #expect(ending.name == "delivered" && ending.events == [0: "rejected 200"] && ending.messages[0]?.hasSuffix("profiles: no") == true)
    }

    @Test("the addresses are the region's, or others")
    func addresses() throws {
        func addresses(_ settings: String) throws -> [String] {
            var setup = Setup(try Settings(json: #"{"token":"t0k3n"\#(settings)}"#), Host(log: { _, _ in }, closed: { _ in }))
            _ = try Mixpanel(&setup)
            return setup.endpoints.map { $0.base + $0.path }
        }
        #expect(
            try addresses("") == [
                "https://api.mixpanel.com/import?strict=1", "https://api.mixpanel.com/engage?strict=1&verbose=1&ip=0",
                "https://api.mixpanel.com/groups?strict=1&verbose=1",
            ])
        #expect(try addresses(#","region":"in""#)[1].hasPrefix("https://api-in.mixpanel.com/engage"))
        #expect(
            try addresses(#","region":"eu","service_account":"sa","service_secret":"s3cr3t","project_id":"12""#)[0]
                == "https://api-eu.mixpanel.com/import?strict=1&project_id=12")
        #expect(throws: SettingsFault.self) { try addresses(#","service_account":"sa","service_secret":"s3cr3t""#) }
        #expect(throws: SettingsFault.self) { try addresses(#","group_key":"a.b""#) }
    }

    @Test("the description has the settings, with secrets, and the rows of the mapping")
    func description() {
        let json = VendorProvider<Mixpanel>.description.json(erase: false)
        #expect(json.contains(#""name":"mixpanel""#) && json.contains(#""writeOnly":true"#))
        #expect(Mixpanel.about.mapping.contains { $0.from == "context.os.name" && $0.to == "$os" })
    }
}
