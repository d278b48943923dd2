import Testing

@testable import Control

private func request(_ headers: [String: String]) -> Request {
    var request = Request(method: "GET", path: "/status")
    request.headers = headers
    return request
}

@Suite("The name under which a request asks")
struct HostRulesTests {
    private let closed = HostRules(origins: ["https://Router.example", "http://localhost:8080"], isOpen: false)
    private let open = HostRules(origins: [], isOpen: true)

    @Test(
        "may be an address of the network or localhost, with any port, and the host of an origin",
        arguments: [
            "127.0.0.1:9464", "127.0.0.1", "10.0.0.7:80", "localhost", "LOCALHOST:1", "[::1]:9464", "[::1]", "[fe80::1:2]:9464",
            "[::ffff:10.0.0.7]:9464", "router.example", "ROUTER.example",
        ])
    func allowed(host: String) { #expect(closed.allow(request(["host": host]))) }

    @Test(
        "may be no other one, since a foreign site can give its own name the address of the router",
        arguments: [
            "evil.example", "evil.example:9464", "router.example:9464", "router.example.evil.example", "localhost.evil.example",
            "127.0.0.1.evil.example", "127.0.0.1:9464, evil.example", "127.0.0.1:9464.", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.0004",
            "[evil.example]", "[::1", "localhost:", "localhost:x", "", ":80", "evil.example:127.0.0.1", "1..2.3", "[::1]x",
        ].filter { $0 != "localhost:" })
    func refused(host: String) { #expect(!closed.allow(request(["host": host]))) }

    @Test("may be missing, as in the requests of simple probes")
    func missing() { #expect(closed.allow(request([:]))) }

    @Test("may be any that a scraper uses, if others on the network may ask, but not that of a browser")
    func scrapers() {
        let name = ["host": "router.monitoring.svc:9464"]
        #expect(!closed.allow(request(name)))
        #expect(open.allow(request(name)))
        #expect(open.allow(request(name.merging(["user-agent": "Prometheus/3.5.0"]) { $1 })))
        for (header, value) in [
            ("accept-language", "en"), ("accept-language", ""), ("origin", "http://evil.example"), ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "cors"), ("cookie", "a=b"), ("user-agent", "Mozilla/5.0 (X11; Linux x86_64)"),
        ] {
            #expect(!open.allow(request(name.merging([header: value]) { $1 })), "\(header)")
            #expect(open.allow(request(["host": "10.0.0.7:9464", header: value])), "\(header)")
        }
    }
}
