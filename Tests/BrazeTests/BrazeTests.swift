import HTTPSupport
import Testing
import VendorSupport

@testable import Braze

private let settings = #""key":"k-test","instance":"fra-02""#
private let time = "2026-11-21T05:49:23.123Z"

private func event(_ members: String) -> String { #"{\#(members),"timestamp":"\#(time)"}"# }

/// Returns the bodies by endpoint (0 events, 1 profiles, 2 joins), or the reason of a refusal.
private func wire(_ event: String, _ more: String = "") throws -> [Int: String] {
    let mapped = try Mapped(Braze.self, "{\(settings)\(more)}", [event])
    if let reason = mapped.refused[0] { return [-1: reason] }
    return Dictionary(mapped.bodies.map { ($0.endpoint, $0.text) }) { first, _ in first }
}

@Suite("braze: mapping")
struct MappingTests {
    @Test("a track event keeps its properties byte for byte, and everything else goes beside them")
    func track() throws {
        #expect(
            try wire(
                event(
                    #""type":"track","event":"Signed Up","userId":7,"anonymousId":"a1","messageId":"m1","properties":{"price":1.50e1},"#
                        + #""context":{"ip":"8.8.8.8"}"#), #","app_id":"app-1""#)
                == [
                    0: #"{"events":[{"external_id":"7","app_id":"app-1","name":"Signed Up","time":"\#(time)","properties":{"#
                        + #""price":1.50e1,"message_id":"m1","switchyard_unmapped":{"anonymousId":"a1","context":{"ip":"8.8.8.8"}}}}]}"#
                ])
    }

    @Test("a person without a userId is an alias, whose profile is made")
    func alias() throws {
        #expect(
            try wire(event(#""type":"page","name":"Home","anonymousId":"a1""#), #","alias_label":"web""#)
                == [
                    0: #"{"events":[{"user_alias":{"alias_name":"a1","alias_label":"web"},"_update_existing_only":false,"#
                        + #""name":"Viewed Home Page","time":"\#(time)","properties":{}}]}"#
                ])
        #expect(try wire(event(#""type":"screen","userId":"u""#))[0]?.contains(#""name":"Loaded a Screen""#) == true)
    }

    @Test("identify joins the ids, and its traits become attributes, never the id of another person")
    func identify() throws {
        let traits = #"{"firstName":"Ann","plan":"pro","external_id":"victim","address":{"city":"Ulm","zip":"1"}}"#
        let attributes =
            #"{"attributes":[{"external_id":"u1","first_name":"Ann","home_city":"Ulm","traits_external_id":"victim","#
            + #""plan":"pro","address":{"zip":"1"}}]}"#
        let join =
            #"{"aliases_to_identify":[{"external_id":"u1","user_alias":{"alias_name":"a1","alias_label":"anonymous_id"}}],"#
            + #""merge_behavior":"merge"}"#
        #expect(try wire(event(#""type":"identify","userId":"u1","anonymousId":"a1","traits":\#(traits)"#)) == [1: attributes, 2: join])
        #expect(try wire(event(#""type":"identify","userId":"u1","context":{"traits":\#(traits)}"#)) == [1: attributes])
        #expect(try wire(event(#""type":"identify","userId":"u1","anonymousId":"a1""#)) == [2: join])
    }

    @Test("what of an identify has no place is named in a preview")
    func loss() throws {
        let exchange = try Exchange(Braze.self, settings)
        defer { exchange.close() }
        let events = [
            event(#""type":"identify","userId":"u1","messageId":"m","traits":{"a":1}"#),
            event(#""type":"identify","userId":"u1","traits":{"a":1},"context":{"ip":"8.8.8.8"}"#),
        ]
        let previewed = try #require(exchange.instance.preview(events))
        #expect(previewed.losses == [1: ["what an identify has besides ids and traits is not sent"]] && previewed.refused == [:])
        #expect(previewed.requests.allSatisfy { $0.headers.contains("Authorization: ***") } && !"\(previewed)".contains("k-test"))
    }

    @Test("random events that are sent are all kept by a server that follows Braze's rules")
    func random() throws {
        let fake = FakeBraze()
        let exchange = try Exchange(Braze.self, settings) { fake.answer($0, $1) }
        defer { exchange.close() }
        var random = RandomEvents(seed: 11)
        let ending = exchange.deliver((0..<500).map { _ in random.event() })
        let refused = ending.messages.values.filter { $0.hasPrefix("Braze refused it") }
        #expect(ending.name == "delivered" && refused.isEmpty, "\(refused)")
        #expect(fake.kept.count > 100)
    }
}

@Suite("braze: answers")
struct AnswerTests {
    private func answered(_ status: String, _ body: String, count: Int = 3) throws -> Ending {
        let exchange = try Exchange(Braze.self, settings, status: status, body: body)
        defer { exchange.close() }
        return exchange.deliver((0..<count).map { event(#""type":"track","event":"e\#($0)","userId":"u""#) })
    }

    @Test("after a 201 only the objects that it names were not taken")
    func named() throws {
        let ending = try answered("201 Created", #"{"message":"success","errors":[{"type":"bad","input_array":"events","index":1}]}"#)
        #expect(ending.name == "delivered" && ending.events == [1: "rejected 201"] && ending.messages[1] == "Braze refused it: bad")
    }

    @Test("after a 400 that names objects, the others come again")
    func fatal() throws {
        let ending = try answered("400 Bad Request", #"{"message":"no","errors":[{"type":"bad","input_array":"events","index":0}]}"#)
        #expect(ending.events == [0: "rejected 400", 1: "retry 400", 2: "retry 400"])
    }

    @Test(
        "errors without a place in the request make it rejected, so that its events are tried in halves",
        arguments: [#"{"errors":[{"type":"bad"}]}"#, #"{"errors":[{"index":3}]}"#, #"{"errors":["bad"]}"#, #"{"errors":[{"index":-1}]}"#])
    func placeless(body: String) throws {
        let ending = try answered("201 Created", body)
        #expect(ending.name == "rejected" && ending.events.isEmpty)
    }

    @Test("a poison event is found, and each other event arrives", arguments: [2, 7])
    func poison(count: Int) throws {
        let fake = FakeBraze()
        let exchange = try Exchange(Braze.self, settings) { fake.answer($0, $1) }
        defer { exchange.close() }
        let names = (0..<count).map { $0 == 1 ? "poison" : "e\($0)" }
        let outcomes = exchange.settle(names.map { event(#""type":"track","event":"\#($0)","userId":"u""#) })
        #expect(outcomes.enumerated().allSatisfy { $0.element == ($0.offset == 1 ? "rejected" : "delivered") }, "\(outcomes)")
        #expect(fake.kept.sorted() == names.filter { $0 != "poison" }.map { "events: u \($0)" }.sorted())
    }

    @Test(
        "the key is checked by a request without objects",
        arguments: [
            (
                "400 Bad Request", #"{"message":"Valid data must be provided in the 'attributes', 'events', or 'purchases' fields."}"#,
                "accepted"
            ),
            ("401 Unauthorized", #"{"message":"Invalid API Key"}"#, "refused"), ("503 Busy", "", "failed"),
        ])
    func probe(status: String, body: String, name: String) throws {
        let (answer, request) = try Exchange.probe(Braze.self, settings, status: status, body: body)
        #expect(answer.name == name && request.line == "POST /in/users/track HTTP/1.1" && request.text == "{}", "\(answer)")
    }
}
