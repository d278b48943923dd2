// Tests strings as text, and numbers as values.

import Seeded
import Testing

@testable import Events

@Suite("Text of strings") struct TextTests {
    static let texts: [(String, String?)] = [
        (#""""#, ""), (#""abc""#, "abc"), (#""a\"b""#, "a\"b"), (#""\\\/\b\f\n\r\t""#, "\\/\u{8}\u{c}\n\r\t"),
        (#""\u0041\u00e9\u6771""#, "Aé東"),
        (#""\ud83d\ude97""#, "🚗"), (#""\uD83D\uDE97x""#, "🚗x"), (#""é東🚗""#, "é東🚗"), (#""\ud83d""#, nil), (#""\ude97""#, nil),
        (#""\ud83dx""#, nil), (#""\ud83d\u0041""#, nil), (#""\ude97\ud83d""#, nil), (#""\ud83d\ud83d\ude97""#, nil), (#""\u0000""#, "\0"),
        ("12", nil), ("null", nil), ("[]", nil),
    ]

    func with<Result>(_ value: String, _ body: (Bytes, Slot) -> Result) -> Result {
        let line = TightLine(Array("{\"k\":\(value)}".utf8))
        var scanner = Scanner(paths("k"))
        let event = scanner.scan(line.bytes, 0)!
        return body(event.block, event.slots[2])
    }

    @Test("a string is decoded, or refused if it is not valid text", arguments: texts.indices) func decoding(row: Int) {
        let (value, text) = TextTests.texts[row]
        with(value) { block, slot in
            var buffer = ByteBuffer()
            buffer.append("before")
            #expect(Text.append(block, slot, to: &buffer) == (text != nil))
            #expect(String(decoding: buffer.bytes, as: UTF8.self) == "before" + (text ?? ""))
            #expect((Text.stringBody(block, slot) != nil) == value.hasPrefix("\""))
        }
    }

    @Test("a string equals only its own text; a lone surrogate equals no text", arguments: texts.indices) func equality(row: Int) {
        let (value, text) = TextTests.texts[row]
        with(value) { block, slot in
            for (_, other) in TextTests.texts {
                guard let other else { continue }
                let isSame = Array(other.utf8).withUnsafeBufferPointer { Text.equals(block, slot: slot, text: $0) }
                #expect(isSame == (text == other))
            }
            for other: [UInt8] in [[0xed, 0xa0, 0xbd], [0xef, 0xbf, 0xbd], [0x3f]] {
                #expect(!other.withUnsafeBufferPointer { Text.equals(block, slot: slot, text: $0) })
            }
        }
    }

    @Test("an absent member has no text") func absent() {
        let line = TightLine(Array("{}".utf8))
        #expect(Text.stringBody(line.bytes, Slot()) == nil)
    }
}

@Suite("Numbers by value") struct NumberTests {
    func same(_ a: String, _ b: String) -> Bool {
        let a = Array(a.utf8)
        let b = Array(b.utf8)
        return a.withUnsafeBufferPointer { a in
            b.withUnsafeBufferPointer { b in
                let result = Number.same(a, b)
                precondition(result == Number.same(b, a))
                return result
            }
        }
    }

    static let classes = [
        ["0", "-0", "0.0", "-0.000", "0e5", "0E-999999999999999999999", "-0.0e+7"],
        ["1", "1.0", "10e-1", "0.1e1", "1E0", "100e-2", "0.001e+3", "1e-0", "1e00", "1000000000000000000000e-21"],
        ["-1", "-1.0", "-10e-1"],
        ["9007199254740993", "9007199254740993.0", "9.007199254740993e15"],
        ["9007199254740992"],
        ["123456789012345678901234567890", "1.2345678901234567890123456789e29", "123456789012345678901234567890.000"],
        ["123456789012345678901234567891"],
        ["1E400", "10e399", "0.1e401", "1000E397"],
        ["1E401"],
        ["1e999999999999", "10e999999999998", "0.001e1000000000002"],
        ["1e999999999998"],
        ["1e99999999999999999999999999", "10e99999999999999999999999998", "0.1e100000000000000000000000000"],
        ["1e-99999999999999999999999999", "0.1e-99999999999999999999999998", "10e-100000000000000000000000000"],
        ["1e99999999999999999999999998"],
        ["0.30000000000000004"], ["0.3", "3e-1", "0.30"], ["10", "1e1", "1e+01"], ["101", "1.01e2"], ["11"], ["1.1"],
    ]

    @Test("two texts are the same number exactly if their values are equal") func table() {
        for (i, some) in NumberTests.classes.enumerated() {
            for (j, others) in NumberTests.classes.enumerated() {
                for a in some {
                    for b in others { #expect(same(a, b) == (i == j), "\(a) and \(b)") }
                }
            }
        }
    }

    /// Returns the value as a decimal integer in units of 10^-40.
    func written(_ text: String) -> String {
        var digits = ""
        var power = 0
        var isFraction = false
        let parts = text.lowercased().split(separator: "e")
        for character in parts[0] where character != "-" {
            if character == "." { isFraction = true } else { digits.append(character) }
            if isFraction && character != "." { power -= 1 }
        }
        if parts.count > 1 { power += Int(parts[1])! }
        // All values are scaled by 10^40, and leading zeros are removed.
        digits += String(repeating: "0", count: 40 + power)
        let value = String(digits.drop { $0 == "0" })
        return value.isEmpty ? "0" : (text.hasPrefix("-") ? "-" : "") + value
    }

    @Test("random numbers agree with a model that writes them out") func property() {
        var random = Seeded(state: 11)
        func number() -> String {
            var text = Bool.random(using: &random) ? "-" : ""
            text += ["0", "1", "10", "12", "100", "120"].randomElement(using: &random)!
            if Bool.random(using: &random) { text += "." + ["0", "00", "1", "20", "02", "010"].randomElement(using: &random)! }
            if Bool.random(using: &random) {
                text += ["e", "E"].randomElement(using: &random)! + ["0", "+1", "-1", "2", "-02", "003"].randomElement(using: &random)!
            }
            return text
        }
        var matches = 0
        for _ in 0..<20_000 {
            let (a, b) = (number(), number())
            let expected = written(a) == written(b)
            if expected { matches += 1 }
            #expect(same(a, b) == expected, "\(a) and \(b)")
        }
        #expect(matches > 100)
    }
}
