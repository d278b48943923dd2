import Editing
import Events
import Expressions
import Testing

@testable import Admission
@testable import Models

/// Tests how one value changes, at the edges of each rule of docs/transforms.md.
@Suite struct ValueChangeTests {
    private let v = path("v")

    /// Returns the changed value. It is nil if the member is dropped.
    private func changed(_ value: String, _ step: any Step) -> String? {
        guard let line = edited("{\"v\":\(value)}", step) else { return "held back" }
        return line == "{}" ? nil : String(line.dropFirst(5).dropLast())
    }

    @Test(
        "a number is rounded to the nearest multiple, with the digits of the step, however large it is",
        arguments: [
            ("0.125", "0.25", "0.25"), ("-0.125", "0.25", "-0.25"), ("0.1", "0.25", "0"), ("-0.1", "0.25", "0"), ("7", "0.5", "7"),
            ("1.995", "0.01", "2"), ("0.3", "0.1", "0.3"), ("1e2", "7", "98"), ("9e15", "1", "9e15"), ("-9.1e15", "10", "-9.1e15"),
            ("8999999999999999", "1", "8999999999999999"), ("8999999999999999", "1.500000000", "8999999999999998"),
            ("1e300", "0.000000001", "1e300"), ("\"12\"", "5", "10"), ("null", "5", "null"), ("1E-400", "3", "0"),
            ("8704216968183916", "3", "8704216968183915"), ("8500020800324406", "7", "8500020800324403"),
            ("-8811043395745090", "1001", "-8811043395744590"), ("5", "10", "10"), ("-5", "10", "-10"), ("-4.9", "10", "0"),
            ("6.5", "13", "13"), ("6.4", "13", "0"),
        ])
    func rounds(value: String, step: String, expected: String) { #expect(changed(value, RoundStep([(v, .multiple(step))])) == expected) }

    @Test(
        "round and bin drop a value that is not a number",
        arguments: ["\"\"", "\" 1\"", "\"0x10\"", "\"1 \"", "true", "[1]", "{}", "1E400", "\"nan\""])
    func noNumber(value: String) {
        #expect(changed(value, RoundStep([(v, .multiple("1"))])) == nil)
        #expect(changed(value, BinStep([(v, ["0", "1"])])) == nil)
    }

    @Test(
        "bin puts a number into the range whose upper bound it does not exceed",
        arguments: [
            ("-0.1", "<0"), ("0", "0-100"), ("100", "0-100"), ("100.5", "101-500"), ("101", "101-500"), ("500", "101-500"), ("501", "500+"),
            ("1e300", "500+"), ("\"-7\"", "<0"), ("-0", "0-100"),
        ])
    func bins(value: String, label: String) { #expect(changed(value, BinStep([(v, ["0", "100", "500"])])) == "\"\(label)\"") }

    @Test(
        "a time is rounded down to the beginning of its unit, also before 1970, and keeps its offset",
        arguments: [
            ("-1", RoundStep.TimeUnit.minute, "-60"), ("-60", .minute, "-60"), ("100000000000", .day, "99964800000"),
            ("99999999999", .minute, "99999999960"), ("\"2024-02-29\"", .minute, "\"2024-02-29\""),
            ("\"2024-02-29t23:59:60.999z\"", .minute, "\"2024-02-29T23:59:00z\""),
            ("\"2024-12-31 10:30:00-00:30\"", .day, "\"2024-12-31T00:00:00-00:30\""),
        ])
    func times(value: String, unit: RoundStep.TimeUnit, expected: String) {
        #expect(changed(value, RoundStep([(v, .time(unit))])) == expected)
    }

    @Test(
        "a value that is not a time is dropped",
        arguments: [
            "\"2023-02-29\"", "\"2024-13-01\"", "\"2024-01-01T24:00:00Z\"", "\"2024-01-01T10:00Z\"", "\"2024-01-01T10:00:00\"", "9e15",
            "{}",
        ])
    func noTime(value: String) { #expect(changed(value, RoundStep([(v, .time(.hour))])) == nil) }

    @Test("an IP address in any notation keeps only its network, and any other value is dropped")
    func addresses() {
        let usual = IPStep([v])
        #expect(changed("\"::ffff:10.1.2.3\"", usual) == "\"::ffff:10.1.2.0\"")
        #expect(changed("\"2001:DB8:1:2::3\"", usual) == "\"2001:db8:1::\"")
        #expect(changed("\"10.1.2.3\"", IPStep([v], v4: 32, v6: 128)) == "\"10.1.2.3\"")
        #expect(changed("\"10.1.2.3\"", IPStep([v], v4: 0, v6: 0)) == "\"0.0.0.0\"")
        #expect(changed("\"10.1.255.3\"", IPStep([v], v4: 17, v6: 0)) == "\"10.1.128.0\"")
        for none in ["\"10.1.2\"", "\"010.1.2.3\"", "\"10.1.2.3/8\"", "\"fe80::1%eth0\"", "\"\"", "167837955", "\"10.1.2.\\u0033\""] {
            #expect(changed(none, usual) == nil, "\(none)")
        }
    }

    @Test("flatten joins the values of lists and objects, turns a time into seconds, and keeps other scalars")
    func flattens() {
        #expect(changed(#"{ "a" : [ ] , "b" : { } , "c" : 1.0 }"#, FlattenStep([v])) == #"{"a" : "","b" : "","c" : 1.0}"#)
        #expect(changed(#"["x",null,{"k":[1,2]}]"#, FlattenStep([v])) == #""x,null,k:1,k:2""#)
        #expect(changed(#"{"a":{"b\"":{"c":"d\\"}}}"#, FlattenStep([v])) == #"{"a":"b\".c:d\\"}"#)
        #expect(changed("\"1970-01-01T00:00:00+00:01\"", FlattenStep([v])) == "-60")
        let deep = String(repeating: "[", count: 70) + "1" + String(repeating: "]", count: 70)
        #expect(changed("[\(deep),2]", FlattenStep([v])) == "\"2\"")
    }

    @Test("pick keeps the named members of an object, and drops a value that is not an object")
    func picks() {
        #expect(changed(#"{"street":"x","city":"y"}"#, GeoStep([v], keep: ["city"])) == #"{"city":"y"}"#)
        for value in ["\"y\"", "1", "[{}]", "true"] { #expect(changed(value, GeoStep([v], keep: ["city"])) == nil) }
    }

    @Test("limit counts characters in any notation, and never cuts one in two")
    func limits() {
        #expect(changed(#""\ud83d\ude97\u0041b""#, LimitStep([(v, 1)])) == #""\ud83d\ude97""#)
        #expect(changed(#""\ud83d\ude97\u0041b""#, LimitStep([(v, 2)])) == #""\ud83d\ude97\u0041""#)
    }

    @Test(
        "a value that is no string stays behind limit and lower, or is dropped if the step says so",
        arguments: ["12", "[\"AB\"]", "{}", "true"])
    func others(value: String) {
        #expect(changed(value, LimitStep([(v, 0)])) == value && changed(value, LowerStep([v])) == value)
        #expect(changed(value, LimitStep([(v, 0)], other: .drop)) == nil && changed(value, LowerStep([v], other: .drop)) == nil)
        #expect(
            changed("\"AB\"", LimitStep([(v, 1)], other: .drop)) == "\"A\"" && changed("\"AB\"", LowerStep([v], other: .drop)) == "\"ab\"")
        #expect(changed("null", LimitStep([(v, 1)], other: .drop)) == "null")
    }

    @Test(
        "a member that an expression copies keeps its bytes",
        arguments: ["1.0", "12345678901234567890123", "1e2", "-0", #""\u0041\/""#, #"{ "a" : [1.0] }"#, "null"])
    func copies(value: String) throws {
        let set = SetStep([(path: path("w"), value: .expression(try Expression("v")))])
        #expect(edited("{\"v\":\(value)}", set) == "{\"v\":\(value),\"w\":\(value)}")
    }

    @Test("a map that would have a key twice is an error, and sets nothing")
    func keyTwice() throws {
        let set = SetStep([(path: path("w"), value: .expression(try Expression(#"{1: 2, "1": 3}"#)))])
        #expect(edited("{}", set) == "{}")
        let fine = SetStep([(path: path("w"), value: .expression(try Expression(#"{1: 2, "2": 3}"#)))])
        #expect(edited("{}", fine) == #"{"w":{"1":2,"2":3}}"#)
    }

    @Test("a string with a lone surrogate has one hash, however it is written")
    func halves() {
        func hashed(_ text: String) -> [UInt8] {
            var decoder = Decoder()
            let bytes = Array(text.utf8)
            return bytes.withUnsafeBufferPointer { Array(decoder.message(of: ByteRun(base: $0.baseAddress!, count: bytes.count)).bytes) }
        }
        #expect(hashed(#""a\uD83Db""#) == hashed(#""\u0061\ud83d\u0062""#) && hashed(#""a\ud83db""#) == [0x61, 0xed, 0xa0, 0xbd, 0x62])
        #expect(hashed(#""\udE97""#) == [0xed, 0xba, 0x97] && hashed(#""\ud83d\ude97""#) == Array("🚗".utf8))
    }
}
