// Reads text that comes from a module. The text is copied at once, cut to a limit, repaired where it is not UTF-8, and escaped for a
// terminal. Values that the configuration took from the environment or from a file are masked, even if the sender has cut one of them.
// A text with an implausible size is not read at all.

internal import CSwitchyardPlugin
internal import Document

enum ForeignText {
    /// The largest plausible size. A larger size is a mistake of the module, and nothing is read.
    static let absurd = 16_777_216

    static func read(_ bytes: switchyard_bytes, most: Int, hiding hidden: HiddenTexts) -> String {
        // A size_t of more than half the address space arrives as a negative number.
        guard (0...absurd).contains(bytes.size) else { return "(a message of \(UInt(bitPattern: bytes.size)) bytes, not read)" }
        guard let data = bytes.data else { return "" }
        return read(UnsafeBufferPointer(start: data, count: bytes.size), most: most, hiding: hidden)
    }

    /// The end of a text that was cut, either here or by its sender.
    private static let ellipsis = Array("…".utf8)

    /// `isCut` is true if the module may have cut the text. A text that ends in "…" counts as cut too: the module or its process cut it.
    static func read(_ bytes: UnsafeBufferPointer<UInt8>, most: Int, hiding hidden: HiddenTexts, isCut: Bool = false) -> String {
        let isMarked = bytes.count >= ellipsis.count && bytes[(bytes.count - ellipsis.count)...].elementsEqual(ellipsis)
        let bytes = isMarked ? UnsafeBufferPointer(rebasing: bytes[..<(bytes.count - ellipsis.count)]) : bytes
        let isCut = isCut || isMarked
        if !isCut, hidden.contains(bytes) { return HiddenTexts.mask }
        var end = min(bytes.count, most)
        assert(most >= 0, "a text has a negative limit")
        if bytes.count > most {
            // Do not cut inside a character. Invalid bytes are repaired below, so three steps suffice.
            while end > max(0, most - 3), bytes[end] & 0xC0 == 0x80 { end -= 1 }
        }
        var text = hidden.masked(bytes, before: end, isCut: isCut)
        // An incomplete character would be repaired to U+FFFD. A later reader of the text would then not detect that the bytes before it
        // are the beginning of a hidden text.
        if isCut { text.removeLast(partOfCharacter(text)) }
        return harmless(String(decoding: text, as: UTF8.self)) + (bytes.count > most || isCut ? "…" : "")
    }

    /// Returns the number of bytes at the end that belong to an incomplete character.
    private static func partOfCharacter(_ text: [UInt8]) -> Int {
        let tail = text.suffix(3).reversed().prefix { $0 & 0xC0 == 0x80 }.count + 1
        guard tail <= min(3, text.count) else { return 0 }
        let length =
            switch text[text.count - tail] {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        return length > tail ? tail : 0
    }

    static func harmless(_ text: String) -> String { HarmlessText.escaped(text) }
}
