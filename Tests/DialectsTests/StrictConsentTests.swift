// Tests that an event never loosens the consent of its request: of a batch's context, and of the header Sec-GPC.

import Dialects
import Testing

private let stamps = "\"timestamp\":\"2026-11-21T06:00:00.000Z\",\"receivedAt\":\"2026-11-21T06:00:00.000Z\""

@Suite("The consent of a request") struct StrictConsentTests {
    private func context(_ batch: String, _ event: String, isPrivate: Bool = false) -> String {
        let translated = translate(
            #"{"context":\#(batch),"batch":[{"context":\#(event)}]}"#, Segment(.batch), isPrivate: isPrivate)
        #expect(translated.isEveryLineAnEvent && translated.lines.count == 1, "\(batch) \(event)")
        let line = translated.lines.first ?? ""
        #expect(line.hasPrefix(#"{"context":"#) && line.hasSuffix(",\(stamps)}"), "\(line)")
        return String(line.dropFirst(11).dropLast(stamps.utf8.count + 2))
    }

    @Test("in the context of a batch is not loosened by an event")
    func batch() {
        #expect(context(#"{"gpc":true}"#, #"{"gpc":false}"#) == #"{"gpc":true}"#)
        #expect(context(#"{"gpc":true}"#, #"{"gpc": null}"#) == #"{"gpc": true}"#)
        #expect(context(#"{"gpc":false}"#, #"{"gpc":true}"#) == #"{"gpc":true}"#)
        #expect(context(#"{"gpc":"yes"}"#, #"{"gpc":false}"#) == #"{"gpc":"yes"}"#)
        #expect(context(#"{"gpc":true}"#, #"{"gpc":"yes"}"#) == #"{"gpc":"yes"}"#)
        #expect(context(#"{"consent":{"level":"none"}}"#, #"{"consent":{"level":"all"}}"#) == #"{"consent":{"level":["none","all"]}}"#)
        #expect(context(#"{"consent":{"level":"all"}}"#, #"{"consent":{"level":"all"}}"#) == #"{"consent":{"level":"all"}}"#)
        #expect(
            context(#"{"consent":{"level":"none","version":"1"}}"#, #"{"consent":{"purposes":["a"],"version":"2"}}"#)
                == #"{"consent":{"purposes":["a"],"version":"2","level":"none"}}"#)
        #expect(context(#"{"consent":{"purposes":[]}}"#, #"{"consent":{"purposes":["a"]}}"#) == #"{"consent":{"purposes":[[],["a"]]}}"#)
        #expect(context(#"{"consent":{"level":"none"}}"#, #"{"consent":{}}"#) == #"{"consent":{"level":"none"}}"#)
        #expect(context(#"{"consent":7}"#, #"{"consent":{"level":"all"}}"#) == #"{"consent":7}"#)
        #expect(context(#"{"consent":{"level":"none"}}"#, #"{"consent":7}"#) == #"{"consent":7}"#)
        #expect(context(#"{"consent":null}"#, #"{"consent":{"level":"all"}}"#) == #"{"consent":{"level":"all"}}"#)
        #expect(
            context(#"{"consentManagement":{"deniedConsentIds":["a"]}}"#, #"{"consentManagement":{"allowedConsentIds":["a"]}}"#)
                == #"{"consentManagement":{"allowedConsentIds":["a"],"deniedConsentIds":["a"]}}"#)
        #expect(context(#"{"\u0067pc":true}"#, #"{"gpc":false,"a":1}"#) == #"{"gpc":true,"a":1}"#)
    }

    @Test("in its head reaches the events of every dialect")
    func header() {
        #expect(translate("{}", Native(), isPrivate: true).lines == [#"{"context":{"gpc":true}}"#])
        #expect(translate(#"{"context":{"gpc":false,"a":1}}"#, Native(), isPrivate: true).lines == [#"{"context":{"gpc":true,"a":1}}"#])
        #expect(translate(#"{"context":{"gpc":true}}"#, Native(), isPrivate: true).lines == [#"{"context":{"gpc":true}}"#])
        #expect(translate(#"{"context":{"gpc":"x"}}"#, Native(), isPrivate: true).lines == [#"{"context":{"gpc":"x"}}"#])
        #expect(translate(#"{"context":"x"}"#, Native(), isPrivate: true).lines == [#"{"context":"x"}"#])
        #expect(translate(#"{"context":null}"#, Native(), isPrivate: true).lines == [#"{"context":{"gpc":true}}"#])
        #expect(translate(#"{ "a": 1 }"#, Native()).lines == [#"{ "a": 1 }"#])
        #expect(context(#"{"gpc":false}"#, #"{"gpc":false}"#, isPrivate: true) == #"{"gpc":true}"#)
        #expect(context(#"{"gpc":false}"#, "{}", isPrivate: true) == #"{"gpc":true}"#)
        #expect(context(#"{"gpc":true,"a":1}"#, "{}", isPrivate: true) == #"{"gpc":true,"a":1}"#)
        #expect(context(#"{"gpc":7}"#, "{}", isPrivate: true) == #"{"gpc":7}"#)
        let logs = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"a"}]}]}]}"#
        let line = translate(logs, OTLPLogs(.json), isPrivate: true).lines.first ?? ""
        #expect(line.contains(#""context":{"gpc":true,"otlp":"#))
    }
}
