// Finds personal data in one text, from left to right. At each position it tries the kinds in the order of `Sensitive`. The search
// continues after a find, so finds never overlap. A find never begins directly after an ASCII letter or digit. The time is proportional
// to the length of the text.

struct Find {
    let start: Int
    let end: Int
    let kind: Sensitive
}

/// What is searched for.
struct Scope {
    let kinds: SensitiveSet
    let countries: CountrySet
}

struct Finder {
    let text: Subject
    private let seen: Seen
    /// The kinds that are searched for, and the other bits of `Starts`.
    private let searched: UInt16
    private let countries: CountrySet
    private let around: Surroundings
    private let sorts: UnsafePointer<UInt8>
    private let begins: UnsafePointer<UInt16>

    /// It is nil if a text of this length with these classes of bytes cannot hold any of the kinds.
    @inline(__always) init?(_ text: Subject, seen: Seen, scope: Scope, around: @autoclosure () -> Surroundings, starts: borrowing Starts) {
        let possible = starts.possible(seen, text.count).intersection(scope.kinds)
        if possible.isEmpty { return nil }
        self.text = text
        self.seen = seen
        countries = scope.countries
        self.around = around()
        sorts = UnsafePointer(starts.sorts)
        begins = starts.begins
        // A secret follows a sign, or the key of its member.
        let mayHoldSecret =
            possible.contains(.key) && seen.contains(.digit)
            && (!seen.isDisjoint(with: [.colon, .blank]) || self.around.keyEnds(APIKey.isEndOfSecret))
        var searched = possible.rawValue
        if mayHoldSecret { searched |= Starts.secret }
        if possible.contains(.mac), seen.contains(.dot) { searched |= Starts.dottedMAC }
        if possible.contains(.nationalID) { searched |= Starts.letterID }
        self.searched = searched
    }

    /// Returns the first find that begins at or after `from`. It is nil if there is none.
    func next(_ from: Int) -> Find? {
        assert((0...text.count).contains(from), "a search begins outside the text")
        let (base, count, sorts, begins, searched) = (text.base, text.count, sorts, begins, searched)
        var i = from
        // A find never begins inside a word.
        if text.isAlphanumeric(i - 1) { while i < count, sorts[Int(base[i])] == Starts.word { i &+= 1 } }
        while i < count {
            let c = base[i]
            let possible = Starts.possible(begins, base + i) & searched
            if possible != 0, let find = find(i, c, possible) { return find }
            i &+= 1
            if sorts[Int(c)] == Starts.word { while i < count, sorts[Int(base[i])] == Starts.word { i &+= 1 } }
        }
        return nil
    }

    /// Returns the find at i, of one of the kinds that can begin with its character.
    @inline(__always) private func find(_ i: Int, _ c: UInt8, _ possible: UInt16) -> Find? {
        let kinds = SensitiveSet(rawValue: possible)
        if Byte.isDigit(c) { return findAtDigit(i, kinds) }
        if Byte.isLetter(c) { return findAtLetter(i, kinds) }
        if kinds.contains(.email) { return made(i, end: Email.end(text, i), kind: .email) }
        if kinds.contains(.phone) { return made(i, end: Phone.end(text, i, around), kind: .phone) }
        return made(i, end: Address.end(text, i, hasColons: true, around), kind: .ip)
    }

    @inline(__always) private func holds(_ kinds: SensitiveSet, _ bit: UInt16) -> Bool { kinds.rawValue & bit != 0 }

    @inline(__always) private func canBeMAC(_ kinds: SensitiveSet) -> Bool { kinds.contains(.mac) || holds(kinds, Starts.dottedMAC) }

    private func findAtLetter(_ i: Int, _ kinds: SensitiveSet) -> Find? {
        if kinds.contains(.token), let end = Token.end(text, i) { return Find(start: i, end: end, kind: .token) }
        if kinds.contains(.key), let end = APIKey.end(text, i) { return Find(start: i, end: end, kind: .key) }
        if holds(kinds, Starts.secret), let end = APIKey.secretEnd(text, i, around) { return Find(start: i, end: end, kind: .key) }
        if kinds.contains(.email), let end = Email.end(text, i) { return Find(start: i, end: end, kind: .email) }
        if kinds.contains(.iban), let end = IBAN.end(text, i) { return Find(start: i, end: end, kind: .iban) }
        if holds(kinds, Starts.letterID), let end = NationalID.endAtLetter(text, i, countries) {
            return Find(start: i, end: end, kind: .nationalID)
        }
        if canBeMAC(kinds), let end = MAC.end(text, i) { return Find(start: i, end: end, kind: .mac) }
        guard kinds.contains(.ip), seen.contains(.colon) else { return nil }
        return made(i, end: Address.end(text, i, hasColons: true, around), kind: .ip)
    }

    private func findAtDigit(_ i: Int, _ kinds: SensitiveSet) -> Find? {
        if holds(kinds, Starts.secret), let end = APIKey.secretEnd(text, i, around) { return Find(start: i, end: end, kind: .key) }
        if kinds.contains(.email), let end = Email.end(text, i) { return Find(start: i, end: end, kind: .email) }
        var run = i + 1
        while text.isDigit(run) { run += 1 }
        // A few digits with nothing that joins them to others are nothing.
        if run - i < 6, !Finder.canGoOn(text[run]) { return nil }
        if kinds.contains(.card), run - i >= 4, let end = Card.end(text, i, around) { return Find(start: i, end: end, kind: .card) }
        if kinds.contains(.nationalID), NationalID.canBegin(text, i, run: run),
            let end = NationalID.endAtDigit(text, i, countries, around)
        {
            return Find(start: i, end: end, kind: .nationalID)
        }
        if canBeMAC(kinds), run - i <= 4, let end = MAC.end(text, i) { return Find(start: i, end: end, kind: .mac) }
        if kinds.contains(.ip), run - i <= 4, let end = Address.end(text, i, hasColons: seen.contains(.colon), around) {
            return Find(start: i, end: end, kind: .ip)
        }
        return kinds.contains(.phone) ? made(i, end: Phone.end(text, i, around), kind: .phone) : nil
    }

    /// Returns true if a number of several groups, an address or an extension can go on with this character.
    @inline(__always) private static func canGoOn(_ c: UInt8) -> Bool {
        switch c {
        case UInt8(ascii: " "), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "+")...UInt8(ascii: ":"): c != UInt8(ascii: ",")
        default: Byte.isHex(c) || c | 0x20 == UInt8(ascii: "x")
        }
    }

    @inline(__always) private func made(_ start: Int, end: Int?, kind: Sensitive) -> Find? {
        end.map { Find(start: start, end: $0, kind: kind) }
    }
}
