import Control
import Platform
import Testing

@testable import Page

private let rules = PageRules(host: "127.0.0.1", port: 9464, origins: ["https://Router.example"])

private func request(_ method: String = "GET", _ headers: [String: String]) -> Request {
    var request = Request(method: method, path: "/page/")
    request.headers = headers
    return request
}

@Suite("Which requests may reach the page")
struct PageRulesTests {
    @Test(
        "a host counts only if the page is there: its address, localhost with its port, and the hosts of its origins",
        arguments: [
            ("127.0.0.1:9464", "http://127.0.0.1:9464"), ("localhost:9464", "http://localhost:9464"),
            ("LOCALHOST:9464", "http://localhost:9464"),
            ("router.example", "https://router.example"), ("127.0.0.1", nil), ("127.0.0.1:80", nil), ("localhost", nil),
            ("evil.example:9464", nil), ("router.example:9464", nil), ("router.example.evil.example", nil), ("", nil),
            ("127.0.0.1:9464, evil.example", nil), ("127.0.0.1:9464.", nil), ("[::1]:9464", nil), ("0.0.0.0:9464", nil),
        ] as [(String, String?)])
    func hosts(host: String, origin: String?) {
        #expect(rules.site(of: request("GET", ["host": host]))?.origin == origin)
    }

    @Test("a request without a host reaches nothing")
    func noHost() { #expect(rules.site(of: request("GET", [:])) == nil) }

    @Test("an address of version 6 is in brackets, and the usual port may be left out")
    func addresses() {
        let other = PageRules(host: "::1", port: 80, origins: [])
        for host in ["[::1]:80", "[::1]", "localhost", "localhost:80"] { #expect(other.site(of: request("GET", ["host": host])) != nil) }
    }

    @Test("a request that another origin has caused is not the page's own")
    func own() throws {
        let site = try #require(rules.site(of: request("GET", ["host": "localhost:9464"])))
        let origin = "http://localhost:9464"
        for (headers, isOwn) in [
            ([:], true), (["origin": origin], true), (["origin": "null"], false), (["origin": "http://127.0.0.1:9464"], false),
            (["origin": "http://evil.example"], false), (["sec-fetch-site": "same-origin"], true), (["sec-fetch-site": "none"], true),
            (["sec-fetch-site": "same-site"], false), (["sec-fetch-site": "cross-site"], false), (["sec-fetch-site": "other"], false),
            (["origin": origin, "sec-fetch-site": "cross-site"], false),
        ] as [([String: String], Bool)] {
            #expect(rules.isOwn(request("GET", headers), at: site) == isOwn, "\(headers)")
        }
    }

    @Test("only a POST that names the origin of the page may change something")
    func changes() throws {
        let site = try #require(rules.site(of: request("POST", ["host": "127.0.0.1:9464"])))
        let origin = "http://127.0.0.1:9464"
        for (method, headers, may) in [
            ("POST", ["origin": origin], true), ("POST", ["origin": origin, "sec-fetch-site": "same-origin"], true), ("POST", [:], false),
            ("GET", ["origin": origin], false), ("POST", ["origin": "http://localhost:9464"], false), ("POST", ["origin": "null"], false),
            ("POST", ["origin": origin, "sec-fetch-site": "same-site"], false),
            ("POST", ["origin": origin, "sec-fetch-site": "none"], false),
            ("POST", ["origin": "https://router.example"], false), ("POST", ["origin": origin + ", http://evil.example"], false),
        ] as [(String, [String: String], Bool)] {
            #expect(rules.mayChange(request(method, headers), at: site) == may, "\(method) \(headers)")
        }
    }

    @Test("the cookie is the one of this router, and not one of several")
    func cookies() {
        for (header, value) in [
            ("switchyard-9464=abc", "abc"), ("a=b; switchyard-9464=abc; c=d", "abc"), ("switchyard-9465=abc", nil), ("", nil),
            ("xswitchyard-9464=abc", nil), ("switchyard-9464=abc; switchyard-9464=def", nil), ("switchyard-9464", nil),
        ] as [(String, String?)] {
            #expect(rules.cookie(of: request("GET", ["cookie": header])) == value, "\(header)")
        }
    }

    @Test("the cookie is for the page alone, out of reach for scripts and other sites, and encrypted where the page is")
    func cookieHeader() throws {
        var door = PageDoor()
        let secret = PageDoor.secret()
        let text = String(decoding: secret, as: UTF8.self)
        door.add(link: secret, by: nil, at: .init(nanoseconds: 0))
        let found = door.enter(text, cookie: secret, token: secret, at: .init(nanoseconds: 0))
        let session = try #require(found)
        let plain = rules.cookieHeader(session, at: rules.sites[0])
        #expect(plain == "switchyard-9464=\(text); Path=/page/; HttpOnly; SameSite=Strict")
        #expect(rules.cookieHeader(session, at: rules.sites.last!) == plain + "; Secure")
        #expect(rules.cookieHeader(nil, at: rules.sites[0]).hasSuffix("; Max-Age=0"))
    }

    @Test("the headers of every answer allow nothing from elsewhere")
    func headers() {
        #expect(
            PageRules.headers["Content-Security-Policy"]
                == "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
                + "form-action 'self'; frame-ancestors 'none'")
        #expect(PageRules.headers["X-Content-Type-Options"] == "nosniff" && PageRules.headers["Referrer-Policy"] == "no-referrer")
        #expect(PageRules.headers["Cache-Control"] == "no-store")
    }
}
