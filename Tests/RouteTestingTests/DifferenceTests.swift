// Where two values of JSON differ.

import RouteTesting
import Testing

@Suite("Differences of values") struct DifferenceTests {
    @Test(
        "have the path of each member, whatever the order",
        arguments: [
            (#"{"a":1,"b":{"c":[1,{"d":2}]}}"#, #"{"b":{"c":[1,{"d":3}]},"a":1}"#, ["b.c[1].d: expected 2, is 3"]),
            (#"{"a":1}"#, #"{"b":1}"#, ["a: expected 1, is missing", "b: expected no such member, is 1"]),
            ("[1,2]", "[1]", ["expected [1,2], is [1]"]), (#"{"n":1.0}"#, #"{"n":1}"#, ["n: expected 1.0, is 1"]),
            ("null", "false", ["expected null, is false"]),
            (#""a\u202e""#, #""a""#, [#"expected "a\u{202e}", is "a""#]), (#"{"a":[]}"#, #"{"a":[]}"#, []),
        ])
    func paths(expected: String, actual: String, words: [String]) throws {
        let (expected, actual) = (try #require(JSONValue(parsing: expected)), try #require(JSONValue(parsing: actual)))
        #expect(expected.differences(from: actual).map(\.description) == words)
    }
}
