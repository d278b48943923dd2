import Testing

@testable import Events

/// Short sequences are processed in words. Each length and place takes a different path through the code.
@Suite struct WordsTests {
    private func withRun<R>(_ bytes: [UInt8], _ body: (ByteRun) -> R) -> R {
        // The memory is exactly as long as the run, so that the address sanitizer detects a read after it.
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, bytes.count))
        defer { memory.deallocate() }
        _ = memory.initialize(from: bytes)
        return body(ByteRun(base: memory.baseAddress!, count: bytes.count))
    }

    @Test("runs are equal exactly if every byte is equal", arguments: 0..<40)
    func same(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + 1) }
        #expect(withRun(bytes) { a in withRun(bytes) { a == $0 } })
        #expect(!withRun(bytes) { a in withRun(bytes + [0]) { a == $0 } })
        for place in 0..<count {
            var other = bytes
            other[place] ^= 0x80
            #expect(!withRun(bytes) { a in withRun(other) { a == $0 } }, "differs at \(place)")
        }
    }

    @Test("an escape is found at any place", arguments: 0..<40)
    func escape(count: Int) {
        // Bytes that differ from a backslash by one bit or by one must not be found.
        let near: [UInt8] = [0x5b, 0x5d, 0xdc, 0x5c ^ 1, 0x00, 0xff]
        let bytes = (0..<count).map { near[$0 % near.count] }
        #expect(!withRun(bytes) { $0.hasEscape })
        for place in 0..<count {
            var other = bytes
            other[place] = 0x5c
            #expect(withRun(other) { $0.hasEscape }, "at \(place)")
        }
    }

    @Test("a string ends at the first quote that is not escaped", arguments: 0..<20)
    func stringEnds(count: Int) {
        let plain = [UInt8](repeating: 0x61, count: count)
        let endings: [[UInt8]] = [[0x22], [0x5c, 0x22, 0x22], [0x5c, 0x5c, 0x22], [0x61, 0x5c, 0x5c, 0x5c, 0x22, 0x62, 0x22]]
        for ending in endings {
            let text = [0x22] + plain + ending
            let end = withRun(text + [0x22] + [UInt8](repeating: 0x0a, count: 64)) { stringEnd($0.base) - $0.base }
            #expect(end == text.count, "\(ending)")
        }
    }

    @Test("a copy is exact in its whole length", arguments: [0, 1, 31, 32, 33, 63, 64, 65, 200])
    func copies(count: Int) {
        let bytes = (0..<count + Words.slack).map { UInt8(truncatingIfNeeded: $0) }
        let out = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count + Words.slack)
        defer { out.deallocate() }
        out.initialize(repeating: 0xee)
        withRun(bytes) { Words.copy($0.base, to: out.baseAddress!, count) }
        #expect(Array(out[..<count]) == Array(bytes[..<count]))
    }

    @Test("two texts hashed together have the same hashes as each alone", arguments: 0..<34)
    func pairs(count: Int) {
        let key = SipKey(Array(0..<16))
        for other in 0..<34 {
            let a = (0..<count).map { UInt8($0) }
            let b = (0..<other).map { UInt8($0 &+ 100) }
            let (first, second) = withRun(a) { a in withRun(b) { key.hash128(a, $0) } }
            #expect(first == withRun(a) { key.hash128($0) })
            #expect(second == withRun(b) { key.hash128($0) })
        }
    }
}
