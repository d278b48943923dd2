// Tests optionals on values and on events. The public cases are in `make conformance`.

import Events
import Testing

@testable import Expressions

@Suite struct OptionalTests {
    private static let event = #"{"type":"track","properties":{"price":10,"coupon":"","tags":["a","b"],"deep":{"x":null},"odd":"\ud800"}}"#

    @Test(arguments: [
        ("properties.?price.orValue(0) * 1.5", "15"), ("properties.?gone.orValue(3)", "3"), ("properties.?price.hasValue()", "true"),
        ("properties.?gone.hasValue()", "false"), ("this.?context.?app.?version.orValue('none')", #""none""#),
        ("this.?properties.?deep.?x.hasValue()", "true"), ("properties.?deep.x.value()", "null"), ("properties[?'price'].value()", "10"),
        ("properties.tags[?1].value()", #""b""#), ("properties.?tags[7].orValue('z')", #""z""#), ("properties.?tags[0].value()", #""a""#),
        ("properties.?coupon.optFlatMap(c, optional.ofNonZeroValue(c)).orValue('no coupon')", #""no coupon""#),
        ("properties.?price.optMap(p, p * 2).value()", "20"), ("properties.?gone.optMap(p, p * 2).hasValue()", "false"),
        ("properties.?gone.or(properties.?price).value()", "10"), ("[1, ?properties.?gone, ?properties.?price]", "[1,10]"),
        ("{'a': 1, ?'b': properties.?gone, ?'c': properties.?price}", #"{"a":1,"c":10}"#),
        ("properties.?price == optional.of(10)", "true"), ("properties.?gone == optional.none()", "true"),
        ("has(properties.?deep.x) && !has(properties.?gone.x)", "true"),
        ("optional.ofNonZeroValue(properties.tags).hasValue() && !optional.ofNonZeroValue(properties.coupon).hasValue()", "true"),
        ("type(properties.?gone) == optional_type", "true"),
    ])
    func `an optional has the value of a member, or none`(_ text: String, _ expected: String) throws {
        #expect(try evaluate(text, on: Self.event).value == expected)
    }

    @Test(arguments: [
        ("gone.?x.hasValue()", "gone.?x: the event has no such member"), ("type.?x.hasValue()", "type.?x: the types do not fit"),
        ("properties.?price.?x.hasValue()", "properties.?price.?x: the types do not fit"),
        ("properties.?gone.value()", "properties.?gone.value(): the optional has no value"),
        ("properties.?odd.hasValue()", "properties.?odd: this is not UTF-8 text"),
        ("properties.?tags['a']", "properties.?tags['a']: the types do not fit"),
        ("[?properties.price]", "?properties.price: the types do not fit"),
        ("properties.?price.optFlatMap(p, p).hasValue()", "p: the types do not fit"),
        ("properties.?gone.or(properties.price)", "properties.?gone.or(properties.price): the types do not fit"),
    ])
    func `what is no optional, or has no value, is an error with its place`(_ text: String, _ expected: String) throws {
        #expect(try evaluate(text, on: Self.event).value == "error: \(expected)")
    }

    @Test func `what follows orValue is evaluated only if it is needed`() throws {
        #expect(try evaluate("properties.?price.orValue(1 / 0)", on: Self.event).value == "10")
        #expect(try evaluate("properties.?price.or(optional.of(1 / 0)).value()", on: Self.event).value == "10")
        #expect(try evaluate("properties.?gone.orValue(1 / 0)", on: Self.event).value == "error: 1 / 0: division by zero")
    }

    @Test(arguments: [
        ("a.?b", "0: a condition is true or false, but this gives optional_type(dyn)"),
        ("a.?b(c)", "4: expected an operator; a function is called without '?', found '('"),
        ("size(?a) > 0", "5: expected an expression, found '?'"),
        ("[?1] == a", "2: a value after '?' is an optional, such as a.?b, found int"),
        ("'a'.optMap(x, x).hasValue()", "0: optMap needs an optional, such as a.?b, found string"),
        ("a.?b.optFlatMap(x, 1).hasValue()", "19: optFlatMap makes an optional, found int; optMap takes any value"),
        ("a.?b.optMap(x)", "5: optMap takes a variable and an expression, was given 1 arguments"),
        ("optional.of('a').orValue(1) == 'b'", "17: expected optional_type(A).orValue(A), found optional_type(string).orValue(int)"),
        ("has(a.?b)", "4: has asks for a member: has(a.b)"),
    ])
    func `a fault says what an optional is and where one is missing`(_ text: String, _ expected: String) {
        #expect(fault(text) == expected)
    }

    @Test func `an optional cannot be written, and an expression that is known to give one is refused`() throws {
        let faults = ["a.?b", "optional.none()", "a.?b.or(a.?c)"].map { text -> String? in
            do throws(ExpressionFault) {
                _ = try Expression.written(text)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(faults.allSatisfy { $0 == "an optional cannot be written; end it with .orValue(…) or .value()" })
        let expression = try Expression.written("[a.?b]")
        let paths = PathTrie(expression.paths)
        let line = try ScannedLine(#"{"a":{"b":1}}"#, paths)
        var evaluator = Evaluator(ExpressionSet([expression], paths: paths))
        var buffer = ByteBuffer()
        let isWritten = evaluator.write(0, event: line.event, around: EvaluationContext(now: 0), to: &buffer)
        let count = buffer.count
        #expect(!isWritten && count == 0)
    }

    @Test(arguments: [
        ("{'a': 1, 'b': 2}.transformMapEntry(k, v, {v: k})", #"map {"1":"a","2":"b"}"#),
        ("['x', 'y'].transformMapEntry(i, v, i > 0, {v: i})", #"map {"y":1}"#),
        ("[1, 2].transformMapEntry(i, v, {'a': 1, string(v): v})", "error: {'a': 1, string(v): v}: the key is there twice"),
        ("[1].transformMapEntry(i, v, v)", "fault at 28: transformMapEntry makes maps: expected {key: value}, found int"),
        ("[1].transformMapEntry(i, v, dyn(v))", "error: dyn(v): the types do not fit"),
    ])
    func `transformMapEntry joins the maps that it makes`(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test func `transformMapEntry takes steps for comparing each key with all before`() {
        let list = (0..<400).map(String.init).joined(separator: ",")
        #expect(outcome(of: "[\(list)].transformMapEntry(i, v, {v: i}).size()") == "int 400")
        var limits = ExpressionLimits()
        limits.steps = 5000
        let value = try? Expression("[\(list)].transformMapEntry(i, v, {v: i})", in: Environment(.declared([:])), limits: limits).value(
            of: [:])
        guard case .failure(let fault)? = value else { return #expect(Bool(false), "it ended within few steps") }
        #expect(fault.message == "the evaluation takes more steps than it may")
    }
}
