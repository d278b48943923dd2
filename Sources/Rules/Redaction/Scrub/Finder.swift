// Finds personal data in one text, from left to right. At each position it tries the kinds in the order of `Sensitive`. The search
// continues after a find, so finds never overlap. A find never begins directly after an ASCII letter or digit. The time is proportional
// to the length of the text.

struct Find {
    let start: Int
    let end: Int
    let kind: Sensitive
}

struct Finder {
    let text: Subject
    private let seen: Seen
    private let kinds: SensitiveSet
    private let starts: UnsafePointer<UInt8>

    /// It is nil if a text of this length with these classes of bytes cannot hold any of the kinds.
    @inline(__always) init?(_ text: Subject, seen: Seen, kinds: SensitiveSet, starts: borrowing Starts) {
        guard text.count > 2 else { return nil }
        let possible = Finder.possible(seen, text.count).intersection(kinds)
        if possible.isEmpty { return nil }
        self.text = text
        self.seen = seen
        self.kinds = possible
        self.starts = UnsafePointer(starts.table)
    }

    /// Returns the kinds that are possible. The least lengths are those of the shortest find of each kind.
    @inline(__always) private static func possible(_ seen: Seen, _ count: Int) -> SensitiveSet {
        var kinds: UInt8 = 0
        if seen.contains(.digit) {
            if count >= 9 { kinds |= 1 << Sensitive.phone.rawValue }
            if count >= 13 { kinds |= 1 << Sensitive.card.rawValue }
            if count >= 15 { kinds |= 1 << Sensitive.iban.rawValue }
            if seen.contains(.colon) || seen.contains(.dot) && count >= 7 { kinds |= 1 << Sensitive.ip.rawValue }
        }
        if seen.contains(.at), count >= 6 { kinds |= 1 << Sensitive.email.rawValue }
        if seen.contains(.dot) && seen.contains(.upperJ) && count >= 22 || seen.contains(.blank) && count >= 15 {
            kinds |= 1 << Sensitive.token.rawValue
        }
        return SensitiveSet(rawValue: kinds)
    }

    /// Returns the first find that begins at or after `from`. It is nil if there is none.
    func next(_ from: Int) -> Find? {
        assert((0...text.count).contains(from), "a search begins outside the text")
        var isInWord = text.isAlphanumeric(from - 1)
        for i in from..<text.count {
            let c = text.base[i]
            let start = starts[Int(c)]
            if start != Starts.none, !isInWord, let find = find(i, c) { return find }
            isInWord = start == Starts.word
        }
        return nil
    }

    @inline(__always) private func find(_ i: Int, _ c: UInt8) -> Find? {
        if Byte.isLetter(c) { return findAtLetter(i, c) }
        if Byte.isDigit(c) { return findAtDigit(i) }
        switch c {
        case UInt8(ascii: ":"): return kinds.contains(.ip) ? made(i, end: Address.end(text, i, hasColons: true), kind: .ip) : nil
        case UInt8(ascii: "+"), UInt8(ascii: "("): return kinds.contains(.phone) ? made(i, end: Phone.end(text, i), kind: .phone) : nil
        case UInt8(ascii: "_"), 0xc3...0xdf: return kinds.contains(.email) ? made(i, end: Email.end(text, i), kind: .email) : nil
        default: return nil
        }
    }

    private func findAtLetter(_ i: Int, _ c: UInt8) -> Find? {
        if kinds.contains(.token), let end = Token.end(text, i) { return Find(start: i, end: end, kind: .token) }
        if kinds.contains(.email), let end = Email.end(text, i) { return Find(start: i, end: end, kind: .email) }
        if kinds.contains(.iban), let end = IBAN.end(text, i) { return Find(start: i, end: end, kind: .iban) }
        guard kinds.contains(.ip), seen.contains(.colon), Byte.isHex(c) else { return nil }
        return made(i, end: Address.end(text, i, hasColons: true), kind: .ip)
    }

    private func findAtDigit(_ i: Int) -> Find? {
        if kinds.contains(.email), let end = Email.end(text, i) { return Find(start: i, end: end, kind: .email) }
        if kinds.contains(.card), let end = Card.end(text, i) { return Find(start: i, end: end, kind: .card) }
        if kinds.contains(.ip), let end = Address.end(text, i, hasColons: seen.contains(.colon)) {
            return Find(start: i, end: end, kind: .ip)
        }
        return kinds.contains(.phone) ? made(i, end: Phone.end(text, i), kind: .phone) : nil
    }

    @inline(__always) private func made(_ start: Int, end: Int?, kind: Sensitive) -> Find? {
        end.map { Find(start: start, end: $0, kind: kind) }
    }
}

/// A table that says with which bytes a find can begin.
struct Starts: ~Copyable {
    @inline(__always) static var none: UInt8 { 0 }
    @inline(__always) static var mark: UInt8 { 1 }
    /// An ASCII letter or digit. No find begins directly after one.
    @inline(__always) static var word: UInt8 { 2 }

    fileprivate let table: UnsafeMutablePointer<UInt8>

    init() {
        table = .allocate(capacity: 256)
        for byte in UInt8.min...UInt8.max { table[Int(byte)] = Starts.sort(byte) }
    }

    deinit { table.deallocate() }

    private static func sort(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: ":"), UInt8(ascii: "+"), UInt8(ascii: "("), UInt8(ascii: "_"), 0xc3...0xdf: mark
        default: Byte.isAlphanumeric(byte) ? word : none
        }
    }
}
