import Judging
import Testing

@testable import InspectCommands

@Suite("JSON for a person")
struct JSONLayoutTests {
    @Test("stays on one line if it fits, with a space after each comma and colon")
    func short() {
        #expect(JSONLayout.lines(#"{"a":[1,2],"b":{}}"#, width: 80) == [#"{"a": [1, 2], "b": {}}"#])
    }

    @Test("is broken at the outermost brackets first, and indented")
    func long() {
        #expect(
            JSONLayout.lines(#"{"a":[1,2],"b":{"c":null}}"#, width: 16) == [
                "{", #"  "a": [1, 2],"#, #"  "b": {"#, #"    "c": null"#, "  }", "}",
            ])
    }

    @Test("keeps every token, at any width", arguments: [1, 5, 20, 79])
    func tokens(width: Int) {
        let json = #"{"text":"a, b: {c}\"","n":[-1.5e3,true,[]],"o":{"p":{"q":[{}]}}}"#
        let lines = JSONLayout.lines(json, width: width)
        #expect(lines.joined().filter { $0 != " " } == json.filter { $0 != " " })
        #expect(lines.allSatisfy { !$0.hasSuffix(" ") })
    }

    @Test("shows no control characters of a terminal")
    func control() {
        #expect(JSONLayout.lines("[\"\u{7f}\"]", width: 80).joined().unicodeScalars.allSatisfy { $0 != "\u{7f}" })
    }

    @Test("is laid out at any depth")
    func deep() {
        let json = String(repeating: "[", count: 5000) + "1" + String(repeating: "]", count: 5000)
        let lines = JSONLayout.lines(json, width: 20)
        #expect(lines.joined().filter { $0 != " " } == json)
    }
}

@Suite("The texts of a verdict")
struct VerdictTextTests {
    @Test("differ between any two verdicts, for a person and as a label")
    func distinct() {
        #expect(Set(Tally.columns.map(\.text)).count == Tally.columns.count)
        #expect(Set(Tally.columns.map(\.key)).count == Tally.columns.count)
    }

    @Test("are labels of lower-case letters and _")
    func labels() {
        for verdict in Tally.columns {
            #expect(verdict.key.utf8.allSatisfy { $0 >= 0x61 && $0 <= 0x7a || $0 == 0x5f }, "\(verdict.key)")
        }
    }
}
