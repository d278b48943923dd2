// How a batch gets to a router and an answer back. It promises one answer, or the reason why there is none.

/// What the other side answered.
public struct Answer: Sendable, Equatable {
    public var status: Int
    public var body: [UInt8]
    /// How many seconds it asks for patience.
    public var retryAfter: Int?
    /// Where it says that it has moved.
    public var location: String?

    public init(status: Int, body: [UInt8] = [], retryAfter: Int? = nil, location: String? = nil) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.location = location
    }
}

/// There was no answer. Whether the events were taken is unknown.
public struct TransportFault: Error, Equatable {
    public var message: String
    /// To be tried again; else it would be the same the next time.
    public var canPass: Bool
    public init(_ message: String, canPass: Bool = true) {
        self.message = message
        self.canPass = canPass
    }
}

public protocol Transport: AnyObject {
    func post(_ body: UnsafeRawBufferPointer) throws(TransportFault) -> Answer
}

/// The most of an answer that is read.
let mostAnswer = 64 << 20

extension Target {
    /// `key` goes into the Authorization header; `authorities`: a file in PEM that vouches for the other side instead of the system's.
    public func transport(key: String?, authorities: String?) throws(TransportFault) -> any Transport {
        switch way {
        case .tcp, .unix: PlainTransport(self, key: key)
        case .tls: try SecureTransport(self, key: key, authorities: authorities)
        }
    }

    /// Names and values.
    func headers(key: String?) -> [String] {
        var headers = ["Content-Type: application/x-ndjson", "User-Agent: switchyard"]
        if let key { headers.append("Authorization: Bearer \(key)") }
        return headers
    }
}
