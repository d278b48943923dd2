// Text that comes from a module. It is copied at once, cut to a bound, repaired where it is not UTF-8, and made harmless
// for a terminal; what the configuration had from the environment or a file is masked, also where it was cut before it came here. It never
// reads where a size is plainly absurd.

internal import CSwitchyardPlugin
internal import Document

enum ForeignText {
    /// A size beyond this is no message but a mistake: nothing of it is read.
    static let absurd = 16_777_216

    static func read(_ bytes: switchyard_bytes, most: Int, hiding hidden: HiddenTexts) -> String {
        // A size_t of more than half the address space arrives as a negative number.
        guard (0...absurd).contains(bytes.size) else { return "(a message of \(UInt(bitPattern: bytes.size)) bytes, not read)" }
        guard let data = bytes.data else { return "" }
        return read(UnsafeBufferPointer(start: data, count: bytes.size), most: most, hiding: hidden)
    }

    /// Ends a text that was cut, here or by whoever has sent it.
    private static let ellipsis = Array("…".utf8)

    /// `isCut`: the module itself may have cut the text. So it has, or the process that hosts it, where the text ends in "…".
    static func read(_ bytes: UnsafeBufferPointer<UInt8>, most: Int, hiding hidden: HiddenTexts, isCut: Bool = false) -> String {
        let isMarked = bytes.count >= ellipsis.count && bytes[(bytes.count - ellipsis.count)...].elementsEqual(ellipsis)
        let bytes = isMarked ? UnsafeBufferPointer(rebasing: bytes[..<(bytes.count - ellipsis.count)]) : bytes
        let isCut = isCut || isMarked
        if !isCut, hidden.contains(bytes) { return HiddenTexts.mask }
        var end = min(bytes.count, most)
        if bytes.count > most {
            // Not in the middle of a character; invalid bytes are repaired afterwards, so three steps suffice.
            while end > max(0, most - 3), bytes[end] & 0xC0 == 0x80 { end -= 1 }
        }
        var text = hidden.masked(bytes, before: end, isCut: isCut)
        // Repaired, a part of a character would keep what is before it from being known as the beginning of a hidden text.
        if isCut { text.removeLast(partOfCharacter(text)) }
        return harmless(String(decoding: text, as: UTF8.self)) + (bytes.count > most || isCut ? "…" : "")
    }

    /// How many bytes at the end begin a character that has more of them.
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
