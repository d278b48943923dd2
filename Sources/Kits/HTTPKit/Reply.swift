// The result of a request: what the server answered, and what libcurl knows about the connection.

internal import CCurl

public struct Reply: Sendable {
    let result: CURLcode
    /// The status of the final answer. It is 0 if there was none.
    public let status: Int
    /// The status with which a proxy answered the request for a tunnel. It is 0 if there was no such answer.
    let proxyStatus: Int
    /// True if any byte of the body was sent.
    let isSent: Bool
    /// True if the request was sent before on another connection, which ended without an answer.
    let isSentAgain: Bool
    /// True if the answer began before the whole body was sent.
    let isEarly: Bool
    /// True if the answer was cut because it was too long.
    public let isCut: Bool
    /// The pause that the server asked for, in milliseconds.
    public let retryAfter: UInt64?
    /// The target of a redirect.
    let location: String?
    /// The beginning of the body of the answer.
    public let body: [UInt8]
    /// The headers that the target keeps, with names in lower case.
    public let headers: [(name: String, value: [UInt8])]
    /// libcurl's own message for the failure.
    let detail: String
    let systemError: Int32

    /// Returns the value of a header that the target keeps. `name` is in lower case. If the header came several times, the values are
    /// joined by commas.
    public func header(_ name: String) -> String? {
        let values = headers.filter { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// True if the whole request was sent and a final answer came back, which is whole or was cut because it is too long.
    var isConclusive: Bool { status >= 200 && !isEarly && (result == CURLE_OK || isCut) }
}

extension Reply {
    /// Makes a whole answer, for tests of what judges it.
    package init(status: Int, body: [UInt8], headers: [(name: String, value: [UInt8])] = [], isCut: Bool = false, retryAfter: UInt64? = nil)
    {
        result = CURLE_OK
        self.status = status
        proxyStatus = 0
        isSent = true
        isSentAgain = false
        isEarly = false
        self.isCut = isCut
        self.retryAfter = retryAfter
        location = nil
        self.body = body
        self.headers = headers
        detail = ""
        systemError = 0
    }
}
