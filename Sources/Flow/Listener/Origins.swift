// Answers the questions of browsers before a page of another origin may send events (CORS), and adds the headers that other answers need.

struct Origins: Sendable {
    private let allowed: [String]

    init(_ allowed: [String]) { self.allowed = allowed }

    /// Returns true if pages of this origin may send.
    func allows(_ origin: String) -> Bool { allowed.contains("*") || allowed.contains(origin) }

    /// Returns the CORS headers of a reply. They do not allow the page to send or to read if its origin is not configured.
    func headers(for origin: String?) -> [String] {
        guard !allowed.isEmpty else { return [] }
        // Vary keeps a cache from giving one page's answer to another page.
        guard let origin, allowed.contains("*") || allowed.contains(origin), !origin.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else {
            return ["Vary", "Origin"]
        }
        return ["Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", "Retry-After", "Vary", "Origin"]
    }

    /// Returns the answer to OPTIONS. The request is a preflight if it names a method.
    func reply(to request: Request, methods: [String]) -> Reply {
        var reply = Reply(status: 204, headers: [("Allow", methods.joined(separator: ", "))])
        let origin = request.header("origin")
        reply.headers += headers(for: origin)
        if request.header("access-control-request-method") != nil, reply.headers.contains("Access-Control-Allow-Origin") {
            reply.add("Access-Control-Allow-Methods", "POST, OPTIONS")
            reply.add("Access-Control-Allow-Headers", "Authorization, Content-Type, Content-Encoding, Prefer")
            reply.add("Access-Control-Max-Age", "86400")
        }
        return reply
    }
}
