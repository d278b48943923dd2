import HTTPSupport
import PluginKit
import Testing
import VendorSupport

@Suite("vendors: servers that misbehave")
struct FaultTests {
    @Test("each fault of a server has its outcome with each vendor", arguments: VendorCase.all, ServerFault.all)
    func faults(vendor: VendorCase, fault: ServerFault) throws {
        let ending = try vendor.play(fault)
        #expect((0..<fault.events).allSatisfy { fault.outcomes.contains(ending.outcome(of: $0)) }, "\(ending)")
        if let pause = fault.pause { #expect(ending.after == pause, "\(ending)") }
    }

    @Test("of several events only the one that the server refuses is refused", arguments: VendorCase.all)
    func poison(vendor: VendorCase) throws {
        let exchange = try vendor.exchange(vendor.settings) { request, connection in
            connection.answer(request.text.contains("poison") ? "400 Bad Request" : "200 OK", "{}")
        }
        defer { exchange.close() }
        let names = ["good_0", "good_1", "good_2", "poison", "good_4"]
        let endings = exchange.settle(names.map { VendorCase.event($0) })
        #expect(endings == ["delivered", "delivered", "delivered", "rejected", "delivered"])
    }

    @Test("a request that is too large is halved until the server takes it", arguments: VendorCase.all)
    func tooLarge(vendor: VendorCase) throws {
        let taken = Monitor<Set<String>>([])
        let names = (0..<8).map { "good_\($0)" }
        let exchange = try vendor.exchange(vendor.settings) { request, connection in
            let held = names.filter(request.text.contains)
            if held.count > 2 { return connection.answer("413 Payload Too Large") }
            taken.withLock { $0.formUnion(held) }
            connection.answer("200 OK", "{}")
        }
        defer { exchange.close() }
        #expect(Set(exchange.settle(names.map { VendorCase.event($0) })) == ["delivered"])
        #expect(taken.withLock { $0.sorted() } == names)
    }

    @Test(
        "an event that the server does not take, while it takes others of the request, is never delivered",
        arguments: VendorCase.all.filter { $0.partial != nil })
    func partial(vendor: VendorCase) throws {
        let partial = try #require(vendor.partial)
        let names = ["good_0", "good_1", "poison", "good_3"]
        let exchange = try vendor.exchange(vendor.settings) { request, connection in
            guard let poison = request.text.firstRange(of: "poison") else { return connection.answer("200 OK", "{}") }
            let before = names.filter { request.text[..<poison.lowerBound].contains("\"\($0)\"") }
            let refusal = partial(before.count)
            connection.answer(refusal.status, refusal.body, headers: refusal.headers)
        }
        defer { exchange.close() }
        let endings = exchange.settle(names.map { VendorCase.event($0) })
        #expect(endings[2] == "rejected" || endings[2] == "retry")
        #expect([endings[0], endings[1], endings[3]].allSatisfy { $0 == "delivered" || $0 == vendor.others }, "\(endings)")
    }

    @Test("an answer before the end of a large request is no delivery", arguments: VendorCase.all.filter { $0.largeSettings != nil })
    func early(vendor: VendorCase) throws {
        let server = Server(receiveBuffer: 2048) { server, connection in
            guard connection.head() != nil else { return }
            connection.answer("200 OK", "{}")
            connection.linger()
        }
        defer { server.close() }
        let instance = try vendor.instance(try #require(vendor.largeSettings), server.url)
        defer { instance.close() }
        let pad = String(repeating: "x", count: 800_000)
        let ending = instance.deliver((0..<12).map { VendorCase.event("good_\($0)", ",\"pad\":\"\(pad)\"") })
        let outcomes = Set((0..<12).map(ending.outcome))
        // A request that had not begun is to be sent again.
        #expect(outcomes.contains("unknown") && outcomes.isSubset(of: ["unknown", "retry"]), "\(ending)")
    }
}
