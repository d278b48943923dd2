import HTTPSupport
import PluginKit
import Testing

@testable import HTTPKit

/// A library that counts how often it is loaded, and that is missing as long as a test says so.
private final class FakeLibrary: Sendable {
    private let state = Monitor((loads: 0, fault: String?.none))

    init(fault: String? = nil) { self.fault = fault }

    var loads: Int { state.withLock { $0.loads } }
    var fault: String? {
        get { state.withLock { $0.fault } }
        set { state.withLock { $0.fault = newValue } }
    }

    func library(isFound: Bool = true) -> CurlLibrary {
        CurlLibrary(
            isFound: { isFound },
            load: { [self] in
                let fault = state.withLock { state in
                    state.loads += 1
                    return state.fault
                }
                return fault ?? CurlLibrary.system.load()
            })
    }
}

private func rules(_ url: String) throws -> ClientRules {
    let settings = try ClientSettings(Settings(json: "{}"), isSecure: false)
    return ClientRules(settings, targets: [Target(.get, try Address(url, setting: "url"), headers: [])], secrets: Secrets([]))
}

@Suite("http: libcurl is loaded when it is needed")
struct LibraryTests {
    private func words(_ asked: Asked) -> String {
        switch asked {
        case .answered(let reply, _): "answered \(reply.status)"
        case .unanswered(.fault(_, let words)): "fault: \(words)"
        case .unanswered(let outcome): "\(outcome)"
        case .late: "late"
        }
    }

    @Test("a client loads libcurl with its first request, and neither when it is made, nor when it is flushed or closed without one")
    func first() throws {
        let (fake, server) = (FakeLibrary(), Server.answering("200 OK"))
        defer { server.close() }
        let idle = try HTTPClient(rules(server.url), .system, library: fake.library())
        idle.close()
        #expect(fake.loads == 0)
        let client = try HTTPClient(rules(server.url), .system, library: fake.library())
        defer { client.close() }
        #expect(fake.loads == 0)
        #expect(words(client.ask(0, [], within: 600_000)) == "answered 200" && fake.loads == 1)
        #expect(words(client.ask(0, [], within: 600_000)) == "answered 200" && fake.loads == 1, "it is loaded once")
    }

    @Test("a library that is not where it is expected is loaded at once, so that a missing one is a fault of the settings")
    func missing() throws {
        let fake = FakeLibrary(fault: "it is not there")
        #expect { try HTTPClient(rules("http://127.0.0.1:9"), .system, library: fake.library(isFound: false)) } throws: {
            "\($0)" == "it is not there"
        }
        fake.fault = nil
        try HTTPClient(rules("http://127.0.0.1:9"), .system, library: fake.library(isFound: false)).close()
        #expect(fake.loads == 2)
    }

    @Test("as long as libcurl cannot be loaded, deliveries end with a fault that says why, and as soon as it can, the next one is sent")
    func later() throws {
        let (fake, server) = (FakeLibrary(fault: "it is broken"), Server.answering("200 OK"))
        defer { server.close() }
        let client = try HTTPClient(rules(server.url), .system, library: fake.library())
        defer { client.close() }
        #expect(words(client.ask(0, [], within: 600_000)) == "fault: it is broken")
        #expect(words(client.ask(0, [], within: 600_000)) == "fault: it is broken" && fake.loads == 2, "each delivery tries again")
        fake.fault = nil
        #expect(words(client.ask(0, [], within: 600_000)) == "answered 200" && server.requests.count == 1)
    }

    @Test("a closed client answers at once, also if libcurl was never loaded")
    func closed() throws {
        let fake = FakeLibrary(fault: "it is broken")
        let client = try HTTPClient(rules("http://127.0.0.1:9"), .system, library: fake.library())
        _ = client.ask(0, [], within: 600_000)
        client.close()
        client.close()
        guard case .unanswered(.retry(_, let words, _)) = client.ask(0, [], within: 600_000) else {
            Issue.record("a closed client did not put the request off")
            return
        }
        #expect(words == "the provider is closed" && fake.loads == 1)
    }

    @Test("a probe without libcurl says that nothing was asked")
    func probe() throws {
        let client = try HTTPClient(rules("http://127.0.0.1:9"), .system, library: FakeLibrary(fault: "it is broken").library())
        defer { client.close() }
        guard case .failed(_, let words) = client.probe(0, [], within: 600_000, judge: { _ in nil }) else {
            Issue.record("a probe without the library was refused")
            return
        }
        #expect(words == "it is broken")
    }

    @Test("the installed library is found without being opened, and can be loaded")
    func installed() { #expect(CurlLibrary.system.isFound() && CurlLibrary.system.load() == nil) }
}
