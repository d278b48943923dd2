// What the slow model of `scrub` takes for a number of a card, an account, a telephone or an address.

#if canImport(Glibc)
    import Glibc
#endif

extension Place {
    func isCard(_ end: Int) -> Bool {
        let groups = string(end).split(omittingEmptySubsequences: false) { $0 == " " || $0 == "-" || $0 == "+" }
        guard groups.allSatisfy({ !$0.isEmpty && $0.allSatisfy(\.isASCIIDigit) }), groups[0].count >= 4 else { return false }
        let digits = groups.joined().map { Int(String($0))! }
        guard digits.count < 20, !isRest("-."), !isJoined(end, "-.") else { return false }
        let doubled = digits.reversed().enumerated().map { $0.offset % 2 == 0 ? $0.element : [0, 2, 4, 6, 8, 1, 3, 5, 7, 9][$0.element] }
        guard doubled.reduce(0, +) % 10 == 0 else { return false }
        let prefix = Int(groups[0].prefix(4))!
        let lengths: [Int] =
            switch prefix {
            case 4000...4999: [13, 16, 19]
            case 5100...5599, 2221...2720: [16]
            case 3400...3499, 3700...3799: [15]
            case 3000...3059, 3095, 3600...3699, 3800...3999: Array(14...19)
            case 2200...2204, 3528...3589: Array(16...19)
            case 5018, 5020, 5038, 5600...5899, 6304, 6390, 6700...6799: Array(12...19)
            case 5000...5099, 5900...5999, 6300...6399: Array(13...19)
            case 6000...6099, 6200...6299, 6440...6599: Array(16...19)
            default: []
            }
        return lengths.contains(digits.count)
    }

    /// Returns true if the longest card is the number of an article (EAN-13).
    func isArticle(_ end: Int) -> Bool {
        let digits = string(end).compactMap { Int(String($0)) }
        guard end - start == 13, digits.count == 13 else { return false }
        return zip(digits, 0...).reduce(0) { $0 + $1.0 * ($1.1 % 2 == 0 ? 1 : 3) } % 10 == 0
    }

    /// Returns true if the name of a product and a slash precede the position.
    var isVersion: Bool {
        guard at(start - 1) == "/" else { return false }
        var i = start - 1
        while isAlphanumeric(i - 1) || at(i - 1) == "-" || at(i - 1) == "_" { i -= 1 }
        return ("A"..."Z").contains(at(i)) && " ([;,\0".contains(at(i - 1)) && !(i > 0 && text[i - 1] > 0x7f)
    }

    func isAddress4(_ end: Int) -> Bool {
        let parts = string(end).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, !isRest("."), !isJoined(end, ".") else { return false }
        return parts.allSatisfy { part in (0...255).contains { String($0) == part } }
    }

    var address6: Int? {
        func isHex(_ i: Int) -> Bool { at(i).isASCII && at(i).isHexDigit }
        guard isHex(start) || at(start) == ":" && at(start + 1) == ":" else { return nil }
        if at(start - 1) == ":" {
            var word = start - 2
            while isAlphanumeric(word) { word -= 1 }
            guard (word + 1..<start - 1).contains(where: { !isHex($0) }) else { return nil }
        }
        var end = runEnd(start) { isHex($0) || at($0) == ":" || at($0) == "." }
        if at(end - 1) == "." || at(end - 1) == ":" && at(end - 2) != ":" { end -= 1 }
        let address = string(end)
        guard address.count <= 45, address.contains(where: \.isASCIIDigit), !isAlphanumeric(end) else { return nil }
        var room = in6_addr()
        return inet_pton(AF_INET6, address, &room) == 1 ? end : nil
    }

    static let countries = Dictionary(
        uniqueKeysWithValues: """
            AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18
            FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21
            LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24
            SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30
            """.split { $0 == " " || $0 == "\n" }.map { (String($0.prefix(2)), Int($0.suffix(2))!) })

    func isAccount(_ end: Int) -> Bool {
        let written = Array(string(end).uppercased())
        guard written.count > 4, let length = Place.countries[String(written[0..<2])], !isAlphanumeric(end) else { return false }
        guard written[2...3].allSatisfy(\.isASCIIDigit), isAlphanumeric(end - 1) else { return false }
        var rest: [Character] = []
        var wasBlank = false
        for c in written[4...] {
            let isBlank = " -+".contains(c)
            if isBlank && wasBlank { return false }
            guard isBlank || c.isASCII && (c.isLetter || c.isNumber) else { return false }
            if !isBlank { rest.append(c) }
            wasBlank = isBlank
        }
        guard rest.count + 4 == length else { return false }
        let digits = (rest + written[0..<4]).map { String(Int(String($0), radix: 36)!) }.joined()
        return digits.reduce(0) { ($0 * 10 + Int(String($1))!) % 97 } == 1
    }

    /// Returns true if the text up to `end` is a telephone number, with or without an extension.
    func isPhone(_ end: Int) -> Bool {
        if isPhoneAlone(end) { return true }
        guard end - start > 10, (end - 10..<end).contains(where: { "xX".contains(at($0)) }) else { return false }
        guard !isAlphanumeric(end), let digits = string(end).lastIndex(where: { !$0.isASCIIDigit }) else { return false }
        let written = string(end)
        guard (1...6).contains(written[digits...].count - 1) else { return false }
        for name in ["x", "ext", "ext."] {
            for mark in [name, name + " ", " " + name, " " + name + " "] {
                let rest = written.prefix(through: digits)
                guard rest.lowercased().hasSuffix(mark), rest.count > mark.count else { continue }
                if isPhoneAlone(start + rest.count - mark.count, hasExtension: true) { return true }
            }
        }
        return false
    }

    private func isPhoneAlone(_ end: Int, hasExtension: Bool = false) -> Bool {
        let written = string(end)
        let hasPlus = written.hasPrefix("+") || written.hasPrefix("(+")
        let number = hasPlus ? String(written.drop { $0 != "+" }.dropFirst()) : written
        guard isPhoneShape(number, after: hasPlus ? "(" : "^", isOpen: written.hasPrefix("(+")) else { return false }
        let groups = number.split { !$0.isASCIIDigit }
        let digits = Array(groups.joined())
        let lengths = groups.map(\.count)
        if hasPlus { return (8...15).contains(digits.count) && digits[0] != "0" && (hasExtension || !isDigit(end)) }
        if isRest("-./:") || !hasExtension && isJoined(end, "-./:") { return false }
        if at(start - 1) == "-", isAlphanumeric(start - 2) { return false }
        let hasOther = number.contains { "./()".contains($0) }
        let hasSpace = number.contains { " +".contains($0) }
        let weighted = zip(digits, (1...10).reversed()).reduce(0) { $0 + Int(String($1.0))! * $1.1 }
        let isBook = digits.count == 10 && weighted % 11 == 0 && !hasOther && (groups.count == 1 || groups.count == 4 && lengths[3] == 1)
        if groups.count < 2, digits.count == 11, Place.mobiles.contains(String(digits.prefix(3))) { return true }
        if groups.count < 2 { return (10...11).contains(digits.count) && digits[0] == "0" && digits[1] != "0" && !isBook }
        if digits.starts(with: "00") { return digits.count > 9 && digits.count < 18 && digits[2] != "0" }
        if digits[0] == "0" {
            let isDate = lengths.starts(with: [2, 2, 4]) && (groups[2].hasPrefix("19") || groups[2].hasPrefix("20"))
            return (9...12).contains(digits.count) && digits[1] != "0" && !isDate && !isBook
        }
        if isGroupedPhone(lengths, digits[0], hasSpace: hasSpace, hasHyphen: number.contains("-"), hasOther: hasOther) { return true }
        let national = digits.suffix(10)
        guard lengths.suffix(3) == [3, 3, 4], lengths.count == 3 || lengths.count == 4 && groups[0] == "1" else { return false }
        return number.contains("(") || national.first! > "1" && national.dropFirst(3).first! > "1"
    }

    private static let mobiles = Set(
        """
        130 131 132 133 134 135 136 137 138 139 145 146 147 148 149 150 151 152 153 155 156 157 158 159 162 165 166 167 170 171 172 173 174
        175 176 177 178 180 181 182 183 184 185 186 187 188 189 190 191 192 193 195 196 197 198 199
        """.split { $0 == " " || $0 == "\n" }.map(String.init))

    private func isGroupedPhone(_ lengths: [Int], _ first: Character, hasSpace: Bool, hasHyphen: Bool, hasOther: Bool) -> Bool {
        if hasOther { return false }
        if lengths == [2, 4, 4] || lengths == [2, 5, 4] { return hasSpace && hasHyphen }
        if hasHyphen { return false }
        return lengths == [3, 3, 3] && first > "3" || (lengths == [2, 2, 2, 2] || lengths == [3, 2, 3]) && first > "1"
    }

    /// Returns true for digits in groups. One mark can separate two groups, and brackets can surround them.
    private func isPhoneShape(_ written: String, after first: Character, isOpen: Bool) -> Bool {
        var isOpen = isOpen
        var last = first
        for c in written {
            let now: Character = c.isASCIIDigit ? "0" : " -./+".contains(c) ? " " : c
            switch (last, now) {
            case ("0", "0"), (" ", "0"), (")", "0"), ("(", "0"), ("^", "0"), ("0", " "), (")", " "): break
            case ("0", "("), (" ", "("), (")", "("), ("^", "("):
                if isOpen { return false }
                isOpen = true
            case ("0", ")"):
                guard isOpen else { return false }
                isOpen = false
            default: return false
            }
            last = now
        }
        return !isOpen && (last == "0" || last == ")")
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}
