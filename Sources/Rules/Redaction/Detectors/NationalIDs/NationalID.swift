// Detects the number by which a state identifies a person, by the rules of 20 countries: the length, the groups, the date, and the check
// digits where there are any. A form that random digits often satisfy is found only after a word that announces it, such as `BSN`, or in a
// member with such a key.

enum NationalID {
    /// Returns true if the digits up to `run` can be an id or its first group.
    @inline(__always) static func canBegin(_ text: Subject, _ start: Int, run: Int) -> Bool {
        run - start >= 8 || run - start == 6 || isMark(text[run]) && text.isDigit(run + 1)
    }

    static func endAtDigit(_ text: Subject, _ start: Int, _ countries: CountrySet, _ around: Surroundings) -> Int? {
        guard !text.isJoinedBefore(start, by: joins), text[start - 1] != UInt8(ascii: "+") else { return nil }
        var number = IDNumber()
        var i = start
        while number.readGroup(text, &i) {
            if number.count >= 6, let end = end(text, i, number, countries, start: start, around) { return end }
            guard isMark(text[i]), text.isDigit(i + 1), number.addMark(text[i]) else { return nil }
            i += 1
        }
        return nil
    }

    static func endAtLetter(_ text: Subject, _ start: Int, _ countries: CountrySet) -> Int? {
        if countries.contains(.italy), let end = LetterIDs.fiscalCodeEnd(text, start) { return end }
        if countries.contains(.britain), let end = LetterIDs.insuranceEnd(text, start) { return end }
        return countries.contains(.spain) ? LetterIDs.foreignerEnd(text, start) : nil
    }

    static func isMark(_ c: UInt8) -> Bool { Byte.isHyphenOrDot(c) || c == UInt8(ascii: " ") || c == UInt8(ascii: "/") }

    private static func joins(_ c: UInt8) -> Bool { Byte.isHyphenOrDot(c) || c == UInt8(ascii: "/") || c == UInt8(ascii: ":") }

    /// Returns the end of an id whose digits end at i. They are followed by nothing that belongs to the same number.
    private static func end(
        _ text: Subject, _ i: Int, _ number: IDNumber, _ countries: CountrySet, start: Int, _ around: Surroundings
    ) -> Int? {
        if let end = LetterIDs.end(text, i, number, countries) { return end }
        guard number.count > 8, !text.goesOn(i, by: joins) else { return nil }
        // Groups that are separated by spaces must be all of the groups.
        if number.isSpaced, text[i] == UInt8(ascii: " ") && text.isDigit(i + 1) || text.isJoinedBefore(start, by: Byte.isSpace) {
            return nil
        }
        switch NumberIDs.certainty(number, countries) {
        case .none: return nil
        case .certain:
            // A number of an order is one, whatever its digits.
            return number.isBare && around.announce(.order, text, before: start) ? nil : i
        case .ifAnnounced: return around.announce(.nationalID, text, before: start) ? i : nil
        }
    }
}

extension CountrySet {
    static var belgium: CountrySet { CountrySet(rawValue: 1 << 0) }
    static var brazil: CountrySet { CountrySet(rawValue: 1 << 1) }
    static var switzerland: CountrySet { CountrySet(rawValue: 1 << 2) }
    static var china: CountrySet { CountrySet(rawValue: 1 << 3) }
    static var germany: CountrySet { CountrySet(rawValue: 1 << 4) }
    static var denmark: CountrySet { CountrySet(rawValue: 1 << 5) }
    static var spain: CountrySet { CountrySet(rawValue: 1 << 6) }
    static var finland: CountrySet { CountrySet(rawValue: 1 << 7) }
    static var france: CountrySet { CountrySet(rawValue: 1 << 8) }
    static var britain: CountrySet { CountrySet(rawValue: 1 << 9) }
    static var india: CountrySet { CountrySet(rawValue: 1 << 10) }
    static var italy: CountrySet { CountrySet(rawValue: 1 << 11) }
    static var japan: CountrySet { CountrySet(rawValue: 1 << 12) }
    static var korea: CountrySet { CountrySet(rawValue: 1 << 13) }
    static var netherlands: CountrySet { CountrySet(rawValue: 1 << 14) }
    static var norway: CountrySet { CountrySet(rawValue: 1 << 15) }
    static var poland: CountrySet { CountrySet(rawValue: 1 << 16) }
    static var sweden: CountrySet { CountrySet(rawValue: 1 << 17) }
    static var turkey: CountrySet { CountrySet(rawValue: 1 << 18) }
    static var unitedStates: CountrySet { CountrySet(rawValue: 1 << 19) }
}
