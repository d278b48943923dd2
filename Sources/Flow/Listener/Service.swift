// The HTTP half of a dialect. A service is one small file in Services/ that names a vendor's endpoints and the dialect of a body, and
// answers as the vendor's own server does. It is pure: it reads no clock, no socket and no configuration.

public import Dialects
internal import Glibc
internal import Platform

/// A path at which a service accepts events.
public struct Endpoint: Sendable, Equatable {
    public var path: String
    public init(_ path: String) { self.path = path }
}

public protocol Service: Sendable {
    /// The name of its dialect in the configuration, such as `native`.
    var name: String { get }
    /// Its paths, all for POST. No two services share a path.
    var endpoints: [Endpoint] { get }
    /// Returns the key in the head of the request, or nil if there is none.
    func key(of request: Request) -> [UInt8]?
    /// True if a body may contain the key. Then a request without a key in its head is translated before it is refused.
    var hasKeyInBody: Bool { get }
    /// Returns the dialect of the decoded body of the request.
    func dialect(of request: Request) throws(Refusal) -> any Dialect
    /// Returns the answer to a request whose events were accepted, except those in `faults`.
    func answer(_ request: Request, events: Int, faults: [RefusedEvent]) -> Reply
    /// Returns the answer to a request that was refused as a whole.
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
    /// The path as it was received, without the query.
    public var path: String
    public var query: String
    /// Names and values alternately, each terminated by a zero byte. Names are in lower case.
    private(set) var headers: [UInt8] = []
    /// One bit for the first byte and the length of each name. It excludes most names that a request does not have.
    private var names: UInt64 = 0

    public init(method: String, path: String, query: String = "", headers: [(String, String)] = []) {
        self.method = method
        self.path = path
        self.query = query
        for (name, value) in headers { add(Array(name.utf8), Array(value.utf8)) }
    }

    mutating func add(_ name: some Sequence<UInt8>, _ value: some Sequence<UInt8>) {
        let start = headers.count
        for byte in name { headers.append((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) }
        if start < headers.count { names |= Request.bit(headers[start], headers.count - start) }
        headers.append(0)
        headers.append(contentsOf: value)
        headers.append(0)
    }

    private static func bit(_ first: UInt8, _ count: Int) -> UInt64 { 1 << ((UInt64(first) &+ 7 &* UInt64(count)) & 63) }

    /// Returns the first header with this name, which must be in lower case.
    public func header(_ wanted: String) -> String? {
        place(of: wanted).map { String(decoding: headers[$0], as: UTF8.self) }
    }

    /// Returns the number of headers with this name, and all their values joined as one list.
    func list(_ wanted: String) -> (count: Int, value: String) {
        var values: [String] = []
        var from = 0
        while let place = place(of: wanted, from: from) {
            values.append(String(decoding: headers[place], as: UTF8.self))
            from = place.upperBound + 1
        }
        return (values.count, values.joined(separator: ","))
    }

    /// Returns the place of the value of the first header with this name in `headers`. The search begins at the name at `from`.
    private func place(of wanted: String, from: Int = 0) -> Range<Int>? {
        var wanted = wanted
        return wanted.withUTF8 { wanted in
            headers.withUnsafeBufferPointer { headers in
                guard let start = headers.baseAddress, let name = wanted.baseAddress, wanted.count > 0,
                    names & Request.bit(name[0], wanted.count) != 0
                else { return nil }
                func end(_ at: Int) -> Int? {
                    memchr(start + at, 0, headers.count - at).map { UnsafeRawPointer($0) - UnsafeRawPointer(start) }
                }
                var at = from
                while at < headers.count {
                    guard let nameEnd = end(at), let valueEnd = end(nameEnd + 1) else { break }
                    if nameEnd - at == wanted.count, memcmp(start + at, name, wanted.count) == 0 { return nameEnd + 1..<valueEnd }
                    at = valueEnd + 1
                }
                return nil
            }
        }
    }

    /// True if the head says that Global Privacy Control is on. A value with more than one part counts if any part is 1.
    var isPrivate: Bool {
        place(of: "sec-gpc") != nil
            && list("sec-gpc").value.split(separator: ",").contains { $0.filter { $0 != " " && $0 != "\t" } == "1" }
    }

    /// The media type of the content in lower case, without parameters, such as `application/json`.
    public var mediaType: String {
        guard let place = place(of: "content-type") else { return "" }
        return String(unsafeUninitializedCapacity: place.count) { type in
            var count = 0
            for byte in headers[place] where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") {
                if byte == UInt8(ascii: ";") { break }
                type[count] = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
                count += 1
            }
            return count
        }
    }

    /// Returns true if the query contains this pair, such as `results=each`.
    public func asks(_ name: String, _ value: String) -> Bool {
        !query.isEmpty && query.split(separator: "&").contains { $0 == "\(name)=\(value)" }
    }
}

/// An event of a request that was refused.
public struct RefusedEvent: Sendable, Equatable {
    /// The index of the event in the request, counted from 0 over valid and invalid events.
    public var event: Int
    public var message: String
    public init(event: Int, message: String) {
        self.event = event
        self.message = message
    }
}

/// The reason why a whole request was refused.
public enum Refusal: Error, Sendable, Equatable {
    /// The request is malformed. The text says why.
    case malformed(String)
    case noKey
    case wrongKey
    /// The key is valid, but not for this dialect.
    case otherKey
    case noCertificate
    /// A web page of an origin that is not configured sends to a listener without keys.
    case otherOrigin
    /// Nothing is at this path. The value lists the paths of the listener.
    case notFound(paths: [String])
    case wrongMethod(allowed: [String])
    case tooLarge(String)
    case tooManyEvents(most: Int)
    case longURL(most: Int)
    case largeHead(String)
    case unknownType(String)
    case unknownCoding(String)
    case overloaded(retryAfter: Int)
    case closing

    /// The status that RFC 9110 defines for this reason. It is never 500 and never a redirect, because clients drop events on either.
    public var status: Int {
        switch self {
        case .malformed: 400
        case .noKey, .wrongKey: 401
        case .otherKey, .noCertificate, .otherOrigin: 403
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
        case .noCertificate: "a client certificate from one of the configured authorities is needed"
        case .otherOrigin: "web pages of this origin may not send here; 'origins' can allow it"
        case .notFound(let paths):
            "there is nothing at this path" + (paths.isEmpty ? "" : "; the paths are \(paths.joined(separator: ", "))")
        case .wrongMethod(let allowed): "the method must be \(allowed.joined(separator: " or "))"
        case .tooManyEvents(let most): "more than \(most) events in one request; send them in several"
        case .longURL(let most): "the URL has more than \(most) bytes"
        case .overloaded: "the router is overloaded; send the events again later"
        case .closing: "the router is ending; send the events again later"
        }
    }

    /// The headers that the status requires.
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

    /// The answer of the native dialect: `{"error": …}`.
    public var plainReply: Reply {
        Reply(status: status, json: "{\"error\":\(jsonQuoted(message))}\n", headers: headers)
    }
}

/// The answer to a request.
public struct Reply: Sendable, Equatable {
    public var status: Int
    public var body: [UInt8]
    /// Names and values alternately.
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
