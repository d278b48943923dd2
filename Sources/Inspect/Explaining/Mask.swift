// Masks events before they are shown. It replaces digests, and texts that come from the environment or a file, with a word.

internal import Document
internal import Events

struct Mask {
    static let secret = "(secret)"
    static let digest = "(hashed)"

    let hidden: HiddenTexts

    func isHidden(_ text: String) -> Bool { hidden.contains(text.utf8) }

    /// Returns a text of the plan, masked if it is hidden.
    func shown(_ text: String) -> String { isHidden(text) ? Mask.secret : text }

    /// Returns the line of an event, masked. `hashed` holds the offsets of the digests. Everything else stays byte for byte.
    func shown(_ line: [UInt8], hashed: Set<Int>) -> String {
        if hidden.isEmpty, hashed.isEmpty { return String(decoding: line, as: UTF8.self) }
        var shown: [UInt8] = []
        var at = 0
        var copied = 0
        while at < line.count {
            guard line[at] == UInt8(ascii: "\"") else {
                at += 1
                continue
            }
            let end = Mask.stringEnd(line, at)
            assert(copied <= at && end <= line.count, "two strings overlap, or one ends after the line")
            if let word = word(line, start: at, end: end, hashed: hashed) {
                shown += line[copied..<at] + Array("\"\(word)\"".utf8)
                copied = end
            }
            at = end
        }
        return String(decoding: shown + line[copied...], as: UTF8.self)
    }

    /// Returns the offsets at which one of these strings, in its quotes, stands in the line.
    static func places(of strings: Set<[UInt8]>, in line: [UInt8]) -> Set<Int> {
        var places: Set<Int> = []
        guard !strings.isEmpty else { return places }
        var at = 0
        while at < line.count {
            guard line[at] == UInt8(ascii: "\"") else {
                at += 1
                continue
            }
            let end = Mask.stringEnd(line, at)
            if strings.contains(Array(line[at..<end])) { places.insert(at) }
            at = end
        }
        return places
    }

    /// Returns the word that replaces the string between these offsets. Returns nil if the string stays. Keys come from the event and stay.
    private func word(_ line: [UInt8], start: Int, end: Int, hashed: Set<Int>) -> String? {
        if hashed.contains(start) { return Mask.digest }
        guard !hidden.isEmpty, line[end...].first(where: { $0 > 0x20 }) != UInt8(ascii: ":") else { return nil }
        return decoded(line[(start + 1)..<(end - 1)]).map(isHidden) == true ? Mask.secret : nil
    }

    /// Returns the offset after the string whose opening quote is at `start`.
    private static func stringEnd(_ line: [UInt8], _ start: Int) -> Int {
        var at = start + 1
        while line[at] != UInt8(ascii: "\"") { at += line[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return at + 1
    }
}

/// Decodes the text between the quotes of a valid string. Returns nil if it has a lone surrogate.
func decoded(_ body: ArraySlice<UInt8>) -> String? {
    body.withUnsafeBufferPointer { body in
        Text.withText(body) { text in text.map { String(decoding: $0, as: UTF8.self) } }
    }
}
