// Judges one line with all ways of scanning and with simdjson's DOM, and explains the known differences.

import COracle
import Events

/// The comparison of our verdict on an input with that of the oracle, and the reason for a difference.
enum Comparison {
    case valid
    case invalid
    case explained(String)
    case unexplained(String)
}

struct Comparer: ~Copyable {
    /// The bytes before a line. They contain all kinds of bytes at which a scan stops, also a newline.
    private static let junk = Array("\"\n\\é".utf8)

    let paths: PathTrie
    /// True if our verdict is falsified in a rare case.
    let plants: Bool
    let oracle = oracle_new()
    /// The block of the line. Its memory ends with the padding, so that the address sanitizer detects a read beyond it.
    var text: UnsafeMutablePointer<UInt8> = .allocate(capacity: 1)

    init(plants: Bool) throws(PathFault) {
        self.plants = plants
        var wanted: [Path] = []
        for text in ["type", "event", "userId", "anonymousId", "a.b", "context.app.version", "context.ip", "context.consent.analytics"] {
            wanted.append(try Path(parsing: text))
        }
        paths = PathTrie(wanted)
    }

    deinit {
        oracle_free(oracle)
        text.deallocate()
    }

    mutating func compare(_ line: [UInt8]) -> Comparison {
        text.deallocate()
        // The line is somewhere in its block. The bytes before it must not matter.
        let before = line.count &* 37 % 150
        text = .allocate(capacity: before + line.count + 1 + Block.padding)
        for i in 0..<before { text[i] = Comparer.junk[i % Comparer.junk.count] }
        (text + before).initialize(from: line, count: line.count)
        (text + before + line.count).initialize(repeating: UInt8(ascii: "\n"), count: 1 + Block.padding)

        var ours: (fault: Fault?, slots: [Slot])?
        for lookahead in Lookahead.supported {
            var scanner = Scanner(paths, lookahead: lookahead)
            let event = scanner.scan(Bytes(text), UInt32(before))
            let slots = event.map { event in (0..<paths.count).map { event.slots[$0] } } ?? []
            let fault = event == nil ? scanner.fault : nil
            if scanner.lineEnd != UInt32(before + line.count) { return .unexplained("\(lookahead) ends the line at \(scanner.lineEnd)") }
            if let ours, ours.fault != fault || ours.slots != slots {
                return .unexplained("\(lookahead) differs from another way of scanning")
            }
            ours = (fault, slots)
        }
        var fault = ours?.fault
        if plants && line.count % 61 == 60 && line.contains(UInt8(ascii: "[")) && fault != nil { fault = nil }

        let theirs = oracle_judge(oracle, text + before, line.count)
        switch (fault?.kind, theirs) {
        case (nil, ORACLE_OBJECT): return .valid
        case (nil, ORACLE_BAD_STRING) where hasLoneSurrogate(line): return .explained("lone surrogate")
        case (nil, ORACLE_BAD_NUMBER) where hasHugeNumber(line): return .explained("huge number")
        case (.duplicate, ORACLE_OBJECT): return .explained("duplicate")
        case (.duplicate, _): return .invalid
        case (.notAnObject, ORACLE_OTHER_VALUE): return .explained("not an object")
        case (.some, ORACLE_OBJECT), (.some, ORACLE_OTHER_VALUE), (nil, _): break
        default: return .invalid
        }
        return .unexplained("we say \(fault?.message ?? "an event"), simdjson says \(String(cString: oracle_words(oracle)))")
    }
}

/// Returns true if the \u escape of a surrogate lacks its other half.
func hasLoneSurrogate(_ line: [UInt8]) -> Bool {
    var i = 0
    func unit(_ i: Int) -> UInt32? {
        guard i + 6 <= line.count, line[i] == UInt8(ascii: "\\"), line[i + 1] == UInt8(ascii: "u") else { return nil }
        return UInt32(String(decoding: line[(i + 2)..<(i + 6)], as: UTF8.self), radix: 16)
    }
    while i + 1 < line.count {
        guard line[i] == UInt8(ascii: "\\") else {
            i += 1
            continue
        }
        guard let first = unit(i), first & 0xf800 == 0xd800 else {
            i += 2
            continue
        }
        guard first < 0xdc00, let second = unit(i + 6), second & 0xfc00 == 0xdc00 else { return true }
        i += 12
    }
    return false
}

/// Returns true if a number is beyond the range of a double, or is written as an integer that does not fit into 64 bits.
func hasHugeNumber(_ line: [UInt8]) -> Bool {
    line.split { !"0123456789+-.eE".utf8.contains($0) }.contains { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        let isInteger = !bytes.contains { ".eE".utf8.contains($0) }
        return isInteger ? Int64(text) == nil && UInt64(text) == nil : Double(text).map(\.isInfinite) ?? false
    }
}
