// OTLP/HTTP `/v1/logs`: ExportLogsServiceRequest as a protocol buffer or as JSON. Both become the same events:
//
// | event                      | log record                                                                                  |
// |----------------------------|---------------------------------------------------------------------------------------------|
// | `type`                     | "track" when it has a name, else "log"                                                      |
// | `event`                    | `event_name`, else the attribute `event.name`                                               |
// | `messageId`                | the attribute `log.record.uid`                                                              |
// | `userId`                   | the attribute `user.id`, else `enduser.id`                                                  |
// | `anonymousId`              | the attribute `enduser.pseudo.id`                                                           |
// | `timestamp`                | `time_unix_nano`, else `observed_time_unix_nano`, else when it was received                 |
// | `properties`               | all attributes, those above too: a rule that hides an id must name both places              |
// | `body`                     | the body                                                                                    |
// | `context.ip`               | the client's address, if it is asked for                                                    |
// | `context.otlp`             | `timeUnixNano`, `observedTimeUnixNano`, `severityNumber`, `severityText`, `traceId`,        |
// |                            | `spanId`, `flags`, `droppedAttributesCount`, and `resource` and `scope` with theirs         |
//
// Values: integers are written exactly, doubles so that they are read back as the same, bytes as base64, no value as null; NaN and
// the infinities are strings, and so is all that OpenTelemetry asks of those who write its values in other formats. Fields that
// nobody knows are passed over. A record that is broken is refused alone; the rest of a body whose frame is broken is refused.

internal import Events

public struct OTLPLogs: Dialect {
    public enum Encoding: Sendable { case protobuf, json }

    /// How deep lists and maps may nest in a value: as deep as the libraries of protocol buffers read them.
    static let deepest = 32

    public let encoding: Encoding

    public init(_ encoding: Encoding) { self.encoding = encoding }

    public func translate(
        _ body: UnsafeRawBufferPointer, _ context: RequestContext, _ translator: inout Translator, into translation: inout Translation
    ) {
        let text = body.bindMemory(to: UInt8.self).baseAddress
        let writer = LogWriter(receivedAt: context.time, ip: context.ip)
        switch (encoding, text) {
        // An empty message has no bytes.
        case (.protobuf, nil): return
        case (.json, nil): translation.refuse(.expected("an object"), at: 0)
        case (.protobuf, let text?): ProtobufLogs(text: text, writer: writer).read(0..<body.count, &translator, into: &translation)
        case (.json, let text?): JSONLogs(text: text, writer: writer).read(body.count, &translator, into: &translation)
        }
    }
}
