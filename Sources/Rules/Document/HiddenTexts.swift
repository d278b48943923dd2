// The texts that came into a plan from the environment or from files. Code that shows an event, a plan or the words of a module masks
// these texts here first.

public struct HiddenTexts: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The text that is shown in place of a hidden text.
    public static let mask = "(secret)"
    /// The least bytes of a text that is hidden inside other text. A shorter text would occur in too many words, so it is hidden only if it
    /// is the whole text.
    public static let leastInside = 4
    /// The least bytes of a piece of a text that is hidden piece by piece.
    private static let leastPiece = 8

    /// The texts as bytes: strings that look alike may be different texts.
    private let texts: Set<[UInt8]>
    /// The forms that are hidden inside other text, by their first byte. The longest form is first.
    private var inside: [UInt8: [[UInt8]]] = [:]

    /// An empty text hides nothing. `names` stay visible inside other text, even if a hidden text equals one of them: a message must name
    /// what it is about.
    public init(_ texts: [String] = [], exceptInside names: Set<String> = []) {
        self.texts = Set(texts.map { Array($0.utf8) }.filter { !$0.isEmpty })
        let forms = Set(self.texts.subtracting(names.map { Array($0.utf8) }).flatMap(HiddenTexts.forms))
        for form in forms.sorted(by: { $0.count > $1.count }) { inside[form[0], default: []].append(form) }
    }

    public var isEmpty: Bool { texts.isEmpty }
    public func contains(_ text: some Sequence<UInt8>) -> Bool { !texts.isEmpty && texts.contains(Array(text)) }

    /// Returns the text with "(secret)" for everything that came from outside: for the whole text, or for each occurrence inside it.
    public func masked(_ text: String) -> String {
        if isEmpty { return text }
        if contains(text.utf8) { return HiddenTexts.mask }
        var text = text
        return text.withUTF8 { String(decoding: masked($0, before: $0.count), as: UTF8.self) }
    }

    /// Returns the bytes before `end`, with "(secret)" for each hidden text that begins there. `isCut` is true if the bytes are only the
    /// beginning of a longer text. Then a hidden text may be cut at their end, and is masked too.
    public func masked(_ bytes: UnsafeBufferPointer<UInt8>, before end: Int, isCut: Bool = false) -> [UInt8] {
        if inside.isEmpty { return Array(bytes[..<end]) }
        assert((0...bytes.count).contains(end), "more is masked than there is")
        var masked: [UInt8] = []
        masked.reserveCapacity(end)
        var at = 0
        while at < end {
            if let length = hiddenLength(bytes[at...], isCut) {
                assert(length > 0 && at + length <= bytes.count, "a hidden text is empty, or ends after the text")
                masked += Array(HiddenTexts.mask.utf8)
                at += length
            } else {
                masked.append(bytes[at])
                at += 1
            }
        }
        return masked
    }

    private func hiddenLength(_ rest: Slice<UnsafeBufferPointer<UInt8>>, _ isCut: Bool) -> Int? {
        guard let candidates = inside[rest[rest.startIndex]] else { return nil }
        if let form = candidates.first(where: { rest.starts(with: $0) }) { return form.count }
        guard isCut, rest.count >= HiddenTexts.leastInside else { return nil }
        return candidates.contains { $0.starts(with: rest) } ? rest.count : nil
    }

    /// Returns the forms in which the text may occur inside other text: as it is, escaped, in pieces and in lines. Pieces occur where a
    /// module replaces fields such as `%Y`. Lines occur where a key of several lines is read from a program's standard error.
    private static func forms(of text: [UInt8]) -> [[UInt8]] {
        let string = String(decoding: text, as: UTF8.self)
        let escaped = [
            JSONText.quoted(string).utf8.dropFirst().dropLast().map { $0 }, Array(Words.visible(string).utf8),
            // The form in which the process of an isolated module sends it.
            Array(HarmlessText.escaped(string).utf8),
        ]
        var pieces: [[UInt8]] = []
        var rest = text[...]
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            pieces.append(Array(rest[..<percent]))
            rest = rest[percent...].dropFirst(2)
        }
        if !pieces.isEmpty { pieces.append(Array(rest)) }
        let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        if lines.count > 1 || lines.first.map({ $0.count < text.count }) == true { pieces += lines.map { Array($0) } }
        return ([text] + escaped).filter { $0.count >= leastInside } + pieces.filter { $0.count >= leastPiece }
    }

    public var description: String { "(secrets)" }
    public var debugDescription: String { description }
}

extension Node {
    /// The values in the node that contain a placeholder, and the text that each placeholder inserted.
    public var hiddenTexts: [String] {
        switch value {
        case .null, .bool, .number: []
        case .text(let text): text.isTainted ? [text.value] + text.insertions : []
        case .list(let items): items.flatMap(\.hiddenTexts)
        case .object(let entries): entries.flatMap(\.node.hiddenTexts)
        }
    }
}
