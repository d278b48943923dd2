// Tests expressions on events: members, numbers, missing members and limits. Also tests that the quick decision and the full evaluation
// agree.

import Events
import Expressions
import Testing

private let event =
    #"{"type":"track","event":"Order Completed","messageId":"m-1","properties":{"price":10,"ratio":2.5,"big":18446744073709551615,"name":"caf\u00e9","test":true,"none":null,"a.b":{"c":1},"items":[{"sku":"a","qty":2},{"sku":"b","qty":1.0}],"n":-0,"exp":1e3,"broken":"\ud800"},"int":7,"context":{"ip":"10.0.0.1"}}"#

@Suite struct EventTests {
    @Test(arguments: [
        ("type == 'track'", "true"), ("properties.price > 5 && properties.ratio < 3", "true"), ("properties.name == 'café'", "true"),
        ("this.type", #""track""#), ("properties[\"a.b\"].c", "1"), ("properties.items[1].sku", #""b""#),
        ("properties.items", #"[{"sku":"a","qty":2},{"sku":"b","qty":1.0}]"#),
        ("properties.items.exists(i, i.qty == 1)", "true"), ("properties.items.map(i, i.sku).join(',')", #""a,b""#),
        ("size(properties.items)", "2"),
        ("properties.price * 1.5", "15"), ("properties.price + 1 + 0.5", "11.5"), ("properties.items.map(i, i.qty + 1)", "[3,2]"),
        ("properties.exp % 7", "6"),
        ("properties.big == 18446744073709551615u", "true"), ("properties.n == 0", "true"),
        ("type(properties.name) == string && type(properties.exp) == double", "true"),
        ("int", "7"), ("type(properties.name) == string", "true"), ("has(properties.none) && !has(properties.gone)", "true"),
        ("has(userId)", "false"),
        ("has(properties[\"a.b\"])", "true"), ("'price' in properties", "true"), ("properties.none == null", "true"),
        ("context.ip.matches('^10\\\\.')", "true"),
        ("ip(context.ip).isPrivate()", "true"), ("properties.map(k, k).size()", "11"), ("source", #""stdin""#),
        ("now", #""1970-01-01T00:00:01Z""#),
        ("event in ['a', 'Order Completed']", "true"), ("context == this.context", "true"),
        ("properties == this.properties", "error: properties == this.properties: this is not UTF-8 text"),
        ("this[type == 'track' ? 'messageId' : 'x']", #""m-1""#),
        ("{'price': properties.price, 'tags': [type]}", #"{"price":10,"tags":["track"]}"#),
        ("properties.gone > 5", "error: properties.gone: the event has no such member"),
        ("has(gone.deep)", "error: has(gone.deep): the event has no such member"),
        ("has(type.x)", "error: has(type.x): the types do not fit"),
        ("properties.name > 5", "error: properties.name > 5: the types do not fit"),
        ("int(properties.price) + 1.5 > 1.0", "fault"), ("properties.broken == 'x'", "error: properties.broken: this is not UTF-8 text"),
    ])
    func membersAreVariables(_ text: String, _ expected: String) throws {
        if expected == "fault" {
            #expect(throws: ExpressionFault.self) { try evaluate(text, on: event) }
        } else {
            #expect(try evaluate(text, on: event, now: 1_000_000_000).value == expected)
        }
    }

    /// The fuzzer found this fault: the range of a macro holds another macro.
    @Test func theRangeOfAMacroMayHoldAnother() throws {
        #expect(try evaluate("properties.items.map(i, i.qty).map(y, y + 0.5)", on: event).value == "[2.5,1.5]")
        #expect(try evaluate("[1].map(x, x == 1, [x, x]).map(y, y[0] + 1)", on: event).value == "[2]")
    }

    @Test func aMemberThatLooksLikeATypeIsTheMember() throws {
        #expect(try evaluate("type == 'x'", on: "{}").value == "error: type: the event has no such member")
        #expect(try evaluate("type(1) == int", on: "{}").value == "true")
        #expect(try evaluate("type(1) == int", on: #"{"int":3}"#).value == "false")
    }

    @Test func onlyTheMembersThatAreNamedAreLocated() throws {
        let expression = try Expression("properties.price > 5 && has(context.app) && this.x.y == now && properties.price < 9")
        #expect(expression.paths.map(\.description) == ["properties.price", "context.app", "x.y"])
    }

    /// The quick decision must agree with the full evaluation for every kind of value.
    @Test func theQuickWayAgreesWithTheThoroughOne() throws {
        let values = [
            "1", "1.0", "-1", "2.5", "1e3", "100000000000000000000", "18446744073709551615", "9007199254740993", "true", "false", "null",
            #""1""#, #""""#, #""abc""#, #""ab\u0063""#,
            #""\ud800""#, "[]", "{}", "[1]", #"{"b":1}"#, "0.1", "-0.0", "123456789.123456789", #""xabcx""#, #""true""#,
        ]
        let conditions = [
            "a == 1", "a != 1", "a < 1.5", "a >= 1u", "1 < a", "2.5 == a", "a == 9007199254740993", "a == 'abc'", "'abc' != a", "a == true",
            "a != null", "a == null", "a", "!a",
            "has(this.a)", "has(a.b)", "a.startsWith('ab')", "a.endsWith('bc')", "a.contains('bc')", "a.contains('')", "glob(a, 'a*c')",
            "a.glob('*')", "a in ['abc', '1']",
            "a in [1, 2]",
            "a == 1 || a == 'abc'", "a == 1 && b == 1", "b == 1 || a == 1", "!(a < 3) && true", "a == '' || false", "a in []", "a < 'b'",
            "(a == 1 ? a == 1 : a == 'abc')",
        ]
        for value in values {
            for line in ["{\"a\":\(value)}", "{\"a\" : \(value) ,\"b\":1}"] {
                for condition in conditions {
                    let found = try evaluate(condition, on: line)
                    let expected: Truth = found.value == "true" ? .yes : found.value == "false" ? .no : .error
                    #expect(found.truth == expected, "\(condition) on \(line) is \(found.value)")
                }
            }
        }
    }

    @Test(arguments: [
        ("properties.price > 5 && properties.ratio > 3", "properties.ratio > 3", Truth.no),
        ("type == 'x' || event == 'y'", "type == 'x' || event == 'y'", .no),
        ("type == 'x' || event == 'Order Completed'", "event == 'Order Completed'", .yes),
        ("type == 'track' && !has(properties.test)", "has(properties.test)", .yes),
        ("type == 'track' && properties.gone > 1", "properties.gone > 1", .error),
    ])
    func theDecisionNamesThePartThatDecided(_ text: String, _ part: String, _ truth: Truth) throws {
        let found = try evaluate(text, on: event).decision
        #expect(found.part == part)
        #expect(found.truth == truth)
        #expect((found.fault != nil) == (truth == .error))
    }

    @Test func aValueIsWrittenAsJSONWithTheEventsOwnBytes() throws {
        #expect(
            try evaluate("[properties.items[1], 'a\"\\n', 1.0, b'x', duration('1s'), 0.0/0.0]", on: event).value
                == #"[{"sku":"b","qty":1.0},"a\"\n",1,"eA==","1s","NaN"]"#)
    }
}

@Suite struct JSONTextTests {
    @Test func jsonGivesAValueAsText() throws {
        let line = #"{"a":{"b" : [1, "x\n"]},"n":1.50}"#
        #expect(try evaluate("json(a)", on: line).value == #""{\"b\" : [1, \"x\\n\"]}""#)
        #expect(try evaluate("json({'k': n, 'l': [a.b[0], null]})", on: line).value == #""{\"k\":1.5,\"l\":[1,null]}""#)
        #expect(fault("json(1, 2) == ''")?.isEmpty == false)
    }

    @Test func jsonHasTheLimitsOfAnEvaluation() throws {
        let long =
            "{\"s\":\"\(String(repeating: "x", count: 1 << 20))\",\"l\":[\(Array(repeating: "1", count: 20).joined(separator: ","))]}"
        #expect(try evaluate("json(l.map(x, this))", on: long).value.hasSuffix("the evaluation makes more or larger values than it may"))
        let deep = "{\"a\":" + String(repeating: "[", count: 300) + String(repeating: "]", count: 300) + "}"
        #expect(try evaluate("size(json(a))", on: deep).value == "600")
    }
}

@Suite struct ConstantTests {
    @Test func constantsAreTextsThatTheCallerDeclares() throws {
        let environment = Environment(.declared(["x": .int]), constants: ["a", "b-c"])
        let variables = Value.variables(ofConstants: ["a": "1", "b-c": "2"]).merging(["x": .int(3)]) { $1 }
        #expect(try Expression("constants.a + string(x) + constants.`b-c`", in: environment).value(of: variables).get().json == "\"132\"")
        #expect(throws: ExpressionFault.self) { try Expression("constants.d", in: environment) }
        #expect(throws: ExpressionFault.self) { try Expression("constants == 1", in: environment) }
        // Where the caller declares none, the name is a member of the event.
        #expect(try evaluate("constants.a", on: #"{"constants":{"a":7}}"#).value == "7")
    }
}

@Suite struct LimitTests {
    private let long =
        "{\"a\":[" + Array(repeating: "1", count: 2000).joined(separator: ",") + "],\"s\":\"" + String(repeating: "x", count: 100_000)
        + "\"}"

    @Test func anEvaluationTakesABoundedNumberOfSteps() throws {
        #expect(try evaluate("a.all(x, a.all(y, true))", on: long).value.hasSuffix("the evaluation takes more steps than it may"))
        // After that not even `||` continues.
        #expect(try evaluate("a.all(x, a.all(y, true)) || true", on: long).value.hasSuffix("the evaluation takes more steps than it may"))
    }

    @Test func anEvaluationMakesABoundedNumberOfBytes() throws {
        let text = "s.replace('x', s.replace('x', 'yyyyyyyy'))"
        #expect(try evaluate(text, on: long).value.hasPrefix("error: "))
        #expect(try evaluate("[1, 2].map(x, a.map(y, s.upperAscii()))", on: long).value.hasPrefix("error: "))
    }

    @Test func deepValuesAreComparedAndWrittenToABoundedDepth() throws {
        let deep = String(repeating: "[", count: 400) + String(repeating: "]", count: 400)
        #expect(
            try evaluate("a == b", on: "{\"a\":\(deep),\"b\":\(deep)}").value.hasSuffix("the values nest deeper than an evaluation may go"))
    }
}
