// SHA-1 (RFC 3174), which version 5 of UUIDs demands. It protects nothing here. It allocates only on the stack, unless a text is long.

enum SHA1 {
    /// The number of bytes of a digest.
    static let size = 20

    /// Writes the digest of the two texts, one behind the other.
    static func hash(
        _ text: UnsafeBufferPointer<UInt8>, followedBy more: UnsafeBufferPointer<UInt8>, into digest: UnsafeMutableBufferPointer<UInt8>
    ) {
        precondition(digest.count == size, "a digest has 20 bytes")
        let count = text.count + more.count
        let padded = (count + 72) / 64 * 64
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: padded) { bytes in
            bytes.initialize(repeating: 0)
            for index in 0..<text.count { bytes[index] = text[index] }
            for index in 0..<more.count { bytes[text.count + index] = more[index] }
            bytes[count] = 0x80
            for index in 0..<8 { bytes[padded - 1 - index] = UInt8(truncatingIfNeeded: (count &* 8) >> (index * 8)) }
            var state = State()
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
                for start in stride(from: 0, to: padded, by: 64) {
                    state.add(UnsafeBufferPointer(rebasing: bytes[start..<start + 64]), words)
                }
            }
            for (index, word) in [state.a, state.b, state.c, state.d, state.e].enumerated() {
                for place in 0..<4 { digest[index * 4 + place] = UInt8(truncatingIfNeeded: word >> UInt32(24 - place * 8)) }
            }
        }
    }

    private struct State {
        var a: UInt32 = 0x6745_2301
        var b: UInt32 = 0xefcd_ab89
        var c: UInt32 = 0x98ba_dcfe
        var d: UInt32 = 0x1032_5476
        var e: UInt32 = 0xc3d2_e1f0

        /// Adds a block of 64 bytes. `words` is room for 80 words.
        mutating func add(_ block: UnsafeBufferPointer<UInt8>, _ words: UnsafeMutableBufferPointer<UInt32>) {
            for index in 0..<16 {
                let (first, second) = (UInt32(block[index * 4]) << 24, UInt32(block[index * 4 + 1]) << 16)
                words[index] = first | second | UInt32(block[index * 4 + 2]) << 8 | UInt32(block[index * 4 + 3])
            }
            for index in 16..<80 {
                words[index] = State.rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1)
            }
            let before = self
            for index in 0..<20 { step(b & c | ~b & d, 0x5a82_7999 &+ words[index]) }
            for index in 20..<40 { step(b ^ c ^ d, 0x6ed9_eba1 &+ words[index]) }
            for index in 40..<60 { step(b & c | b & d | c & d, 0x8f1b_bcdc &+ words[index]) }
            for index in 60..<80 { step(b ^ c ^ d, 0xca62_c1d6 &+ words[index]) }
            (a, b, c, d, e) = (a &+ before.a, b &+ before.b, c &+ before.c, d &+ before.d, e &+ before.e)
        }

        private mutating func step(_ mixed: UInt32, _ word: UInt32) {
            (a, b, c, d, e) = (State.rotated(a, by: 5) &+ mixed &+ e &+ word, a, State.rotated(b, by: 30), c, d)
        }

        private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
    }
}
