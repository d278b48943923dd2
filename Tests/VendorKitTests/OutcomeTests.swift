import HTTPSupport
import PluginKit
import Testing
import VendorSupport

private let track = #"{"type":"track"}"#

/// Delivers events to a server that answers each request by the events that it has.
private func outcome(_ events: [String], _ answer: @escaping @Sendable (Request, Server.Connection) -> Void) throws -> Ending {
    let exchange = try Exchange(Sample.self, #""key":"k3y-of-test","in_flight":1"#, answer)
    defer { exchange.close() }
    return exchange.deliver(events)
}

@Suite("VendorKit: outcomes")
struct OutcomeTests {
    @Test("events are delivered if all of their requests were")
    func delivered() throws {
        let exchange = try Exchange(Sample.self, #""key":"k3y-of-test""#)
        defer { exchange.close() }
        let ending = exchange.deliver([String](repeating: track, count: 5) + [#"{"type":"page","name":"p"}"#])
        #expect(ending.name == "delivered" && ending.events.isEmpty)
        #expect(
            exchange.server.requests.map(\.line).sorted() == [
                "POST /in/grouped?key=k3y-of-test HTTP/1.1", "POST /in/list?key=k3y-of-test HTTP/1.1",
                "POST /in/list?key=k3y-of-test HTTP/1.1",
            ])
        #expect(exchange.server.requests.allSatisfy { $0.headers["content-type"] == "application/json" })
    }

    @Test("an event that is refused here is rejected by itself, also if nothing is sent")
    func refused() throws {
        let some = try outcome([track, #"{"type":"alias"}"#]) { _, connection in connection.answer("200 OK", "{}") }
        #expect(some.name == "delivered" && some.events == [1: "rejected 0"])
        let all = try outcome([#"{"type":"alias"}"#]) { _, connection in connection.answer("500 No") }
        #expect(all.events == [0: "rejected 0"] && all.messages == [0: "no aliases"])
    }

    @Test("an index of a judgement is mapped back to the event, and an index that there is not is ignored")
    func byIndex() throws {
        let ending = try outcome([#"{"type":"alias"}"#, track, track, track, track]) { request, connection in
            connection.answer("200 OK", #"{"failed":[1, 7, -1]}"#)
        }
        #expect(ending.name == "delivered" && ending.events == [0: "rejected 0", 2: "rejected 400"])
    }

    @Test("events that are to wait do not stop the lane")
    func later() throws {
        let ending = try outcome([track, track]) { _, connection in connection.answer("200 OK", #"{"failed":[0],"later":true}"#) }
        #expect(ending.name == "delivered" && ending.events == [0: "retry 0"])
    }

    @Test("of an event with several wire events the worst outcome counts")
    func parts() throws {
        let two = #"{"type":"track","properties":{"copies":2}}"#
        let ending = try outcome([two, track]) { _, connection in connection.answer("200 OK", #"{"failed":[1]}"#) }
        #expect(ending.name == "delivered" && ending.events == [0: "rejected 400"])
    }

    @Test("a request with several events that is refused becomes the outcome of the batch, which the router halves")
    func refusedTogether() throws {
        let ending = try outcome([track, track, #"{"type":"page"}"#]) { request, connection in
            connection.answer(request.line.contains("/list") ? "400 Bad" : "200 OK", "no")
        }
        #expect(ending.name == "rejected" && ending.code == 400 && ending.events == [2: "delivered 0"])
    }

    @Test("a request of one event that is refused is a verdict on that event")
    func refusedAlone() throws {
        let ending = try outcome([track, track, #"{"type":"page"}"#]) { request, connection in
            connection.answer(request.line.contains("/list") ? "200 OK" : "400 Bad", "{}")
        }
        #expect(ending.name == "delivered" && ending.events == [2: "rejected 400"])
    }

    @Test("after a request that is to be sent again, the others are not sent, and their events wait")
    func putOff() throws {
        let ending = try outcome([String](repeating: track, count: 9)) { request, connection in
            connection.answer("503 Busy", headers: "Retry-After: 3\r\n")
        }
        #expect(ending.name == "retry" && ending.after == 3000 && ending.events.isEmpty)
    }

    @Test("events that were delivered before a failure are not sent again")
    func deliveredBefore() throws {
        let ending = try outcome([track, track, track, track, #"{"type":"page"}"#]) { request, connection in
            connection.answer(request.line.contains("/list") && request.text.utf8.count < 20 ? "503 Busy" : "200 OK", "{}")
        }
        #expect(ending.name == "retry" && ending.events.filter { $0.value != "delivered 0" }.isEmpty)
        #expect(Set([0, 1, 2]).isSubset(of: ending.events.keys) && ending.events[3] == nil)
    }

    @Test("a secret in the settings is not shown, even if the server repeats it")
    func secret() throws {
        let ending = try outcome([track]) { _, connection in connection.answer("401 No", "the key k3y-of-test is wrong") }
        #expect(ending.name == "fault" && ending.message.hasSuffix("answered 401: the key *** is wrong; correct key"))
    }

    @Test("each fault of a server has its outcome", arguments: ServerFault.all)
    func faults(fault: ServerFault) throws {
        let ending = try fault.play(Sample.self, #""key":"k3y-of-test""#) { _ in track }
        #expect((0..<fault.events).allSatisfy { fault.outcomes.contains(ending.outcome(of: $0)) }, "\(fault): \(ending)")
    }

    @Test("compressed bodies arrive", arguments: ["gzip"])
    func compression(name: String) throws {
        let exchange = try Exchange(Sample.self, #""key":"k3y-of-test","compression":"\#(name)""#)
        defer { exchange.close() }
        #expect(exchange.deliver([track]).name == "delivered")
        #expect(exchange.server.requests.map { $0.headers["content-encoding"] } == [name])
        #expect(exchange.server.requests.map { Array($0.body.prefix(2)) } == [[0x1f, 0x8b]])
    }

    @Test(
        "an invalid setting is refused with a message that says what to do",
        arguments: [
            (#""key":"""#, "key is empty, or holds a space"), (#""key":"a b""#, "key is empty, or holds a space"),
            (#""key":"k","compression":"zstd""#, "compression: sample does not take zstd"),
            (#""key":"k","in_flight":99"#, "in_flight must be"),
        ])
    func settings(settings: String, words: String) throws {
        #expect { try Exchange.instance(Sample.self, settings, url: "http://127.0.0.1:1") } throws: { "\($0)".hasPrefix(words) }
        #expect { try Exchange.instance(Sample.self, #""key":"k""#, url: "http://u:p@h") } throws: {
            "\($0)" == "url holds a user or a password"
        }
        #expect { try Exchange.instance(Sample.self, #""key":"k""#, url: "http://h?q=1") } throws: { "\($0)".hasPrefix("url has a query") }
    }
}
