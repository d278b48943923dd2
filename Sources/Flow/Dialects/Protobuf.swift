// Reads and writes the wire format of protocol buffers field by field, and builds no message objects. Every length is checked against the
// available bytes before it is used.

internal import Events

/// The reason why bytes are not a valid protocol buffer, and the place.
struct ProtobufFault: Error {
    var what: StaticText
    var offset: Int
}

struct ProtobufReader {
    enum Value {
        case varint(UInt64)
        case fixed64(UInt64)
        case fixed32(UInt32)
        /// The place of a text, of bytes or of a message.
        case bytes(Range<Int>)
    }

    struct Field {
        var number: UInt64
        var value: Value
        /// The place of its tag.
        var offset: Int
    }

    private let text: Bytes
    private(set) var at: Int
    private let end: Int

    init(_ text: Bytes, _ range: Range<Int>) {
        self.text = text
        at = range.lowerBound
        end = range.upperBound
    }

    /// Returns the next field, or nil at the end. It skips groups, which are obsolete.
    mutating func next() throws(ProtobufFault) -> Field? {
        var groups = 0
        while at < end {
            let offset = at
            let tag = try varint()
            guard tag >> 3 != 0, tag >> 3 < 1 << 29 else {
                throw ProtobufFault(what: "a field has an invalid number", offset: offset)
            }
            let value: Value
            switch tag & 7 {
            case 0: value = .varint(try varint())
            case 1: value = .fixed64(UnsafeRawPointer(text + (try skip(8))).loadUnaligned(as: UInt64.self))
            case 5: value = .fixed32(UnsafeRawPointer(text + (try skip(4))).loadUnaligned(as: UInt32.self))
            case 2:
                let start = at
                let length = try varint()
                guard length <= UInt64(end - at) else {
                    throw ProtobufFault(what: "a field is longer than its message", offset: start)
                }
                let first = try skip(Int(length))
                assert(at <= end, "a field ends after its message")
                value = .bytes(first..<at)
            case 3:
                groups += 1
                continue
            case 4:
                guard groups > 0 else { throw ProtobufFault(what: "a group ends without a beginning", offset: offset) }
                groups -= 1
                continue
            default: throw ProtobufFault(what: "a field has an unknown type", offset: offset)
            }
            if groups == 0 { return Field(number: tag >> 3, value: value, offset: offset) }
        }
        guard groups == 0 else { throw ProtobufFault(what: "a group does not end", offset: at) }
        return nil
    }

    private mutating func varint() throws(ProtobufFault) -> UInt64 {
        let start = at
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while at < end {
            let byte = text[at]
            at += 1
            if shift == 63 && byte > 1 { break }
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
            if shift > 63 { break }
        }
        throw ProtobufFault(what: at == end ? "the message ends inside a number" : "a number has more than 64 bits", offset: start)
    }

    /// Skips n bytes and returns the place where they begin.
    private mutating func skip(_ n: Int) throws(ProtobufFault) -> Int {
        assert(n >= 0 && at <= end, "the reader goes back, or is after the end")
        guard n <= end - at else { throw ProtobufFault(what: "the message ends inside a field", offset: at) }
        let start = at
        at += n
        return start
    }
}

enum ProtobufWriter {
    static func varint(_ field: UInt64, _ value: UInt64, into out: inout ByteBuffer) {
        number(field << 3, into: &out)
        number(value, into: &out)
    }

    static func bytes(_ field: UInt64, _ bytes: UnsafeRawBufferPointer, into out: inout ByteBuffer) {
        number(field << 3 | 2, into: &out)
        number(UInt64(bytes.count), into: &out)
        out.append(contentsOf: bytes)
    }

    static func text(_ field: UInt64, _ text: String, into out: inout ByteBuffer) {
        var text = text
        text.withUTF8 { bytes(field, UnsafeRawBufferPointer($0), into: &out) }
    }

    private static func number(_ value: UInt64, into out: inout ByteBuffer) {
        var rest = value
        while rest >= 0x80 {
            out.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        out.append(UInt8(truncatingIfNeeded: rest))
    }
}
