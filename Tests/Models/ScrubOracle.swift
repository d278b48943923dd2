// A slow second implementation of `scrub` for the kinds in `kinds`: it works by character, with its own decoder, and the detectors of
// numbers try every end. It knows no words that announce a number, so its texts hold none. The fuzzer uses it too.

#if canImport(Glibc)
    import Glibc
#endif

enum ScrubOracle {
    struct Outcome {
        var line: [UInt8]
        var kinds: Set<String> = []
    }

    /// One character of a string: its value, and the range in which it is written.
    struct Letter {
        var value: UInt32
        var range: Range<Int>
    }

    /// The kinds that it finds. Keys, national ids and addresses of interfaces are tested with published examples.
    static let kinds = ["token", "email", "iban", "card", "ip", "phone"]

    static func text(of kind: String) -> String { "[\(kind)]" }

    /// Returns the line with its finds replaced by the default texts.
    static func replaced(_ line: [UInt8]) -> Outcome {
        var out = Outcome(line: [])
        var keys = 0
        var at = 0
        for string in strings(line) {
            let letters = decoded(letters(line, string.range))
            let found = finds(letters.map(\.value))
            for find in found {
                out.kinds.insert(find.kind)
                out.line += line[at..<letters[find.range.lowerBound].range.lowerBound] + Array(text(of: find.kind).utf8)
                at = letters[find.range.upperBound - 1].range.upperBound
            }
            if string.isKey, !found.isEmpty {
                keys += 1
                if keys > 1 {
                    out.line += line[at..<string.range.upperBound - 1] + Array("-\(keys)".utf8)
                    at = string.range.upperBound - 1
                }
            }
        }
        out.line += line[at...]
        return out
    }

    static func holdsFind(_ line: [UInt8], _ string: Range<Int>) -> Bool { !finds(decoded(letters(line, string)).map(\.value)).isEmpty }

    // MARK: - Reading

    /// Returns the range of each string with its quotes.
    static func strings(_ line: [UInt8]) -> [(range: Range<Int>, isKey: Bool)] {
        var all: [(Range<Int>, Bool)] = []
        var start: Int?
        var i = 0
        while i < line.count {
            if line[i] == 0x5c {
                i += 1
            } else if line[i] == 0x22 {
                if let opened = start {
                    let next = line[(i + 1)...].first { $0 != 0x20 && $0 != 0x09 }
                    all.append((opened..<i + 1, next == 0x3a))
                    start = nil
                } else {
                    start = i
                }
            }
            i += 1
        }
        return all
    }

    static func letters(_ line: [UInt8], _ string: Range<Int>) -> [Letter] {
        var all: [Letter] = []
        var i = string.lowerBound + 1
        while i < string.upperBound - 1 {
            let start = i
            var value = UInt32(line[i])
            if line[i] == 0x5c, line[i + 1] == 0x75 {
                value = UInt32(String(decoding: line[i + 2..<i + 6], as: UTF8.self), radix: 16)!
                i += 6
            } else if line[i] == 0x5c {
                value = ["b": 8, "f": 12, "n": 10, "r": 13, "t": 9][UnicodeScalar(line[i + 1])] ?? UInt32(line[i + 1])
                i += 2
            } else {
                let length = line[i] < 0x80 ? 1 : line[i] < 0xe0 ? 2 : line[i] < 0xf0 ? 3 : 4
                value = String(decoding: line[i..<i + length], as: UTF8.self).unicodeScalars.first!.value
                i += length
            }
            if let last = all.last, last.value & 0xffff_fc00 == 0xd800, value & 0xffff_fc00 == 0xdc00 {
                let pair = 0x10000 + (last.value - 0xd800) << 10 + (value - 0xdc00)
                all[all.count - 1] = Letter(value: pair, range: last.range.lowerBound..<i)
            } else {
                all.append(Letter(value: value, range: start..<i))
            }
        }
        return all
    }

    /// Returns the letters with the escapes of a URL decoded: those of ASCII, and those of letters of two bytes.
    static func decoded(_ letters: [Letter]) -> [Letter] {
        func byte(_ i: Int) -> UInt32? {
            guard i + 2 < letters.count, letters[i].value == 0x25 else { return nil }
            let digits = letters[i + 1...i + 2].compactMap { UnicodeScalar($0.value) }.map(Character.init)
            guard digits.count == 2, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
            return UInt32(String(digits), radix: 16)
        }
        var all: [Letter] = []
        var i = 0
        while i < letters.count {
            var (value, count) = (letters[i].value, 1)
            if let first = byte(i) {
                if (1..<0x80).contains(first) {
                    (value, count) = (first, 3)
                } else if (0xc3...0xdf).contains(first), let second = byte(i + 3), (0x80..<0xc0).contains(second) {
                    (value, count) = ((first & 0x1f) << 6 | second & 0x3f, 6)
                }
            }
            all.append(Letter(value: value, range: letters[i].range.lowerBound..<letters[i + count - 1].range.upperBound))
            i += count
        }
        return all
    }

    // MARK: - Finding

    static func finds(_ text: [UInt32]) -> [(range: Range<Int>, kind: String)] {
        var all: [(Range<Int>, String)] = []
        var i = 0
        while i < text.count {
            guard let (end, kind) = find(Place(text: text, start: i)) else {
                i += 1
                continue
            }
            all.append((i..<end, kind))
            i = end
        }
        return all
    }

    private static func find(_ place: Place) -> (Int, String)? {
        if place.isAlphanumeric(place.start - 1) { return nil }
        if let end = place.webToken ?? place.bearer { return (end, "token") }
        if let end = place.email { return (end, "email") }
        if let end = place.longest(80, place.isAccount) { return (end, "iban") }
        if let end = place.longest(60, place.isCard), !place.isArticle(end) { return (end, "card") }
        if let end = place.address6 ?? (place.isVersion ? nil : place.longest(15, place.isAddress4)) { return (end, "ip") }
        if let end = place.longest(80, place.isPhone) { return (end, "phone") }
        return nil
    }
}

/// A position in a text at which a find can begin.
struct Place {
    let text: [UInt32]
    let start: Int

    // MARK: - Characters

    /// Returns the character at i. It is "\0" outside the text and beyond ASCII.
    func at(_ i: Int) -> Character {
        guard text.indices.contains(i), text[i] < 0x80, let scalar = UnicodeScalar(text[i]) else { return "\0" }
        return Character(scalar)
    }

    func string(_ end: Int) -> String { String((start..<max(start, end)).map(at)) }

    func isDigit(_ i: Int) -> Bool { ("0"..."9").contains(at(i)) }
    func isLetter(_ i: Int) -> Bool { ("a"..."z").contains(at(i)) || ("A"..."Z").contains(at(i)) }
    func isAlphanumeric(_ i: Int) -> Bool { isDigit(i) || isLetter(i) }
    func isWide(_ i: Int) -> Bool { text.indices.contains(i) && (0xc0...0x7ff).contains(text[i]) }
    func isWord(_ i: Int) -> Bool { isAlphanumeric(i) || isWide(i) || at(i) == "_" }
    func isLocal(_ i: Int) -> Bool { isWord(i) || ".%+-'~".contains(at(i)) }
    func isJoined(_ end: Int, _ marks: String) -> Bool { isAlphanumeric(end) || marks.contains(at(end)) && isDigit(end + 1) }
    func isRest(_ marks: String) -> Bool { marks.contains(at(start - 1)) && isDigit(start - 2) }

    /// Returns the end of the longest range that `isOne` accepts, of at most `most` characters. It is nil if there is none.
    func longest(_ most: Int, _ isOne: (Int) -> Bool) -> Int? {
        guard isLetter(start) || isDigit(start) || at(start) == "+" || at(start) == "(" else { return nil }
        return (start + 1...start + most).reversed().first { $0 <= text.count && isOne($0) }
    }

    func isRun(_ range: Range<Int>, _ isOne: (Int) -> Bool) -> Bool { range.allSatisfy(isOne) }
    func runEnd(_ from: Int, _ isOne: (Int) -> Bool) -> Int {
        var i = from
        while i < text.count, isOne(i) { i += 1 }
        return i
    }
}

// MARK: - Tokens and e-mail addresses

extension Place {
    private func isBase64(_ i: Int) -> Bool { isAlphanumeric(i) || at(i) == "-" || at(i) == "_" }

    var webToken: Int? {
        let end = runEnd(start) { isBase64($0) || at($0) == "." }
        let parts = string(end).split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 2, parts[0].hasPrefix("eyJ"), parts[0].count >= 10, parts[1].count >= 10, !isBase64(start - 1)
        else { return nil }
        return end
    }

    var bearer: Int? {
        guard string(start + 6).lowercased() == "bearer" else { return nil }
        var i = start + 6
        while true {
            if " \t+".contains(at(i)) { i += 1 } else if at(i) == "%", at(i + 1) == "2", at(i + 2) == "0" { i += 3 } else { break }
        }
        let end = runEnd(i) { isAlphanumeric($0) || "-._~+/".contains(at($0)) }
        let hasDigit = (i..<end).contains(where: isDigit)
        guard i > start + 6, end - i >= (hasDigit ? 8 : 32) else { return nil }
        return runEnd(end) { at($0) == "=" }
    }

    var email: Int? {
        guard isWord(start) else { return nil }
        var i = start
        while isLocal(i - 1) {
            if isWord(i - 1) { return nil }
            i -= 1
        }
        func atSign(_ i: Int) -> Int? { at(i) == "@" ? i + 1 : at(i) == "%" && at(i + 1) == "4" && at(i + 2) == "0" ? i + 3 : nil }
        guard let sign = (start..<text.count).first(where: { atSign($0) != nil }), sign > start, isRun(start..<sign, isLocal)
        else { return nil }
        var label = atSign(sign)!
        var end: Int?
        var count = 0
        while true {
            let labelEnd = runEnd(label) { isWord($0) || at($0) == "-" }
            if labelEnd == label { return end }
            count += 1
            if count > 1 {
                let letters = runEnd(label) { isLetter($0) || isWide($0) }
                let name = String((label..<labelEnd).map(at)).lowercased()
                if name.hasPrefix("xn--"), name.count > 4 { end = labelEnd } else if letters - label > 1 { end = letters }
            }
            guard at(labelEnd) == "." else { return end }
            label = labelEnd + 1
        }
    }
}

// MARK: - Numbers

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
