import Editing
import Plans
import Testing

@testable import Admission
@testable import Models

@Suite struct SpliceTests {
    private func drop(_ line: String, _ paths: String...) -> String? { edited(line, DropStep(paths.map(path))) }
    private func set(_ line: String, _ members: (String, String)...) -> String? {
        edited(line, SetStep(constants: members.map { (path($0.0), $0.1) }))
    }

    @Test("an event that no transform changes is delivered byte for byte")
    func untouched() {
        let line = " { \"n\" : 9007199254740993 ,\t\"x\":1E400, \"s\":\"\\u0061\" } "
        #expect(edited(line) == line)
        #expect(drop(line, "absent", "n.deeper") == line)
        #expect(edited(line, HashStep([path("absent.too")], key: 0)) == line)
    }

    @Test("a dropped member is removed with its comma, at any position")
    func drops() {
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "a") == #"{"b":2,"c":3}"#)
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "b") == #"{"a":1,"c":3}"#)
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "c") == #"{"a":1,"b":2}"#)
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "a", "b") == #"{"c":3}"#)
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "c", "b") == #"{"a":1}"#)
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "c", "a") == #"{"b":2}"#)
        #expect(drop(#"{"a":1,"b":2,"c":3}"#, "c", "a", "b") == "{}")
        #expect(drop(#"{"a":1}"#, "a") == "{}")
        #expect(drop(#"{"x":{"a":1},"y":{"a":2,"b":3}}"#, "x.a", "y.a") == #"{"x":{},"y":{"b":3}}"#)
        #expect(drop(#"{"x":[{"a":1}],"a":[1,{"b":"}"}]}"#, "a", "x.a") == #"{"x":[{"a":1}]}"#)
    }

    @Test("the spaces around the remaining members stay")
    func spaces() {
        #expect(drop(#" { "a" : 1 , "b" : 2 , "c" : 3 } "#, "a") == #" { "b" : 2 , "c" : 3 } "#)
        #expect(drop(#" { "a" : 1 , "b" : 2 , "c" : 3 } "#, "b") == #" { "a" : 1 , "c" : 3 } "#)
        #expect(drop(#" { "a" : 1 , "b" : 2 , "c" : 3 } "#, "c") == #" { "a" : 1 , "b" : 2  } "#)
        #expect(drop(#" { "a" : 1 , "b" : 2 , "c" : 3 } "#, "a", "b", "c") == " {  } ")
        #expect(set(#"{ "a" : 1 }"#, ("b", "2")) == #"{ "a" : 1,"b":2 }"#)
        #expect(set("{ }", ("b", "2")) == #"{"b":2 }"#)
    }

    @Test("an escaped key is the same key")
    func escapedKeys() {
        #expect(drop(#"{"i\u0070":1,"n":2}"#, "ip") == #"{"n":2}"#)
        #expect(set(#"{"i\u0070":1,"n":2}"#, ("ip", "0")) == #"{"i\u0070":0,"n":2}"#)
        #expect(drop(#"{"a\"b":1,"n":2}"#, #"["a\"b"]"#) == #"{"n":2}"#)
    }

    @Test("a member that is set is replaced in its place, or added at the end")
    func sets() {
        #expect(set(#"{"a":1,"b":2}"#, ("a", "null")) == #"{"a":null,"b":2}"#)
        #expect(set(#"{"a":{"x":1},"b":2}"#, ("a", "[1]")) == #"{"a":[1],"b":2}"#)
        #expect(set(#"{"a":1}"#, ("b", "2"), ("c", "3")) == #"{"a":1,"b":2,"c":3}"#)
        #expect(set("{}", ("b", "2"), ("c", "3")) == #"{"b":2,"c":3}"#)
        #expect(set("{}", (#"["a\"b\\c"]"#, "1")) == #"{"a\"b\\c":1}"#)
        #expect(set("{}", ("a", "{ \"x\" : [1 ,\n 2] }")) == #"{"a":{"x":[1 ,  2]}}"#)
    }

    @Test("missing parents are added, and a parent that is not an object becomes one")
    func parents() {
        #expect(set("{}", ("a.b.c", "1")) == #"{"a":{"b":{"c":1}}}"#)
        #expect(set(#"{"a":{}}"#, ("a.b.c", "1")) == #"{"a":{"b":{"c":1}}}"#)
        #expect(set(#"{"a":{"x":0}}"#, ("a.b", "1")) == #"{"a":{"x":0,"b":1}}"#)
        for other in ["null", "7", #""text""#, "[]", "true"] {
            #expect(set(#"{"a":\#(other),"z":0}"#, ("a.b.c", "1")) == #"{"a":{"b":{"c":1}},"z":0}"#)
        }
    }

    @Test("each transform works on the result of the previous one")
    func sequence() {
        let (a, ab, ac) = (path("a"), path("a.b"), path("a.c"))
        let line = #"{"a":{"b":1},"z":0}"#
        #expect(edited(line, DropStep([a]), SetStep(constants: [(a, "2")])) == #"{"a":2,"z":0}"#)
        #expect(edited(line, SetStep(constants: [(a, "2")]), DropStep([a])) == #"{"z":0}"#)
        #expect(edited(line, DropStep([a]), SetStep(constants: [(ac, "2")])) == #"{"a":{"c":2},"z":0}"#)
        #expect(edited(line, DropStep([ab]), SetStep(constants: [(ac, "2")])) == #"{"a":{"c":2},"z":0}"#)
        #expect(edited(line, SetStep(constants: [(a, #"{"b":1,"c":2}"#)]), DropStep([ab])) == #"{"a":{"c":2},"z":0}"#)
        #expect(edited(line, SetStep(constants: [(ab, "2")]), SetStep(constants: [(ab, "3")])) == #"{"a":{"b":3},"z":0}"#)
        let text = referenceHMAC(Array("secret".utf8), Array("tëxt".utf8))
        #expect(edited(line, SetStep(constants: [(a, #""t\u00ebxt""#)]), HashStep([a], key: 0)) == #"{"a":"\#(text)","z":0}"#)
        let one = referenceHMAC(Array("secret".utf8), Array("1".utf8))
        #expect(
            edited(line, HashStep([ab], key: 0), HashStep([ab], key: 1))
                == #"{"a":{"b":"\#(referenceHMAC(Array("other".utf8), Array(one.utf8)))"},"z":0}"#)
        let object = referenceHMAC(Array("secret".utf8), Array(#"{"c":2}"#.utf8))
        #expect(edited(line, DropStep([ab]), SetStep(constants: [(ac, "2")]), HashStep([a], key: 0)) == #"{"a":"\#(object)","z":0}"#)
        #expect(edited("{}", DropStep([ab]), SetStep(constants: [(ac, "2")]), HashStep([a], key: 0)) == #"{"a":"\#(object)"}"#)
    }

    @Test("an event with many members, great depth or great length is edited like any other")
    func extremes() {
        let many = (0..<20_000).map { "\"k\($0)\":\($0)" }
        #expect(
            drop("{" + many.joined(separator: ",") + "}", "k0", "k19999", "k7") == "{"
                + many.enumerated().filter { ![0, 7, 19999].contains($0.offset) }.map(\.element).joined(separator: ",") + "}")
        let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
        #expect(drop("{\"a\":\(deep),\"b\":1}", "b") == "{\"a\":\(deep)}")
        let keys = (0..<200).map { "d\($0)" }
        let nested = keys.map { "{\"\($0)\":" }.joined() + "{\"x\":1,\"y\":2}" + String(repeating: "}", count: 200)
        #expect(drop(nested, (keys + ["x"]).joined(separator: ".")) == nested.split(separator: "\"x\":1,").joined())
        let long = String(repeating: "x", count: 3_000_000)
        #expect(set("{\"a\":\"\(long)\"}", ("b", "1")) == "{\"a\":\"\(long)\",\"b\":1}")
    }
}
