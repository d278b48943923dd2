// What the native dialect repairs, and refuses if the client asks for that.

import Dialects
import Events
import Testing

@Suite struct StrictNativeTests {
    @Test(arguments: [
        ("{\"a\":NaN}", 5), ("{\"a\":-Infinity}", 6), ("{\"a\":\"x\u{1}\"}", 7), ("{\"a\":\"\t\"}", 6),
        ("{ \"a\" : 1,\n\"b\" : \"x\ny\" }", 19),
    ])
    func `An event that needs repair is repaired, and with strictness refused at its place`(_ body: String, _ place: Int) {
        #expect(translate(body, Native()).lines.count == 1)
        let strict = translate(body, Native(isStrict: true))
        #expect(strict.lines.isEmpty && strict.refusal == nil)
        #expect(strict.results.first?.hasPrefix("\(place): ") == true, "\(strict.results)")
    }

    @Test func `A key that comes twice and that the router reads is refused with strictness`() {
        let body = #"{"messageId":"a","messageId":"b"}"#
        let wanted = [path("messageId")]
        #expect(translate(body, Native(), wanted: wanted).lines == [#"{"messageId":"b"}"#])
        #expect(translate(body, Native(isStrict: true), wanted: wanted).lines.isEmpty)
    }

    @Test(arguments: [
        "1", "-0", "1e400", "NaN", "Infinity", "-Infinity", "01", "1.", "+1", ".5", "\"x\"", "\"\\ud800\"", "\"\t\"", "\"\u{1}\"",
        "\"\u{7f}\"",
        "\"\\x\"", "'x'", "[1,]", "[,1]", "{\"k\":1,}", "{\"k\":1 \"l\":2}", "nul", "true false", "{\"k\":1,\"k\":2}", "/**/1", "\u{a0}1",
        "[[[]]]",
    ])
    func `With strictness a text is an event exactly if it is one as a line of standard input`(_ value: String) {
        let text = "{\"a\":\(value)}"
        var block = Block()
        block.text.append(text + "\n")
        block.seal()
        var scanner = Scanner(PathTrie([]))
        let isEvent = scanner.scan(block.bytes, 0) != nil
        #expect(translate(text, Native(isStrict: true)).lines == (isEvent ? [text] : []))
    }

    @Test func `Strictness of one body does not reach the next one, and valid events stay as they are`() {
        let body = "{ \"a\" : 1 }\n[1]\n{\"b\":\"\\ud800\"}\n"
        let strict = translate(body, Native(addsReceivedAt: false, isStrict: true))
        #expect(strict.lines == ["{ \"a\" : 1 }", "{\"b\":\"\\ud800\"}"] && strict.results.count == 3)
        #expect(translate("{\"a\":NaN}", Native(addsReceivedAt: true, isStrict: true)).lines.isEmpty)
    }
}

@Suite struct BytesValueTests {
    private func record(_ value: String) -> Translated {
        translate(
            #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":\#(value)}]}]}]}"#, OTLPLogs(.json))
    }

    @Test(arguments: [
        ("", ""), ("AA==", "AA=="), ("AA", "AA=="), ("AP8=", "AP8="), ("AP8", "AP8="), ("+\\/+-_w", "+/++/w=="), ("QUJD", "QUJD"),
    ])
    func `Bytes are told from a string, and have one form`(_ sent: String, _ written: String) throws {
        let line = try #require(record(#"{"bytesValue":"\#(sent)"}"#).lines.first)
        #expect(line.contains(#""body":{"bytesValue":"\#(written)"}"#), "\(line)")
        #expect(record(#"{"stringValue":"AA=="}"#).lines.first?.contains(#""body":"AA==""#) == true)
    }

    @Test(arguments: ["A", "AAAAA", "A=A=", "AA=", "AA===", "AAA==", "=", "A A=", "\\u0041A==", "AA\\n"])
    func `Bytes that are not base64 are refused`(_ sent: String) {
        let translated = record(#"{"bytesValue":"\#(sent)"}"#)
        #expect(translated.lines.isEmpty && translated.results.first?.contains("bytesValue must be a string in base64") == true)
    }
}
