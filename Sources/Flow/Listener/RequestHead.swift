// Checks the head of a request before its body is read. It refuses whatever two parsers could read in two ways, so that no request can be
// smuggled past a proxy. It also refuses whatever exceeds a limit.

internal import Plans

struct RequestHead {
    private(set) var request: Request
    private(set) var count = 0
    private(set) var bytes = 0
    /// True if a line of the head is not as RFC 9112 demands.
    var isBroken = false
    /// True if the connection must end after the reply, because the start of the next request cannot be trusted.
    private(set) var mustClose = false
    let limits: HTTPLimits

    init(method: String, uri: String, limits: HTTPLimits) {
        let target = RequestHead.withoutHost(uri)
        let query = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = String(target[..<(query ?? target.endIndex)])
        request = Request(
            method: method, path: path.isEmpty ? "/" : path, query: query.map { String(target[target.utf8.index(after: $0)...]) } ?? "")
        bytes = method.utf8.count + uri.utf8.count
        self.limits = limits
    }

    /// Returns the target without its scheme and host. Clients of a proxy send the whole URL (the absolute form of RFC 9112), and a server must
    /// accept that.
    private static func withoutHost(_ uri: String) -> Substring {
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
        // A name is a token of RFC 9110. A zero byte or a line break in a value is an attack.
        if name.isEmpty || !name.allSatisfy(RequestHead.isToken) || value.contains(where: { $0 == 0 || $0 == 0x0a || $0 == 0x0d }) {
            isBroken = true
        }
        guard count <= limits.headers, bytes <= limits.head, !isBroken else { return false }
        request.add(name, value)
        return true
    }

    /// Checks the head. Returns the length of the body, or nil if the body comes in chunks.
    mutating func judge(version: String, uriBytes: Int) throws(Refusal) -> Int? {
        mustClose = true
        guard !isBroken else { throw .malformed("a line of the head is broken") }
        guard uriBytes <= limits.url else { throw .longURL(most: limits.url) }
        guard count <= limits.headers else { throw .largeHead("more than \(limits.headers) headers") }
        guard bytes <= limits.head else { throw .largeHead("the headers have more than \(limits.head) bytes") }
        let lengths = request.list("content-length")
        let codings = request.list("transfer-encoding")
        guard lengths.count == 0 || codings.count == 0 else {
            throw .malformed("Content-Length and Transfer-Encoding together: expected one of them")
        }
        guard lengths.count <= 1, codings.count <= 1 else { throw .malformed("the length of the body is there twice") }
        // Of two keys nobody knows which one the sender means, and a proxy may have judged the other one.
        guard request.list("authorization").count <= 1 else { throw .malformed("Authorization is there twice") }
        guard request.list("host").count <= 1 else { throw .malformed("Host is there twice") }
        if codings.count == 1 {
            guard codings.value.lowercased() == "chunked", version == "HTTP/1.1" else {
                throw .malformed("expected Transfer-Encoding: chunked")
            }
        }
        var length: Int?
        if lengths.count == 1 {
            guard !lengths.value.isEmpty, lengths.value.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(lengths.value)
            else {
                throw .malformed("Content-Length must be a whole number")
            }
            length = number
        }
        mustClose = false
        return codings.count == 1 ? nil : length ?? 0
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
