// Tests the texts that are made for a terminal, a shell and JSON.

import Platform
import Testing

@Suite("Text for output")
struct QuotingTests {
    @Test(
        "has escapes in place of everything that could control a terminal",
        arguments: [
            ("", ""), ("plain ü 漢 🙂", "plain ü 漢 🙂"), ("a\tb\nc\rd", #"a\tb\nc\rd"#), ("\u{0}\u{1b}[31m\u{7f}", #"\u0000\u001b[31m\u007f"#),
            ("\u{1f}\u{20}\u{7e}", "\\u001f\u{20}~"), ("\u{80}\u{9f}\u{a0}", "\\u0080\\u009f\u{a0}"),
            ("\u{200e}\u{200f}", #"\u200e\u200f"#),
            ("\u{202a}\u{202e}\u{2066}\u{2069}", #"\u202a\u202e\u2066\u2069"#),
            ("\u{200d}\u{2010}\u{2029}\u{202f}\u{2065}\u{206a}", "\u{200d}\u{2010}\u{2029}\u{202f}\u{2065}\u{206a}"),
        ])
    func safe(text: String, shown: String) {
        #expect(printable(text) == shown)
        #expect(printable(Array(text.utf8)) == shown)
    }

    @Test("has U+FFFD in place of bytes that are not UTF-8")
    func broken() { #expect(printable([0x61, 0xff, 0x62, 0xc3]) == "a\u{fffd}b\u{fffd}") }

    @Test("is a string of JSON")
    func json() {
        #expect(jsonQuoted("a\"b\\c\n\u{1}\u{7f}ü") == #""a\"b\\c\n\u0001\u007fü""#)
        #expect(jsonQuoted("") == "\"\"")
    }

    @Test("is one word of a shell, with quotes only where they are needed")
    func shell() {
        for word in ["a", "Z", "0", "9", "/usr/bin-x_y.z:@%+=,"] { #expect(shellWord(word) == word) }
        #expect(shellWord("") == "''" && shellWord("a b") == "'a b'" && shellWord("~") == "'~'" && shellWord("ü") == "'ü'")
        #expect(shellWord("it's") == #"'it'\''s'"# && shellWord("'") == #"''\'''"#)
        for character in ["$", "`", "\"", "\\", ";", "*", "{", "[", "^", "!", "#", "(", "&", "|", "<", "?"] {
            #expect(shellWord(character) == "'\(character)'")
        }
        #expect(shellWord("a\u{1b}b") == #"'a\u001bb'"#)
    }

    @Test(
        "groups the digits of a number",
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (-999, "-999"), (-1000, "-1,000"), (123_456, "123,456"), (1_234_567, "1,234,567"),
            (.max, "9,223,372,036,854,775,807"), (.min, "-9,223,372,036,854,775,808"),
        ])
    func numbers(number: Int, text: String) { #expect(grouped(number) == text) }

    @Test(
        "writes times in milliseconds, from the first to the last",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (999_999, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_257_753_123_999_999, "2026-11-21T10:42:33.123Z"), (Int64.max, "2262-04-11T23:47:16.854Z"),
            (Int64.min, "1677-09-21T00:12:43.145Z"),
        ])
    func times(nanoseconds: Int64, text: String) { #expect(timestamp(nanoseconds) == text) }

    @Test(
        "writes bytes in base64 with padding",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("??>>", "Pz8+Pg=="),
        ])
    func bytes(text: String, encoded: String) { #expect(base64(Array(text.utf8)) == encoded) }
}
