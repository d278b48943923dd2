// Tests the messages for bad lines, and the places to which they point.

import Events
import Testing

@Suite("Faults") struct FaultTests {
    static let table: [(String, Fault.Kind, UInt32, String)] = [
        ("", .blank, 0, "the line is blank"),
        (" \t\r", .blank, 2, "the line is blank"),
        ("\u{feff}{}", .byteOrderMark, 0, "the line begins with a byte order mark; send UTF-8 without one"),
        ("[1]", .notAnObject, 0, "an event must be a JSON object, found 0x5b '['"),
        (" null", .notAnObject, 1, "an event must be a JSON object, found 0x6e 'n'"),
        ("\u{0}", .notAnObject, 0, "an event must be a JSON object, found 0x00"),
        ("{", .expectedKey, 1, "expected a key in double quotes, found the end of the line"),
        ("{1:2}", .expectedKey, 1, "expected a key in double quotes, found 0x31 '1'"),
        (#"{"a":1,}"#, .expectedKey, 7, "expected a key in double quotes, found 0x7d '}'"),
        (#"{"k"Ab}"#, .expectedColon, 4, "expected ':' after a key, found 0x41 'A'"),
        (#"{"k" "#, .expectedColon, 5, "expected ':' after a key, found the end of the line"),
        (#"{"a":}"#, .expectedValue, 5, "expected a value, found 0x7d '}'"),
        (#"{"a":[,]}"#, .expectedValue, 6, "expected a value, found 0x2c ','"),
        ("{\"a\":\u{0}}", .expectedValue, 5, "expected a value, found 0x00"),
        (#"{"a":1 2}"#, .expectedMember, 7, "expected ',' or '}' after a member, found 0x32 '2'"),
        (#"{"a":1"#, .expectedMember, 6, "expected ',' or '}' after a member, found the end of the line"),
        (#"{"a":[1 2]}"#, .expectedElement, 8, "expected ',' or ']' after an element, found 0x32 '2'"),
        (#"{"a":[1}"#, .expectedElement, 7, "expected ',' or ']' after an element, found 0x7d '}'"),
        (#"{"a":trux}"#, .literal, 8, "expected true, false or null, found 0x78 'x'"),
        (#"{"a":fals"#, .literal, 9, "expected true, false or null, found the end of the line"),
        (#"{"a":nil}"#, .literal, 6, "expected true, false or null, found 0x69 'i'"),
        (#"{"a":-}"#, .number, 6, "expected a digit in a number, found 0x7d '}'"),
        (#"{"a":1.e}"#, .number, 7, "expected a digit in a number, found 0x65 'e'"),
        (#"{"a":1e+}"#, .number, 8, "expected a digit in a number, found 0x7d '}'"),
        (#"{"a":-012}"#, .leadingZero, 7, "a number must not begin with 0, found 0x31 '1' after it"),
        ("{\"a\":\"\t\"}", .controlInString, 6, "a control character in a string must be escaped, found 0x09"),
        ("{\"a\":\"x\u{0}\"}", .controlInString, 7, "a control character in a string must be escaped, found 0x00"),
        (#"{"a":"xyz"#, .controlInString, 9, "the line ends inside a string"),
        (#"{"a"#, .controlInString, 3, "the line ends inside a string"),
        (#"{"a":"\x41"}"#, .escape, 7, "an escape that JSON does not have, found 0x78 'x'"),
        (#"{"a":"\u12G4"}"#, .escape, 10, "an escape that JSON does not have, found 0x47 'G'"),
        (#"{"a":"\"#, .escape, 7, "an escape that JSON does not have, found the end of the line"),
        (#"{"a":{"b":[1]}}"#, .depth, 10, "the event nests deeper than 2 levels"),
        (#"{"a":1,"b":2,"\u0061":3}"#, .duplicate, 13, "the member a is there twice"),
        (#"{"c":{"x.y":1,"x.y":1}}"#, .duplicate, 14, #"the member c["x.y"] is there twice"#),
        ("{} x", .textAfterEvent, 3, "expected the end of the line after the event, found 0x78 'x'"),
        ("{}\u{0}", .textAfterEvent, 2, "expected the end of the line after the event, found 0x00"),
        (#"{"a":é}"#, .expectedValue, 5, "expected a value, found 0xc3"),
    ]

    @Test("a fault names what was expected, what was found, and where", arguments: table.indices) func faults(row: Int) {
        let (text, kind, offset, message) = FaultTests.table[row]
        for lookahead in Lookahead.supported {
            for before in [0, 500] {
                for lineEnd in [[], [UInt8(ascii: "\r")]] where kind != .blank || lineEnd.isEmpty {
                    let line = Array(text.utf8) + lineEnd
                    let result = scan(line, paths("a", #"c["x.y"]"#), depth: 2, lookahead: lookahead, before: before)
                    #expect(result.fault?.kind == kind)
                    #expect(result.fault?.offset == UInt32(before) + offset)
                    #expect(result.fault?.message == message)
                    #expect(result.lineEnd == before + line.count)
                }
            }
        }
    }

    @Test("every kind of fault is in the table") func complete() {
        let untold = Set(Fault.Kind.allCases).subtracting(FaultTests.table.map(\.1))
        #expect(untold == [.utf8])
        #expect(scan(Array("{\"a\":\"".utf8) + [0xc3, 0x28, 0x22, 0x7d]).fault?.message == "bad UTF-8, found 0xc3")
    }
}
