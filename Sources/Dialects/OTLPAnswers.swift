// The answers of an OTLP/HTTP server: ExportLogsServiceResponse and google.rpc.Status, each in the encoding of the request.

public import Events

extension OTLPLogs {
    /// The body of a 200. With rejected records it says how many and why; without, it is empty (`{}` in JSON).
    public func success(rejected: Int = 0, message: String = "", into answer: inout ByteBuffer) {}

    /// The body of any other status. `code` is google.rpc.Code: 3 for a bad request, 8 or 14 for one to send again, 16 for a bad key.
    public func failure(code: Int, message: String, into answer: inout ByteBuffer) {}
}
