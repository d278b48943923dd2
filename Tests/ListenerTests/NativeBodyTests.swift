import Events
import Ingest
import Testing

@testable import Listener

@Suite struct NativeBodyTests {
    /// The lines, the faults by event, and the number of events.
    private func cut(_ body: String, lines: Bool = false) throws -> (lines: [String], faults: [Int: String], events: Int) {
        var translation = Translation()
        let bytes = Array(body.utf8)
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        let raw = UnsafeRawBufferPointer(copy)
        if lines { try NativeBody.lines(raw, into: &translation) } else { try NativeBody.any(raw, into: &translation) }
        let events = translation.events
        let faults = Dictionary(uniqueKeysWithValues: translation.faults.map { ($0.event, $0.message) })
        return (linesOf(translation.takeLines()), faults, events)
    }

    @Test func `Lines are events, blank ones are not`() throws {
        #expect(try cut("{}\n\r\n \t\n{\"a\":1}\r\n").lines == ["{}", "{\"a\":1}\r"])
        #expect(try cut("[1]\n{}", lines: true).lines == ["[1]", "{}"])
        #expect(try cut("").events == 0)
        #expect(try cut(" \n ").events == 0)
    }

    @Test func `The elements of an array are events, byte for byte but for their line breaks`() throws {
        #expect(try cut("[]").events == 0)
        #expect(
            try cut(" [ {\"a\": [1, {\"b\":\"],}\\\"\"}]} ,\n{\n\"c\" : 2}\n] \n").lines == [
                "{\"a\": [1, {\"b\":\"],}\\\"\"}]}", "{ \"c\" : 2}",
            ])
        #expect(try cut("[1,\"x\",null,NaN,{}]").lines == ["1", "\"x\"", "null", "NaN", "{}"])
    }

    @Test func `Where an array is broken the elements before it stand, and the rest is one fault`() throws {
        let open = try cut("[{\"a\":1},{\"b\":2}")
        #expect(open.lines == ["{\"a\":1}", "{\"b\":2}"])
        #expect(open.faults == [2: "the array is broken at byte 16 of the body"])
        let torn = try cut("[{\"a\":1},{\"b\":")
        #expect(torn.lines == ["{\"a\":1}"])
        #expect(torn.faults == [1: "the array is broken at byte 9 of the body"])
        let more = try cut("[{\"a\":1}] {}")
        #expect(more.lines == ["{\"a\":1}"])
        #expect(more.faults == [1: "the array has ended, expected nothing at byte 10 of the body"])
        #expect(try cut("[,{}]").faults == [0: "the array is broken at byte 1 of the body"])
        #expect(try cut("[{},]").faults == [1: "the array is broken at byte 4 of the body"])
        #expect(try cut("[").faults == [0: "the array is broken at byte 1 of the body"])
    }

    @Test func `A line break in a string costs that event alone`() throws {
        let result = try cut("[{\"a\":\"x\ny\"},{\"b\":1},{\"c\":\"x\\\ny\"}]")
        #expect(result.lines == ["{\"b\":1}"])
        #expect(result.faults == [0: "a line break in a string must be escaped", 2: "a line break in a string must be escaped"])
    }

    @Test func `One object may go over several lines, and so may several`() throws {
        #expect(try cut("{\n  \"a\": 1\n}\n{\n\"b\":2}").lines == ["{   \"a\": 1 }", "{ \"b\":2}"])
    }

    @Test func `An object that does not end costs none that begins a line of its own`() throws {
        let result = try cut("{\"a\":\n{\"b\":1}\n{\"c\":\"\n{\"d\":1}")
        #expect(result.faults.count == 2)
        #expect(result.lines == ["{\"b\":1}", "{\"d\":1}"])
    }

    @Test func `Any bytes are cut without a fault of ours, and no line is blank or holds a break`() throws {
        var seed: UInt64 = 42
        let alphabet = Array("{}[]\",:\\\n\r 1a".utf8)
        for _ in 0..<20_000 {
            var body: [UInt8] = []
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            for _ in 0..<Int(seed >> 60) * 2 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                body.append(alphabet[Int(seed >> 33) % alphabet.count])
            }
            let result = try cut(String(decoding: body, as: UTF8.self))
            #expect(result.lines.count + result.faults.count == result.events)
            #expect(!result.lines.contains { $0.allSatisfy { $0.isWhitespace } })
        }
    }

    @Test func `The faults of the translation and of the router are told by event`() {
        let faults = [EventFault(event: 1, message: "t1"), EventFault(event: 4, message: "t4")]
        // Events 0 2 3 5 became lines 0 1 2 3.
        let merged = Desk.merge(
            faults, [InvalidLine(line: 0, message: "r0"), InvalidLine(line: 2, message: "r3"), InvalidLine(line: 3, message: "r5")])
        #expect(merged.map(\.event) == [0, 1, 3, 4, 5])
        #expect(merged.map(\.message) == ["r0", "t1", "r3", "t4", "r5"])
    }
}
