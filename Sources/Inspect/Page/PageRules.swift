// Which requests may reach the page at all, by their headers. A browser sends requests for any page that a person visits, so a request counts
// only if its `Host` is one of the page (a foreign name that was bound to this address is refused), if no other origin has caused it, and, when
// it changes something, if its `Origin` is that of the page. Pure: a request in, a verdict out.

public import Control

public struct PageRules: Sendable {
    /// A place at which browsers see the page.
    public struct Site: Sendable, Equatable {
        /// The value of `Origin` of its own requests.
        public var origin: String
        /// True if it is encrypted on its way to the browser.
        public var isEncrypted: Bool { origin.hasPrefix("https://") }
        /// What the browser sends as `Host`.
        var host: String
    }

    /// The first one is the address itself.
    public let sites: [Site]
    /// The name of the cookie. Browsers send a cookie to all ports of a machine, so each router has a name of its own.
    public let cookieName: String

    /// `address` is what the server listens at, `HOST:PORT`. `origins` are further ones from the configuration.
    public init(host: String, port: UInt16, origins: [String]) {
        let isVersion6 = host.utf8.contains(UInt8(ascii: ":")) && !host.hasPrefix("[")
        var hosts = [isVersion6 ? "[\(host)]" : host]
        if host != "localhost" { hosts.append("localhost") }
        var sites = hosts.map { Site(origin: "http://\($0):\(port)", host: "\($0):\(port)") }
        // A browser leaves the usual port out.
        if port == 80 { sites += hosts.map { Site(origin: "http://\($0)", host: $0) } }
        sites += origins.map { origin in
            let name = origin.lowercased()
            return Site(origin: name, host: String(name.drop { $0 != "/" }.dropFirst(2)))
        }
        self.sites = sites
        cookieName = "switchyard-\(port)"
    }

    /// Returns the site that the request names. Returns nil if the page is at no such place.
    public func site(of request: Request) -> Site? {
        guard let host = request.headers["host"]?.lowercased() else { return nil }
        return sites.first { $0.host == host }
    }

    /// Returns true if the request comes from the page itself or from a person who opens it. A client that is no browser says nothing.
    public func isOwn(_ request: Request, at site: Site) -> Bool {
        if let origin = request.headers["origin"], origin.lowercased() != site.origin { return false }
        switch request.headers["sec-fetch-site"] {
        case nil, "same-origin", "none": return true
        default: return false
        }
    }

    /// Returns true if the request may change something: it names the origin of the page.
    public func mayChange(_ request: Request, at site: Site) -> Bool {
        request.method == "POST" && request.headers["origin"]?.lowercased() == site.origin && isOwn(request, at: site)
            && request.headers["sec-fetch-site"] != "none"
    }

    /// Returns true if somebody follows a link of another place to the page. The document that is shown then has nothing of the router.
    public func isNavigation(_ request: Request) -> Bool {
        request.method == "GET" && request.headers["sec-fetch-mode"] == "navigate" && request.headers["sec-fetch-dest"] == "document"
    }

    /// Returns the value of the page's cookie. Returns nil if there is none or more than one.
    public func cookie(of request: Request) -> String? {
        let pairs = (request.headers["cookie"] ?? "").split { $0 == ";" || $0 == "," }
        let values = pairs.compactMap { pair -> String? in
            let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return halves.count == 2 && halves[0] == cookieName ? String(halves[1]) : nil
        }
        return values.count == 1 ? values[0] : nil
    }

    /// Returns the header that gives the browser a session, or takes it away if there is none.
    public func cookieHeader(_ session: PageDoor.Session?, at site: Site) -> String {
        let value = session.map { String(decoding: $0.cookie, as: UTF8.self) } ?? ""
        return "\(cookieName)=\(value); Path=\(PageRules.path); HttpOnly; SameSite=Strict" + (site.isEncrypted ? "; Secure" : "")
            + (session == nil ? "; Max-Age=0" : "")
    }

    /// The path of the page.
    public static let path = "/page/"

    /// The headers of every answer of the page: nothing from elsewhere, no inline script or style, no frame, nothing kept.
    public static let headers = [
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
            + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
    ]
}
