// Makes events with finds in their strings, valid ones and broken ones, some of them written with escapes. The fuzzer uses it too.

struct Planter<Chance: RandomNumberGenerator> {
    var chance: Chance

    private static var pieces: [String] {
        [
            "bob@example.com", "o'brien.x+y@mail.example.co.uk", "müller@bücher.example", "u%40x.org", "a@b", "x@y.c1", "b@x.xn--p1ai",
            "4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1112", "378282246310005", "4222222222222", "6011111111111117",
            "30569309025904", "2223003122003222", "3530111333300000", "10.0.0.1", "192.168.256.1", "255.255.255.255", "1.2.3.4.5",
            "2001:db8::1", "::1", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8", "fe80::1%eth0", "12:34:56", "A::b", "1:2:3:4:5:6:7:8:9",
            "DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "NL91ABNA0417164301", "NO9386011117947", "+4915112345678",
            "+49 (0) 89 1234567", "0049 89 1234567", "(030) 12345678", "06 12 34 56 78", "212-555-0123", "1-212-555-0123",
            "01.02.2024 12", "2125550123", "0301234567", "600 466 109", "46 1027-3464", "28 60 12 90", "212-555-0123 ext. 12",
            "+4915112345678x9",
            "%2B49%2089+123456", "4111%201111%201111%201111", "b%C3%BCr%40x.org", "Chrome/108.0.0.1", "4006381333931", "0306406152",
            "13912345678", "(501)071 3177", "0-306-40615-2", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
            "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.", "Bearer abcdef123", "bearer%20mF_9.B5f-4.1JqM==", "bearer of news",
            "8f14e45f-ceea-467f-a9d0-4a1f0c3b2d11", "2024-06-10T12:34:56.789Z", "user_1234567", "https://shop.example/p?q=1&r=a",
        ]
    }

    private static var glue: [String] {
        ["", "", " ", ".", "-", ":", "@", ", ", "/", "(", ")", "+", "_", "x", "7", "=", "\n", "\"", "\\", "é", "请", "😀", "%", "'", "\u{0}"]
    }

    private mutating func below(_ n: Int) -> Int { Int.random(in: 0..<n, using: &chance) }
    private mutating func pick(_ list: [String]) -> String { list[below(list.count)] }

    /// Returns a text of pieces and glue. Sometimes a character of a piece is changed.
    mutating func text() -> String {
        var text = pick(Planter.glue)
        for _ in 0..<(1 + below(3)) {
            let made = below(8)
            var piece = Array((made == 0 ? card() : made == 1 ? account() : pick(Planter.pieces)).unicodeScalars)
            if made > 1, below(2) == 0 { change(&piece) }
            text.unicodeScalars.append(contentsOf: piece)
            text += pick(Planter.glue)
        }
        return text
    }

    /// Returns about as many digits as a card has, with a valid check digit. The prefix is at the edge of a brand's range.
    private mutating func card() -> String {
        let prefixes = [
            "2199", "2200", "2204", "2205", "2220", "2221", "2720", "2721", "2999", "3000", "3059", "3060", "3095", "3399", "3400", "3499",
            "3500",
            "3527", "3528", "3589", "3590", "3600", "3699", "3700", "3799", "3800", "3999", "4000", "4999", "5000", "5099", "5100", "5599",
            "5600",
            "6999", "7000",
        ]
        var digits = pick(prefixes).utf8.map { Int($0) - 0x30 }
        let count = 12 + below(9)
        while digits.count < count - 1 { digits.append(below(10)) }
        digits.append((0...9).first { Planter.isChecked(digits + [$0]) }!)
        guard below(3) == 0 else { return digits.map(String.init).joined() }
        return digits.enumerated().map { ($0.offset > 0 && $0.offset % 4 == 0 ? " " : "") + String($0.element) }.joined()
    }

    private static func isChecked(_ digits: [Int]) -> Bool {
        var sum = 0
        for (i, digit) in digits.reversed().enumerated() { sum += i % 2 == 0 ? digit : digit / 5 + digit * 2 % 10 }
        return sum % 10 == 0
    }

    /// Returns an account number of any country with valid check digits. Sometimes its length is wrong.
    private mutating func account() -> String {
        let country = pick(Place.countries.keys.sorted())
        let count = Place.countries[country]! - 4 + [0, 0, 0, 1, -1][below(5)]
        let rest = (0..<count).map { _ in String(below(36), radix: 36, uppercase: below(8) > 0) }.joined()
        let digits = (rest + country + "00").map { String(Int(String($0), radix: 36)!) }.joined()
        let check = 98 - digits.reduce(0) { ($0 * 10 + Int(String($1))!) % 97 }
        return country + (check < 10 ? "0" : "") + String(check) + rest
    }

    private mutating func change(_ piece: inout [Unicode.Scalar]) {
        let i = below(piece.count)
        let other = Array(pick(Planter.glue).unicodeScalars).first ?? Unicode.Scalar(UInt8(0x30 + below(10)))
        switch below(5) {
        case 0: piece.remove(at: i)
        case 1: piece.insert(other, at: i)
        case 2: piece.insert(piece[i], at: i)
        case 3: piece[i] = piece[below(piece.count)]
        default: piece[i] = other
        }
    }

    /// Returns the text in quotes, with the escapes that it needs and with others.
    mutating func string(_ text: String) -> String {
        let often = below(4)
        var out = "\""
        for scalar in text.unicodeScalars {
            let isNeeded = scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
            if isNeeded || often > 0 && below(often * 5) == 0 {
                if scalar == "/" || scalar == "\"" || scalar == "\\" {
                    out += "\\" + String(Character(scalar))
                } else {
                    for unit in UTF16.encode(scalar)! { out += escape(unit) }
                }
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }

    private mutating func escape(_ unit: UInt16) -> String {
        let hex = String(unit, radix: 16, uppercase: below(2) == 0)
        return "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
    }

    private mutating func blank() -> String { below(4) == 0 ? " " : "" }

    private mutating func value(_ depth: Int) -> String {
        switch below(depth > 3 ? 6 : 8) {
        case 0: return "4111111111111111"
        case 1: return ["null", "true", "-1.5e3", "{}", "[ ]", "\"\"", #""\ud83d\"""#][below(7)]
        case 6: return object(depth + 1)
        case 7: return "[" + (0..<below(4)).map { _ in blank() + value(depth + 1) + blank() }.joined(separator: ",") + "]"
        default: return string(text())
        }
    }

    mutating func object(_ depth: Int = 0) -> String {
        let members = (0..<(depth == 0 ? 1 + below(5) : below(4))).map { n in
            let key = below(4) == 0 ? string("\(n)" + text()) : "\"k\(n)\""
            return blank() + key + blank() + ":" + blank() + value(depth) + blank()
        }
        return "{" + members.joined(separator: ",") + "}"
    }
}
