// Tests UTF-8 and escapes in strings, exhaustively where that is fast enough.

import Seeded
import Testing

@testable import Events

@Suite("Strings of events") struct StringTests {
    /// Checks UTF-8 by its definition: shortest form, no surrogate, nothing above 10FFFF.
    static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        var i = 0
        while i < bytes.count {
            let lead = UInt32(bytes[i])
            let (count, least): (Int, UInt32)
            var code: UInt32
            switch lead {
            case 0..<0x80: (count, least, code) = (1, 0, lead)
            case 0xc0..<0xe0: (count, least, code) = (2, 0x80, lead & 0x1f)
            case 0xe0..<0xf0: (count, least, code) = (3, 0x800, lead & 0x0f)
            case 0xf0..<0xf8: (count, least, code) = (4, 0x10000, lead & 0x07)
            default: return false
            }
            guard i + count <= bytes.count else { return false }
            for j in 1..<max(count, 1) where count > 1 {
                guard bytes[i + j] & 0xc0 == 0x80 else { return false }
                code = code << 6 | UInt32(bytes[i + j] & 0x3f)
            }
            if code < least || code > 0x10ffff || (0xd800..<0xe000).contains(code) { return false }
            i += count
        }
        return true
    }

    @Test("a lead byte and two more bytes are a sequence exactly if Unicode says so") func threeBytes() {
        var wrong = 0
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8) { buffer in
            buffer.initialize(repeating: UInt8(ascii: "\n"))
            let p = Bytes(buffer.baseAddress!)
            for a in 0x80...0xef {
                for b in 0...255 {
                    buffer[0] = UInt8(a)
                    buffer[1] = UInt8(b)
                    let isPair = a < 0xe0 && a >= 0xc2 && (0x80...0xbf).contains(b)
                    // The condition on the third byte is the same for all sequences with these two bytes.
                    let second = (0x80...0xbf).contains(b) && (a != 0xe0 || b >= 0xa0) && (a != 0xed || b < 0xa0)
                    for c in 0...255 {
                        buffer[2] = UInt8(c)
                        let expected = isPair ? 2 : a >= 0xe0 && second && (0x80...0xbf).contains(c) ? 3 : 0
                        if utf8Length(p) != expected { wrong += 1 }
                    }
                }
            }
        }
        #expect(wrong == 0)
    }

    @Test("four bytes at the edges of their ranges are a sequence exactly if Unicode says so") func fourBytes() {
        let edge: [UInt8] = [0x20, 0x22, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xf0, 0xff]
        var wrong = 0
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 8) { buffer in
            for a in UInt8(0xf0)...0xff {
                for b in UInt8(0)...0xff {
                    for c in edge {
                        for d in edge {
                            _ = buffer.initialize(from: [a, b, c, d, 10, 10, 10, 10])
                            if (utf8Length(Bytes(buffer.baseAddress!)) == 4) != StringTests.isWellFormed([a, b, c, d]) { wrong += 1 }
                        }
                    }
                }
            }
        }
        #expect(wrong == 0)
    }

    static let illFormed: [[UInt8]] = [
        [0x80], [0xbf], [0xc0, 0x80], [0xc1, 0xbf], [0xc2], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf], [0xe1, 0x80], [0xed, 0xa0, 0x80],
        [0xed, 0xbf, 0xbf], [0xef, 0xbf], [0xf0, 0x80, 0x80, 0x80], [0xf0, 0x8f, 0xbf, 0xbf], [0xf4, 0x90, 0x80, 0x80],
        [0xf5, 0x80, 0x80, 0x80], [0xff], [0xfe], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xf0, 0x9f, 0x98],
    ]
    static let wellFormed: [[UInt8]] = [
        [0xc2, 0x80], [0xdf, 0xbf], [0xe0, 0xa0, 0x80], [0xed, 0x9f, 0xbf], [0xee, 0x80, 0x80], [0xef, 0xbf, 0xbf],
        [0xf0, 0x90, 0x80, 0x80],
        [0xf4, 0x8f, 0xbf, 0xbf],
    ]

    @Test("bad UTF-8 is found and good UTF-8 is accepted at every place of a key and a value") func places() {
        for pad in [0, 1, 7, 13, 14, 15, 16, 31, 40, 55, 56, 57, 58, 63, 64, 120] {
            let padding = Array(repeating: UInt8(ascii: "a"), count: pad)
            for (sequences, isGood) in [(StringTests.illFormed, false), (StringTests.wellFormed, true)] {
                for sequence in sequences {
                    let value = Array("{\"k\":\"".utf8) + padding + sequence + Array("\"}".utf8)
                    let key = Array("{\"".utf8) + padding + sequence + Array("\":1}".utf8)
                    #expect(isEvent(value, paths("k")) == isGood && isEvent(key, paths("k")) == isGood, "\(sequence) behind \(pad)")
                    if !isGood {
                        let fault = scan(value).fault
                        #expect(fault?.kind == .utf8 && fault?.offset == UInt32(6 + pad))
                    }
                }
            }
        }
    }

    @Test("bad UTF-8 outside of strings is refused as well") func outside() {
        for bytes in StringTests.illFormed + StringTests.wellFormed {
            #expect(!isEvent(bytes + Array("{}".utf8)))
            #expect(!isEvent(Array("{}".utf8) + bytes))
            #expect(!isEvent(Array("{\"a\":1".utf8) + bytes + Array("}".utf8)))
        }
    }

    @Test("every byte and every pair of bytes in a string is judged correctly") func pairs() {
        let trie = PathTrie([])
        var scanner = Scanner(trie)
        var portable = Scanner(trie, lookahead: .words)
        let line = Array("{\"k\":\"??\"}\n".utf8) + Array(repeating: 10, count: 64)
        let escapes = Set("\"\\/bfnrt".utf8.map { [UInt8(ascii: "\\"), $0] })
        func isPlain(_ c: UInt8) -> Bool { c >= 0x20 && c != UInt8(ascii: "\"") && c != UInt8(ascii: "\\") }
        var wrong = 0
        line.withUnsafeBufferPointer { source in
            let text = UnsafeMutablePointer<UInt8>.allocate(capacity: source.count)
            defer { text.deallocate() }
            text.initialize(from: source.baseAddress!, count: source.count)
            for a in UInt8.min...UInt8.max where a != 10 {
                for b in UInt8.min...UInt8.max where b != 10 {
                    text[6] = a
                    text[7] = b
                    let expected = escapes.contains([a, b]) || (isPlain(a) && isPlain(b) && StringTests.isWellFormed([a, b]))
                    if (scanner.scan(Bytes(text), 0) != nil) != expected { wrong += 1 }
                    if (portable.scan(Bytes(text), 0) != nil) != expected { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)
    }

    @Test("exactly four hexadecimal digits follow \\u") func hexadecimal() {
        var wrong = 0
        for i in 0..<4 {
            for j in 0..<4 where j != i {
                for a in UInt8.min...UInt8.max {
                    for b in UInt8.min...UInt8.max {
                        var digits: [UInt8] = [0x61, 0x46, 0x30, 0x39]
                        digits[i] = a
                        digits[j] = b
                        var word: UInt32 = 0
                        for k in 0..<4 { word |= UInt32(digits[k]) << UInt32(8 * k) }
                        func isHex(_ c: UInt8) -> Bool {
                            (0x30...0x39).contains(c) || (0x41...0x46).contains(c) || (0x61...0x66).contains(c)
                        }
                        if isHex4(word) != (isHex(a) && isHex(b)) { wrong += 1 }
                    }
                }
            }
        }
        #expect(wrong == 0)
    }

    @Test("every method of searching marks the same bytes") func lookaheads() {
        var random = Seeded(state: 3)
        for length in 0..<300 {
            var line = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            for i in line.indices where line[i] == 10 { line[i] = 9 }
            let before = length % 131
            let tight = TightLine(line, before: before, filler: 0xff)
            for lookahead in Lookahead.supported {
                var stops = Stops(lookahead)
                let newline = before + length
                #expect(stops.mark(tight.bytes, before) == newline)
                let marks = stops.marks(before)
                var next = newline
                for i in (before...newline).reversed() {
                    let byte = tight.bytes[i]
                    if byte == 0x22 || byte == 0x5c || !(0x20..<0x80).contains(byte) { next = i }
                    if marks.next(i) != next { Issue.record("\(lookahead), byte \(i)") }
                }
            }
        }
    }

    @Test("digits are counted for every length, whatever byte follows them") func digits() {
        for length in 0..<40 {
            for after in UInt8.min...UInt8.max where !(0x30...0x39).contains(after) {
                let text = (0..<length).map { 0x30 + UInt8($0 % 10) } + Array(repeating: after, count: 16)
                #expect(text.withUnsafeBufferPointer { digitCount($0.baseAddress!) } == length)
            }
        }
    }
}
