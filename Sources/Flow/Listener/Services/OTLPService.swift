// OTLP/HTTP for logs. An invalid record is reported in a partial success, and every other fault in a google.rpc.Status, both in the
// encoding of the request. Exporters send again for 429, 502, 503 and 504, some of them only for 5xx, and drop their records on any other
// answer. Therefore overload is answered with 503.

public import Dialects
internal import Events

public struct OTLPService: Service {
    public let name = "otlp"
    public let endpoints = [Endpoint("/v1/logs")]

    public init() {}

    public func dialect(of request: Request) throws(Refusal) -> any Dialect {
        guard let logs = logs(request) else {
            throw .unknownType("expected application/x-protobuf or application/json as the Content-Type")
        }
        return logs
    }

    private func logs(_ request: Request) -> OTLPLogs? {
        switch request.mediaType {
        case "application/x-protobuf", "application/protobuf": OTLPLogs(.protobuf)
        case "application/json": OTLPLogs(.json)
        default: nil
        }
    }

    public func answer(_ request: Request, events: Int, faults: [RefusedEvent]) -> Reply {
        let logs = logs(request) ?? OTLPLogs(.json)
        return reply(200, logs: logs) { (body: inout ByteBuffer) in
            let message = faults.first.map { "log record \($0.event): \($0.message)" }
            logs.success(rejected: faults.count, message: message ?? "", into: &body)
        }
    }

    public func answer(_ request: Request, refused: Refusal) -> Reply {
        let logs = logs(request) ?? OTLPLogs(.json)
        let (status, code) = OTLPService.codes(refused)
        return reply(status, logs: logs, headers: refused.headers) { (body: inout ByteBuffer) in
            logs.failure(code: code, message: refused.message, into: &body)
        }
    }

    /// Returns the HTTP status and the number of the google.rpc.Code.
    private static func codes(_ refusal: Refusal) -> (status: Int, code: Int) {
        switch refusal {
        case .noKey, .wrongKey: (401, 16)
        case .otherKey, .noCertificate, .otherOrigin: (403, 7)
        case .notFound: (404, 5)
        case .wrongMethod: (405, 12)
        case .overloaded, .closing: (503, 14)
        default: (refusal.status, 3)
        }
    }

    private func reply(
        _ status: Int, logs: OTLPLogs, headers: [(String, String)] = [], write: (inout ByteBuffer) -> Void
    ) -> Reply {
        var body = ByteBuffer()
        write(&body)
        let type = logs.encoding == .json ? "application/json" : "application/x-protobuf"
        return Reply(status: status, body: Array(body.bytes), type: type, headers: headers)
    }
}
