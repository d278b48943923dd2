// The HTTP API of Segment, which RudderStack's clients use too. Clients drop events that are answered with 4xx, except 429, and send all
// events again after 5xx. Therefore a request in which only some events are invalid succeeds, and overload is always answered with 429 or
// 503.

public import Dialects
internal import Platform

public struct SegmentService: Service {
    public let name = "segment"
    public let endpoints = Segment.Call.allCases.map { Endpoint(SegmentService.root + $0.rawValue) }
    public let hasKeyInBody = true

    private static let root = "/v1/"

    public init() {}

    /// Accepts every Content-Type, because a page that is being closed can send only text/plain.
    public func dialect(of request: Request) throws(Refusal) -> any Dialect {
        guard let call = Segment.Call(rawValue: String(request.path.dropFirst(SegmentService.root.count))) else {
            throw .notFound(paths: endpoints.map(\.path))
        }
        return Segment(call)
    }

    public func answer(_ request: Request, events: Int, faults: [RefusedEvent]) -> Reply {
        if let fault = faults.first, faults.count == events { return failure(400, code: "invalid_request", message: fault.message) }
        return Reply(status: 200, json: "{\"success\": true}")
    }

    public func answer(_ request: Request, refused: Refusal) -> Reply {
        switch refused {
        case .noKey: failure(401, code: "unauthorized", message: "a write key is needed", headers: refused.headers)
        case .wrongKey, .otherKey, .noCertificate: failure(401, code: "unauthorized", message: refused.message, headers: refused.headers)
        case .otherOrigin: failure(403, code: "forbidden", message: refused.message)
        case .notFound, .wrongMethod: failure(refused.status, code: "not_found", message: refused.message, headers: refused.headers)
        case .overloaded: failure(429, code: "rate_limited", message: refused.message, headers: refused.headers)
        case .closing: failure(503, code: "unavailable", message: refused.message, headers: refused.headers)
        default: failure(400, code: "invalid_request", message: refused.message, headers: refused.headers)
        }
    }

    /// Returns an error answer. Clients read its `code` and `message`.
    private func failure(_ status: Int, code: String, message: String, headers: [(String, String)] = []) -> Reply {
        Reply(status: status, json: "{\"success\": false, \"code\": \"\(code)\", \"message\": \(jsonQuoted(message))}", headers: headers)
    }
}
