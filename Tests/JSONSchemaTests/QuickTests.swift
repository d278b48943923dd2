// The short ways of the checker give the answers of the long ones: the same schema is asked twice, once with keywords that change nothing but
// let no short way decide.

import Testing

@testable import JSONSchema

struct QuickTests {
    /// A schema for the member `a`, in both forms.
    private struct Pair {
        let short: SchemaUnderTest
        let long: SchemaUnderTest

        init(_ keywords: String) throws {
            short = try SchemaUnderTest(#"{"properties": {"a": {\#(keywords)}}}"#)
            long = try SchemaUnderTest(
                #"{"properties": {"a": {\#(keywords), "allOf": [true]}}, "patternProperties": {"^no such key$": true}}"#)
        }
    }

    private struct Chance {
        private var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func below(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }

        mutating func digits(_ most: Int) -> String {
            let count = 1 + below(most)
            return String((0..<count).map { Character(String($0 == 0 && count > 1 ? 1 + below(9) : below(10))) })
        }

        mutating func number() -> String {
            let whole = (below(3) == 0 ? "-" : "") + digits(below(4) == 0 ? 21 : 4)
            let fraction = below(2) == 0 ? "." + digits(below(4) == 0 ? 18 : 4) : ""
            return whole + fraction + (below(6) == 0 ? ["e2", "E+3", "e-4", "e0"][below(4)] : "")
        }

        mutating func string() -> String {
            let parts = ["a", "é", "京", "🚗", "\\n", "\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude97", " ", ",", "}", "]", "longer text"]
            return "\"" + (0..<below(below(4) == 0 ? 40 : 6)).map { _ in parts[below(parts.count)] }.joined() + "\""
        }

        mutating func value() -> String {
            switch below(8) {
            case 0...2: number()
            case 3...5: string()
            case 6: ["true", "false", "null"][below(3)]
            default: ["[]", "{}", "[1, \"a\"]", "{\"b\": 0.5}"][below(4)]
            }
        }

        mutating func space() -> String { ["", "", "", " ", "  "][below(5)] }
    }

    @Test func aValueThatIsDecidedAtOnceIsDecidedAsByTheWholeSchema() throws {
        let schemas = [
            #""type": "number""#, #""type": "integer""#, #""type": ["integer", "null"]"#, #""type": ["string", "boolean"]"#,
            #""minimum": 0"#, #""type": "number", "minimum": 0, "maximum": 100"#, #""maximum": -3.5"#, #""minimum": -2, "type": "integer""#,
            #""minimum": 12.5, "maximum": 99999"#, #""minimum": 1e3"#, #""exclusiveMinimum": 3"#, #""multipleOf": 0.5"#,
            #""minLength": 1"#, #""minLength": 2, "maxLength": 9"#, #""maxLength": 0"#, #""minLength": 1e30"#, #""pattern": "a""#,
            #""enum": ["a", "\n", 7, null, "\u00e9"]"#, #""enum": ["a", "京", "longer text", "longer textlonger text"]"#, #""const": "a""#,
            #""enum": ["", "a", true], "type": "string""#, #""enum": ["a", "aa", "é"], "minLength": 2"#, #""const": true"#,
            #""items": {"type": "integer"}"#, #""type": []"#,
        ]
        var chance = Chance(seed: 17)
        for schema in schemas {
            let pair = try Pair(schema)
            var answers: Set<String?> = []
            for _ in 0..<600 {
                let value = chance.value()
                let event =
                    "{\(chance.space())\"a\"\(chance.space()):\(chance.space())\(value)\(chance.space())"
                    + [",\"z\":1}", "}", " , \"other\" : [ ] }"][chance.below(3)]
                let answer = pair.short.violation(event)
                #expect(answer == pair.long.violation(event), "\(schema) of \(event)")
                answers.insert(answer)
            }
            #expect(answers.count > 1 || schema == #""type": []"#, "\(schema) never gives another answer")
        }
    }

    @Test func aNumberIsReadToItsEndAndByItsValue() throws {
        var chance = Chance(seed: 5)
        for _ in 0..<5000 {
            let text = chance.number()
            let bytes = Array((text + [",", "}", "]", " "][chance.below(4)]).utf8) + [UInt8](repeating: 0x35, count: 24)
            bytes.withUnsafeBufferPointer {
                let number = ShortNumber.read($0.baseAddress!)
                #expect(number.end - $0.baseAddress! == text.utf8.count, "\(text)")
                #expect(number.value.isNaN || number.value == Double(text), "\(text)")
                #expect(number.isWhole == !text.utf8.contains { ".eE".utf8.contains($0) }, "\(text)")
            }
        }
    }

    @Test func keysOfEveryLengthAreFound() throws {
        let names =
            (1...40).map { String(repeating: "k", count: $0) } + (1...40).map { String(repeating: "k", count: $0) + "x" } + ["", "é"]
        let members = names.enumerated().map { "\"\($1)\": {\"const\": \($0)}" }.joined(separator: ", ")
        let schema = try SchemaUnderTest("{\"properties\": {\(members)}, \"additionalProperties\": false}")
        for (index, name) in names.enumerated() {
            #expect(schema.violation("{\"\(name)\":\(index)}") == nil)
            #expect(schema.violation("{\"\(name)\" : 99}") == "/\(name): const")
            #expect(schema.violation("{\"\(name)y\":\(index)}") == "/\(name)y: additionalProperties")
        }
    }

    @Test func aKeyWithAnEscapeIsItsText() throws {
        let schema = try SchemaUnderTest(#"{"properties": {"a\\n": {"type": "null"}, "b\"": {"type": "null"}, "c": {"type": "null"}}}"#)
        #expect(schema.violation(#"{"a\\n": 1}"#) == "/a\\n: type")
        #expect(schema.violation(#"{"b\"": 1}"#) == "/b\": type")
        #expect(schema.violation(#"{"\u0063": 1}"#) == "/c: type")
        // A line break is not a backslash and a letter.
        #expect(schema.violation(#"{"a\n": 1}"#) == nil)
        let dependent = try SchemaUnderTest(#"{"dependentRequired": {"a\\n": ["c"]}}"#)
        #expect(dependent.violation(#"{"a\n": 1}"#) == nil)
        #expect(dependent.violation(#"{"a\\n": 1}"#) == ": dependentRequired")
    }

    @Test func membersBeyondTheFirst64AreRequiredAndUniqueToo() throws {
        let names = (0..<70).map { "m\($0)" }
        let members = names.map { "\"\($0)\": {\"type\": \"integer\"}" }.joined(separator: ", ")
        let required = names.map { "\"\($0)\"" }.joined(separator: ", ")
        let schema = try SchemaUnderTest("{\"properties\": {\(members)}, \"required\": [\(required)]}")
        func event(without index: Int, adding more: String = "") -> String {
            "{" + names.indices.filter { $0 != index }.map { "\"\(names[$0])\":1" }.joined(separator: ",") + more + "}"
        }
        #expect(schema.violation(event(without: -1)) == nil)
        for index in names.indices {
            #expect(schema.violation(event(without: index)) == ": required")
            #expect(schema.violation(event(without: -1, adding: ",\"\(names[index])\":1")) == "/\(names[index]): duplicate")
        }
    }
}
