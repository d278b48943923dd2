// Makes lines that are nearly valid: valid ones with a few small edits. The same seed gives the same lines.

import Seeded

struct Mutator {
    var random: Seeded

    private let seeds: [[UInt8]]

    /// Without `seeds` the lines are nearly valid events.
    init(seed: UInt64, seeds: [[UInt8]] = Mutator.events) {
        random = Seeded(state: seed)
        self.seeds = seeds
    }

    static let events = [
        #"{"a":[1,2.5e-3,{"b":null}],"type":"x\n\u00e9\ud83d\ude97"}"#,
        #"{"list":[true,false,null,"é東🚗",-0.0,1E5,1e308,123456789012345678901234567890]}"#,
        #"{"a" : { "b" : "c\\\"d" , "e":{ } } , "userId" :[ ] , "type":"t"}"#,
        #"{"k":-12.75,"ty\u0070e":"track","context":{"app":{"version":"1.2.3"},"ip":"10.0.0.1","consent":{"analytics":true}}}"#,
        #"{"x":"\ud834\udd1e","y":"\ud800","z":"\udc00\ud800"}"#,
        "{\"deep\":[[[[[[]]]],{\"a\":{\"a\":{\"a\":{}}}}]]}",
        #"{"type":"track","event":"Order Completed","messageId":"5d3318a1-11fb-5c51-7c01-4f22f0649659","anonymousId":"f25f41ce-036e-9f0a-32bb-6bdbf3bfea1e","userId":"user_5789521","timestamp":"2024-06-10T00:00:00.000Z","properties":{"quantity":10,"price":76.79,"name":"東京 タワー mug","items":[{"sku":"0f5c37","qty":2,"price":15.92}],"ratio":0.0007588804,"coupon":null,"in_stock":true},"context":{"app":{"name":"Arcade","version":"3.22.2"},"ip":"235.30.53.237","locale":"fr-FR","consent":{"analytics":true,"marketing":false}}}"#,
        #"{"event":"Caf\u00e9 cr\u00e8me","properties":{"revenue":9007199254740993,"path":"C:\\Temp\\x","quote":"27\" monitor","tab":"a\tb"}}"#,
        "{}",
    ].map { Array($0.utf8) }

    private static let alphabet =
        Array("{}[]:,\"\\ \t\r0123456789-+.eEtrufalsn/bxé\u{0}\u{1f}\u{7f}'".utf8) + [
            0x80, 0x9f, 0xa0, 0xbf, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xff,
        ]

    private static let tokens = [
        "\\u", "\\ud800", "\\udc00", "\\\\", "\"", ":", ",", "true", "null", "1e", "-", "0", "{}", "[]", "{\"a\":1}", "\"type\":1,",
        "\",\"", "\r", " ",
        "🚗", "\\\"", "1e999", "\"\":", ",\"a\":{\"b\":2}", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ].map { Array($0.utf8) }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func line() -> [UInt8] {
        var text = body()
        text.removeAll { $0 == UInt8(ascii: "\n") }
        return text
    }

    /// Returns a text like a line, but with newlines anywhere.
    mutating func body() -> [UInt8] {
        var text = seeds[below(seeds.count)]
        for _ in 0..<below(4) where !text.isEmpty {
            let i = below(text.count)
            switch below(9) {
            case 0: text[i] = Mutator.alphabet[below(Mutator.alphabet.count)]
            case 1: text.insert(Mutator.alphabet[below(Mutator.alphabet.count)], at: i)
            case 2: text.remove(at: i)
            case 3, 4: text.insert(contentsOf: Mutator.tokens[below(Mutator.tokens.count)], at: i)
            case 5: text.removeSubrange(i..<min(text.count, i + 1 + below(6)))
            case 6: text[i] ^= 1 << UInt8(below(8))
            case 7:
                let copy = text[i..<min(text.count, i + 1 + below(12))]
                text.insert(contentsOf: copy, at: below(text.count + 1))
            default: if below(4) == 0 { text.removeSubrange(i...) }
            }
        }
        return text
    }
}
