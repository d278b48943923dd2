// A slow second implementation of `scrub` for the kinds in `kinds`: it works by character, with its own decoder, and the detectors of
// numbers try every end. It knows no words that announce a number, so its texts hold none. The fuzzer uses it too.

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
