// Reads the bodies of OTLP, in either encoding, into one tree. It is written from the definitions of the messages, and shares no code with
// the provider. It takes nothing that the specification does not allow.

import Foundation

struct Malformed: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

indirect enum Tree: Equatable, Sendable {
    case null
    case text(String)
    case flag(Bool)
    case integer(Int64)
    case double(Double)
    case list([Tree])
    case map([Pair])

    struct Pair: Equatable, Sendable {
        let key: String
        let value: Tree
    }

    subscript(key: String) -> Tree? {
        guard case .map(let pairs) = self else { return nil }
        return pairs.first { $0.key == key }?.value
    }
}

struct Record: Equatable, Sendable {
    var resource: Tree
    var time: UInt64 = 0
    var observed: UInt64 = 0
    var severity = 0
    var severityText = ""
    var body = Tree.null
    var attributes: [Tree.Pair] = []
    var flags: UInt32 = 0
    var trace = ""
    var span = ""
    var name = ""

    func checked() throws -> Record {
        guard (0...24).contains(severity) else { throw Malformed("severity \(severity)") }
        guard trace.isEmpty || trace.count == 32 && trace.contains(where: { $0 != "0" }) else { throw Malformed("trace id \(trace)") }
        guard span.isEmpty || span.count == 16 && span.contains(where: { $0 != "0" }) else { throw Malformed("span id \(span)") }
        guard case .map(let resource) = resource, (attributes + resource).allSatisfy({ !$0.key.isEmpty }) else {
            throw Malformed("an attribute has no name")
        }
        return self
    }
}

/// ExportLogsServiceRequest as a protocol buffer.
struct LogProtobuf {
    enum Contents {
        case varint(UInt64)
        case fixed64(UInt64)
        case bytes([UInt8])
        case fixed32(UInt32)
    }
    typealias Fields = [(number: Int, contents: Contents)]

    static func records(_ body: [UInt8]) throws -> [Record] {
        try fields(body).flatMap { number, contents in
            guard number == 1 else { throw Malformed("field \(number) of a request") }
            return try resourceLogs(bytes(contents))
        }
    }

    private static func resourceLogs(_ body: [UInt8]) throws -> [Record] {
        let fields = try fields(body)
        var resource = Tree.map([])
        for (number, contents) in fields where number == 1 {
            resource = .map(
                try self.fields(bytes(contents)).map { number, contents in
                    guard number == 1 else { throw Malformed("field \(number) of a resource") }
                    return try pair(bytes(contents), level: 2)
                })
        }
        var records: [Record] = []
        for (number, contents) in fields where number != 1 {
            guard number == 2 else { throw Malformed("field \(number) of ResourceLogs") }
            for (number, contents) in try self.fields(bytes(contents)) {
                guard number == 2 else { throw Malformed("field \(number) of ScopeLogs") }
                records.append(try record(bytes(contents), resource).checked())
            }
        }
        return records
    }

    private static func record(_ body: [UInt8], _ resource: Tree) throws -> Record {
        var record = Record(resource: resource)
        for (number, contents) in try fields(body) {
            switch (number, contents) {
            case (1, .fixed64(let time)): record.time = time
            case (2, .varint(let number)): record.severity = Int(number)
            case (3, .bytes(let text)): record.severityText = try self.text(text)
            case (5, .bytes(let value)): record.body = try any(value, level: 4)
            case (6, .bytes(let body)): record.attributes.append(try pair(body, level: 4))
            case (8, .fixed32(let flags)): record.flags = flags
            case (9, .bytes(let id)): record.trace = id.map { String(format: "%02x", $0) }.joined()
            case (10, .bytes(let id)): record.span = id.map { String(format: "%02x", $0) }.joined()
            case (11, .fixed64(let time)): record.observed = time
            case (12, .bytes(let text)): record.name = try self.text(text)
            default: throw Malformed("field \(number) of a record")
            }
        }
        return record
    }

    private static func pair(_ body: [UInt8], level: Int) throws -> Tree.Pair {
        let fields = try fields(body)
        guard fields.map(\.number) == [1, 2] else { throw Malformed("the fields of a pair are \(fields.map(\.number))") }
        return Tree.Pair(key: try text(bytes(fields[0].contents)), value: try any(bytes(fields[1].contents), level: level + 1))
    }

    private static func any(_ body: [UInt8], level: Int) throws -> Tree {
        guard level < 100 else { throw Malformed("more than 100 messages in one another") }
        let fields = try fields(body)
        guard let (number, contents) = fields.first else { return .null }
        guard fields.count == 1 else { throw Malformed("a value has \(fields.count) fields") }
        switch (number, contents) {
        case (1, .bytes(let text)): return .text(try self.text(text))
        case (2, .varint(let flag)): return .flag(flag != 0)
        case (3, .varint(let number)): return .integer(Int64(bitPattern: number))
        case (4, .fixed64(let bits)): return .double(Double(bitPattern: bits))
        case (5, .bytes(let list)): return .list(try values(list).map { try any($0, level: level + 2) })
        case (6, .bytes(let list)): return .map(try values(list).map { try pair($0, level: level + 2) })
        default: throw Malformed("field \(number) of a value")
        }
    }

    private static func values(_ body: [UInt8]) throws -> [[UInt8]] {
        try fields(body).map { number, contents in
            guard number == 1 else { throw Malformed("field \(number) of a list") }
            return try bytes(contents)
        }
    }

    private static func bytes(_ contents: Contents) throws -> [UInt8] {
        guard case .bytes(let bytes) = contents else { throw Malformed("a message has another wire type") }
        return bytes
    }

    private static func text(_ bytes: [UInt8]) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed("a text is not UTF-8") }
        return text
    }

    static func fields(_ body: [UInt8]) throws -> Fields {
        var at = 0
        func take(_ count: Int) throws -> [UInt8] {
            guard count >= 0, count <= body.count - at else { throw Malformed("a message ends inside a field") }
            at += count
            return Array(body[(at - count)..<at])
        }
        func varint() throws -> UInt64 {
            var (number, shift) = (UInt64(0), UInt64(0))
            while true {
                let byte = try take(1)[0]
                number |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return number }
                shift += 7
                if shift > 63 { throw Malformed("a number has more than 64 bits") }
            }
        }
        func fixed(_ count: Int) throws -> UInt64 { try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        var fields: Fields = []
        while at < body.count {
            let tag = try varint()
            switch tag & 7 {
            case 0: fields.append((Int(tag >> 3), .varint(try varint())))
            case 1: fields.append((Int(tag >> 3), .fixed64(try fixed(8))))
            case 2: fields.append((Int(tag >> 3), .bytes(try take(Int(clamping: varint())))))
            case 5: fields.append((Int(tag >> 3), .fixed32(UInt32(try fixed(4)))))
            default: throw Malformed("wire type \(tag & 7)")
            }
        }
        return fields
    }
}

/// ExportLogsServiceRequest as JSON: names in lowerCamelCase, 64-bit integers as texts, and no unknown member.
struct LogJSON {
    typealias Object = [String: Any]

    static func records(_ body: [UInt8]) throws -> [Record] {
        let root = try object(try JSONSerialization.jsonObject(with: Data(body)), ["resourceLogs"])
        var records: [Record] = []
        for logs in try list(root["resourceLogs"]) {
            let logs = try object(logs, ["resource", "scopeLogs"])
            let resource = Tree.map(try pairs(try object(logs["resource"] ?? Object(), ["attributes"])["attributes"]))
            for scope in try list(logs["scopeLogs"]) {
                for record in try list(try object(scope, ["logRecords"])["logRecords"]) {
                    records.append(try self.record(record, resource).checked())
                }
            }
        }
        return records
    }

    private static func record(_ value: Any, _ resource: Tree) throws -> Record {
        let members = try object(
            value,
            [
                "timeUnixNano", "observedTimeUnixNano", "severityNumber", "severityText", "body", "attributes", "flags", "traceId",
                "spanId",
                "eventName",
            ])
        var record = Record(resource: resource)
        func number(_ name: String) throws -> UInt64 {
            guard let value = members[name] else { return 0 }
            guard let text = value as? String, let number = UInt64(text) else { throw Malformed("\(name) is \(value)") }
            return number
        }
        func text(_ name: String) throws -> String {
            guard let value = members[name] else { return "" }
            guard let text = value as? String else { throw Malformed("\(name) is \(value)") }
            return text
        }
        record.time = try number("timeUnixNano")
        record.observed = try number("observedTimeUnixNano")
        record.severity = members["severityNumber"] as? Int ?? 0
        record.flags = members["flags"] as? UInt32 ?? 0
        record.severityText = try text("severityText")
        record.trace = try text("traceId").lowercased()
        record.span = try text("spanId").lowercased()
        record.name = try text("eventName")
        if let body = members["body"] { record.body = try any(body) }
        record.attributes = try pairs(members["attributes"])
        return record
    }

    private static func pairs(_ value: Any?) throws -> [Tree.Pair] {
        try list(value).map { pair in
            let members = try object(pair, ["key", "value"])
            guard let key = members["key"] as? String, let value = members["value"] else { throw Malformed("a pair is \(pair)") }
            return Tree.Pair(key: key, value: try any(value))
        }
    }

    private static func any(_ value: Any) throws -> Tree {
        guard let members = value as? Object, members.count < 2 else { throw Malformed("a value is \(value)") }
        guard let (name, value) = members.first else { return .null }
        switch (name, value) {
        case ("stringValue", let text as String): return .text(text)
        case ("boolValue", let flag as Bool): return .flag(flag)
        case ("intValue", let text as String):
            guard let number = Int64(text) else { throw Malformed("intValue is \(text)") }
            return .integer(number)
        case ("doubleValue", let number as Double): return .double(number)
        case ("arrayValue", _): return .list(try list(try object(value, ["values"])["values"]).map(any))
        case ("kvlistValue", _): return .map(try pairs(try object(value, ["values"])["values"]))
        default: throw Malformed("a value has \(name): \(value)")
        }
    }

    private static func object(_ value: Any, _ names: Set<String>) throws -> Object {
        guard let members = value as? Object, names.isSuperset(of: members.keys) else { throw Malformed("\(value) is not \(names)") }
        return members
    }

    private static func list(_ value: Any?) throws -> [Any] {
        guard let value else { return [] }
        guard let list = value as? [Any] else { throw Malformed("\(value) is no list") }
        return list
    }
}
