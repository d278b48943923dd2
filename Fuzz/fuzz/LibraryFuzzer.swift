// Fuzzes the check of shared libraries as files. A file that passes is complete: a second reader finds all bytes that its header names,
// and without its last byte the file does not pass.

import Seeded

@testable import PluginHost

struct LibraryFuzzer: Fuzzer {
    private var random: Seeded
    private let plants: Bool

    init(seed: UInt64, plants: Bool) {
        random = Seeded(state: seed)
        self.plants = plants
    }

    /// The smallest possible library: a segment that is loaded, a dynamic section, a name, a symbol, and a table of one section at the end.
    private static let seed: [UInt8] = {
        var bytes: [UInt8] = []
        func put<N: FixedWidthInteger>(_ numbers: N...) {
            for number in numbers { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        }
        let (dynamic, texts, symbols, sections): (UInt64, UInt64, UInt64, UInt64) = (176, 288, 296, 344)
        bytes += [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
        put(UInt16(3), LibraryImage.ownMachine)
        put(UInt32(1))
        put(UInt64(0), 64, sections)
        put(UInt32(0))
        put(UInt16(64), 56, 2, 64, 1, 0)
        for (kind, offset, size, alignment) in [(1, 0, sections, 4096), (2, dynamic, 112, 8)] as [(UInt32, UInt64, UInt64, UInt64)] {
            put(kind, 6)
            put(offset, offset, offset, size, size, alignment)
        }
        for (tag, value) in [(5, texts), (10, 8), (6, symbols), (11, 24), (14, 1), (12, 64), (0, 0)] as [(UInt64, UInt64)] {
            put(tag, value)
        }
        bytes += Array("\0a.so\0\0\0".utf8) + [UInt8](repeating: 0, count: 48) + [UInt8](repeating: 0, count: 64)
        return bytes
    }()

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    mutating func next() -> (Comparison, input: [UInt8]) {
        var bytes = LibraryFuzzer.seed
        for _ in 0..<below(4) {
            let i = below(bytes.count)
            switch below(6) {
            case 0: bytes[i] = UInt8(below(256))
            case 1: bytes.removeSubrange(max(i, 1)...)
            case 2: for j in i..<min(bytes.count, i + 8) { bytes[j] = 0xFF }
            case 3: for j in i..<min(bytes.count, i + 8) { bytes[j] = 0 }
            case 4: bytes.insert(0, at: i)
            default: bytes[i] = bytes[i] &+ (below(2) == 0 ? 1 : 255)
            }
        }
        return (judge(bytes), bytes)
    }

    private func judge(_ bytes: [UInt8]) -> Comparison {
        let fault = bytes.withUnsafeBytes { LibraryImage.fault(in: $0) }
        if let fault {
            guard ForeignText.harmless(fault) == fault else { return .unexplained("the fault could move a cursor") }
            // The planted bug: at some sizes a file that is cut off passes.
            guard plants, fault.hasPrefix("is cut off"), bytes.count % 16 == 8, bytes.count >= 64 else { return .invalid }
        }
        return bytes.withUnsafeBytes { bytes in
            func number<N: FixedWidthInteger>(_ type: N.Type, _ offset: Int) -> N { bytes.loadUnaligned(fromByteOffset: offset, as: type) }
            let ends = (0..<Int(number(UInt16.self, 56))).map { index -> Int in
                let start = Int(truncatingIfNeeded: number(UInt64.self, 32)) &+ 56 &* index
                guard start >= 0, start <= bytes.count - 56 else { return .max }
                let size = Int(truncatingIfNeeded: number(UInt64.self, start + 32))
                return size == 0 ? 0 : Int(truncatingIfNeeded: number(UInt64.self, start + 8)) &+ size
            }
            guard ends.allSatisfy({ (0...bytes.count).contains($0) }) else {
                return .unexplained("it passes, but a part of it is missing")
            }
            let sections = Int(truncatingIfNeeded: number(UInt64.self, 40))
            guard sections != 0 else { return .valid }
            let end = sections &+ Int(number(UInt16.self, 58)) &* Int(number(UInt16.self, 60))
            guard (0...bytes.count).contains(end) else { return .unexplained("it passes, but its table of sections is missing") }
            let isCutSeen = end < bytes.count || LibraryImage.fault(in: UnsafeRawBufferPointer(rebasing: bytes.dropLast())) != nil
            return isCutSeen ? .valid : .unexplained("it passes without its last byte")
        }
    }
}
