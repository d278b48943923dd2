// Tests what a batch of Segment gives to all its events, where it is broken, has duplicates or is nested deeply.

import Dialects
import Events
import Testing

private let stamps = "\"timestamp\":\"2026-11-21T06:00:00.000Z\",\"receivedAt\":\"2026-11-21T06:00:00.000Z\""

@Suite("The common members of a batch")
struct SharedMemberTests {
    private func lines(_ common: String, _ event: String = "{}", wanted: [Path] = [], ip: String? = nil) -> Translated {
        translate("{\(common),\"batch\":[\(event)]}", Segment(.batch), ip: ip, wanted: wanted)
    }

    @Test("have the value of the last of two members with the same key, as in an event")
    func duplicates() {
        let context = #""context":{"consent":{"ads":true},"a":1,"consent":{"ads":false}}"#
        for wanted in [[], [path("context.consent")], [path("context.consent.ads")]] {
            let translated = lines(context, wanted: wanted)
            #expect(translated.isEveryLineAnEvent && translated.lines.count == 1)
            let line = translated.lines.first ?? ""
            #expect(line.contains(#""consent":{"ads":false}"#) && !line.contains("true"), "\(line)")
        }
        let escaped = lines(#""context":{"a":1,"\u0061":2}"#)
        #expect(escaped.lines == [#"{\#(stamps),"context":{"\u0061":2}}"#])
        let twice = lines(#""context":{"a":1},"context":{"b":2}"#)
        #expect(twice.lines == [#"{\#(stamps),"context":{"b":2}}"#])
    }

    @Test("have one value for a member within them that a rule names, and it is the last one")
    func nestedDuplicates() {
        let context = #""context":{"consent":{"ads":true,"ads":false},"l":[{"k":1,"k":2}]}"#
        let wanted = lines(context, "{},{\"context\":{\"x\":1}}", wanted: [path("context.consent.ads")])
        #expect(wanted.refusal == nil && wanted.isEveryLineAnEvent && wanted.lines.count == 2)
        for line in wanted.lines { #expect(line.contains(#""consent":{"ads":false}"#) && !line.contains("true"), "\(line)") }
        // A duplicate that no rule names stays as it is.
        let plain = lines(context)
        #expect(plain.lines == [#"{\#(stamps),"context":{"consent":{"ads":true,"ads":false},"l":[{"k":1,"k":2}]}}"#])
        let flags = lines(#""integrations":{"All":{"x":1,"x":2}}"#, wanted: [path("integrations.All.x")])
        #expect(flags.lines == [#"{\#(stamps),"integrations":{"All":{"x":2}}}"#])
    }

    @Test("count as part of each event for the limit of levels, and one that is too deep refuses the batch")
    func depth() {
        func nested(_ levels: Int) -> String { String(repeating: "[", count: levels) + String(repeating: "]", count: levels) }
        let limits = TranslationLimits(depth: 6)
        for (levels, isTaken) in [(4, true), (5, false)] {
            let body = "{\"context\":{\"a\":\(nested(levels))},\"batch\":[{},{\"context\":{}}]}"
            let translated = translate(body, Segment(.batch), limits: limits)
            #expect(translated.lines.count == (isTaken ? 2 : 0) && translated.isEveryLineAnEvent)
            #expect(translated.refusal == (isTaken ? nil : "11: the event nests deeper than 6 levels"))
            for line in translated.lines { #expect(translate(line, Native(), limits: limits).lines == [line]) }
        }
    }

    @Test("that are neither an object nor null refuse the batch, since they may contain consent", arguments: ["context", "integrations"])
    func wrongType(key: String) {
        for value in ["7", "\"x\"", "[]", "true", "nul", "nope", "nullx", "{\"a\":}", "{a:1}", "{\"a\":1,}"] {
            let translated = lines("\"\(key)\":\(value)")
            #expect(translated.lines.isEmpty && translated.refusal != nil, "\(value)")
        }
        for value in ["null", "{}", " { } "] {
            let translated = lines("\"\(key)\":\(value)")
            #expect(translated.lines == ["{\(stamps)}"] && translated.refusal == nil, "\(value)")
        }
    }

    @Test("never override a member of the event, whatever its value and however its key is written")
    func own() {
        let context = #""context":{"a":1,"b":2,"ip":"1.1.1.1"}"#
        let translated = lines(context, #"{"context":{"\u0061":null,"ip":""}}"#, ip: "2.2.2.2")
        #expect(translated.lines == [#"{"context":{"\u0061":null,"ip":"","b":2},\#(stamps)}"#])
        let none = lines(#""integrations":{"A":1}"#, #"{"integrations":{"A":0}}"#)
        #expect(none.lines == [#"{"integrations":{"A":0},\#(stamps)}"#])
    }

    @Test("are repaired like an event, and belong only to their own batch")
    func mended() {
        let translated = lines("\"context\":{\"a\":NaN,\"b\":\"x\ty\"}", "{}")
        #expect(translated.lines == [#"{\#(stamps),"context":{"a":"NaN","b":"x\ty"}}"#])
        var translator = Translator()
        var translation = Translation()
        for (body, hasContext) in [(#"{"context":{"a":1},"batch":[{}]}"#, true), (#"{"batch":[{}]}"#, false)] {
            Array(body.utf8).withUnsafeBytes {
                translator.translate($0, from: Segment(.batch), RequestContext(time: received), into: &translation)
            }
            #expect(String(decoding: translation.lines.bytes, as: UTF8.self).contains("context") == hasContext)
        }
    }
}
