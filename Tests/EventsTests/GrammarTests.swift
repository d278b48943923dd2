// Tests every production of RFC 8259, valid and broken, with every method of searching. An inaccessible page follows each line.

import Events
import Seeded
import Testing

@Suite("The grammar of events") struct GrammarTests {
    static let values = [
        "0", "-0", "1", "-1", "10", "1.0", "1e1", "1E+1", "1e-1", "0e0", "0.0", "-0.0e-0", "1e400", "1E400",
        "123456789012345678901234567890",
        "12345678", "1234567.12345678e12345678", "0.30000000000000004", "9007199254740993", "true", "false", "null", #""""#, #""a""#, "[]",
        "{}",
        "[[]]", "[{}]", #"{"a":{}}"#, #""\u0000""#, #""\ud834\udd1e""#, #""\ud800""#, #""\udc00x""#, #""\ud800\u0041""#,
        #""\"\\\/\b\f\n\r\t""#, #""\uABCDefgh""#, #""é""#, #""東京""#, #""🚗""#, "\"\u{7f}\"", "\"\u{2028}\"", "\"\u{feff}\"", "\"\u{fffe}\"",
        " [ 1 , 2 ] ", "\t{ \"a\" :\t1 , \"b\" : [ ] }\r", "[1\r]", #"{"":0}"#, #"{"x":1,"x":2}"#, #"["\\"]"#, #"["\\\""]"#,
        #"["\\\\\\\\\\"]"#,
        "\"" + String(repeating: "x", count: 300) + "\"", "[0,1]", #"[true,false,null,"",{},[],0]"#, #"{"a":[{"b":[{}]}],"c":{"d":[]}}"#,
        #"{"\u0061":1,"\"":2,"\\":3,"é":4}"#,
    ]

    @Test("each valid value is valid in every place", arguments: values) func valid(value: String) {
        for text in [
            "{\"k\":\(value)}", "{\"type\":\(value),\"z\":[\(value), \(value)]}", "  { \"k\" : [ \(value) ] } \r",
            "{\"a\":{\"b\":{\"c\":[[\(value)]]}}}", "{\"\(String(repeating: "k", count: 57))\":\(value)}",
        ] {
            #expect(isEvent(Array(text.utf8), paths("type", "k", "a.b")), "\(text)")
        }
    }

    static let broken = [
        "", "-", "+1", "01", "-01", "00", "1.", ".1", "1.e1", "1e", "1e+", "1ee1", "1e1.5", "0x1", "1_0", "--1", "- 1", "1 2", "NaN",
        "Infinity",
        "-Infinity", "nul", "nulll", "tru", "truee", "True", "fals", "falsey", "nan", "\"", "\"a", "a\"", "'a'", #""\""#, #""\x""#,
        #""\u12""#,
        #""\u12g4""#, #""\u""#, #""\u123"#, #""\U0041""#, #""\a""#, #""\'""#, #""a"b"#, #""a""b""#, "[", "]", "[1", "[1,", "[,", "[,1]",
        "[1,]",
        "[1 2]", "[1,,2]", "[1:2]", "[1}", "{", "}", "{a:1}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{,}", #"{"a":1 "b":2}"#, #"{"a",1}"#,
        "{1:1}",
        #"{"a":1]"#, #"{"a"::1}"#, #"{"a":1,,"b":2}"#, "{null:1}", #"{"a":1}}"#, "[]]", "[]x", "{}{}", "\u{feff}1", "\u{a0}1", "\u{c}1",
        "\u{b}[]",
        "\"\t\"", "\"\r\"", "\"\u{1f}\"", "\"\u{0}\"", "\u{0}", "1\u{0}", "/**/1", "1//", "\\", #"\"a""#, #"[\]"#, #"\u0031"#, #"["a\"]"#,
        #"{"a\":1}"#, #"tr\ue"#, "é", "1é", "1a", "1-", "1.5.5", "{}1", "truefalse", #"["a":1]"#, #"{"a":"b":1}"#, "{[]:1}", "{{}:1}", "1,",
        "[1]1",
        #""a":1"#, "[1 true]", "\u{7f}", #"{'a':1}"#, #"{"a" "b"}"#, #"{"a":1"b":2}"#, #"{:1}"#, #"{"a":tru}"#,
    ]

    @Test("each broken value is refused in every place", arguments: broken) func invalid(value: String) {
        for text in [
            "{\"k\":\(value)}", "{\"k\":[\(value),1]}", "{\"k\":[1,\(value)}", "{\"type\":\(value),\"z\":1}", "{\"k\": \(value) }",
        ] {
            // A value that is broken alone may be valid in a list or a member, so the model decides.
            var model = Model(Array(text.utf8))
            let isValid = model.isEvent()
            #expect(isEvent(Array(text.utf8), paths("type", "k")) == isValid, "\(text)")
            if text.hasPrefix("{\"k\":\(value)}") && value != #""a":1"# { #expect(!isValid || value == "1,", "\(text)") }
        }
    }

    @Test(
        "a root that is not an object is not an event",
        arguments: ["1", "null", "true", "\"a\"", "[]", "[{}]", "}", "x", "\u{feff}{}", ",", "{", "{}{}", "{},", "{}x", "{}]"])
    func root(text: String) {
        #expect(!isEvent(Array(text.utf8)))
    }

    @Test("events nest exactly as deep as allowed, and deep lines use no stack") func depth() {
        func nested(_ levels: Int, _ open: String, _ close: String) -> [UInt8] {
            Array(("{\"a\":" + String(repeating: open, count: levels - 1) + "1" + String(repeating: close, count: levels - 1) + "}").utf8)
        }
        for (open, close) in [("[", "]"), ("{\"b\":", "}")] {
            #expect(scan(nested(512, open, close)).isEvent)
            #expect(scan(nested(513, open, close)).fault?.kind == .depth)
            #expect(scan(nested(Scanner.deepest, open, close), depth: Scanner.deepest).isEvent)
            #expect(scan(nested(Scanner.deepest + 1, open, close), depth: Scanner.deepest).fault?.kind == .depth)
        }
        #expect(scan(Array(#"{"a":1}"#.utf8), depth: 1).isEvent)
        #expect(scan(Array(#"{"a":{}}"#.utf8), depth: 1).fault?.kind == .depth)
        #expect(scan(Array((#"{"a":"# + String(repeating: "[", count: 500_000)).utf8)).fault?.kind == .depth)
    }

    @Test("every truncated event is refused") func cuts() {
        let text = Array(#"{"type":"x\n\u00e9","a":[1.5e-3,true,{"b":null}],"é":false,"c":{"d":"東"}}"#.utf8)
        #expect(isEvent(text, paths("type", "c.d")))
        for n in 0..<text.count { #expect(!isEvent(Array(text[..<n]), paths("type", "c.d")), "\(n)") }
    }

    @Test("strings of every length are read at every place of a line") func lengths() {
        for length in 0..<200 {
            let body = String(repeating: "s", count: length)
            #expect(scan(Array("{\"\(body)\":\"\(body)\"}".utf8), lookahead: .words).isEvent)
            #expect(scan(Array("{\"\(body)\":\"\(body)\"}".utf8)).isEvent)
            #expect(!scan(Array("{\"\(body)\":\"\(body)}".utf8)).isEvent)
        }
        #expect(scan(Array("{\"a\":\"\(String(repeating: "s", count: 1_000_000))\"}".utf8)).isEvent)
    }

    @Test("ten thousand random edits of valid events are judged as by the model") func mutations() {
        var random = Seeded(state: 7)
        let seeds = [
            #"{"a":[1,2.5e-3,{"b":null}],"type":"x\n\u00e9\ud83d\ude97"}"#, #"{"k":[true,false,null,"é東🚗",-0.0,1E5]}"#,
            #"{"a" : { "b" : "c\\\"d" , "c":{}} , "userId" :[ ] }"#, #"{"a":{"b":{"c":12345678901234567890}},"ty\u0070e":1}"#, "{}",
        ].map { Array($0.utf8) }
        let alphabet =
            Array("{}[]:,\"\\ \t\r0123456789-+.eEtrufalsn/bxé\u{0}\u{1f}\u{7f}'".utf8) + [0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xf0, 0xf4, 0xff]
        let wanted = paths("type", "a.b.c", "userId", "k")
        var valid = 0
        for round in 0..<10_000 {
            var text = seeds.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...3, using: &random) where !text.isEmpty {
                let i = Int.random(in: 0..<text.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: text[i] = alphabet.randomElement(using: &random)!
                case 1: text.insert(alphabet.randomElement(using: &random)!, at: i)
                case 2: text.remove(at: i)
                case 3: text[i] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                default: text.insert(contentsOf: text[i..<min(text.count, i + 9)], at: Int.random(in: 0...text.count, using: &random))
                }
            }
            text.removeAll { $0 == UInt8(ascii: "\n") }
            let lookahead = Lookahead.supported[round % Lookahead.supported.count]
            let result = scan(text, wanted, lookahead: lookahead)
            var model = Model(text)
            var expected = model.isEvent()
            var spans: [Path: [Range<Int>]] = [:]
            for (path, range) in model.members { spans[path, default: []].append(range) }
            if expected, spans.contains(where: { wanted.slot(of: $0.key) != nil && $0.value.count > 1 }) { expected = false }
            #expect(result.isEvent == expected, "\(String(decoding: text, as: UTF8.self)): \(result.fault?.message ?? "an event")")
            if result.isEvent {
                valid += 1
                for slot in 2..<wanted.count {
                    let range = spans[wanted.path(of: slot)]?.first
                    #expect(
                        Int(result.slots[slot].start) == range?.lowerBound ?? 0 && Int(result.slots[slot].end) == range?.upperBound ?? 0)
                }
            }
        }
        #expect(valid > 500 && valid < 9500, "the edits must leave some events valid, left \(valid)")
    }
}
