// Reads protocol buffers in their text format, as far as the case files of the CEL specification use it.

struct Field {
    var name: String
    var value: Content

    enum Content {
        /// A string or bytes, decoded.
        case text([UInt8])
        /// A number or the name of an enum's case, as it is written.
        case word(String)
        case message([Field])
    }
}

extension [Field] {
    func all(_ name: String) -> [Field.Content] { filter { $0.name == name }.map(\.value) }
    func message(_ name: String) -> [Field]? { all(name).lazy.compactMap(\.message).first }
    func messages(_ name: String) -> [[Field]] { all(name).compactMap(\.message) }
    func text(_ name: String) -> [UInt8]? { all(name).lazy.compactMap(\.text).first }
    func string(_ name: String) -> String { String(decoding: text(name) ?? [], as: UTF8.self) }
    func word(_ name: String) -> String? { all(name).lazy.compactMap(\.word).first }
    func has(_ name: String) -> Bool { contains { $0.name == name } }
}

extension Field.Content {
    var message: [Field]? { if case .message(let fields) = self { fields } else { nil } }
    var text: [UInt8]? { if case .text(let bytes) = self { bytes } else { nil } }
    var word: String? { if case .word(let word) = self { word } else { nil } }
}

struct TextProtoFault: Error, CustomStringConvertible {
    var description: String
}

struct TextProto {
    private let text: [UInt8]
    private var at = 0

    static func read(_ text: [UInt8]) throws -> [Field] {
        var reader = TextProto(text: text)
        return try reader.fields(until: nil)
    }

    private init(text: [UInt8]) { self.text = text }

    private mutating func skip() {
        while at < text.count {
            if text[at] == UInt8(ascii: "#") {
                while at < text.count, text[at] != 0x0a { at += 1 }
            } else if text[at] <= 0x20 || text[at] == UInt8(ascii: ",") || text[at] == UInt8(ascii: ";") {
                at += 1
            } else {
                return
            }
        }
    }

    private func fault(_ what: String) -> TextProtoFault {
        TextProtoFault(description: "line \(1 + text[..<min(at, text.count)].count { $0 == 0x0a }): expected \(what)")
    }

    private mutating func fields(until end: UInt8?) throws -> [Field] {
        var fields: [Field] = []
        while true {
            skip()
            guard at < text.count else {
                if end == nil { return fields }
                throw fault("the end of a message")
            }
            if text[at] == end {
                at += 1
                return fields
            }
            let name = try self.name()
            skip()
            if at < text.count, text[at] == UInt8(ascii: ":") { at += 1 }
            skip()
            guard at < text.count else { throw fault("a value") }
            switch text[at] {
            case UInt8(ascii: "{"):
                at += 1
                fields.append(Field(name: name, value: .message(try self.fields(until: UInt8(ascii: "}")))))
            case UInt8(ascii: "["):
                at += 1
                skip()
                while at < text.count, text[at] != UInt8(ascii: "]") {
                    fields.append(Field(name: name, value: try scalar()))
                    skip()
                }
                at += 1
            default: fields.append(Field(name: name, value: try scalar()))
            }
        }
    }

    private mutating func name() throws -> String {
        let start = at
        if text[at] == UInt8(ascii: "[") {
            while at < text.count, text[at] != UInt8(ascii: "]") { at += 1 }
            at += 1
        } else {
            while at < text.count, isWord(text[at]) { at += 1 }
        }
        guard at > start else { throw fault("a field") }
        return String(decoding: text[start..<at], as: UTF8.self)
    }

    private func isWord(_ c: UInt8) -> Bool {
        c | 0x20 >= 0x61 && c | 0x20 <= 0x7a || c >= 0x30 && c <= 0x39 || "_.-+".utf8.contains(c)
    }

    private mutating func scalar() throws -> Field.Content {
        if text[at] == UInt8(ascii: "{") {
            at += 1
            return .message(try fields(until: UInt8(ascii: "}")))
        }
        guard text[at] == UInt8(ascii: "\"") || text[at] == UInt8(ascii: "'") else {
            let start = at
            while at < text.count, isWord(text[at]) { at += 1 }
            guard at > start else { throw fault("a value") }
            return .word(String(decoding: text[start..<at], as: UTF8.self))
        }
        var bytes: [UInt8] = []
        // Adjacent strings are one string.
        while at < text.count, text[at] == UInt8(ascii: "\"") || text[at] == UInt8(ascii: "'") {
            try quoted(into: &bytes)
            skip()
        }
        return .text(bytes)
    }

    private mutating func quoted(into bytes: inout [UInt8]) throws {
        let quote = text[at]
        at += 1
        while at < text.count, text[at] != quote {
            guard text[at] == UInt8(ascii: "\\") else {
                bytes.append(text[at])
                at += 1
                continue
            }
            guard at + 1 < text.count else { throw fault("an escape") }
            let letter = text[at + 1]
            at += 2
            switch letter {
            case UInt8(ascii: "n"): bytes.append(10)
            case UInt8(ascii: "r"): bytes.append(13)
            case UInt8(ascii: "t"): bytes.append(9)
            case UInt8(ascii: "a"): bytes.append(7)
            case UInt8(ascii: "b"): bytes.append(8)
            case UInt8(ascii: "f"): bytes.append(12)
            case UInt8(ascii: "v"): bytes.append(11)
            case UInt8(ascii: "x"): bytes.append(UInt8(truncatingIfNeeded: digits(2, 16)))
            case UInt8(ascii: "u"): bytes += Array(String(UnicodeScalar(digits(4, 16)) ?? "?").utf8)
            case UInt8(ascii: "U"): bytes += Array(String(UnicodeScalar(digits(8, 16)) ?? "?").utf8)
            case 0x30...0x37:
                at -= 1
                bytes.append(UInt8(truncatingIfNeeded: digits(3, 8)))
            default: bytes.append(letter)
            }
        }
        at += 1
    }

    private mutating func digits(_ most: Int, _ radix: UInt32) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<most {
            guard at < text.count, let digit = Character(UnicodeScalar(text[at])).hexDigitValue, digit < radix else { break }
            value = value * radix + UInt32(digit)
            at += 1
        }
        return value
    }
}
