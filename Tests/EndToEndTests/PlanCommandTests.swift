// `switchyard plan` with the real executable: its output, its messages and its exit codes.

import Foundation
import TestSupport
import Testing

@Suite("The command plan") struct PlanCommandTests {
    @Test("infer writes a plan that check accepts and that the same events satisfy")
    func infer() throws {
        let router = try TestRouter(
            routes:
                #"{ "plan": "plan.json", "message_id": { "add": false }, "providers": { "out": { "plugin": "noop" } }, "routes": [ { "to": ["out"] } ] }"#
        )
        let lines = (0..<400).map { n in
            #"{"event":"order","userId":"u\#(n)","properties":{"plan":"\#(n % 2 == 0 ? "free" : "paid")","total":\#(n)}}"#
        }
        // The last line has no line end, and one line is too long for one read.
        let long = #"{"event":"long","properties":{"text":"\#(String(repeating: "x", count: 3_000_000))"}}"#
        let input = (lines + [long, "{broken", #"{"event":"last"}"#]).joined(separator: "\n")
        let inferred = try router.run(["plan", "infer"], input: input)
        #expect(inferred.code == 0)
        #expect(inferred.text.contains(#""enum": ["free", "paid"]"#) && inferred.text.contains(#""last": {"description": "Seen once."}"#))
        #expect(
            inferred.errorLines == [
                "switchyard: 402 events, 3 names",
                "switchyard: 1 line is not valid; line 402: expected a key in double quotes, found 0x62 'b'",
            ])
        try router.write(inferred.text, to: "plan.json")
        #expect(try router.run(["check"]).text.contains("Tracking plan: 3 events"))
        let run = try router.run(["run", "--stats", "json"], input: input)
        #expect(run.errorLines.last?.contains(#""violations":{"count":0,"#) == true, "\(run.errors)")
        try router.write(input, to: "events.ndjson")
        #expect(try router.run(["plan", "infer", "events.ndjson"]).text == inferred.text)
    }

    @Test("diff says what breaks whom, and exits with 1 if something does")
    func diff() throws {
        let router = try TestRouter()
        try router.write(#"{"events":{"e":{}}}"#, to: "old.json")
        try router.write(#"{"events":{"e":{"properties":{"required":["x"]}}}}"#, to: "new.json")
        let result = try router.run(["plan", "diff", "old.json", "new.json"])
        #expect(result.code == 1 && result.text == "e\n    senders: properties.x is required now\n", "\(result.errors)")
        #expect(try router.run(["plan", "diff", "--for", "readers", "old.json", "new.json"]).code == 0)
        let equal = try router.run(["plan", "diff", "old.json", "old.json"])
        #expect(equal.code == 0 && equal.text == "nothing that the plans allow differs\n")
        let json = try router.run(["plan", "diff", "--format", "json", "old.json", "-"], input: #"{"events":{"e":{}}}"#)
        #expect(json.text == #"{"breaks":false,"changes":[]}"# + "\n")
        try router.write(#"{"events":{"e":{"oops":1}}}"#, to: "new.json")
        let wrong = try router.run(["plan", "diff", "old.json", "new.json"])
        #expect(wrong.code == 78 && wrong.errors.hasPrefix("new.json:1:17: "), "\(wrong.errors)")
    }

    @Test("docs writes a page of the example")
    func docs() throws {
        let router = try TestRouter()
        let plan = Project.root + "/Examples/plan/plan.json"
        let html = try router.run(["plan", "docs", plan])
        #expect(html.code == 0 && html.text.hasPrefix("<!DOCTYPE html>") && html.text.contains("<bdi>properties.email</bdi>"))
        let markdown = try router.run(["plan", "docs", "--format", "markdown", plan])
        #expect(markdown.text.hasPrefix("# Tracking plan\n") && markdown.text.contains("private&#58; it never leaves as it came"))
    }

    @Test("swift, python and typescript write the events of the example")
    func code() throws {
        let router = try TestRouter()
        let plan = try String(contentsOfFile: Project.root + "/Examples/plan/plan.json", encoding: .utf8)
        for (word, part) in [
            ("swift", "    case orderCompleted(properties: OrderCompletedProperties)\n"), ("python", "class OrderCompletedV2:\n"),
            ("typescript", "export interface OrderCompletedV2 {\n"),
        ] {
            let result = try router.run(["plan", word, "-"], input: plan)
            #expect(result.code == 0 && result.text.contains(part), "\(result.text)\(result.errors)")
        }
        #expect(try router.run(["plan", "swift", "none.json"]).code == 78)
    }

    @Test("import writes a plan, and says on standard error what is not carried over")
    func imported() throws {
        let router = try TestRouter()
        let text = #"{"rules":{"events":[{"name":"A","rules":{"properties":{"properties":{"extends":{}},"context":{"type":"object"}}}}]}}"#
        let result = try router.run(["plan", "import", "-"], input: text)
        #expect(result.code == 0 && result.text == #"{"events": {"A": {"properties": {}}}}"# + "\n")
        #expect(
            result.errorLines == [
                "switchyard: A: properties: the keyword extends is not carried over",
                "switchyard: A: the schema of context is not carried over",
            ])
        let broken = try router.run(["plan", "import", "-"], input: "{x")
        #expect(broken.code == 65 && broken.errors.hasPrefix("standard input:1:2: "), "\(broken.errors)")
        let other = try router.run(["plan", "import", "-"], input: "{}")
        #expect(other.code == 65 && other.errors.contains("is no plan of RudderStack, Segment Protocols or Avo, and no schema of Snowplow"))
    }

    @Test(
        "wrong use is told",
        arguments: [
            (["plan", "infer"], "{broken", 65, "line 1 is not an event: expected a key in double quotes, found 0x62 'b'"),
            (["plan", "infer"], "", 65, "plan infer takes events, was given none; for example: switchyard plan infer < events.ndjson"),
            (["plan", "infer", "none.ndjson"], "", 69, "none.ndjson: No such file or directory"),
            (["plan", "infer", "--version", "a..b"], "", 64, "--version must be a member of events, such as context.schema_version: "),
            (["plan", "infer", "a", "b"], "", 64, "plan infer takes one FILE at most; see switchyard plan --help"),
            (["plan", "infre"], "", 64, "unknown action 'infre', did you mean infer? expected "), (["plan"], "", 64, "expected "),
            (["plan", "diff", "a"], "", 64, "plan diff takes two plans, OLD and NEW; see"),
            (["plan", "docs", "--format", "pdf", "a"], "", 64, "--format must be html or markdown, is 'pdf'"),
            (["plan", "diff", "-", "-"], "", 64, "only one of the plans can come from standard input"),
            (["plan", "infer", "--format", "json"], "", 64, "plan infer takes no --format"),
            (["plan", "diff", "--for", "all", "a", "b"], "", 64, "--for must be senders or readers, is 'all'"),
        ])
    func wrong(words: [String], input: String, code: Int, message: String) throws {
        let result = try TestRouter().run(words, input: input)
        #expect(result.code == code && result.text.isEmpty)
        #expect(result.errorLines.first?.hasPrefix("switchyard: " + message) == true, "\(result.errors)")
    }
}
