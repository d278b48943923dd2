// One line of an export or an import: a decision for an id, or a tie of an id to a person. The members have the same names in both formats.
// This file says what each member must be.

internal import ConsentGate
internal import Events
internal import Platform

public enum LedgerFormat: String, Sendable, CaseIterable {
    case ndjson, csv
}

/// The reason why a line of an import is refused.
struct LineFault: Error {
    var words: String
    init(_ words: String) { self.words = words }
}

struct LedgerLine {
    /// The members, in the order in which an export writes them.
    enum Member: String, CaseIterable {
        /// The raw id. An import reads it; an export never writes it.
        case id
        case hmac, key, short
        /// The short hash of a fixed text. A ledger with another mark cannot use `short`.
        case mark
        case person, withdrawn, level, granted, denied, version, decided, received, origin

        static let all = allCases.map(\.rawValue).joined(separator: ", ")
    }

    var id: LedgerID
    /// Lines with the same text in `person` belong to one person.
    var person: String?
    /// It is nil if the line states no decision.
    var terms: ConsentTerms?
    var decided: Int64?
    var origin: String?
}

/// The members of a line as they were read, in either format.
struct LineMembers {
    var texts: [LedgerLine.Member: String] = [:]
    /// It is nil if the line has no list. An empty list is different: it grants nothing.
    var granted: [String]?
    var denied: [String]?
    var isWithdrawn: Bool?

    /// Returns the checked line. `mark` is the mark of the ledger that imports it.
    func line(mark: String) throws(LineFault) -> LedgerLine {
        var line = LedgerLine(id: try id(mark), person: texts[.person], origin: texts[.origin])
        if let text = texts[.decided] {
            let time = Array(text.utf8).withUnsafeBufferPointer { Times.parse($0) }
            guard let time else { throw LineFault("decided must be a time such as 2026-11-21T10:30:00Z") }
            line.decided = time
        }
        let saysMore = texts[.level] != nil || texts[.version] != nil || granted != nil || denied != nil
        if isWithdrawn == true {
            guard !saysMore else { throw LineFault("withdrawn covers everything: it excludes level, granted, denied and version") }
            line.terms = .withdrawn
        } else if saysMore {
            line.terms = ConsentTerms(level: texts[.level], granted: granted ?? [], denied: denied ?? [], version: texts[.version])
        } else if line.person == nil {
            throw LineFault("says nothing: expected level, granted, denied, withdrawn or person")
        }
        return line
    }

    private func id(_ mark: String) throws(LineFault) -> LedgerID {
        if let id = texts[.id] {
            guard texts[.hmac] == nil else { throw LineFault("has both id and hmac, expected one of them") }
            guard !id.isEmpty else { throw LineFault("id is empty") }
            return LedgerID(id)
        }
        guard let hmac = texts[.hmac] else { throw LineFault("has no subject: expected id, or hmac with key, short and mark") }
        guard let hmac = bytes(hmac), hmac.count == 32 else { throw LineFault("hmac must be 64 hexadecimal digits") }
        guard let key = texts[.key], !key.isEmpty else { throw LineFault("key is missing: expected the name of the key of hmac") }
        guard let short = texts[.short].flatMap(bytes)?.withUnsafeBytes({ ShortHash($0) }) else {
            throw LineFault("short must be 32 hexadecimal digits")
        }
        guard texts[.mark] == mark else {
            throw LineFault("mark belongs to another ledger: the line was exported under another subject.key; only raw ids can be imported")
        }
        return .hashed(HashedID(hmac: hmac, key: key, short: short))
    }
}

func hex(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] { digits.append(nibble < 10 ? nibble + 0x30 : nibble + 0x57) }
    }
    return String(decoding: digits, as: UTF8.self)
}

/// Returns nil if the text does not consist of pairs of hexadecimal digits.
private func bytes(_ hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8)
    guard digits.count % 2 == 0 else { return nil }
    func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x37
        case 0x61...0x66: digit - 0x57
        default: nil
        }
    }
    var bytes: [UInt8] = []
    for at in stride(from: 0, to: digits.count, by: 2) {
        guard let high = value(digits[at]), let low = value(digits[at + 1]) else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}
