// One request over the control socket and its answer: as little of HTTP/1.1 as curl and a metrics scraper need. The input may be anything.
// Its size is limited, and an invalid request is refused with a message.

public struct Request: Sendable, Equatable {
    public var method: String
    /// The path without its query.
    public var path: String
    /// The text after the `?`.
    public var query: String
    public var body: [UInt8]
    /// The headers that `Request.keptHeaders` names, by their names in lower case. Values of a repeated header are joined.
    public var headers: [String: String] = [:]
    /// The user whose process asks. The server takes it from the system, and never from what a client sent. It is nil if it is unknown.
    public var user: UInt32?

    public init(method: String, path: String, query: String = "", body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }

    /// The headers by which the address of `admin` and its page know who asks. All others are ignored.
    static let keptHeaders: Set<String> = [
        "host", "origin", "cookie", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "x-switchyard-token", "accept-language",
        "user-agent",
    ]

    public static let mostBody = 8 << 20
    /// The size of the pieces in which something longer is sent.
    public static let piece = 256 << 10
}

public struct Response: Sendable, Equatable {
    public var status: Int
    /// The content type, such as `application/json`.
    public var type: String
    public var body: [UInt8]
    /// The method that the path needs, if the request had another one.
    public var allow: String?
    /// Further headers, by name.
    public var headers: [String: String] = [:]

    public init(_ status: Int, type: String = "application/json", _ body: String) {
        self.init(status, type: type, Array(body.utf8))
    }

    public init(_ status: Int, type: String, _ body: [UInt8]) {
        self.status = status
        self.type = type
        self.body = body
    }

    /// Returns a response that reports a fault, with a message for a person.
    public static func fault(_ status: Int, _ words: String) -> Response {
        Response(status, type: "text/plain; charset=utf-8", words + "\n")
    }

    private static let phrases = [
        200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout",
        409: "Conflict", 411: "Length Required", 413: "Content Too Large", 422: "Unprocessable Content",
        431: "Request Header Fields Too Large",
        500: "Internal Server Error", 503: "Service Unavailable",
    ]

    /// The bytes of the response on the socket. Each connection serves one request.
    var bytes: [UInt8] {
        assert(Response.phrases[status] != nil, "a status has no phrase")
        assert(!type.utf8.contains { $0 < 0x20 }, "the type of an answer would break its head")
        var head = "HTTP/1.1 \(status) \(Response.phrases[status] ?? "Unknown")\r\nContent-Type: \(type)\r\n"
        if let allow { head += "Allow: \(allow)\r\n" }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            assert(!value.utf8.contains { $0 < 0x20 }, "the value of a header would break the head of an answer")
            head += "\(name): \(value)\r\n"
        }
        head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + body
    }
}

/// Reads a request from its bytes, which come in pieces of any size.
struct RequestReader {
    enum Progress: Equatable {
        case more
        case done(Request)
        case refused(Response)
    }

    static let mostHead = 8 << 10

    /// Returns the refusal of a request whose head has come, before anything of its body is read. It gets the length of the body.
    typealias Screen = @Sendable (Request, Int) -> Response?

    private let screen: Screen?
    private var head: [UInt8] = []
    /// The request without its body. It is nil until the head is complete.
    private var request: Request?
    private var body: [UInt8] = []
    /// The number of bytes of the body that are still to come.
    private var rest = 0

    init(screen: Screen? = nil) { self.screen = screen }

    mutating func read(_ bytes: some Collection<UInt8>) -> Progress {
        var bytes = bytes[...]
        while let byte = bytes.first {
            if var request {
                let part = bytes.prefix(rest)
                body += part
                rest -= part.count
                assert(rest >= 0 && body.count + rest <= Request.mostBody, "more of a body was read than its length says")
                guard rest == 0 else { return .more }
                request.body = body
                return .done(request)
            }
            bytes = bytes.dropFirst()
            head.append(byte)
            guard head.count <= RequestReader.mostHead else { return .refused(.fault(431, "the head of the request is too long")) }
            guard byte == 0x0a, head.suffix(4) == [0x0d, 0x0a, 0x0d, 0x0a] || head.suffix(2) == [0x0a, 0x0a] else { continue }
            switch parse() {
            case .refused(let response): return .refused(response)
            case .done(let request):
                if let refusal = screen?(request, rest) { return .refused(refusal) }
                if rest == 0 { return .done(request) }
                self.request = request
            case .more: break
            }
        }
        return .more
    }

    private mutating func parse() -> Progress {
        let lines = head.split(separator: 0x0a, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self)
        }
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0", words[1].hasPrefix("/"),
            words[0].utf8.allSatisfy({ $0 >= 0x41 && $0 <= 0x5a }), !words[0].isEmpty
        else { return .refused(.fault(400, "this is not an HTTP/1.1 request")) }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { continue }
            let value = RequestReader.trimmed(parts[1])
            let name = parts[0].lowercased()
            if Request.keptHeaders.contains(name) { headers[name] = headers[name].map { "\($0), \(value)" } ?? value }
            switch name {
            case "content-length":
                guard let length = Int(value), length >= 0, value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
                    return .refused(.fault(400, "the content length is not a number"))
                }
                guard length <= Request.mostBody else { return .refused(.fault(413, "the body is too long")) }
                rest = length
            case "transfer-encoding": return .refused(.fault(411, "a body needs a Content-Length"))
            default: break
            }
        }
        let target = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        var request = Request(method: words[0], path: target[0], query: target.count > 1 ? target[1] : "")
        request.headers = headers
        return .done(request)
    }

    private static func trimmed(_ text: Substring) -> String {
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return String(text)
    }
}
