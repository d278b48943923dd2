import Plans
import Testing

@testable import Document

@Suite("Hidden texts")
struct HiddenTextsTests {
    private func masked(_ text: String, _ hidden: String...) -> String { HiddenTexts(hidden).masked(text) }

    @Test("every occurrence is masked, the longest text first")
    func occurrences() {
        #expect(masked("a hush, b hush-hush", "hush", "hush-hush") == "a (secret), b (secret)")
        #expect(masked("hushhush", "hush") == "(secret)(secret)")
        #expect(masked("nothing here", "hush") == "nothing here")
        #expect(masked("hus", "hush") == "hus")
        #expect(masked("hush") == "hush", "nothing is hidden")
    }

    @Test("a text of fewer than 4 bytes is masked if it is the whole text, but not inside other text")
    func short() {
        #expect(masked("abc", "abc") == "(secret)")
        #expect(masked("abcd", "abc") == "abcd")
        #expect(masked("xabcdx", "abcd") == "x(secret)x")
        #expect(masked("", "") == "")
    }

    @Test("a hidden text is also found with the escapes of JSON and of messages")
    func escaped() {
        #expect(masked(#"{"a":"one\"two\n"}"#, "one\"two\n") == #"{"a":"(secret)"}"#)
        #expect(masked(#"is one\u{1b}two"#, "one\u{1b}two") == "is (secret)")
    }

    @Test("a text of several lines is found line by line, except for short lines")
    func lines() {
        let key = "-----BEGIN KEY-----\nc2VjcmV0\nshort\n-----END KEY-----\n"
        #expect(masked("cannot read: c2VjcmV0", key) == "cannot read: (secret)")
        #expect(masked("short", key) == "short")
        #expect(masked("the key \(key)", key) == "the key (secret)")
        #expect(masked("line: one secret line", "one secret line\n") == "line: (secret)")
    }

    @Test("a path with time fields is found after the fields are replaced")
    func timeFields() {
        #expect(masked("cannot open '/srv/tenant/2026/x.log'", "/srv/tenant/%Y/x.log") == "cannot open '(secret)2026/x.log'")
    }

    @Test("names of providers stay visible inside messages, but are masked if they are the whole text")
    func names() {
        let hidden = HiddenTexts(["archive", "tenant"], exceptInside: ["archive"])
        #expect(hidden.masked("archive: no tenant") == "archive: no (secret)")
        #expect(hidden.masked("archive") == "(secret)")
    }

    @Test("a hidden text that is cut is masked, whether the bound or the text ends inside it")
    func cut() {
        let hidden = HiddenTexts(["hush-hush"])
        func cut(_ text: String, _ end: Int, _ isCut: Bool) -> String {
            var text = text
            return text.withUTF8 { String(decoding: hidden.masked($0, before: end, isCut: isCut), as: UTF8.self) }
        }
        #expect(cut("a hush-hush b", 5, false) == "a (secret)")
        #expect(cut("a hush-hush b", 2, false) == "a ")
        #expect(cut("a hush-h", 8, false) == "a hush-h")
        #expect(cut("a hush-h", 8, true) == "a (secret)")
        #expect(cut("a hus", 5, true) == "a hus")
    }

    @Test("a plan hides whole values, the text that each placeholder inserted, and names of routes")
    func plan() throws {
        let plan = try read(file(provider: #""plugin":"file","path":"var/${env:SHORT}/x${env:OUT}""#, route: #""name":"of ${env:LEVEL}""#))
        #expect(plan.hidden.masked("var/s3cr3t/xout") == "(secret)")
        #expect(plan.hidden.masked("in s3cr3t") == "in (secret)")
        #expect(plan.routes[0].name == "(secret)")
    }
}
