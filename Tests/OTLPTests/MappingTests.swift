import Testing
import VendorSupport

@testable import OTLP

private let time = "2026-11-21T05:49:23.123456789Z"
private let nanoseconds: UInt64 = 1_795_240_163_123_456_789

/// Returns the records of the events, which must be the same in both encodings.
private func records(_ events: [String], _ settings: String = "", arrivals: [Int64]? = nil) throws -> [[Record]] {
    func bodies(_ encoding: String) throws -> [[Record]] {
        let all = "{\"encoding\":\"\(encoding)\"\(settings.isEmpty ? "" : ",")\(settings)}"
        let mapped = try Mapped(OTLP.self, all, events, arrivals: arrivals)
        #expect(mapped.refused.isEmpty)
        return try mapped.bytes.map { try FakeCollector.records($0, isJSON: encoding == "json") }
    }
    let json = try bodies("json")
    #expect(try bodies("protobuf") == json)
    return json
}

private func record(_ event: String, _ settings: String = "", arrival: Int64 = 0) throws -> Record {
    let all = try records([event], settings, arrivals: [arrival])
    return try #require(all.first?.first)
}

private func map(_ pairs: KeyValuePairs<String, Tree>) -> Tree { .map(pairs.map { Tree.Pair(key: $0, value: $1) }) }

@Suite("otlp: mapping")
struct MappingTests {
    @Test("an event becomes a record with a name, a body and attributes, and nothing of it is lost")
    func track() throws {
        let record = try record(
            """
            {"type":"track","event":"Signed Up","messageId":"m1","userId":7,"anonymousId":"a1","timestamp":"\(time)",\
            "properties":{"plan":"pro\\n","n":1,"price":1.5,"big":123456789012345678901234567890,"on":true,"none":null,"tags":["a",2,{"b":[]}]},\
            "context":{"ip":"8.8.8.8","os":{"name":"iOS","other":1},"locale":"de"},"sentAt":"now"}
            """, arrival: 5)
        #expect(record.name == "Signed Up" && record.body == .text("Signed Up"))
        #expect(record.time == nanoseconds && record.observed == 5)
        #expect(record.severity == 0 && record.severityText.isEmpty && record.trace.isEmpty && record.resource == .map([]))
        #expect(
            Tree.map(record.attributes)
                == map([
                    "log.record.uid": .text("m1"), "user.id": .text("7"), "enduser.pseudo.id": .text("a1"),
                    "client.address": .text("8.8.8.8"), "os.name": .text("iOS"), "plan": .text("pro\n"), "n": .integer(1),
                    "price": .double(1.5), "big": .double(123_456_789_012_345_677_877_719_597_056), "on": .flag(true), "none": .null,
                    "tags": .list([.text("a"), .integer(2), map(["b": .list([])])]),
                    "switchyard_unmapped": map([
                        "context": map(["os": map(["other": .integer(1)]), "locale": .text("de")]), "sentAt": .text("now"),
                    ]),
                ]))
    }

    @Test("the bytes are the ones of the specification")
    func bytes() throws {
        let event = #"{"type":"track","event":"A","timestamp":"1970-01-01T00:00:00.000000001Z","properties":{"n":-1}}"#
        let json = try Mapped(OTLP.self, #"{"encoding":"json","resource":{"service.name":"s"}}"#, [event])
        #expect(
            json.first == #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"#
                + #""scopeLogs":[{"logRecords":[{"timeUnixNano":"1","eventName":"A","body":{"stringValue":"A"},"#
                + #""attributes":[{"key":"n","value":{"intValue":"-1"}}]}]}]}]}"#)
        let protobuf = try Mapped(OTLP.self, #"{"resource":{"s":"t"}}"#, [event])
        #expect(
            protobuf.bytes == [
                [0x0a, 0x33, 0x0a, 0x0a, 0x0a, 0x08, 0x0a, 0x01, 0x73, 0x12, 0x03, 0x0a, 0x01, 0x74]  // the resource, with s: t
                    + [0x12, 0x25, 0x12, 0x23, 0x09, 1, 0, 0, 0, 0, 0, 0, 0]  // a record, with its time
                    + [0x62, 0x01, 0x41, 0x2a, 0x03, 0x0a, 0x01, 0x41]  // its name and body
                    + [0x32, 0x10, 0x0a, 0x01, 0x6e, 0x12, 0x0b, 0x18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 0x01]
            ])
    }

    @Test("each kind has its name and its body")
    func kinds() throws {
        func names(_ event: String) throws -> [String] {
            let record = try record(event)
            return [record.name, record.body == .null ? "" : "\(record.body)"]
        }
        #expect(try names(#"{"type":"identify","userId":"u","traits":{"a":1}}"#) == ["identify", #"text("identify")"#])
        #expect(try names(#"{"type":"page","name":"Home"}"#) == ["page", #"text("Home")"#])
        #expect(try names(#"{"event":"A"}"#) == ["A", #"text("A")"#])
        #expect(try names(#"{"type":"log","body":"text"}"#) == ["", #"text("text")"#])
        #expect(try names(#"{"type":"log","message":"text"}"#) == ["", #"text("text")"#])
        #expect(try names(#"{"type":"log"}"#) == ["", #"text("log")"#])
        #expect(try names(#"{"type":"track","event":"A","properties":{"message":"text"}}"#) == ["A", #"text("text")"#])
        #expect(try names("{}") == ["", ""])
        let identify = try record(#"{"type":"identify","userId":"u","previousId":"p","groupId":"g","traits":{"a":1}}"#)
        #expect(
            Tree.map(identify.attributes)
                == map(["user.id": .text("u"), "previousId": .text("p"), "groupId": .text("g"), "traits": map(["a": .integer(1)])]))
        let log = try record(#"{"type":"log","body":{"a":["b"]},"event":"E"}"#)
        #expect(log.name == "E" && log.body == map(["a": .list([.text("b")])]))
        #expect(log.attributes == [Tree.Pair(key: "switchyard_unmapped", value: map(["type": .text("log")]))])
    }

    @Test("a record that came from OTLP leaves with what it came with")
    func passed() throws {
        let record = try record(
            """
            {"type":"log","messageId":"m","timestamp":"\(time)","receivedAt":"x","properties":{"log.record.uid":"m","k":1},"body":"b",\
            "context":{"otlp":{"timeUnixNano":"\(nanoseconds)","observedTimeUnixNano":"9","severityNumber":10,"severityText":"Info",\
            "traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","flags":1,\
            "resource":{"attributes":{"service.name":"s","n":2}},"scope":{"name":"lib"}}}}
            """)
        #expect(record.time == nanoseconds && record.observed == 9 && record.flags == 1)
        #expect(record.severity == 10 && record.severityText == "Info" && record.body == .text("b"))
        #expect(record.trace == "5b8efff798038103d269b633813fc60c" && record.span == "eee19b7ec3c1b174")
        #expect(record.resource == map(["service.name": .text("s"), "n": .integer(2)]))
        #expect(
            Tree.map(record.attributes)
                == map([
                    "log.record.uid": .text("m"), "k": .integer(1),
                    "switchyard_unmapped": map([
                        "type": .text("log"), "messageId": .text("m"), "receivedAt": .text("x"),
                        "context": map(["otlp": map(["scope": map(["name": .text("lib")])])]),
                    ]),
                ]))
    }

    @Test(
        "a level gives the severity, if it is one",
        arguments: [
            (#""properties":{"level":"WARN"}"#, 13, "WARN"), (#""level":"error""#, 17, "error"),
            (#""severity":"Critical""#, 21, "Critical"),
            (#""properties":{"severity":"debug","level":"forest"}"#, 5, "debug"), (#""properties":{"level":"trace"}"#, 1, "trace"),
            (#""properties":{"level":"forest"}"#, 0, ""), (#""level":3"#, 0, ""),
            (#""context":{"otlp":{"severityText":"odd"}},"level":"info""#, 0, "odd"),
            (#""context":{"otlp":{"severityNumber":99}},"level":"info""#, 9, "info"),
            (#""context":{"otlp":{"severityNumber":4}},"level":"info""#, 4, ""),
        ])
    func severity(member: String, number: Int, text: String) throws {
        let record = try record(#"{"type":"track","event":"A",\#(member)}"#)
        #expect(record.severity == number && record.severityText == text)
        // What is not used stays.
        if number == 0 && text.isEmpty { #expect(!record.attributes.isEmpty) }
    }

    @Test(
        "only a valid id of a trace or a span is one",
        arguments: [
            (#""context":{"traceId":"5B8EFFF798038103D269B633813FC60C"}"#, "5b8efff798038103d269b633813fc60c", ""),
            (
                #""trace_id":"5b8efff798038103d269b633813fc60c","span_id":"EEE19B7EC3C1B174""#, "5b8efff798038103d269b633813fc60c",
                "eee19b7ec3c1b174"
            ),
            (#""properties":{"traceId":"00000000000000000000000000000000","spanId":"0000000000000000"}"#, "", ""),
            (#""traceId":"5b8efff798038103d269b633813fc60g""#, "", ""), (#""traceId":7,"spanId":"eee19b7ec3c1b17""#, "", ""),
            (#""context":{"traceId":"x"},"traceId":"5b8efff798038103d269b633813fc60c""#, "5b8efff798038103d269b633813fc60c", ""),
        ])
    func traces(member: String, trace: String, span: String) throws {
        let record = try record(#"{"type":"track","event":"A",\#(member)}"#)
        #expect(record.trace == trace && record.span == span)
        #expect(trace.isEmpty == !record.attributes.isEmpty || member.contains("\"x\""))
    }

    @Test("the time is the event's or its arrival, and never the clock's")
    func times() throws {
        func times(_ member: String, arrival: Int64) throws -> [UInt64] {
            let record = try record(#"{"type":"track","event":"A"\#(member)}"#, arrival: arrival)
            return [record.time, record.observed]
        }
        #expect(try times("", arrival: 7) == [7, 7])
        #expect(try times(#","timestamp":"soon""#, arrival: 7) == [7, 7])
        #expect(try times(#","timestamp":"\#(time)""#, arrival: 7) == [nanoseconds, 7])
        #expect(try times(#","timestamp":"1969-12-31T23:59:59Z""#, arrival: 7) == [0, 7])
        #expect(try times(#","context":{"otlp":{"observedTimeUnixNano":"x"}}"#, arrival: 7) == [7, 7])
        let early = try record(#"{"type":"track","event":"A","timestamp":"1969-12-31T23:59:59Z"}"#)
        #expect(early.attributes == [Tree.Pair(key: "switchyard_unmapped", value: map(["timestamp": .text("1969-12-31T23:59:59Z")]))])
    }

    @Test("events of one resource share a request, and the settings count before the events")
    func resources() throws {
        func event(_ name: String, _ context: String) -> String { #"{"type":"track","event":"\#(name)","context":{\#(context)}}"# }
        let events = [
            event("A", #""app":{"name":"shop","version":"1"}"#), event("B", ""), event("C", #""app":{"name":"shop","version":"1"}"#),
            event("D", #""app":{"name":"shop"},"service":{"name":"cart"},"environment":"test""#),
        ]
        let bodies = try records(events)
        #expect(bodies.map { $0.map(\.name) } == [["A", "C"], ["B"], ["D"]])
        #expect(bodies[0].first?.resource == map(["service.name": .text("shop"), "service.version": .text("1")]))
        #expect(bodies[2].first?.resource == map(["service.name": .text("cart"), "deployment.environment.name": .text("test")]))
        // The name that the resource does not get is not lost.
        #expect(bodies[2].first?.attributes.first?.value == map(["context": map(["app": map(["name": .text("shop")])])]))

        let set = try records(events, #""resource":{"service.name":"all","team":"\"x\""}"#)
        #expect(set.map { $0.map(\.name) } == [["A", "C"], ["B"], ["D"]])
        #expect(set[1].first?.resource == map(["service.name": .text("all"), "team": .text("\"x\"")]))
        #expect(set[0].first?.attributes.first?.value == map(["context": map(["app": map(["name": .text("shop")])])]))
        let own = #"{"context":{"otlp":{"resource":{"attributes":{"service.name":"r","":1}}},"app":{"name":"n"}}}"#
        #expect(try record(own).resource == map(["service.name": .text("r")]))
        #expect(try record(own, #""resource":{"service.name":"all"}"#).resource == map(["service.name": .text("all")]))
        #expect(try !record(own).attributes.isEmpty)
    }

    @Test("a name that the properties have themselves stays theirs, and an empty one gets a name")
    func names() throws {
        let record = try record(
            #"{"type":"track","event":"A","userId":"u","traits":{"a":1},"properties":{"user.id":"other","traits":2,"":3,"\u0061":4}}"#)
        #expect(
            Tree.map(record.attributes)
                == map([
                    "user.id": .text("other"), "traits": .integer(2), "empty_name": .integer(3), "a": .integer(4),
                    "switchyard_unmapped": map(["userId": .text("u"), "traits": map(["a": .integer(1)])]),
                ]))
        let refused = try Mapped(OTLP.self, "{}", [#"{"event":"A","properties":{"switchyard_unmapped":1}}"#]).refused
        #expect(refused[0]?.hasPrefix("properties has the member switchyard_unmapped") ?? false)
    }

    @Test("values of every form arrive: deep ones and numbers that no double can hold as texts, halves of surrogate pairs as U+FFFD")
    func values() throws {
        func value(_ json: String) throws -> Tree? { try record(#"{"event":"A","properties":{"v":\#(json)}}"#).attributes.first?.value }
        #expect(try value("1e400") == .text("1e400") && value("-9223372036854775808") == .integer(.min))
        #expect(try value("9223372036854775807") == .integer(.max) && value("9223372036854775808") == .double(9_223_372_036_854_775_808))
        #expect(try value("-0") == .integer(0) && value("1.0") == .double(1) && value("1e2") == .double(100))
        #expect(try value(#""\ud83d x \ud83d\ude00""#) == .text("\u{FFFD} x 😀") && value(#""""#) == .text(""))
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"a":["#, count: levels / 2) + #"{ "b" : "\n" }"# + String(repeating: "]}", count: levels / 2)
        }
        var deep = try #require(try value(nested(40)))
        var levels = 0
        while true {
            if let next = deep["a"] {
                deep = next
            } else if case .list(let items) = deep, let item = items.first {
                deep = item
            } else {
                break
            }
            levels += 1
        }
        #expect(levels == 30 && deep == .text(nested(10)))
        let brackets = String(repeating: "[", count: 90_000) + String(repeating: "]", count: 90_000)
        #expect(try value(brackets) != nil)
    }

    @Test("bodies of every length have the right lengths, and none is larger than 20 MiB")
    func lengths() throws {
        for count in [0, 1, 60, 90, 100, 120, 127, 128, 129, 16_200, 16_383, 16_384, 70_000] {
            let text = String(repeating: "x", count: count)
            let record = try record(#"{"event":"A","properties":{"v":"\#(text)"}}"#)
            #expect(record.attributes == [Tree.Pair(key: "v", value: .text(text))])
        }
        let event = #"{"event":"A","properties":{"v":"\#(String(repeating: "x", count: 9_000_000))"}}"#
        let mapped = try Mapped(OTLP.self, "{}", [event, event, event])
        #expect(mapped.bytes.count == 2 && mapped.bytes.allSatisfy { $0.count <= 20 << 20 })
        let larger = #"{"event":"A","properties":{"v":"\#(String(repeating: "x", count: 20 << 20))"}}"#
        #expect(try Mapped(OTLP.self, "{}", [larger]).refused[0]?.hasPrefix("the event needs a body of ") ?? false)
    }

    @Test("random events give the same records in both encodings, and the same bytes when they are sent again")
    func random() throws {
        var random = RandomEvents(seed: 5)
        for _ in 0..<300 {
            let events = (0..<5).map { _ in random.event() }
            let arrivals = events.indices.map { Int64($0 + 1) }
            let json = try Mapped(OTLP.self, #"{"encoding":"json"}"#, events, arrivals: arrivals)
            let protobuf = try Mapped(OTLP.self, "{}", events, arrivals: arrivals)
            #expect(json.refused == protobuf.refused)
            let records = try json.bytes.flatMap { try FakeCollector.records($0, isJSON: true) }
            #expect(try protobuf.bytes.flatMap { try FakeCollector.records($0, isJSON: false) } == records)
            #expect(records.count + json.refused.count == events.count)
            #expect(try Mapped(OTLP.self, "{}", events, arrivals: arrivals, now: 99).bytes == protobuf.bytes)
        }
    }
}
