import Encoding
import Testing

@Suite("The strings of JSON")
struct JSONStringTests {
    @Test(
        "are written with the chosen escapes",
        arguments: [
            (.numeric, #""\u0008\u0009\u000a\u000c\u000d\u001f"# + "\u{7f}\u{80}é\"" + "#"),
            (.lines, #""\u0008\t\n\u000c\r\u001f"# + "\u{7f}\u{80}é\"" + "#"),
            (.visible, #""\u0008\t\n\u000c\r\u001f\u007f"# + "\u{80}é\"" + "#"),
            (.letters, #""\b\t\n\f\r\u001f"# + "\u{7f}\u{80}é\"" + "#"),
        ] as [(JSONString.Escapes, String)])
    func escapes(_ escapes: JSONString.Escapes, text: String) {
        #expect(JSONString.quoted("\u{8}\t\n\u{c}\r\u{1f}\u{7f}\u{80}é", as: escapes) + "#" == text)
    }

    @Test("escape quotes and backslashes, but not slashes", arguments: [JSONString.Escapes.numeric, .lines, .visible, .letters])
    func quotes(_ escapes: JSONString.Escapes) {
        #expect(JSONString.quoted(#"a"b\c/d"#, as: escapes) == #""a\"b\\c/d""#)
        #expect(JSONString.quoted("", as: escapes) == "\"\"")
    }
}
