// Tests the parts of the language that the conformance cases of the specification cover.

import Expressions
import Testing

@Suite struct LanguageTests {
    @Test(arguments: [
        ("17", "int 17"), ("-9223372036854775808", "int -9223372036854775808"), ("0x1F", "int 31"), ("-0x10", "int -16"),
        ("18446744073709551615u", "uint 18446744073709551615"), ("0xFFu", "uint 255"), ("1.5e3", "double 1500"), (".5", "double 0.5"),
        ("true", "bool true"), ("null", "null_type null"), ("'a\\tb'", #"string "a\tb""#), (#"r'a\tb'"#, #"string "a\\tb""#),
        ("'''a'b'''", #"string "a'b""#), ("\"\"\"a\nb\"\"\"", #"string "a\nb""#), (#"'\x41\u00e9\U0001F600\101'"#, #"string "Aé😀A""#),
        ("b'\\xff\\000'", #"bytes "/wA=""#), ("rb'\\x'", #"bytes "XHg=""#), ("[1, 2,]", "list [1,2]"),
        ("{'a': 1, 2: 'b',}", #"map {"a":1,"2":"b"}"#),
        ("1 // one\n + 1", "int 2"), ("-(-(1))", "int 1"), ("- 1", "int -1"), ("!!true", "bool true"),
    ])
    func literalsAreReadAsWritten(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test(arguments: [
        ("2 + 3 * 4", "int 14"), ("(2 + 3) * 4", "int 20"), ("10 - 4 - 3", "int 3"), ("7 % 4 * 2", "int 6"),
        ("1 < 2 == true", "bool true"), ("false || true && false", "bool false"), ("true ? 1 : false ? 2 : 3", "int 1"),
        ("!true || true", "bool true"), ("-2 * -3", "int 6"), ("1 + 2 in [3]", "bool true"), ("[1, 2][1]", "int 2"),
        ("{'a': {'b': 5}}.a.b", "int 5"), ("{'a': 1}['a']", "int 1"), ("{'in': 1, 'if': 2}.if", "int 2"), ("{'a-b': 1}.`a-b`", "int 1"),
    ])
    func operatorsBindAsTheSpecificationSays(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test(arguments: [
        "9223372036854775807 + 1", "-9223372036854775808 - 1", "5000000000 * 5000000000", "-(-9223372036854775808)",
        "(-9223372036854775808) / -1", "18446744073709551615u + 1u", "0u - 1u", "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
        "timestamp('9999-12-31T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')",
    ])
    func whatLeavesItsRangeIsAnError(_ text: String) { #expect(outcome(of: text) == "error: \(text): the number leaves its range") }

    @Test(arguments: [
        ("1 / 0", "error: 1 / 0: division by zero"), ("1 % 0", "error: 1 % 0: division by zero"), ("1.0 / 0.0", #"double "Infinity""#),
        ("[1][1]", "error: [1][1]: the index is out of range"), ("{'a': 1}.b", "error: {'a': 1}.b: there is no such key"),
        ("{'a': 1, 'a': 2}", "error: 'a': the key is there twice"), ("int('x')", "error: int('x'): this text is not a number of this type"),
        ("uint(-1)", "error: uint(-1): the value is beyond the range of this type"),
        ("string(b'\\xff')", "error: string(b'\\xff'): this is not UTF-8 text"),
        ("'%d'.format(['x'])", "error: '%d'.format(['x']): the format and its arguments do not fit"),
        (
            "timestamp(0).getHours('Nowhere/Land')",
            "error: timestamp(0).getHours('Nowhere/Land'): there is no such time zone; names are like \"Europe/Berlin\", offsets like \"+02:00\""
        ),
    ])
    func anErrorNamesThePartAndTheReason(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test(arguments: [
        ("1 / 0 > 1 || true", "bool true"), ("true || 1 / 0 > 1", "bool true"), ("1 / 0 > 1 && false", "bool false"),
        ("false && 1 / 0 > 1", "bool false"), ("1 / 0 > 1 || false", "error: 1 / 0: division by zero"),
        ("true && 1 / 0 > 1", "error: 1 / 0: division by zero"), ("true ? 1 : 1 / 0", "int 1"),
        ("[1, 0].exists(x, 1 / x == 1)", "bool true"), ("[0, 1].exists(x, 1 / x == 1)", "bool true"),
        ("[0, 2].all(x, 1 / x == 1)", "bool false"), ("[0].exists(x, 1 / x == 1)", "error: 1 / x: division by zero"),
        ("[0, 1].exists_one(x, 1 / x == 1)", "error: 1 / x: division by zero"),
    ])
    func anErrorIsAbsorbedByTheSideThatDecides(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test(arguments: [
        ("1 == 1.0", true), ("1u < 1.5", true), ("-1 < 0u", true), ("2 in [1.0, 2.0]", true), ("{1: 'a'}[1u] == 'a'", true),
        ("9223372036854775807 < 9223372036854775808u", true), ("0.0 / 0.0 == 0.0 / 0.0", false), ("'a' < 'á'", true), ("'B' < 'a'", true),
        ("b'a' < b'aa'", true), ("[1, [2]] == [1.0, [2u]]", true), ("[1] == [1, 2]", false), ("[1, 2] == [1]", false),
        ("{'a': 1, 'b': 2} == {'b': 2.0, 'a': 1}", true),
        ("dyn('1') == 1", false), ("dyn(null) == false", false), ("'e\\u0301' == '\\u00e9'", false), ("[] == []", true),
        ("duration('60s') == duration('1m')", true), ("timestamp(0) < timestamp('1970-01-01T00:00:00.1Z')", true),
        ("type(1) == int && type(type(1)) == type", true), ("version('1.10') > version('v1.9.3')", true),
        ("version('1.0') == version('1.0.0')", true), ("version('2.0.0-rc.1') < version('2.0.0')", true),
        ("version('1.0.0-2') < version('1.0.0-10')", true), ("version('1.0.0+7') == version('1.0.0')", true),
        ("ip('::ffff:10.0.0.1') == ip('10.0.0.1')", true), ("ip('10.1.2.3').inside('10.0.0.0/8')", true),
        ("ip('11.1.2.3').inside(['10.0.0.0/8', '12.0.0.0/8'])", false), ("ip('2001:db8::1').inside('2001:db8::/32')", true),
        ("ip('10.0.0.1').inside('::/0')", false), ("ip('fd00::1').isPrivate() && ip('172.31.0.1').isPrivate()", true),
        ("ip('172.32.0.1').isPrivate()", false), ("ip('127.0.0.1').isLoopback() && ip('::1').isLoopback()", true),
        ("ip('fe80::1').isLinkLocal() && ip('::1').family() == 6", true), ("isIP('1.2.3') || isIP('x')", false),
        ("glob('item_viewed', 'item_*') && 'a.b.c'.glob('a*c')", true), ("glob('abc', 'a?c')", false), ("glob('', '*')", true),
    ])
    func valuesCompareAcrossTheirKinds(_ text: String, _ expected: Bool) { #expect(outcome(of: text) == "bool \(expected)") }

    @Test(arguments: [
        ("[1, 2, 3].map(x, x * 2)", "list [2,4,6]"), ("[1, 2, 3].map(x, x > 1, x * 2)", "list [4,6]"),
        ("[1, 2, 3].filter(x, x != 2)", "list [1,3]"),
        ("{'a': 1, 'b': 2}.map(k, k)", #"list ["a","b"]"#), ("[1, 2].all(x, [3, 4].exists(y, y == x + 2))", "bool true"),
        ("[[1], [2, 3]].map(x, x.map(y, y + size(x)))", "list [[2],[4,5]]"), ("[1, 1].exists_one(x, x == 1)", "bool false"),
        ("[].all(x, false)", "bool true"), ("has({'a': null}.a) && !has({}.a)", "bool true"),
    ])
    func macrosGoThroughListsAndMaps(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test(arguments: [
        ("size('a😀')", "int 2"), ("'a😀b'.charAt(1)", #"string "😀""#), ("'tacocat'.indexOf('a', 3)", "int 5"),
        ("'ta©o©αT'.lastIndexOf('©', 3)", "int 2"), ("'a,b,,c'.split(',')", #"list ["a","b","","c"]"#),
        ("'a,b,c'.split(',', 2)", #"list ["a","b,c"]"#),
        ("'añ'.split('')", #"list ["a","ñ"]"#), ("['a', 'b'].join('-')", #"string "a-b""#),
        ("'aaa'.replace('a', 'b', 2)", #"string "bba""#),
        ("'ab'.replace('', '-')", #"string "-a-b-""#), ("'hello'.substring(1, 3)", #"string "el""#),
        ("' \\u00a0x\\n'.trim()", #"string "x""#),
        ("'ÀbC'.lowerAscii() + 'ÀbC'.upperAscii()", #"string "ÀbcÀBC""#), ("'añ😀'.reverse()", #"string "😀ña""#),
        ("strings.quote('a\"b\\n')", #"string "\"a\\\"b\\n\"""#),
        (
            "'%s %d %.2f %x %X %o %b %e %%'.format(['a', 7, 1.005, 255, 'hi', 8, 5, 1234.5])",
            #"string "a 7 1.00 ff 6869 10 101 1.234500e+03 %""#
        ),
        ("'%s'.format([{'b': [1, 2.5, null], 'a': b'x'}])", #"string "{a: x, b: [1, 2.5, null]}""#),
        ("string(1.0) + string(0.1) + string(1e100)", #"string "10.11e+100""#), ("string(duration('90.5s'))", #"string "90.5s""#),
        ("string(timestamp('2009-02-13T23:31:30.5+01:00'))", #"string "2009-02-13T22:31:30.5Z""#),
        ("string(ip('2001:DB8::0:1'))", #"string "2001:db8::1""#),
        ("int(3.9) + int('-4') + int(timestamp(5))", "int 4"), ("double('1e3') + double(1)", "double 1001"), ("bool('True')", "bool true"),
        ("duration('-1h2m3.5s').getSeconds()", "int -3723"), ("duration('1h30m').getMinutes()", "int 90"),
        ("duration('1234ms').getMilliseconds()", "int 234"),
        ("'abc'.contains('') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc') && !'abc'.contains('cb')", "bool true"),
    ])
    func functionsGiveWhatTheExtensionsSay(_ text: String, _ expected: String) { #expect(outcome(of: text) == expected) }

    @Test(arguments: [
        ("timestamp('2009-02-13T23:31:30Z').getDayOfWeek()", 5), ("timestamp('2009-02-13T23:31:30Z').getDayOfYear()", 43),
        ("timestamp('2009-02-13T23:31:30Z').getDate('Australia/Sydney')", 14), ("timestamp('2009-02-13T23:31:30Z').getHours('-02:30')", 21),
        ("timestamp('2024-06-10T12:00:00Z').getHours('Europe/Berlin')", 14),
        ("timestamp('2024-01-10T12:00:00Z').getHours('Europe/Berlin')", 13),
        // First times after the last transition of the file, which follow its rule; then times before and after a change.
        ("timestamp('2150-07-01T12:00:00Z').getHours('Europe/Berlin')", 14),
        ("timestamp('2150-01-01T12:00:00Z').getHours('Europe/Berlin')", 13),
        ("timestamp('2150-01-01T12:00:00Z').getHours('Australia/Sydney')", 23),
        ("timestamp('2024-03-31T00:59:59Z').getHours('Europe/Berlin')", 1),
        ("timestamp('2024-03-31T01:00:00Z').getHours('Europe/Berlin')", 3), ("timestamp('2024-02-29T00:00:00Z').getMonth()", 1),
        ("timestamp('0001-01-01T00:00:00Z').getFullYear()", 1), ("timestamp('1969-12-31T23:59:59.25Z').getMilliseconds()", 250),
        ("timestamp('2009-02-13T23:31:30Z').getMinutes('Asia/Kathmandu')", 16),
    ])
    func timesAreReadInAnyZone(_ text: String, _ expected: Int) { #expect(outcome(of: text) == "int \(expected)") }

    @Test(arguments: ["../../etc/passwd", "/etc/passwd", "Europe/../Europe/Berlin", "Europe", "zone.tab", "+24:00", "1:00"])
    func aZoneNeverLeadsOutOfTheFolderOfZones(_ zone: String) {
        #expect(outcome(of: "timestamp(0).getHours('\(zone)')").contains("there is no such time zone"))
    }

    @Test(arguments: [
        ("'abc'.matches('^a.c$')", true), ("matches('hubba', 'ubb')", true), ("'a\\nb'.matches('^b')", false), ("'é'.matches('^.$')", true),
    ])
    func patternsAreThoseOfRE2(_ text: String, _ expected: Bool) { #expect(outcome(of: text) == "bool \(expected)") }

    @Test func aPatternFromAValueIsAnErrorWhenItIsNone() {
        #expect(
            outcome(of: "'a'.matches(p)", variables: ["p": .string(TextValue("("))]).hasPrefix("error: 'a'.matches(p): this is not a"))
        #expect(outcome(of: "'aa'.matches(p)", variables: ["p": .string(TextValue("^a+$"))]) == "bool true")
    }
}
