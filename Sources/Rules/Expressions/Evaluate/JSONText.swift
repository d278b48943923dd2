// Writes a value as JSON. Lists and maps of the event are written byte for byte as they came. Times, durations, types, addresses and
// versions become strings, and bytes become base64. Numbers that JSON cannot represent become "NaN", "Infinity" or "-Infinity".

internal import Encoding
public import Events
internal import Platform

extension Value {
    /// The value as JSON. It is nil if values nest deeper than an evaluation may go, or if two keys of a map are the same text.
    public var json: String? {
        var buffer = ByteBuffer()
        guard writeJSON(to: &buffer) else { return nil }
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Appends the value as JSON. Returns false if values nest deeper than an evaluation may go, if two keys of a map are the same text, or if
    /// the buffer would grow beyond `most` bytes: spans of an event may be written more often than they are there. Then a part of the value
    /// is written.
    public func writeJSON(to buffer: inout ByteBuffer, most: Int = .max) -> Bool { problem(ofWritingTo: &buffer, most: most) == nil }

    /// Appends the value as JSON. Returns what keeps it from that: `depth`, `size`, `optional` or `duplicateKey`.
    func problem(ofWritingTo buffer: inout ByteBuffer, depth: Int = 0, most: Int) -> Problem? {
        guard depth < Machine.deepest else { return .depth }
        guard buffer.count <= most else { return .size }
        switch self {
        case .null: buffer.append("null")
        case .bool(let value): buffer.append(value ? "true" : "false")
        case .int(let value): buffer.append(String(value))
        case .uint(let value): buffer.append(String(value))
        case .double(let value): buffer.append(value.isFinite ? Machine.text(value) : "\"\(Machine.text(value))\"")
        case .string(let text): Value.writeQuoted(text.bytes, to: &buffer)
        case .bytes(let bytes): buffer.append("\"" + base64(bytes) + "\"")
        case .timestamp, .duration, .type, .ip, .version: Value.writeQuoted(Array((Machine.text(self) ?? "").utf8), to: &buffer)
        case .optional: return .optional
        case .list(.json(let span)), .map(.json(let span)):
            guard span.count <= most - buffer.count else { return .size }
            buffer.append(span.start, span.count)
        case .list(.values(let values)):
            buffer.append(UInt8(ascii: "["))
            for (i, value) in values.enumerated() {
                if i > 0 { buffer.append(UInt8(ascii: ",")) }
                if let problem = value.problem(ofWritingTo: &buffer, depth: depth + 1, most: most) { return problem }
            }
            buffer.append(UInt8(ascii: "]"))
        case .map(.entries(let entries)):
            if Value.writesKeyTwice(entries.map(\.key)) { return .duplicateKey }
            buffer.append(UInt8(ascii: "{"))
            for (i, entry) in entries.enumerated() {
                if i > 0 { buffer.append(UInt8(ascii: ",")) }
                Value.writeQuoted(Array((Machine.text(entry.key) ?? "").utf8), to: &buffer)
                buffer.append(UInt8(ascii: ":"))
                if let problem = entry.value.problem(ofWritingTo: &buffer, depth: depth + 1, most: most) { return problem }
            }
            buffer.append(UInt8(ascii: "}"))
        }
        return buffer.count <= most ? nil : .size
    }

    /// Returns true if two keys are the same text in JSON, as 1 and "1". Two strings of a map always differ.
    private static func writesKeyTwice(_ keys: [Value]) -> Bool {
        guard keys.contains(where: { if case .string = $0 { false } else { true } }) else { return false }
        var seen: Set<String> = []
        return !keys.allSatisfy { seen.insert(Machine.text($0) ?? "").inserted }
    }

    private static func writeQuoted(_ bytes: [UInt8], to buffer: inout ByteBuffer) {
        buffer.append(UInt8(ascii: "\""))
        for byte in bytes { JSONString.escape(byte, as: .visible) { buffer.append($0) } }
        buffer.append(UInt8(ascii: "\""))
    }
}
