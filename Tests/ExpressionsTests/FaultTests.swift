// Tests the messages of faults that are found before an expression runs, word for word and with their offsets.

import Expressions
import Testing

@Suite struct FaultTests {
    @Test(arguments: [
        ("", "0: expected an expression, found the end of the expression"),
        ("1 +", "3: expected an expression, found the end of the expression"),
        ("a.b c", "4: expected an operator or the end of the expression, found 'c'"),
        ("a and b", "2: expected an operator or the end of the expression, found 'and'; 'and' is written &&"),
        ("a or b", "2: expected an operator or the end of the expression, found 'or'; 'or' is written ||"),
        ("a = 1", "2: found '='; equality is written =="), ("a & b", "2: found '&'; 'and' is written &&"),
        ("a | b", "2: found '|'; 'or' is written ||"), ("a # b", "2: found '#', which is allowed only inside quotes"),
        ("'abc", "0: this quote is not closed"), ("'a\nb'", "2: the line ends inside a string; write \\n, or three quotes around it"),
        ("'\\q'", "1: there is no such escape; a backslash itself is written \\\\"),
        ("'\\x1'", "1: this escape needs 2 hexadecimal digits"),
        ("'\\ud800'", "1: this escape names no character"), ("b'\\u0041'", "2: bytes have no \\u escapes; write \\x"),
        ("(1", "2: expected ')' to close the parenthesis, found the end of the expression"),
        ("[1", "2: expected ',' or ']' after an element, found the end of the expression"),
        ("{1 2}", "3: expected ':' after a key, found the number 2"),
        ("a.", "2: expected a member after '.', found the end of the expression"),
        ("a ? b", "5: expected ':' between the two results of a condition, found the end of the expression"),
        ("a.?", "3: expected a member after '.?', found the end of the expression"),
        ("for", "0: expected an expression, found 'for', a reserved word; a member of this name is written this.for"),
        ("9223372036854775808", "0: the number 9223372036854775808 is beyond the range of int; write 9223372036854775808u or a double"),
        ("1e999", "0: the number 1e999 is beyond the range of a double"), ("12a", "2: expected an operator after the number 12, found 'a'"),
        (
            "google.rpc.Status{code: 1}",
            "0: protocol-buffer messages are not supported: 'google.rpc.Status{…}'; for a map write {\"key\": value}"
        ),
        ("a.b == \"1\" && 'x' == 1", "18: string is never equal to int: put the number in quotes, or convert with int() or double()"),
        ("size(a) == '1'", "8: int is never equal to string: put the number in quotes, or convert with int() or double()"),
        ("now > '2024-01-01T00:00:00Z'", "4: > does not take timestamp and string; write timestamp(\"…\")"),
        ("a && 1", "5: && joins two conditions: expected bool, found int"),
        ("'a' + 1 == a", "4: + does not take string and int; put the number in quotes, or convert with int() or double()"),
        ("1 ? a : b", "0: ?: begins with a condition: expected bool, found int"),
        ("1 + 1.5 > a", "2: + does not take int and double; convert one with int(), uint() or double()"),
        ("startWith(a, b)", "0: there is no function 'startWith', did you mean startsWith?"),
        ("a.frobnicate()", "2: there is no function 'frobnicate'"),
        ("a.startsWith(1)", "2: expected string.startsWith(string), found dyn.startsWith(int)"),
        ("startsWith(a, b)", "0: expected string.startsWith(string), found startsWith(dyn, dyn)"),
        ("size() == 1", "0: expected size(string) or string.size() or size(bytes) or bytes.size() or …, found size()"),
        ("has(1)", "4: has asks for a member: has(a.b)"), ("has(a.b, c)", "0: has takes one member: has(a.b)"),
        ("a.all(x)", "2: all takes a variable and an expression, was given 1 arguments"),
        ("a.all(1, true)", "6: all begins with a variable: all(x, …)"),
        ("a.all(x, 1)", "9: all needs a condition for elements: expected bool, found int"),
        ("'a'.all(x, true)", "0: all needs a list or a map, found string"),
        ("[1]['a'] == 1", "4: a list is indexed by an int, found string"),
        ("{1.5: 1} == a", "1: a key is a string, bool, int or uint, found double"),
        ("'abc'.b == a", "6: a value of type string has no member 'b'; only maps have members"),
        ("1 + 1", "0: a condition is true or false, but this gives int"),
        ("a.matches('(')", "10: RE2 cannot read this regular expression: missing ): ("),
        ("now > timestamp('x')", "6: this is not a timestamp between the years 1 and 9999, such as \"2024-06-10T12:00:00Z\""),
        ("a == duration('x')", "5: this is not a duration of at most 292 years, such as \"1h30m\" or \"250ms\""),
        ("a == ip('x')", "5: this is not an IP address"), ("a == version('x')", "5: this is not a version, such as \"1.2.3\""),
        ("1 in 2", "2: in does not take int and int; 'in' needs a list or a map"),
    ])
    func aFaultSaysWhereAndWhatWasExpected(_ text: String, _ expected: String) { #expect(fault(text) == expected) }

    @Test func textAndDepthAreBounded() {
        #expect(fault(String(repeating: " ", count: 32769)) == "0: the expression is longer than 32768 bytes")
        #expect(fault(String(repeating: "(", count: 101)) == "100: the expression nests deeper than 100 levels")
        #expect(fault(String(repeating: "!", count: 200) + "a") == "99: the expression nests deeper than 100 levels")
        #expect(fault(Array(repeating: "a", count: 2000).joined(separator: " && ")) == nil)
    }

    @Test func aMemberOfAnyTypeFitsEverywhere() {
        for text in ["a", "a.b.c", "!a", "a == 1", "a + 1 == 2.5", "a.startsWith(b)", "a[0]", "a.exists(x, x.y > 1)", "-a > 1", "a in b"] {
            #expect(fault(text) == nil)
        }
    }

    @Test func theTypeIsKnownWhereItCanBe() throws {
        for (text, type) in [
            ("1 + 1", Type.int), ("[1, 2]", .list(.int)), ("[1, 'a']", .list(.dyn)), ("{'a': [1.5]}", .map(.string, .list(.double))),
            ("a + 1", .dyn),
            ("a.b == 1", .bool), ("[1].map(x, string(x))", .list(.string)), ("now - now", .duration), ("[]", .list(.dyn)),
            ("size(a)", .int),
        ] {
            #expect(try Expression(text).type == type, "\(text)")
        }
    }
}
