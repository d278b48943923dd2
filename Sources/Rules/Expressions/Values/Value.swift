// The values of expressions. What an event holds stays where it is: its lists and maps are spans that are walked when asked.
// A value that points into an event lives no longer than the event.

public enum Value: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string(TextValue)
    case bytes([UInt8])
    case list(ListValue)
    case map(MapValue)
    case timestamp(Timestamp)
    /// Nanoseconds: 292 years either way, as in the other implementations of CEL.
    case duration(Int64)
    case type(String)
    case ip(IPAddress)
    case version(VersionNumber)

    /// What `type()` calls it.
    public var typeName: String {
        switch self {
        case .null: "null_type"
        case .bool: "bool"
        case .int: "int"
        case .uint: "uint"
        case .double: "double"
        case .string: "string"
        case .bytes: "bytes"
        case .list: "list"
        case .map: "map"
        case .timestamp: "google.protobuf.Timestamp"
        case .duration: "google.protobuf.Duration"
        case .type: "type"
        case .ip: "ip"
        case .version: "version"
        }
    }
}

/// A string, held as UTF-8: compared by its bytes, which is the order of its characters; counted in code points.
public struct TextValue: Hashable, Sendable {
    public var bytes: [UInt8]
    /// The bytes must be UTF-8.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public init(_ text: String) { bytes = Array(text.utf8) }
    public var string: String { String(decoding: bytes, as: UTF8.self) }
    var scalars: [UnicodeScalar] { Array(string.unicodeScalars) }
    var count: Int { bytes.reduce(0) { $0 + ($1 & 0xc0 == 0x80 ? 0 : 1) } }

    init(_ scalars: some Sequence<UnicodeScalar>) {
        bytes = []
        for scalar in scalars { bytes += UTF8.encode(scalar)! }
    }
}

public enum ListValue: Sendable {
    case values([Value])
    case json(JSONSpan)
}

public enum MapValue: Sendable {
    case entries([MapEntry])
    case json(JSONSpan)
}

public struct MapEntry: Sendable {
    public var key: Value
    public var value: Value
    public init(key: Value, value: Value) {
        self.key = key
        self.value = value
    }
}

/// Whether bytes are UTF-8.
func isUTF8(_ bytes: some Sequence<UInt8>) -> Bool {
    var decoder = UTF8()
    var iterator = bytes.makeIterator()
    while true {
        switch decoder.decode(&iterator) {
        case .scalarValue: continue
        case .emptyInput: return true
        case .error: return false
        }
    }
}
