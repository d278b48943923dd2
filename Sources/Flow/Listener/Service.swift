// The HTTP half of a dialect: a service is one small file in Services/ that knows a vendor's endpoints, names the dialect of a
// body, and answers as the vendor's own server would. It is pure: it reads no clock, no socket and no configuration.

public import Dialects

/// A path at which a service takes events.
public struct Endpoint: Sendable, Equatable {
    public var path: String
    public init(_ path: String) { self.path = path }
}

public protocol Service: Sendable {
    /// What the configuration calls its dialect: `native`.
    var name: String { get }
    /// Its paths, all for POST. No two services have one in common.
    var endpoints: [Endpoint] { get }
    /// The key that the head of the request carries; nil when it has none.
    func key(of request: Request) -> [UInt8]?
    /// Whether a body may carry the key: then one without it in the head is translated before it is refused.
    var hasKeyInBody: Bool { get }
    /// How the decoded body of that request is written.
    func dialect(of request: Request) throws(Refusal) -> any Dialect
    /// The events were taken, save those of `faults`.
    func answer(_ request: Request, events: Int, faults: [RefusedEvent]) -> Reply
    /// Nothing of the request was taken.
    func answer(_ request: Request, refused: Refusal) -> Reply
}

extension Service {
    public func key(of request: Request) -> [UInt8]? { Credentials.key(request.header("authorization")) }
    public var hasKeyInBody: Bool { false }
    public func answer(_ request: Request, refused: Refusal) -> Reply { refused.plainReply }
}

/// The head of a request.
public struct Request: Sendable {
    public var method: String
    /// As it came, without the query.
    public var path: String
    public var query: String
    /// Names and values in turn, each ended by a zero; names in lower case.
    var headers: [UInt8] = []

    public init(method: String, path: String, query: String = "", headers: [(String, String)] = []) {
        self.method = method
        self.path = path
        self.query = query
        for (name, value) in headers { add(Array(name.utf8), Array(value.utf8)) }
    }

    mutating func add(_ name: some Sequence<UInt8>, _ value: some Sequence<UInt8>) {
        for byte in name { headers.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
        headers.append(0)
        headers.append(contentsOf: value)
        headers.append(0)
    }

    /// The first header of that name, which is given in lower case.
    public func header(_ wanted: String) -> String? {
        var found: String?
        eachHeader { name, value in
            guard name.elementsEqual(wanted.utf8) else { return true }
            found = String(decoding: value, as: UTF8.self)
            return false
        }
        return found
    }

    /// How often the header is there, and all its values joined as one list.
    func list(_ wanted: String) -> (count: Int, value: String) {
        var values: [String] = []
        eachHeader { name, value in
            if name.elementsEqual(wanted.utf8) { values.append(String(decoding: value, as: UTF8.self)) }
            return true
        }
        return (values.count, values.joined(separator: ","))
    }

    func eachHeader(_ visit: (ArraySlice<UInt8>, ArraySlice<UInt8>) -> Bool) {
        var at = 0
        while at < headers.count {
            guard let nameEnd = headers[at...].firstIndex(of: 0), let end = headers[(nameEnd + 1)...].firstIndex(of: 0) else { return }
            if !visit(headers[at..<nameEnd], headers[(nameEnd + 1)..<end]) { return }
            at = end + 1
        }
    }

    /// What the content is, in lower case and without parameters: `application/json`.
    public var mediaType: String {
        guard let value = header("content-type") else { return "" }
        return String(value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }).lowercased()
    }

    /// Whether the query asks for it: `results=each`.
    public func asks(_ name: String, _ value: String) -> Bool {
        query.split(separator: "&").contains { $0 == "\(name)=\(value)" }
    }
}

/// An event of a request that was not taken.
public struct RefusedEvent: Sendable, Equatable {
    /// Counted from 0 among the events of the request, good and bad.
    public var event: Int
    public var message: String
    public init(event: Int, message: String) {
        self.event = event
        self.message = message
    }
}

/// Why a whole request was not taken.
public enum Refusal: Error, Sendable, Equatable {
    /// It makes no sense, in words.
    case malformed(String)
    case noKey
    case wrongKey
    /// The key is good, but not for this dialect.
    case otherKey
    case noCertificate
    case notFound
    case wrongMethod(allowed: [String])
    case tooLarge(String)
    case tooManyEvents(most: Int)
    case longURL(most: Int)
    case largeHead(String)
    case unknownType(String)
    case unknownCoding(String)
    case overloaded(retryAfter: Int)
    case closing

    /// The status that RFC 9110 has for it. Never 500 and never a redirect: clients drop events on either.
    public var status: Int {
        switch self {
        case .malformed: 400
        case .noKey, .wrongKey: 401
        case .otherKey, .noCertificate: 403
        case .notFound: 404
        case .wrongMethod: 405
        case .tooLarge, .tooManyEvents: 413
        case .longURL: 414
        case .unknownType, .unknownCoding: 415
        case .overloaded: 429
        case .largeHead: 431
        case .closing: 503
        }
    }

    public var message: String {
        switch self {
        case .malformed(let what), .tooLarge(let what), .largeHead(let what), .unknownType(let what), .unknownCoding(let what): what
        case .noKey: "a key is needed: send it as Authorization: Bearer KEY"
        case .wrongKey: "the key is not valid"
        case .otherKey: "the key is not valid for this path"
        case .noCertificate: "a client certificate is needed that the configured authorities vouch for"
        case .notFound: "there is nothing at this path"
        case .wrongMethod(let allowed): "expected \(allowed.joined(separator: ", "))"
        case .tooManyEvents(let most): "more than \(most) events in one request; send them in several"
        case .longURL(let most): "the URL has more than \(most) bytes"
        case .overloaded: "no room now; send the events again later"
        case .closing: "the router is ending; send the events again later"
        }
    }

    /// The headers that the status demands.
    public var headers: [(String, String)] {
        switch self {
        case .noKey, .wrongKey: [("WWW-Authenticate", "Bearer realm=\"switchyard\"")]
        case .wrongMethod(let allowed): [("Allow", allowed.joined(separator: ", "))]
        case .unknownCoding: [("Accept-Encoding", ContentCoding.accepted)]
        case .overloaded(let seconds): [("Retry-After", "\(seconds)")]
        case .closing: [("Retry-After", "5")]
        default: []
        }
    }

    /// `{"error": …}`, as the native dialect answers.
    public var plainReply: Reply {
        Reply(status: status, json: "{\"error\":\(quotedJSON(message))}\n", headers: headers)
    }
}

/// The answer to a request.
public struct Reply: Sendable, Equatable {
    public var status: Int
    public var body: [UInt8]
    /// Names and values in turn.
    public var headers: [String]

    public init(status: Int, body: [UInt8] = [], type: String? = nil, headers: [(String, String)] = []) {
        self.status = status
        self.body = body
        self.headers = (type.map { ["Content-Type", $0] } ?? []) + headers.flatMap { [$0.0, $0.1] }
    }

    public init(status: Int, json: String, headers: [(String, String)] = []) {
        self.init(status: status, body: Array(json.utf8), type: "application/json", headers: headers)
    }

    mutating func add(_ name: String, _ value: String) { headers += [name, value] }
}
