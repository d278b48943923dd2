// Text that comes from a module. It is copied at once, cut to a bound, repaired where it is not UTF-8, and made harmless
// for a terminal; what the configuration had from the environment or a file is masked. It never reads where a size is plainly absurd.

internal import CSwitchyardPlugin
internal import Configuration

enum ForeignText {
    /// A size beyond this is no message but a mistake: nothing of it is read.
    static let absurd = 16_777_216

    static func read(_ bytes: switchyard_bytes, most: Int, hiding hidden: HiddenTexts) -> String {
        // A size_t of more than half the address space arrives as a negative number.
        guard (0...absurd).contains(bytes.size) else { return "(a message of \(UInt(bitPattern: bytes.size)) bytes, not read)" }
        guard let data = bytes.data else { return "" }
        return read(UnsafeBufferPointer(start: data, count: bytes.size), most: most, hiding: hidden)
    }

    /// `isCut`: the module itself may have cut the text.
    static func read(_ bytes: UnsafeBufferPointer<UInt8>, most: Int, hiding hidden: HiddenTexts, isCut: Bool = false) -> String {
        var end = min(bytes.count, most)
        if bytes.count > most {
            // Not in the middle of a character; invalid bytes are repaired afterwards, so three steps suffice.
            while end > max(0, most - 3), bytes[end] & 0xC0 == 0x80 { end -= 1 }
        }
        let text = hidden.masked(bytes, before: end, isCut: isCut)
        return harmless(String(decoding: text, as: UTF8.self)) + (bytes.count > most ? "…" : "")
    }

    static func harmless(_ text: String) -> String { HarmlessText.escaped(text) }
}
