// Checks the head of a request before its body is read, and refuses what exceeds a limit. The server has checked its form and how its body
// ends.

internal import Plans

struct RequestHead {
    private(set) var request: Request
    private(set) var count = 0
    private(set) var bytes = 0
    private let uriBytes: Int
    /// True if the connection must end after the reply, because the start of the next request cannot be trusted.
    private(set) var mustClose = false
    let limits: HTTPLimits

    /// The head of a request that has not been read yet.
    init(limits: HTTPLimits) {
        request = Request(method: "", path: "/")
        uriBytes = 0
        self.limits = limits
    }

    init(method: String, uri: String, limits: HTTPLimits) {
        let target = RequestHead.withoutHost(uri)
        let query = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = String(target[..<(query ?? target.endIndex)])
        request = Request(
            method: method, path: path.isEmpty ? "/" : path, query: query.map { String(target[target.utf8.index(after: $0)...]) } ?? "")
        uriBytes = uri.utf8.count
        bytes = method.utf8.count + uri.utf8.count
        self.limits = limits
    }

    /// Returns the target without its scheme and host. Clients of a proxy send the whole URL (the absolute form of RFC 9112), and a server must
    /// accept that.
    private static func withoutHost(_ uri: String) -> Substring {
        if uri.utf8.first == UInt8(ascii: "/") { return uri[...] }
        for scheme in ["http://", "https://"]
        where uri.utf8.prefix(scheme.utf8.count).elementsEqual(scheme.utf8, by: { $0 | 0x20 == $1 | 0x20 }) {
            let rest = uri.utf8.dropFirst(scheme.utf8.count)
            return uri[(rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? uri.endIndex)...]
        }
        return uri[...]
    }

    /// Adds a header. Returns false if no more headers are wanted.
    mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        count += 1
        bytes += name.count + value.count + 4
        guard count <= limits.headers, bytes <= limits.head else { return false }
        request.add(name, value)
        return true
    }

    /// Checks the head against the limits.
    mutating func judge() throws(Refusal) {
        mustClose = true
        guard uriBytes <= limits.url else { throw .longURL(most: limits.url) }
        guard count <= limits.headers else { throw .largeHead("more than \(limits.headers) headers") }
        guard bytes <= limits.head else { throw .largeHead("the headers have more than \(limits.head) bytes") }
        // Of two keys nobody knows which one the sender means, and a proxy may have judged the other one.
        guard request.list("authorization").count <= 1 else { throw .malformed("Authorization is there twice") }
        mustClose = false
    }
}
