// Tests `scrub` on whole events: where it searches, what it does with finds, and what it never changes.

import Testing

@testable import Redaction

@Suite struct ScrubTests {
    @Test func `an event without finds stays as it is`() throws {
        let line = #"{ "type" : "track", "a":[1, "x", null], "b":{"c":"d\u0041\n\/"} }"#
        #expect(try scrubbed(line) == Outcome(line: line, found: []))
    }

    @Test func `every string is searched, at any depth`() throws {
        #expect(
            try scrubbed(#"{"a":"bob@x.org","b":[["::1"]],"c":{"d":{"e":"+4915112345678 or bob@x.org"}}}"#)
                == Outcome(
                    line: #"{"a":"[email]","b":[["[ip]"]],"c":{"d":{"e":"[phone] or [email]"}}}"#,
                    found: [.init(.email), .init(.ip), .init(.phone)]))
    }

    @Test func `numbers are not searched`() throws {
        #expect(try scrubbed(#"{"a":4111111111111111}"#).found.isEmpty)
    }

    @Test(arguments: [
        (#"bob\u0040x.org"#, "[email]"), (#"b\u006Fb@x\u002eorg!"#, "[email]!"), (#"\n4111\u002d1111-1111-1111\t"#, #"\n[card]\t"#),
        (#"10.0\u002E0.1\/8"#, #"[ip]\/8"#), (#"089\/12345678"#, "[phone]"),
        (#"\ud83d\ude00bob@x.org\ud83d\ude00"#, #"\ud83d\ude00[email]\ud83d\ude00"#),
        (#"\ud83d bob@x.org \ude00"#, #"\ud83d [email] \ude00"#),
        (#"\"bob@x.org\""#, #"\"[email]\""#), (#"\\bob@x.org\\"#, #"\\[email]\\"#),
        (#"m\u00fcller@x.org"#, "[email]"), (#"bearer\tabcdef123"#, "[token]"),
        (#"\u0065yJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.a"#, "[token]"),
    ])
    func `a find that is written with escapes is found, and other escapes stay`(_ text: String, _ expected: String) throws {
        #expect(try scrubbed(#"{"k":"\#(text)"}"#).line == #"{"k":"\#(expected)"}"#)
    }

    @Test func `keys are searched, and two changed keys do not become the same key`() throws {
        #expect(
            try scrubbed(#"{"a":{"bob@x.org":1,"al\u0040x.org" : 2,"::1":3},"b":{"cy@x.org":"cy@x.org"}}"#).line
                == #"{"a":{"[email]":1,"[email]-2" : 2,"[ip]-3":3},"b":{"[email]-4":"[email]"}}"#)
    }

    @Test func `only the configured kinds are found`() throws {
        let line = #"{"a":"bob@x.org 10.0.0.1"}"#
        #expect(try scrubbed(line, Scrub(kinds: SensitiveSet(.ip))).line == #"{"a":"bob@x.org [ip]"}"#)
        #expect(try scrubbed(line, Scrub(kinds: SensitiveSet(.card))).line == line)
    }

    @Test func `only the named members are searched, each once, with everything inside`() throws {
        let line = #"{"a":"a@x.org","b":{"c":{"d@x.org":"d@x.org"},"e":"e@x.org"},"f":"f@x.org"}"#
        #expect(
            try scrubbed(line, in: ["f", "b.c", "b", "g"]).line
                == #"{"a":"a@x.org","b":{"c":{"[email]":"[email]"},"e":"[email]"},"f":"[email]"}"#)
    }

    @Test func `the spared string stays, even if it looks like a card`() throws {
        let line = #"{"messageId":"4111111111111111","x":"4111111111111111"}"#
        #expect(try scrubbed(line, sparing: "messageId").line == #"{"messageId":"4111111111111111","x":"[card]"}"#)
        let escaped = #"{"messageId":"\u0034111111111111111","x":{"messageId":"4111111111111111"}}"#
        #expect(try scrubbed(escaped, sparing: "messageId").line == #"{"messageId":"\u0034111111111111111","x":{"messageId":"[card]"}}"#)
    }

    @Test func `the texts can be chosen, and are escaped`() throws {
        var texts = Scrub.defaultTexts
        texts[Int(Sensitive.email.rawValue)] = "\"\\\n"
        texts[Int(Sensitive.ip.rawValue)] = ""
        #expect(try scrubbed(#"{"a":"<bob@x.org>::1"}"#, Scrub(texts: texts)).line == ##"{"a":"<\"\\\u000a>"}"##)
    }

    @Test func `reject notes the find and leaves the bytes unchanged`() throws {
        let line = #"{"a":"::1","b":"bob@x.org"}"#
        #expect(try scrubbed(line, Scrub(action: .reject)) == Outcome(line: line, found: SensitiveSet(.ip)))
    }

    @Test(arguments: [
        (#"{"a":"bob@x.org"}"#, "{}"), (#"{ "a" : "bob@x.org" }"#, "{  }"), (#"{"a":"bob@x.org","b":1}"#, #"{"b":1}"#),
        (#"{"b":1 , "a":"bob@x.org" }"#, #"{"b":1 }"#), (#"{"a":"bob@x.org", "b":"::1", "c":2}"#, #"{"c":2}"#),
        (#"{"c":2,"a":"bob@x.org", "b":"::1"}"#, #"{"c":2}"#), (#"{"a":"bob@x.org","b":"::1"}"#, "{}"),
        (#"{"a":1,"b":"::1","c":2,"d":"::1"}"#, #"{"a":1,"c":2}"#), (#"{"l":["bob@x.org",1,"x"]}"#, #"{"l":[null,1,"x"]}"#),
        (#"{"o":{"p":{"q":"bob@x.org"}},"r":1}"#, #"{"o":{"p":{}},"r":1}"#),
        (#"{"bob@x.org":{"x":["::1",{"y":"::1"}],"z":"::1"},"r":1}"#, #"{"r":1}"#),
        (#"{"r":1,"bob@x.org":{"x":["::1"]},"s":[{"t":"::1"},{"t":"u"}]}"#, #"{"r":1,"s":[{},{"t":"u"}]}"#),
        (#"{"a":{"b":"::1"},"c":{"d":"::1"}}"#, #"{"a":{},"c":{}}"#), (#"{"a":"\u003a:1","b":"\"}"}"#, #"{"b":"\"}"}"#),
        (#"{"a":{},"b":[],"c":"::1","d":[[]]}"#, #"{"a":{},"b":[],"d":[[]]}"#),
        (#"{"a":"x","::1":"y","b":"z","::2":"::3","c":{"::4":1,"d":"::5"}}"#, #"{"a":"x","b":"z","c":{}}"#),
    ])
    func `drop removes the member, and makes an element null`(_ line: String, _ expected: String) throws {
        #expect(try scrubbed(line, Scrub(action: .drop)).line == expected)
    }

    @Test func `a long string with many finds is scrubbed`() throws {
        // The memory of the scrubber must grow for this event.
        let many = (0..<40).map { "u\($0)@x.org" }.joined(separator: #"\n"#)
        let replaced = (0..<40).map { _ in "[email]" }.joined(separator: #"\n"#)
        #expect(try scrubbed(#"{"a":"\#(many)"}"#).line == #"{"a":"\#(replaced)"}"#)
    }
}
