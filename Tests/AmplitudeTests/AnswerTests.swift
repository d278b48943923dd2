import PluginKit
import Testing
import VendorSupport

@testable import Amplitude
@testable import HTTPKit
@testable import VendorKit

private func event(_ number: Int, _ members: String = #""type":"track","event":"A""#, time: String = "2026-11-20") -> String {
    #"{\#(members),"userId":"user-\#(number)","messageId":"m\#(number)","timestamp":"\#(time)T00:00:00Z"}"#
}

/// Returns the outcome of events whose request is answered so.
private func answered(
    _ status: String, _ body: String, headers: String = "", settings: String = "", _ events: [String] = [event(1), event(2), event(3)]
) throws -> Ending {
    let exchange = try Exchange(Amplitude.self, #""key":"am-test"\#(settings)"#, status: status, body: body, headers: headers)
    defer { exchange.close() }
    return exchange.deliver(events)
}

@Suite("amplitude: answers")
struct AnswerTests {
    @Test("events arrive at a server that follows Amplitude's rules", arguments: ["http", "batch"])
    func arrive(api: String) throws {
        let fake = FakeAmplitude()
        let exchange = try Exchange(Amplitude.self, #""key":"am-test","compression":"none","api":"\#(api)""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        let ending = exchange.deliver([event(1), event(2, #""type":"group","groupId":"g","traits":{}"#), #"{"type":"track","event":"A"}"#])
        #expect(ending.name == "delivered" && ending.events == [2: "rejected 0"])
        #expect(fake.kept == ["m1": "A", "m2": "$identify", "m2-group": "$groupidentify"])
    }

    @Test("a bad event is refused, and the others of its request, which were not taken, come again")
    func bad() throws {
        let fake = FakeAmplitude()
        let exchange = try Exchange(Amplitude.self, #""key":"am-test","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        let ending = exchange.deliver([event(1), event(2, time: "1970-05-01"), event(3)])
        #expect(ending.events == [0: "retry 400", 1: "rejected 400", 2: "retry 400"] && fake.kept.isEmpty)
        #expect(ending.messages[1] == "Amplitude refused it: time is invalid")
        #expect(exchange.deliver([event(1), event(3)]).name == "delivered" && fake.kept.count == 2)
    }

    @Test("events of a throttled user wait, and not the lane")
    func throttled() throws {
        let fake = FakeAmplitude()
        fake.throttle(["user-2"])
        let exchange = try Exchange(Amplitude.self, #""key":"am-test","compression":"none""#) { fake.answer($0, $1) }
        defer { exchange.close() }
        let ending = exchange.deliver([event(1), event(2)])
        #expect(ending.name == "delivered" && ending.events == [0: "retry 429", 1: "retry 429"])
        #expect(ending.messages[1] == "Amplitude takes only so many events of one user or device")
    }

    @Test("random events that are sent are all kept by such a server")
    func random() throws {
        let fake = FakeAmplitude()
        let exchange = try Exchange(Amplitude.self, #""key":"am-test","min_id_length":1"#) { fake.answer($0, $1) }
        defer { exchange.close() }
        var random = RandomEvents(seed: 7)
        let events = (0..<300).map { _ in random.event() }
        let ending = exchange.deliver(events, arrivals: events.map { _ in 1_795_240_163_123_000_000 })
        #expect(ending.name == "delivered" && ending.events.values.allSatisfy { $0 == "rejected 0" }, "\(ending)")
        #expect(ending.events.count < events.count && !fake.kept.isEmpty)
    }

    @Test(
        "an answer decides about the events that it names, and about no others",
        arguments: [
            ("400 Bad", #"{"events_with_missing_fields":{"event_type":[0,2]}}"#, [0: "rejected 400", 1: "retry 400", 2: "rejected 400"]),
            ("400 Bad", #"{"events_with_invalid_id_lengths":{"user_id":[1]}}"#, [0: "retry 400", 1: "rejected 400", 2: "retry 400"]),
            ("400 Bad", #"{"silenced_events":[0,1],"silenced_devices":["x"]}"#, [0: "rejected 400", 1: "rejected 400", 2: "retry 400"]),
            ("429 Slow", #"{"throttled_events":[2,7]}"#, [0: "retry 429", 1: "retry 429", 2: "retry 429"]),
        ] as [(String, String, [Int: String])])
    func lists(status: String, body: String, events: [Int: String]) throws { #expect(try answered(status, body).events == events) }

    @Test(
        "any other answer is about the whole request",
        arguments: [
            ("200 OK", #"{"code":200,"events_ingested":3}"#, "delivered"), ("200 OK", "", "delivered"),
            ("200 OK", #"{"code":200,"events_ingested":2}"#, "rejected"), ("400 Bad", #"{"code":400,"missing_field":null}"#, "rejected"),
            ("400 Bad", #"{"events_with_invalid_fields":{"time":[3,-1,"0"]}}"#, "rejected"), ("400 Bad", #"{"events_with_"#, "rejected"),
            ("400 Bad", #"{"error":"Invalid API key: am-test"}"#, "fault"), ("400 Bad", #"{"missing_field":"api_key"}"#, "fault"),
            ("413 Large", "", "rejected"), ("500 Error", "", "unknown"), ("502 Bad", "", "unknown"), ("504 Late", "", "unknown"),
            ("503 Busy", "", "retry"), ("429 Slow", #"{"throttled_users":{"user-2":31}}"#, "rejected"), ("429 Slow", "{}", "retry"),
        ])
    func whole(status: String, body: String, name: String) throws {
        let ending = try answered(status, body)
        #expect(ending.name == name && ending.events.isEmpty && !ending.message.contains("am-test"), "\(ending)")
    }

    @Test("a single event of a throttled user waits by itself")
    func single() throws {
        let ending = try answered("429 Slow", #"{"exceeded_daily_quota_users":{"user-1":500000}}"#, [event(1)])
        #expect(ending.name == "delivered" && ending.events == [0: "retry 429"])
        let group = event(1, #""type":"group","groupId":"g","traits":{}"#)
        #expect(try answered("429 Slow", #"{"throttled_users":{"user-1":31}}"#, [group]).events == [0: "retry 429"])
    }

    @Test("the pause is the one of the API, or the one that the server names")
    func pauses() throws {
        #expect(try answered("429 Slow", "{}").after == 30_000)
        #expect(try answered("429 Slow", "{}", settings: #","api":"batch""#).after == 15_000)
        let named = try answered("429 Slow", #"{"throttled_events":[0]}"#, headers: "Retry-After: 7\r\n")
        #expect(named.name == "retry" && named.after >= 7000 && named.after < 30_000)
    }

    @Test("the address is the one of the region and the API")
    func addresses() throws {
        func address(_ settings: String) throws -> String {
            var setup = Setup(try Settings(json: #"{"key":"k"\#(settings)}"#), Host(log: { _, _ in }, closed: { _ in }))
            _ = try Amplitude(&setup)
            return setup.endpoints[0].base + setup.endpoints[0].path
        }
        #expect(try address("") == "https://api2.amplitude.com/2/httpapi")
        #expect(try address(#","region":"eu","api":"batch""#) == "https://api.eu.amplitude.com/batch")

    }

    @Test("the description has the settings, with the key as a secret, and the rows of the mapping")
    func description() {
        let json = VendorProvider<Amplitude>.description.json(erase: false)
        #expect(json.contains(#""name":"amplitude""#) && json.contains(#""writeOnly":true"#))
        #expect(Amplitude.about.mapping.contains { $0.from == "context.os.name" && $0.to == "os_name" })
    }
}
