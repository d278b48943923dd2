// The values of expressions. Lists and maps of an event are not copied: they are spans of the event, which are read when they are
// needed. Such a value must not be used after the event is gone.

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
    /// Nanoseconds. The range is 292 years in both directions, as in the other implementations of CEL.
    case duration(Int64)
    case type(String)
    case ip(IPAddress)
    case version(VersionNumber)
    /// A value that may be absent. It is nil if there is none.
    indirect case optional(Value?)

    /// The name of its type, as `type()` returns it.
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
        case .optional: "optional_type"
        }
    }
}

/// A string in UTF-8. It is compared by its bytes, which is also the order of its code points. Its count is in code points.
public struct TextValue: Hashable, Sendable {
    public var bytes: [UInt8]
    /// The bytes must be UTF-8.
    public init(_ bytes: [UInt8]) {
        assert(isUTF8(bytes), "a text is not UTF-8")
        self.bytes = bytes
    }
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

/// Returns true if the bytes are valid UTF-8.
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
