// Transports a batch to a router and an answer back. Each request gets one answer, or the reason why there is none.

/// The answer of the other side.
public struct Answer: Sendable, Equatable {
    public var status: Int
    public var body: [UInt8]
    /// The number of seconds that the other side asks to wait. It is nil if it gave none.
    public var retryAfter: Int?
    /// The new address, if the other side says that it has moved.
    public var location: String?

    public init(status: Int, body: [UInt8] = [], retryAfter: Int? = nil, location: String? = nil) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.location = location
    }
}

/// There was no answer. It is unknown whether the events were taken.
public struct TransportFault: Error, Equatable {
    public var message: String
    /// True if another attempt may succeed.
    public var canPass: Bool
    public init(_ message: String, canPass: Bool = true) {
        self.message = message
        self.canPass = canPass
    }
}

public protocol Transport: AnyObject {
    func post(_ body: UnsafeRawBufferPointer) throws(TransportFault) -> Answer
}

/// The maximum number of bytes that are read of an answer.
let mostAnswer = 64 << 20

extension Target {
    /// Makes the transport. `key` goes into the Authorization header. `authorities` is a PEM file of certificate authorities that replaces
    /// those of the system.
    public func transport(key: String?, authorities: String?) throws(TransportFault) -> any Transport {
        switch address {
        case .tcp, .unix: PlainTransport(self, key: key)
        case .tls: try SecureTransport(self, key: key, authorities: authorities)
        }
    }

    /// Returns the headers of every request, as lines.
    func headers(key: String?) -> [String] {
        var headers = ["Content-Type: application/x-ndjson", "User-Agent: switchyard"]
        if let key { headers.append("Authorization: Bearer \(key)") }
        return headers
    }
}
