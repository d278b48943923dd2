// OTLP/HTTP `/v1/logs`: ExportLogsServiceRequest as a protocol buffer or as JSON. Both become the same events:
//
// | event                      | log record                                                                                  |
// |----------------------------|---------------------------------------------------------------------------------------------|
// | `type`                     | "track" if it has a name, else "log"                                                        |
// | `event`                    | `event_name`, else the attribute `event.name`                                               |
// | `messageId`                | the attribute `log.record.uid`                                                              |
// | `userId`                   | the attribute `user.id`, else `enduser.id`                                                  |
// | `anonymousId`              | the attribute `enduser.pseudo.id`                                                           |
// | `timestamp`                | `time_unix_nano`, else `observed_time_unix_nano`, else the time of receipt                  |
// | `properties`               | all attributes, those above too: a rule that hides an id must name both places              |
// | `body`                     | the body                                                                                    |
// | `context.ip`               | the client's address, if it is configured                                                   |
// | `context.otlp`             | `timeUnixNano`, `observedTimeUnixNano`, `severityNumber`, `severityText`, `traceId`,        |
// |                            | `spanId`, `flags`, `droppedAttributesCount`, `resource`, `scope`                            |
//
// Integers are written exactly, and doubles so that the same double is read back. Bytes become `{"bytesValue": …}` with
// base64, as in the JSON of OTLP, and a missing value becomes null. NaN and the infinities become strings. OpenTelemetry defines these rules
// for values in other formats, except that of bytes. Unknown fields are skipped. An
// invalid record is refused alone. If the frame of a body is invalid, the rest of the body is refused.

internal import Events

public struct OTLPLogs: Dialect {
    public enum Encoding: Sendable { case protobuf, json }

    /// The number of levels of lists and maps that a value may have. Protocol buffer libraries read no more levels.
    static let deepest = 32

    public let encoding: Encoding

    public init(_ encoding: Encoding) { self.encoding = encoding }

    public func translate(
        _ body: UnsafeRawBufferPointer, context: RequestContext, translator: inout Translator, into translation: inout Translation
    ) {
        let text = body.bindMemory(to: UInt8.self).baseAddress
        let writer = LogWriter(receivedAt: context.time, ip: context.ip, isPrivate: context.isPrivate)
        switch (encoding, text) {
        // An empty message has no bytes.
        case (.protobuf, nil): return
        case (.json, nil): translation.refuse(.expected("an object"), at: 0)
        case (.protobuf, let text?): ProtobufLogs(text: text, writer: writer).read(0..<body.count, &translator, into: &translation)
        case (.json, let text?): JSONLogs(text: text, writer: writer).read(body.count, &translator, into: &translation)
        }
    }
}
