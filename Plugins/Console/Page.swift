// Text for a terminal: styles, and the escaping that keeps an event from controlling the terminal.

internal import PluginKit

struct Page {
    enum Style: String {
        case plain = ""
        case faint = "2"
        case type = "36"
        case title = "1"
        case user = "35"
        case name = "34"
        case text = "32"
        case number = "33"
        case literal = "31"
    }

    private(set) var bytes: [UInt8] = []
    private let color: Bool

    init(color: Bool) { self.color = color }

    /// Adds text of the program itself.
    mutating func add(_ text: String, _ style: Style = .plain) {
        styled(style) { $0.append(contentsOf: text.utf8) }
    }

    /// Adds text of an event, escaped.
    mutating func add(_ json: JSONWalk, range: Range<Int>, style: Style) {
        styled(style) { Page.escape(json.text, range, into: &$0) }
    }

    /// Removes spaces at the end of the line, and ends the line.
    mutating func endLine() {
        while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func styled(_ style: Style, _ body: (inout [UInt8]) -> Void) {
        guard color, style != .plain else { return body(&bytes) }
        bytes.append(contentsOf: "\u{1b}[\(style.rawValue)m".utf8)
        body(&bytes)
        bytes.append(contentsOf: "\u{1b}[0m".utf8)
    }

    /// Appends text in which control characters, invisible characters, marks that change the writing direction, and invalid UTF-8 are
    /// escaped.
    static func escape(_ text: UnsafeRawBufferPointer, _ range: Range<Int>, into bytes: inout [UInt8]) {
        assert(range.lowerBound >= 0 && range.upperBound <= text.count, "more is shown than the event has")
        var position = range.lowerBound
        while position < range.upperBound {
            let byte = text[position]
            if byte >= 0x20, byte < 0x7f {
                bytes.append(byte)
                position += 1
                continue
            }
            let length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
            let end = min(position + length, range.upperBound)
            let character = UnsafeRawBufferPointer(rebasing: text[position..<end])
            if let scalar = String(validating: character, as: UTF8.self)?.unicodeScalars.first {
                if isHostile(scalar) {
                    for unit in UTF16.encode(scalar)! { bytes.append(contentsOf: "\\u\(hex(Int(unit), 4))".utf8) }
                } else {
                    bytes.append(contentsOf: character)
                }
                position = end
            } else {
                bytes.append(contentsOf: "\\x\(hex(Int(byte), 2))".utf8)
                position += 1
            }
        }
    }

    private static func hex(_ value: Int, _ digits: Int) -> String {
        let text = String(value, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static func isHostile(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0: true  // control characters
        case 0x61c, 0x200b, 0x200e, 0x200f, 0x202a...0x202e, 0x2066...0x2069: true  // writing direction, and zero width
        case 0x2028, 0x2029, 0x2060...0x2064, 0xfeff, 0xfff9...0xfffb, 0xe0000...0xe007f: true  // separators, invisible marks
        default: false
        }
    }
}
