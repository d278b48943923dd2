// What came into a plan from the environment or from files. Who shows an event, a plan or the words of a module asks here
// first, and shows no such text.

public struct HiddenTexts: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What stands for a hidden text.
    public static let mask = "(secret)"
    /// A shorter text is hidden where it stands alone, but not inside other text: it would be found in half of all words.
    public static let leastInside = 4
    /// As much must be left of a text that is hidden piece by piece.
    private static let leastPiece = 8

    /// By their bytes: what looks alike may be another text.
    private let texts: Set<[UInt8]>
    /// What is hidden inside other text, by its first byte, the longest first.
    private var inside: [UInt8: [[UInt8]]] = [:]

    /// An empty text hides nothing. `names` are shown inside other text, though a text came from outside that equals them: they are
    /// names of things, and a message that does not say what it is about helps nobody.
    public init(_ texts: [String] = [], exceptInside names: Set<String> = []) {
        self.texts = Set(texts.map { Array($0.utf8) }.filter { !$0.isEmpty })
        let forms = Set(self.texts.subtracting(names.map { Array($0.utf8) }).flatMap(HiddenTexts.forms))
        for form in forms.sorted(by: { $0.count > $1.count }) { inside[form[0], default: []].append(form) }
    }

    public var isEmpty: Bool { texts.isEmpty }
    public func contains(_ text: some Sequence<UInt8>) -> Bool { !texts.isEmpty && texts.contains(Array(text)) }

    /// The text with "(secret)" for all that came from outside: for the whole of it, or for each occurrence inside it.
    public func masked(_ text: String) -> String {
        if isEmpty { return text }
        if contains(text.utf8) { return HiddenTexts.mask }
        var text = text
        return text.withUTF8 { String(decoding: masked($0, before: $0.count), as: UTF8.self) }
    }

    /// The bytes before `end` with "(secret)" for each hidden text that begins there. `isCut`: the bytes are the beginning of a longer
    /// text, at whose end a hidden text may have been cut as well.
    public func masked(_ bytes: UnsafeBufferPointer<UInt8>, before end: Int, isCut: Bool = false) -> [UInt8] {
        if inside.isEmpty { return Array(bytes[..<end]) }
        var masked: [UInt8] = []
        masked.reserveCapacity(end)
        var at = 0
        while at < end {
            if let length = hiddenLength(bytes[at...], isCut) {
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

    /// How the text may stand inside other text: as it is, escaped, between the fields that a module puts in for `%Y` and the like, and
    /// line by line, as a key of several lines is read from a program's standard error.
    private static func forms(of text: [UInt8]) -> [[UInt8]] {
        let string = String(decoding: text, as: UTF8.self)
        let escaped = [
            JSONText.quoted(string).utf8.dropFirst().dropLast().map { $0 }, Array(Words.visible(string).utf8),
            // As the process of an isolated module sends it.
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
    /// The values in it that a placeholder is part of, and what each placeholder put there.
    public var hiddenTexts: [String] {
        switch value {
        case .null, .bool, .number: []
        case .text(let text): text.isTainted ? [text.value] + text.insertions : []
        case .list(let items): items.flatMap(\.hiddenTexts)
        case .object(let entries): entries.flatMap(\.node.hiddenTexts)
        }
    }
}
