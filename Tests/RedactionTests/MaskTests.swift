// Tests how `mask` changes events, and which settings it refuses.

import Events
import Testing

@testable import Redaction

@Suite struct MaskTests {
    private func masked(_ line: String, _ pattern: String, _ text: String, in paths: [String] = [], sparing: String = "") throws -> String {
        let mask = try Mask(pattern: pattern, with: text)
        return try withEvent(line, paths + (sparing.isEmpty ? [] : [sparing])) { event, slots in
            var masker = Masker(mask)
            let looked = UnsafeBufferPointer(rebasing: slots.prefix(paths.count))
            let isChanged = masker.mask(event, in: looked, sparing: sparing.isEmpty ? 0 : slots[paths.count])
            #expect(isChanged == !masker.replacements.isEmpty)
            return written(event, masker.replacements)
        }
    }

    @Test(arguments: [
        ("[0-9]+", "#", #"{"a":"x12y3","b":4}"#, #"{"a":"x#y#","b":4}"#),
        ("(\\w+)@(\\w+)", "\\2 at \\1", #"{"a":"bob@x al@y"}"#, #"{"a":"x at bob y at al"}"#),
        ("(a)|(b)", "<\\1\\2>", #"{"a":"abc"}"#, #"{"a":"<a><b>c"}"#),
        ("b", "\\0\\\\\"", #"{"a":"abc"}"#, #"{"a":"ab\\\"c"}"#), ("b", "", #"{"a":"abc"}"#, #"{"a":"ac"}"#),
        ("^.", "X", #"{"a":"éé"}"#, #"{"a":"Xé"}"#), (".", "X", #"{"a":"é\ud83d\ude00\u00e9x\n"}"#, #"{"a":"XXXX\n"}"#),
        ("(?s)(.)", "\\1\\1", #"{"a":"\u0041\"\\\n\/"}"#, #"{"a":"AA\"\"\\\\\u000a\u000a//"}"#),
        (".", "X", #"{"a":"\ud83d\ud83d"}"#, #"{"a":"XX"}"#),
        ("x*", "-", #"{"a":"aéxxb"}"#, #"{"a":"aé-b"}"#),
        ("$", "-", #"{"a":"ab"}"#, #"{"a":"ab"}"#),
        ("\\bb", "-", #"{"a":"abb b"}"#, #"{"a":"abb -"}"#),
        ("a", "b", #"{"a":"a\/\u0061","l":["a",{"a":"c"}]}"#, #"{"a":"b\/b","l":["b",{"a":"c"}]}"#),
        ("(a+)", "\\1", #"{"a":"\ud83d a"}"#, #"{"a":"\ud83d a"}"#), ("(.)", "\\1", #"{"a":"\ud83d"}"#, #"{"a":"�"}"#),
        ("\\x{fffd}", "?", #"{"a":"\ud83d\ude00 \ude00"}"#, #"{"a":"\ud83d\ude00 ?"}"#),
    ])
    func `the text replaces each match`(_ pattern: String, _ text: String, _ line: String, _ expected: String) throws {
        #expect(try masked(line, pattern, text) == expected)
    }

    @Test func `only the named members are masked`() throws {
        let line = #"{"a":"x","b":{"c":"x","d":["x",{"x":"x"}]}}"#
        #expect(try masked(line, "x", "y", in: ["b.d", "nothing"]) == #"{"a":"x","b":{"c":"x","d":["y",{"x":"y"}]}}"#)
    }

    @Test func `the spared string stays`() throws {
        #expect(try masked(#"{"messageId":"x","a":"x"}"#, "x", "y", sparing: "messageId") == #"{"messageId":"x","a":"y"}"#)
    }

    @Test(arguments: [
        (#"a\C"#, "", MaskFault.Part.pattern, #"must not hold \C, which could cut a character in two"#),
        ("(", "", .pattern, "is not a pattern: RE2 cannot read this regular expression: missing ): ("),
        ("a", #"\1"#, .text, #"names group \1, and the pattern has none"#),
        ("(a)(b)", #"\3"#, .text, #"names group \3, and the pattern has 2"#),
        ("a", #"\x"#, .text, #"must have \0 to \9 or \\ where it has a backslash"#),
        ("a", #"a\"#, .text, #"must have \0 to \9 or \\ where it has a backslash"#),
        ("a", String(repeating: "é", count: 129), .text, "must have at most 256 bytes, has 258"),
    ])
    func `invalid settings are refused`(_ pattern: String, _ text: String, _ part: MaskFault.Part, _ message: String) {
        #expect(throws: MaskFault(part: part, message: message)) { _ = try Mask(pattern: pattern, with: text) }
    }

    @Test func `an escaped backslash does not begin an escape`() throws {
        #expect(try masked(#"{"a":"\\C"}"#, #"\\C"#, "x") == #"{"a":"x"}"#)
    }
}
