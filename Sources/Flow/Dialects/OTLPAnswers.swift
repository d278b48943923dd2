// The answers of an OTLP/HTTP server: ExportLogsServiceResponse and google.rpc.Status, each in the encoding of the request.

public import Events

extension OTLPLogs {
    /// Appends the body of a 200. If records were rejected, it says how many and why. Otherwise it is empty (`{}` in JSON).
    public func success(rejected: Int = 0, message: String = "", into answer: inout ByteBuffer) {
        let isWhole = rejected == 0 && message.isEmpty
        switch encoding {
        case .json:
            if isWhole { return answer.append("{}") }
            // 64-bit integers are strings in the JSON of protocol buffers.
            answer.append("{\"partialSuccess\":{\"rejectedLogRecords\":\"\(rejected)\",\"errorMessage\":")
            JSONText.string(message, into: &answer)
            answer.append("}}")
        case .protobuf:
            if isWhole { return }
            var partial = ByteBuffer()
            if rejected != 0 { ProtobufWriter.varint(1, UInt64(rejected), into: &partial) }
            if !message.isEmpty { ProtobufWriter.text(2, message, into: &partial) }
            ProtobufWriter.bytes(1, partial.bytes, into: &answer)
        }
    }

    /// Appends the body of any other status. `code` is a google.rpc.Code: 3 for a bad request, 8 or 14 if the client should send again, 16
    /// for a bad key.
    public func failure(code: Int, message: String, into answer: inout ByteBuffer) {
        switch encoding {
        case .json:
            answer.append("{\"code\":\(code),\"message\":")
            JSONText.string(message, into: &answer)
            answer.append("}")
        case .protobuf:
            if code != 0 { ProtobufWriter.varint(1, UInt64(code), into: &answer) }
            if !message.isEmpty { ProtobufWriter.text(2, message, into: &answer) }
        }
    }
}
