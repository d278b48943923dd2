// Writes the messages of OTLP in either encoding: protocol buffers, in which the length of a message stands before it, or the JSON of
// protocol buffers, in which 64-bit integers are texts. A value of the event keeps its text, its digits and its structure.

internal import VendorKit

/// A field of a message: its name in JSON, and its number in protocol buffers.
struct Field {
    let name: StaticString
    let number: UInt8

    init(_ name: StaticString, _ number: UInt8) {
        self.name = name
        self.number = number
    }

    static let resource = Field("resource", 1)
    static let resourceAttributes = Field("attributes", 1)
    static let logRecord = Field("logRecords", 2)
    static let time = Field("timeUnixNano", 1)
    static let severityNumber = Field("severityNumber", 2)
    static let severityText = Field("severityText", 3)
    static let body = Field("body", 5)
    static let attributes = Field("attributes", 6)
    static let flags = Field("flags", 8)
    static let traceID = Field("traceId", 9)
    static let spanID = Field("spanId", 10)
    static let observedTime = Field("observedTimeUnixNano", 11)
    static let eventName = Field("eventName", 12)

    // Of an AnyValue, of its lists, and of a KeyValue.
    static let string = Field("stringValue", 1)
    static let flag = Field("boolValue", 2)
    static let integer = Field("intValue", 3)
    static let double = Field("doubleValue", 4)
    static let array = Field("arrayValue", 5)
    static let map = Field("kvlistValue", 6)
    static let values = Field("values", 1)
    static let key = Field("key", 1)
    static let value = Field("value", 2)
}

struct MessageWriter: Sendable {
    /// The most objects and lists in one another. What lies deeper is written as the text of its JSON: readers of protocol buffers take at
    /// most 100 messages in one another, and each object is three of them.
    static let deepest = 30

    let isJSON: Bool

    /// What stands around the records of one resource, which is the group of the body.
    var envelope: Envelope {
        if isJSON {
            return Envelope("{\"resourceLogs\":[{\"resource\":", group: ",\"scopeLogs\":[{\"logRecords\":[", after: "]}]}]}")
        }
        return Envelope(most: 22) { contents in
            // A ResourceLogs (1) has the resource (1) and a ScopeLogs (2), which has the records (2).
            let scope = [2 << 3 | 2] + Varint.bytes(UInt64(contents.bytes))
            let logs = UInt64(contents.group.count + scope.count + contents.bytes)
            return [1 << 3 | 2] + Varint.bytes(logs) + Array(contents.group) + scope
        }
    }

    // MARK: - Messages

    /// Writes a message with what `write` writes.
    func message(_ field: Field, to wire: inout WireEvents, _ write: (inout WireEvents) -> Void) {
        guard isJSON else { return element(field, to: &wire, write) }
        wire.openObject(field.name)
        write(&wire)
        wire.closeObject()
    }

    /// Writes one message of a list.
    func element(_ field: Field, to wire: inout WireEvents, _ write: (inout WireEvents) -> Void) {
        if isJSON {
            wire.openObject()
            write(&wire)
            return wire.closeObject()
        }
        wire.tag(field, 2)
        let place = wire.position
        write(&wire)
        Varint.with(UInt64(wire.position - place)) { wire.insert($0, at: place) }
    }

    /// Writes a list, whose messages `write` writes.
    func list(_ field: Field, to wire: inout WireEvents, _ write: (inout WireEvents) -> Void) {
        if isJSON { wire.openList(field.name) }
        write(&wire)
        if isJSON { wire.closeList() }
    }

    // MARK: - Fields

    /// Writes a text, or any other value as a text. The value counts as written unless `isCopy` is true.
    func text(_ field: Field, _ value: Value, isCopy: Bool = false, to wire: inout WireEvents) {
        if !isCopy { wire.take(value) }
        if isJSON {
            wire.write(key: field.name)
            return value.isText ? wire.put(bytes: value.json) : wire.put(quoted: value.json)
        }
        wire.tag(field, 2)
        guard value.isText else { return wire.put(sized: value.json) }
        value.withText { text in
            if let text { return wire.put(sized: UnsafeRawBufferPointer(text)) }
            // It has a single half of a surrogate pair, which is no text.
            var repaired = value.event.repairedText ?? ""
            repaired.withUTF8 { wire.put(sized: UnsafeRawBufferPointer($0)) }
        }
    }

    func text(_ field: Field, constant text: StaticString, to wire: inout WireEvents) {
        if isJSON { return wire.member(field.name, constant: text) }
        wire.tag(field, 2)
        text.withUTF8Buffer { wire.put(sized: UnsafeRawBufferPointer($0)) }
    }

    func text(_ field: Field, string text: String, to wire: inout WireEvents) {
        if isJSON { return wire.member(field.name, string: text) }
        wire.tag(field, 2)
        var text = text
        text.withUTF8 { wire.put(sized: UnsafeRawBufferPointer($0)) }
    }

    /// Writes hexadecimal digits: as they are, or as the bytes that they stand for.
    func hex(_ field: Field, _ value: Value, to wire: inout WireEvents) {
        if isJSON { return wire.member(field.name, value) }
        wire.take(value)
        wire.tag(field, 2)
        let digits = value.body
        Varint.with(UInt64(digits.count / 2)) { wire.put(bytes: $0) }
        func number(_ digit: UInt8) -> UInt8 { digit < 0x40 ? digit & 15 : (digit & 15) + 9 }
        for place in stride(from: 0, to: digits.count, by: 2) {
            wire.put(byte: number(digits[place]) << 4 | number(digits[place + 1]))
        }
    }

    func fixed64(_ field: Field, _ number: UInt64, to wire: inout WireEvents) {
        if isJSON { return wire.member(field.name, string: "\(number)") }
        wire.tag(field, 1)
        withUnsafeBytes(of: number.littleEndian) { wire.put(bytes: $0) }
    }

    func fixed32(_ field: Field, _ number: UInt32, to wire: inout WireEvents) {
        if isJSON { return wire.member(field.name, number: Int(number)) }
        wire.tag(field, 5)
        withUnsafeBytes(of: number.littleEndian) { wire.put(bytes: $0) }
    }

    func varint(_ field: Field, _ number: Int, to wire: inout WireEvents) {
        if isJSON { return wire.member(field.name, number: number) }
        wire.tag(field, 0)
        Varint.with(UInt64(bitPattern: Int64(number))) { wire.put(bytes: $0) }
    }

    // MARK: - Values

    /// Writes an element of a list of attributes.
    func attribute(_ key: Value, _ value: Value, in list: Field = .attributes, level: Int = 0, to wire: inout WireEvents) {
        element(list, to: &wire) { wire in
            text(.key, key, to: &wire)
            self.value(.value, value, level: level, to: &wire)
        }
    }

    /// Writes an attribute with a name that is not the event's. `write` writes the field of its AnyValue.
    func attribute(
        constant name: StaticString, in list: Field = .attributes, to wire: inout WireEvents, _ write: (inout WireEvents) -> Void
    ) {
        element(list, to: &wire) { wire in
            text(.key, constant: name, to: &wire)
            message(.value, to: &wire, write)
        }
    }

    func attribute(_ name: String, in list: Field = .attributes, to wire: inout WireEvents, _ write: (inout WireEvents) -> Void) {
        element(list, to: &wire) { wire in
            text(.key, string: name, to: &wire)
            message(.value, to: &wire, write)
        }
    }

    /// Writes an AnyValue. `level` is the number of objects and lists around it.
    func value(_ field: Field, _ value: Value, level: Int = 0, to wire: inout WireEvents) {
        wire.take(value)
        message(field, to: &wire) { any(value, level: level, to: &$0) }
    }

    /// Writes the field of an AnyValue.
    func any(_ value: Value, level: Int = 0, to wire: inout WireEvents) {
        if level >= MessageWriter.deepest, value.isObject || value.isList {
            wire.loses("what lies in more than \(MessageWriter.deepest) objects and lists becomes the text of its JSON")
        }
        if value.isObject, level < MessageWriter.deepest {
            message(.map, to: &wire) { wire in
                list(.values, to: &wire) { wire in
                    for (key, member) in value.members { attribute(key, member, in: .values, level: level + 1, to: &wire) }
                }
            }
        } else if value.isList, level < MessageWriter.deepest {
            message(.array, to: &wire) { wire in
                list(.values, to: &wire) { wire in
                    for item in value.elements { element(.values, to: &wire) { any(item, level: level + 1, to: &$0) } }
                }
            }
        } else if value.isNumber {
            number(value, &wire)
        } else if value.isFlag {
            if isJSON { return wire.member(Field.flag.name, flag: value.isTrue) }
            varint(.flag, value.isTrue ? 1 : 0, to: &wire)
        } else if !value.isNull {
            // An AnyValue without a field is null.
            text(.string, value, to: &wire)
        }
    }

    private func number(_ value: Value, _ wire: inout WireEvents) {
        if let integer = MessageWriter.integer(value.json) {
            if isJSON { return wire.member(Field.integer.name, text: value) }
            varint(.integer, integer, to: &wire)
        } else if let double = value.event.number {
            if isJSON { return wire.member(Field.double.name, value) }
            wire.tag(.double, 1)
            withUnsafeBytes(of: double.bitPattern.littleEndian) { wire.put(bytes: $0) }
        } else {
            // No double can hold it.
            text(.string, value, to: &wire)
        }
    }

    /// Returns a number that is written without a point and an exponent, and that fits.
    static func integer(_ digits: UnsafeRawBufferPointer) -> Int? {
        let isNegative = digits.first == UInt8(ascii: "-")
        var number = 0
        for digit in digits.dropFirst(isNegative ? 1 : 0) {
            guard digit &- 0x30 < 10 else { return nil }
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isOver) = tens.subtractingReportingOverflow(Int(digit - 0x30))
            if isTooLarge || isOver { return nil }
            number = sum
        }
        return isNegative ? number : number == .min ? nil : -number
    }
}

/// The variable-length numbers of protocol buffers.
enum Varint {
    static func with(_ number: UInt64, _ use: (UnsafeRawBufferPointer) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: 10, alignment: 1) { bytes in
            var (rest, count) = (number, 0)
            while rest >= 0x80 {
                bytes[count] = UInt8(truncatingIfNeeded: rest) | 0x80
                rest >>= 7
                count += 1
            }
            bytes[count] = UInt8(truncatingIfNeeded: rest)
            use(UnsafeRawBufferPointer(rebasing: bytes[...count]))
        }
    }

    static func bytes(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        with(number) { bytes.append(contentsOf: $0) }
        return bytes
    }
}

extension WireEvents {
    fileprivate mutating func tag(_ field: Field, _ type: UInt8) { put(byte: field.number << 3 | type) }

    fileprivate mutating func put(sized bytes: UnsafeRawBufferPointer) {
        Varint.with(UInt64(bytes.count)) { put(bytes: $0) }
        put(bytes: bytes)
    }

    /// Writes JSON as a text. It has no control characters but the spaces between its parts.
    fileprivate mutating func put(quoted json: UnsafeRawBufferPointer) {
        put(byte: UInt8(ascii: "\""))
        for byte in json {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { put(byte: UInt8(ascii: "\\")) }
            put(byte: max(byte, 0x20))
        }
        put(byte: UInt8(ascii: "\""))
    }
}
