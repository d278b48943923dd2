// Reads the answers of an OTLP server, as protocol buffers or as JSON. An answer is foreign: no length in it is believed.

internal import VendorKit

/// ExportLogsServiceResponse: what the server did not take, and why.
struct Answer {
    var rejected = 0
    var message = ""

    /// Returns what a 2xx says, or nil if it is no answer of OTLP. An empty body says that everything was taken.
    static func success(_ reply: Reply) -> Answer? {
        if reply.body.isEmpty { return Answer() }
        if isJSON(reply) {
            return reply.withJSON { answer in
                guard let answer, answer.isObject else { return nil }
                guard let partial = answer["partialSuccess"], !partial.isNull else { return Answer() }
                guard partial.isObject else { return nil }
                let message = partial["errorMessage"]?.text ?? ""
                guard let count = partial["rejectedLogRecords"], !count.isNull else { return Answer(message: message) }
                guard let rejected = count.event.integer ?? count.text.flatMap({ Int($0) }), rejected >= 0 else { return nil }
                return Answer(rejected: rejected, message: message)
            }
        }
        guard let fields = fields(reply.body[...]) else { return nil }
        var answer = Answer()
        for case (1, .bytes(let partial)) in fields {
            guard let fields = self.fields(partial) else { return nil }
            for case (1, .varint(let count)) in fields {
                guard let count = Int(exactly: count) else { return nil }
                answer.rejected = count
            }
            for case (2, .bytes(let text)) in fields { answer.message = String(decoding: text, as: UTF8.self) }
        }
        return answer
    }

    /// Returns the message of a google.rpc.Status, or nil if the body is none.
    static func failure(_ reply: Reply) -> String? {
        if isJSON(reply) { return reply.withJSON { $0?["message"]?.text } }
        for case (2, .bytes(let text)) in fields(reply.body[...]) ?? [] { return String(validating: text, as: UTF8.self) }
        return nil
    }

    /// No message of protocol buffers in an answer begins with this byte, which would be a field 15.
    private static func isJSON(_ reply: Reply) -> Bool { reply.body.first { $0 > 0x20 } == UInt8(ascii: "{") }

    private enum Contents {
        case varint(UInt64)
        case bytes(ArraySlice<UInt8>)
        case fixed
    }

    /// Returns the fields of a message, or nil if the bytes are none.
    private static func fields(_ message: ArraySlice<UInt8>) -> [(number: UInt64, contents: Contents)]? {
        var rest = message
        func varint() -> UInt64? {
            var number: UInt64 = 0
            for shift in stride(from: UInt64(0), through: 63, by: 7) {
                guard let byte = rest.popFirst(), shift < 63 || byte < 2 else { return nil }
                number |= UInt64(byte & 0x7f) << shift
                if byte < 0x80 { return number }
            }
            return nil
        }
        func skip(_ count: UInt64) -> ArraySlice<UInt8>? {
            guard count <= UInt64(rest.count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count))
        }
        var fields: [(number: UInt64, contents: Contents)] = []
        while !rest.isEmpty {
            guard let tag = varint(), tag >> 3 > 0 else { return nil }
            switch tag & 7 {
            case 0:
                guard let number = varint() else { return nil }
                fields.append((tag >> 3, .varint(number)))
            case 2:
                guard let count = varint(), let bytes = skip(count) else { return nil }
                fields.append((tag >> 3, .bytes(bytes)))
            case 1, 5:
                guard skip(tag & 7 == 1 ? 8 : 4) != nil else { return nil }
                fields.append((tag >> 3, .fixed))
            default: return nil
            }
        }
        return fields
    }
}
