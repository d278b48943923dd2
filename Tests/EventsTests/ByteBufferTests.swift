import Events
import Testing

@Suite("Byte buffers and blocks") struct ByteBufferTests {
    @Test("a buffer grows and keeps what was written") func growth() {
        var buffer = ByteBuffer()
        var expected: [UInt8] = []
        for i in 0..<1000 {
            buffer.append(UInt8(truncatingIfNeeded: i))
            buffer.append("é\(i)")
            expected.append(UInt8(truncatingIfNeeded: i))
            expected += Array("é\(i)".utf8)
        }
        #expect(Array(buffer.bytes) == expected)
        buffer.truncate(to: 3)
        #expect(Array(buffer.bytes) == Array(expected.prefix(3)))
        buffer.removeAll()
        let isEmpty = buffer.isEmpty
        #expect(isEmpty)
    }

    @Test("sealing ends the last line and writes 64 newlines after it", arguments: ["", "{}", "{}\n", "{}\r\n{}"])
    func sealing(text: String) {
        var block = Block()
        block.text.append(text)
        block.seal()
        let expected = text.isEmpty || text.hasSuffix("\n") ? text : text + "\n"
        #expect(String(decoding: block.text.bytes, as: UTF8.self) == expected)
        let padding = UnsafeBufferPointer(start: block.bytes + block.count, count: Block.padding)
        #expect(padding.allSatisfy { $0 == UInt8(ascii: "\n") })
    }

    @Test("a block is emptied and filled again") func recycling() {
        var block = Block()
        block.text.append(String(repeating: "x", count: 1000))
        block.arrival = 5
        block.seal()
        block.removeAll()
        #expect(block.count == 0 && block.arrival == 0)
        block.text.append("{}")
        block.seal()
        #expect(block.count == 3)
    }
}
