// Tests the extensions of CEL: math, base64, cel.bind and the macros with two variables. The public cases are in `make conformance`.

import Events
import Testing

@testable import Expressions

@Suite struct ExtensionTests {
    @Test(arguments: [
        ("math.greatest(1, 3.5, 2u)", "double 3.5"), ("math.least([3, 1, 2])", "int 1"), ("math.greatest(7)", "int 7"),
        ("math.least([])", "error: math.least([]): the list is empty"), ("math.abs(-3)", "int 3"), ("math.sign(-2.5)", "double -1.0"),
        ("math.ceil(1.2)", "double 2.0"), ("math.round(-2.5)", "double -3.0"), ("math.trunc(-1.9)", "double -1.0"),
        ("math.sqrt(9)", "double 3.0"), ("math.isNaN(0.0 / 0.0)", "bool true"), ("math.bitShiftRight(-1024, 3)", "int 2305843009213693824"),
        ("math.bitShiftLeft(1u, 64)", "uint 0"), ("math.bitXor(6, 3)", "int 5"), ("math.bitNot(0)", "int -1"),
    ])
    func `math rounds, compares and shifts`(_ text: String, _ expected: String) {
        #expect(outcome(of: text).replacing(".0", with: "") == expected.replacing(".0", with: ""))
    }

    @Test(arguments: [
        ("math.abs(-9223372036854775808)", "the number leaves its range"), ("math.bitShiftLeft(1, -1)", "beyond the range"),
        ("base64.decode('ab=c')", "this is not base64"), ("base64.decode('abcde')", "this is not base64"),
        ("base64.decode('a===')", "this is not base64"), ("base64.decode('aGk=x')", "this is not base64"),
    ])
    func `what has no result is an error`(_ text: String, _ message: String) { #expect(outcome(of: text).contains(message)) }

    @Test(arguments: ["", "f", "fo", "foo", "foob", "fooba", "foobar"])
    func `base64 gives back what it was given, with and without padding`(_ text: String) {
        #expect(outcome(of: "string(base64.decode(base64.encode(b'\(text)'))) == '\(text)'") == "bool true")
        #expect(outcome(of: "string(base64.decode(base64.encode(b'\(text)').replace('=', ''))) == '\(text)'") == "bool true")
    }

    @Test func `bind evaluates a value once and gives it a name`() {
        #expect(outcome(of: "cel.bind(x, 'ab' + 'c', x + x)") == #"string "abcabc""#)
        #expect(outcome(of: "cel.bind(x, 2, cel.bind(y, x + 1, [x, y].map(z, z * x)))") == "list [4,6]")
        #expect(outcome(of: "cel.bind(1, 2, 3)").hasPrefix("fault at 4: cel.bind takes a variable"))
        var limits = ExpressionLimits()
        limits.bytes = 1000
        let doubled = (0..<20).reduce("'abcdefgh'") { text, _ in "cel.bind(x, \(text), x + x)" }
        let value = try? Expression(doubled, in: Environment(.declared([:])), limits: limits).value(of: [:])
        guard case .failure(let fault)? = value else {
            Issue.record("values of any size are made")
            return
        }
        #expect(fault.message.contains("larger values than it may"))
    }

    @Test(arguments: [
        ("[5, 7, 8].exists(i, v, i == 1 && v == 7)", "bool true"), ("{'a': 1, 'b': 2}.all(k, v, k == 'a' || v == 2)", "bool true"),
        ("[1, 2].existsOne(i, v, v > i)", "bool false"), ("[2, 4].transformList(i, v, v * 10 + i)", "list [20,41]"),
        ("[2, 4].transformList(i, v, i > 0, v)", "list [4]"), ("{'a': 1}.transformMap(k, v, k + string(v))", #"map {"a":"a1"}"#),
        ("['x'].transformMap(i, v, v)", #"map {"0":"x"}"#), ("[[1], [2]].transformList(i, v, v.map(x, x + i))", "list [[1],[3]]"),
    ])
    func `macros with two variables see the index or the key, and the value`(_ text: String, _ expected: String) {
        #expect(outcome(of: text) == expected)
    }

    @Test func `extensions work on the members of an event`() throws {
        let event = #"{"p":{"a":10,"b":"x"},"l":[3,1.5],"math":1,"s":"aGk="}"#
        #expect(try evaluate("p.exists(k, v, k == 'b' && v == 'x')", on: event).truth == .yes)
        #expect(try evaluate("l.transformList(i, v, v + i)", on: event).value == "[3,2.5]")
        #expect(try evaluate("p.transformMap(k, v, k != 'a', v)", on: event).value == #"{"b":"x"}"#)
        #expect(try evaluate("math.ceil(p.a / 4.0) == 3.0 && math.ceil(p.a) == 10.0 && this.math == 1", on: event).truth == .yes)
        #expect(try evaluate("string(base64.decode(s)) == 'hi'", on: event).truth == .yes)
        #expect(try evaluate("cel.bind(x, p.a, x > 9 && x < 11)", on: event).truth == .yes)
        #expect(fault("p.transformMap(k, k, true)") == "18: transformMap begins with two variables: transformMap(k, v, …)")
    }
}
