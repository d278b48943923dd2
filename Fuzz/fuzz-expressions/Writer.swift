// Makes expressions that are nearly valid, and events for them. The same seed gives the same output.

import Seeded

struct Writer {
    var random: Seeded

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }
    private mutating func pick(_ choices: [String]) -> String { choices[below(choices.count)] }

    private static let members = ["a", "b", "a.b", "a.b.c", "this", "l", "type", "this[\"a\"]", "s", "int", "n", "now", "x"]
    private static let constants = [
        "1", "0", "-1", "2u", "1.5", "9223372036854775807", "18446744073709551615u", "1e300", "'abc'", "'a'", "''", "'\\u00e9'", "true",
        "false", "null",
        "[]", "{}", "[1, 'a', 2.0]", "['abc', 'a']", "{'a': 1, 2: 'b'}", "b'\\xff'", "duration('1h')", "timestamp('2024-06-10T12:00:00Z')",
        "'%s %d'", "ip('10.0.0.1')",
    ]
    private static let infix = [" == ", " != ", " < ", " >= ", " && ", " || ", " + ", " - ", " * ", " / ", " % ", " in "]
    private static let unary = [
        "size", "string", "int", "uint", "double", "bool", "bytes", "type", "dyn", "timestamp", "duration", "ip", "isIP", "version",
        "strings.quote", "json",
    ]
    private static let methods = [
        "startsWith('ab')", "contains(s)", "endsWith(a)", "lowerAscii()", "reverse()", "trim()", "split('')", "split(',')", "join()",
        "charAt(1)", "substring(1)",
        "substring(0, n)", "indexOf('b')", "lastIndexOf('b', 2)", "replace('a', s)", "replace('', 'b', 3)", "format([a, b])", "size()",
        "getHours('Europe/Berlin')",
        "getFullYear()", "glob('a*c')", "inside('10.0.0.0/8')", "exists(x, x == 1)", "all(x, x != a)", "map(x, x)", "filter(x, x > 1)",
        "exists_one(x, true)",
        "map(x, x == x, [x, x])", "map(y, l.map(z, [y, z]))", "a", "b.c", "map(y, s + s)",
    ]

    mutating func expression() -> [UInt8] {
        var text = Array(term(below(5)).utf8)
        guard below(4) == 0 else { return text }
        for _ in 0..<(1 + below(3)) where !text.isEmpty {
            let i = below(text.count)
            switch below(5) {
            case 0: text.remove(at: i)
            case 1:
                text.insert(
                    contentsOf: Array(
                        pick([
                            "(", ")", "[", "]", "{", "}", ".", "'", "\"", "\\", "?", ":", ",", "!", "-", "0x", "e", "u", "r'", "b\"", "`",
                            "//", "😀",
                        ]).utf8), at: i)
            case 2: text[i] ^= 1 << UInt8(below(8))
            case 3: text.insert(contentsOf: text[i..<min(text.count, i + 1 + below(12))], at: below(text.count + 1))
            default: text.insert(contentsOf: Array(repeating: text[i], count: below(300)), at: i)
            }
        }
        return text
    }

    private mutating func term(_ depth: Int) -> String {
        if depth == 0 { return below(2) == 0 ? pick(Writer.members) : pick(Writer.constants) }
        switch below(10) {
        case 0: return "(" + term(depth - 1) + ")"
        case 1: return "!" + term(depth - 1)
        case 2: return pick(Writer.unary) + "(" + term(depth - 1) + ")"
        case 3, 4: return term(depth - 1) + "." + pick(Writer.methods)
        case 5: return term(depth - 1) + " ? " + term(depth - 1) + " : " + term(depth - 1)
        case 6: return term(depth - 1) + "[" + term(depth - 1) + "]"
        case 7: return "has(" + pick(["a.b", "this.a", "a.b.c", "s.x"]) + ")"
        default: return term(depth - 1) + pick(Writer.infix) + term(depth - 1)
        }
    }

    private static let values = [
        "1", "1.0", "0", "-0", "2.5", "1e3", "1e999", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        "123456789012345678901234567890",
        "0.1", "true", "false", "null", #""abc""#, #""""#, #""a\u0062c""#, #""\ud800""#, #""é😀""#, "[]", "{}", "[1,2,3]",
        #"["abc",1.5,null]"#, #"{"b":1}"#, #"{"b":{"c":"abc"}}"#,
        #"{"\u0062":2}"#, "[[[[[[]]]]]]", #""10.0.0.1""#, #""1h""#, #"{"a":1,"a":2}"#,
    ]

    mutating func event() -> String {
        var members: [String] = []
        for name in ["a", "b", "l", "s", "n", "type", "int"] where below(4) > 0 { members.append("\"\(name)\": \(pick(Writer.values))") }
        return "{" + members.joined(separator: below(2) == 0 ? "," : " , ") + "}"
    }
}
