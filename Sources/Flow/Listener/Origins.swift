// What browsers ask before a page of another origin may send (CORS), and what they want to see on the answers.

struct Origins: Sendable {
    private let allowed: [String]

    init(_ allowed: [String]) { self.allowed = allowed }

    /// What the reply must carry for the browser that shows this page; empty when the page may not send.
    func headers(for origin: String?) -> [String] {
        guard !allowed.isEmpty else { return [] }
        // A cache must not hand one page's answer to another.
        guard let origin, allowed.contains("*") || allowed.contains(origin), !origin.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else {
            return ["Vary", "Origin"]
        }
        return ["Access-Control-Allow-Origin", origin, "Access-Control-Expose-Headers", "Retry-After", "Vary", "Origin"]
    }

    /// The answer to OPTIONS; a preflight when it names a method.
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
