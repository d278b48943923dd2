import HTTPSupport
import PluginKit
import Testing

@testable import HTTP
@testable import HTTPKit

@Suite("http: settings")
struct HTTPSettingsTests {
    @Test(
        "an invalid url is refused, and the reason never shows it",
        arguments: [
            (#""""#, "url must begin with https:// or http://"), (#""collector.example/x""#, "url must begin with https:// or http://"),
            (#""ftp://h0st/s3cret""#, "url must begin with https:// or http://"),
            (#""file:///etc/s3cret""#, "url must begin with https:// or http://"),
            (#""https://h0st:99999/s3cret""#, "url is not a URL"), (#""https://?s3cret""#, "url is not a URL"),
            (#""https://someone:s3cret@h0st/""#, "url holds a user or a password; put them into headers"),
            (#""https://s3cret@h0st/""#, "url holds a user or a password; put them into headers"),
            (#""https://h0st/a b?s3cret""#, "url holds a space or a control character"),
            (#""https://h0st/\r\nX: s3cret""#, "url holds a space or a control character"),
            (#""https://h0st/\u0000s3cret""#, "url holds a space or a control character"),
            (#""https://h0st/#s3cret""#, "url has a part after '#'"),
        ])
    func urls(url: String, words: String) {
        let refusal = refusal("{\"url\": \(url)}")
        #expect(refusal.hasPrefix(words))
        #expect(!refusal.contains("s3cret") && !refusal.contains("h0st"))
    }

    @Test(
        "a header that could end a line, break a request or is duplicated is refused, and the reason never shows its value",
        arguments: [
            (#""X": "s3cret\r\nY: 1""#, "headers.X: the value holds a line break"),
            (#""X": "s3cret\n""#, "headers.X: the value holds a line break"),
            (#""X": "s3cret\u0000""#, "headers.X: the value holds a line break"),
            (#""X": "s3cret\u007f""#, "headers.X: the value holds a line break"),
            (#""X Y": "s3cret""#, "headers.X Y: the name of a header"), (#""X:": "s3cret""#, "headers.X:: the name of a header"),
            (#""X\r\nY": "s3cret""#, "headers.X\\r\\nY: the name of a header"), (#""": "s3cret""#, "headers.: the name of a header"),
            (#""content-length": "s3cret""#, "headers.content-length cannot be set"),
            (#""Transfer-Encoding": "s3cret""#, "headers.Transfer-Encoding cannot be set"),
            (#""Content-Encoding": "s3cret""#, "headers.Content-Encoding cannot be set: set 'compression' instead"),
            (#""Proxy-Authorization": "s3cret""#, "headers.Proxy-Authorization cannot be set: write it into 'proxy'"),
            (#""A": "s3cret", "a": "s3cret""#, "headers.a is given twice"),
        ])
    func headers(headers: String, words: String) {
        let refusal = refusal("{\"url\": \"http://127.0.0.1:1\", \"headers\": {\(headers)}}")
        #expect(refusal.hasPrefix(words))
        #expect(!refusal.contains("s3cret"))
    }

    @Test(
        "other invalid settings are refused with a message that says what to do",
        arguments: [
            (#""tls": {}"#, "tls is set, but url begins with http://, which uses none; write https://"),
            (#""timeout": {"total": 0}"#, "timeout.total must be between 1ms and 24h"),
            (#""timeout": {"connect": 100000000}"#, "timeout.connect must be between 1ms and 24h"),
            (#""in_flight": 65"#, "in_flight must be between 1 and 64"),
            (#""proxy": "socks5://h0st""#, "proxy must begin with https:// or http://"),
        ])
    func others(setting: String, words: String) {
        #expect(refusal("{\"url\": \"http://127.0.0.1:1\", \(setting)}") == words)
    }

    @Test("the files of tls must exist, and a key needs a certificate")
    func files() {
        let folder = TemporaryFolder()
        folder.write("key", "k")
        func with(_ tls: String) -> String { refusal("{\"url\": \"https://127.0.0.1:1\", \"tls\": {\(tls)}}") }
        #expect(with("\"ca\": \"\(folder.path("none"))\"") == "tls.ca: cannot read \(folder.path("none")): No such file or directory")
        #expect(with("\"certificate\": \"\(folder.path("none"))\"").hasPrefix("tls.certificate: cannot read"))
        #expect(with("\"key\": \"\(folder.path("key"))\"") == "tls.key is set without tls.certificate")
        #expect(with(#""ca": """#) == "tls.ca is not a path")
    }

    @Test("the description contains the settings")
    func description() {
        let json = HTTPProvider.description.json(erase: false)
        for text in [
            "\"name\":\"http\"", "\"concurrency\":64", "\"ordered\":false", "\"enum\":[\"ndjson\",\"array\",\"event\"]",
            "\"enum\":[\"1.2\",\"1.3\"]",
        ] {
            #expect(json.contains(text))
        }
    }
}

@Suite("http: Retry-After")
struct RetryAfterTests {
    /// Sunday, 6 November 1994, 08:49:37 UTC.
    private let wall: Int64 = 784_111_777_000_000_000

    private func read(_ text: String) -> UInt64? { RetryAfter.milliseconds(text.utf8, wall: wall) }

    @Test("the three formats of a date are equivalent")
    func dates() {
        #expect(read("Sun, 06 Nov 1994 08:50:37 GMT") == 60_000)
        #expect(read("Sunday, 06-Nov-94 08:50:37 GMT") == 60_000)
        #expect(read("Sun Nov  6 08:50:37 1994") == 60_000)
        #expect(read(" Sun, 06 Nov 1994 09:00:00 GMT ") == 623_000)
        // Across the end of a February with 29 days: the hour before 1996-03-01 is on 1996-02-29.
        #expect(RetryAfter.milliseconds("Fri, 01 Mar 1996 00:00:00 GMT".utf8, wall: 825_634_800_000_000_000) == 3_600_000)
        #expect(RetryAfter.milliseconds("Fri, 01 Mar 1996 00:00:00 GMT".utf8, wall: 825_638_399_000_000_000) == 1000)
    }

    @Test("a date that is in the past or now asks for no pause")
    func past() {
        #expect(read("Sun, 06 Nov 1994 08:49:37 GMT") == nil)
        #expect(read("Sun, 06 Nov 1994 08:49:36 GMT") == nil)
        #expect(read("Thursday, 01-Jan-70 00:00:00 GMT") == nil)
    }

    @Test("a longer pause than an hour becomes an hour")
    func absurd() {
        #expect(read("3600") == 3_600_000)
        #expect(read("3601") == 3_600_000)
        #expect(read("000000000000000000005") == 5000)
        #expect(read("99999999999999999999") == 3_600_000)
        #expect(read("Sun, 06 Nov 9999 08:49:37 GMT") == 3_600_000)
    }

    @Test(
        "an invalid value asks for no pause",
        arguments: [
            "", " ", "0", "-1", "1.5", "soon", "1 2", "Sun, 06 Nov 1994 08:50:37 CET", "Sun, 06 Nov 1994 08:50 GMT",
            "Sun, 32 Nov 1994 08:50:37 GMT",
            "Sun, 06 Nov 1994 24:50:37 GMT", "Sun, 06 Foo 1994 08:50:37 GMT", "Sun, 06 Nov 99999999999 08:50:37 GMT",
            "Sun, 06 Nov 1994 ::: GMT",
        ])
    func senseless(text: String) { #expect(read(text) == nil) }
}
