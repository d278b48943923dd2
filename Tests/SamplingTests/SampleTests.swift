import Judging
import Plans
import Testing

@testable import Events
@testable import Models
@testable import Sampling

@Suite struct SipHashTests {
    private let key = SipKey(Array(0..<16))
    private func hash<R>(_ count: Int, _ body: (ByteRun) -> R) -> R {
        let message = (0..<64).map { UInt8($0) }
        return message.withUnsafeBufferPointer { body(ByteRun(base: $0.baseAddress!, count: count)) }
    }

    @Test("the reference's test vectors hold for 64 bits")
    func vectors64() {
        // From the reference implementation, vectors_sip64; as little-endian words.
        let expected: [Int: UInt64] = [
            0: 0x726f_db47_dd0e_0e31, 1: 0x74f8_39c5_93dc_67fd, 2: 0x0d6c_8009_d9a9_4f5a, 7: 0xab02_00f5_8b01_d137,
            8: 0x93f5_f579_9a93_2462, 15: 0xa129_ca61_49be_45e5, 63: 0x958a_324c_eb06_4572,
        ]
        for (count, value) in expected { #expect(hash(count) { key.hash($0) } == value, "\(count) bytes") }
    }

    @Test("the reference's test vectors hold for 128 bits")
    func vectors128() {
        let expected: [(Int, [UInt8])] = [
            (0, [0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02, 0x93]),
            (1, [0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc, 0x45]),
        ]
        for (count, bytes) in expected {
            let value = hash(count) { key.hash128($0) }
            let wanted = SipKey(bytes)
            #expect(value.low == wanted.low && value.high == wanted.high, "\(count) bytes")
        }
    }
}

@Suite struct SampleTests {
    private func isIn(_ line: String, _ rate: Double, by: String? = "userId", keep: [String] = []) -> Bool {
        let verdict = verdict(line) { $0.sample = SamplePlan(rate: rate, by: by.map(path), keep: keep.map(Glob.init)) }
        return verdict == .admitted
    }

    @Test("the 5 % sample lies within the 10 % sample, and both are about as large as they should be")
    func nesting() {
        let rates = [0.05, 0.1, 0.5]
        var plan = plan()
        plan.routes = rates.map { rate in route { $0.sample = SamplePlan(rate: rate, by: path("userId")) } }
        let fixture = JudgeFixture(plan)
        var counts = [0, 0, 0]
        for user in 0..<10_000 {
            let admitted = fixture.verdicts(#"{"userId":"user_\#(user)"}"#).map { $0 == .admitted }
            #expect(!admitted[0] || admitted[1])
            #expect(!admitted[1] || admitted[2])
            for i in 0..<3 where admitted[i] { counts[i] += 1 }
        }
        // The constant key fixes these numbers. They must never change.
        #expect(counts == [479, 996, 4947])
    }

    @Test("the hash of a value never changes")
    func pinned() {
        func hash(_ text: String) -> UInt64 {
            Array(text.utf8).withUnsafeBufferPointer { samplingKey.hash(ByteRun(base: $0.baseAddress!, count: $0.count)) }
        }
        #expect(hash("user_1") == 8_869_465_523_655_468_957)
        #expect(hash("5f2c9c1e-8a54-4f6a-9d3e-0c1b2a394857") == 666_035_105_285_102_183)
    }

    @Test("the rate 1 takes all events, and the rate 0 takes none")
    func bounds() {
        for user in 0..<200 {
            #expect(isIn(#"{"userId":"\#(user)"}"#, 1))
            #expect(!isIn(#"{"userId":"\#(user)"}"#, 0))
        }
    }

    @Test("a user is in or out as a whole, however the id is written and whatever else the event holds")
    func wholeUser() {
        for user in 0..<100 {
            let plain = isIn(#"{"userId":"user-\#(user)","n":1}"#, 0.5)
            #expect(isIn(#"{"n":2,"userId":"us\u0065r-\#(user)"}"#, 0.5) == plain)
            #expect(isIn(#"{ "userId" : "user-\#(user)" , "messageId":"m\#(user)"}"#, 0.5) == plain)
        }
    }

    @Test("numbers and booleans are judged as they are written")
    func rawValues() {
        for number in 0..<50 { #expect(isIn(#"{"userId":\#(number)}"#, 0.5) == isIn(#"{"userId":"\#(number)"}"#, 0.5)) }
        #expect(isIn(#"{"userId":true}"#, 0.5) == isIn(#"{"userId":"true"}"#, 0.5))
    }

    @Test(
        "an event without a usable value is judged by its messageId",
        arguments: ["", #""userId":null,"#, #""userId":"","#, #""userId":{},"#, #""userId":[1],"#, #""userId":"\udc00","#])
    func byMessageID(member: String) {
        for i in 0..<50 {
            let id = #""messageId":"m\u002d\#(i)""#
            #expect(isIn("{\(member)\(id)}", 0.5) == isIn(#"{"userId":"m-\#(i)"}"#, 0.5))
            #expect(isIn("{\(id)}", 0.5, by: nil) == isIn(#"{"userId":"m-\#(i)"}"#, 0.5))
        }
    }

    @Test("an event with neither a value nor a messageId is judged by its bytes")
    func byBytes() {
        for i in 0..<50 {
            let line = #"{"n":\#(i),"messageId":"\ud800"}"#
            let expected = Array(line.utf8).withUnsafeBufferPointer {
                samplingKey.hash(ByteRun(base: $0.baseAddress!, count: $0.count)) < 1 << 63
            }
            #expect(isIn(line, 0.5) == expected)
        }
    }

    @Test("events to keep are always in")
    func keep() {
        for user in 0..<50 {
            #expect(isIn(#"{"userId":"\#(user)","event":"error_x"}"#, 0, keep: ["warning", "error_*"]))
            #expect(!isIn(#"{"userId":"\#(user)","event":"other"}"#, 0, keep: ["warning", "error_*"]))
        }
    }
}
