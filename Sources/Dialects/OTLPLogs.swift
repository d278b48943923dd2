// OTLP/HTTP `/v1/logs`: ExportLogsServiceRequest as a protocol buffer or as JSON.

public import Events

public struct OTLPLogs: Dialect {
    public enum Encoding: Sendable { case protobuf, json }

    public let encoding: Encoding

    public init(_ encoding: Encoding) { self.encoding = encoding }

    public func translate(
        _ body: UnsafeRawBufferPointer, _ reception: Reception, _ translator: inout Translator, into translation: inout Translation
    ) {}
}
