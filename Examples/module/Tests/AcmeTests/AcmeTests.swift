// What Acme gets, and what its answers mean. VendorSupport maps events without a server, and has a server that a test scripts.

import Testing
import VendorSupport

@testable import Acme

@Suite("acme")
struct AcmeTests {
    private let key = #""key":"k-0123""#

    @Test("an event is mapped, and nothing of it is lost")
    func maps() throws {
        let event =
            #"{"type":"track","event":"Paid","messageId":"0190a0f0-0000-7000-8000-000000000000","userId":7,"timestamp":"2026-01-01T00:00:00Z","#
            + #""properties":{"price":1.50},"context":{"ip":"192.0.2.1","locale":"de"}}"#
        let mapped = try Mapped(Acme.self, "{\(key)}", [event])
        #expect(
            mapped.first
                == #"{"events":[{"name":"Paid","id":"0190a0f0-0000-7000-8000-000000000000","at":1767225600000,"user":"7","#
                + #""data":{"price":1.50,"ip":"192.0.2.1"},"more":{"context":{"locale":"de"}}}]}"#)
    }

    @Test("an event without a name is refused with a reason")
    func refuses() throws {
        let mapped = try Mapped(Acme.self, "{\(key)}", [#"{"type":"track"}"#])
        #expect(mapped.bodies.isEmpty && mapped.refused == [0: "the event has no name"])
    }

    @Test("the events that the answer names are refused, and the others are delivered")
    func judges() throws {
        let exchange = try Exchange(Acme.self, key, body: #"{"refused":[{"index":1,"reason":"too old"}]}"#)
        defer { exchange.close() }
        let ending = exchange.deliver([#"{"event":"a"}"#, #"{"event":"b"}"#])
        #expect(ending.name == "delivered" && ending.events == [1: "rejected 200"], "\(ending)")
    }

    @Test("each fault of a server has its outcome", arguments: ServerFault.all)
    func faults(_ fault: ServerFault) throws {
        let ending = try fault.play(Acme.self, key) { #"{"event":"e\#($0)"}"# }
        #expect((0..<fault.events).allSatisfy { fault.outcomes.contains(ending.outcome(of: $0)) }, "\(fault): \(ending)")
    }
}
