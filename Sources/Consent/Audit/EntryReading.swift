// Reads the entries of a trail. A trail may be older or newer than this program, so an unknown kind or member is no fault.

internal import CJansson
internal import Glibc
public import Ledger

/// A parsed entry.
public final class EntryReading {
    private let object: UnsafeMutablePointer<json_t>

    /// Returns nil if the bytes are not a JSON object.
    public init?(_ bytes: [UInt8]) {
        let parsed = bytes.withUnsafeBytes { json_loadb($0.baseAddress, $0.count, Int(JSON_REJECT_DUPLICATES), nil) }
        guard let parsed else { return nil }
        guard parsed.pointee.type == JSON_OBJECT else {
            json_decref(parsed)
            return nil
        }
        object = parsed
    }

    private init(borrowing object: UnsafeMutablePointer<json_t>) {
        self.object = object
        object.pointee.refcount += 1
    }

    deinit { json_decref(object) }

    /// The kind. It is nil if the entry was written by a newer version.
    public var kind: AuditEntry.Kind? { text("kind").flatMap(AuditEntry.Kind.init(rawValue:)) }

    public func text(_ name: String) -> String? {
        guard let value = json_object_get(object, name), value.pointee.type == JSON_STRING else { return nil }
        let bytes = UnsafeRawBufferPointer(start: json_string_value(value), count: json_string_length(value))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a member as compact JSON, with its members in their order.
    func json(_ name: String) -> String? {
        guard let value = json_object_get(object, name), let text = json_dumps(value, Int(JSON_COMPACT | JSON_ENCODE_ANY)) else {
            return nil
        }
        defer { free(text) }
        return String(cString: text)
    }

    public func number(_ name: String) -> Int? {
        guard let value = json_object_get(object, name), value.pointee.type == JSON_INTEGER else { return nil }
        return Int(json_integer_value(value))
    }

    public func isTrue(_ name: String) -> Bool { json_object_get(object, name)?.pointee.type == JSON_TRUE }

    public func texts(_ name: String) -> [String]? {
        guard let list = json_object_get(object, name), list.pointee.type == JSON_ARRAY else { return nil }
        return (0..<json_array_size(list)).map { index in
            guard let value = json_array_get(list, index), value.pointee.type == JSON_STRING else { return "" }
            return String(
                decoding: UnsafeRawBufferPointer(start: json_string_value(value), count: json_string_length(value)), as: UTF8.self)
        }
    }

    public func object(_ name: String) -> EntryReading? {
        guard let value = json_object_get(object, name), value.pointee.type == JSON_OBJECT else { return nil }
        return EntryReading(borrowing: value)
    }

    /// The position of the ledger after the entry.
    public var ledger: LedgerPosition? {
        guard let ledger = object("ledger"), let name = ledger.text("file"), let file = UInt64(name, radix: 16),
            let commits = ledger.number("commits"), let written = ledger.number("written")
        else { return nil }
        return LedgerPosition(database: Int64(bitPattern: file), commits: Int64(commits), written: Int64(written))
    }

    /// The place and the root of the verdicts of the entry. It is nil if it has none, or if they are not valid.
    public var verdicts: VerdictPlace? {
        guard kind == .verdicts, let name = text("file"), name.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), !name.isEmpty,
            let offset = number("offset"), let count = number("rows"), let width = number("width"), let root = text("root"),
            offset >= 0, count > 0, width >= VerdictRow.hashSize, width <= VerdictRow.hashSize + 65_536,
            !count.multipliedReportingOverflow(by: width).overflow
        else { return nil }
        return VerdictPlace(file: name, offset: offset, count: count, width: width, root: root)
    }
}

/// Where the verdicts of an entry are, and the root of their tree.
public struct VerdictPlace: Sendable, Equatable {
    /// The name of the file.
    public var file: String
    public var offset: Int
    /// The number of rows.
    public var count: Int
    /// The bytes of a row: the hash of the event, and one byte for each route.
    public var width: Int
    /// The root of the tree of the rows, in base64.
    public var root: String

    public var bytes: Int { count * width }
}

/// A row of verdicts: what became of one event on each route.
public enum VerdictRow {
    /// The number of bytes of the hash of the event.
    public static let hashSize = 16
}
