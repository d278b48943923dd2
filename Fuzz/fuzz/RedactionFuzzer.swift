// Fuzzes `scrub` and `mask`, on events with finds in their strings and on random events. `scrub` gives the result of the slow oracle.
// After it drops members, the rest is an event in which it finds nothing more. The result of `mask` is an event, and its decoded text is
// what the pattern makes of the text before.

import Events
import Redaction
import Seeded

@testable import Models

/// A scanner with the block that it reads.
private struct EventScanner: ~Copyable {
    private var scanner = Scanner(PathTrie([]), depth: 64)
    private var block = Block()

    /// Returns the scanned event. It is nil if the line is not a valid event.
    mutating func scan(_ line: [UInt8]) -> ScannedEvent? {
        block.removeAll()
        line.withUnsafeBytes { block.text.append(contentsOf: $0) }
        block.seal()
        return scanner.scan(block.bytes, 0)
    }
}

/// An empty list of slots, which means the whole event.
private var whole: UnsafeBufferPointer<Int> { UnsafeBufferPointer(start: nil, count: 0) }

/// The kinds that the oracle finds.
private let modelled = SensitiveSet(Sensitive.allCases.filter { ScrubOracle.kinds.contains($0.name) }.map(SensitiveSet.init))

final class ScrubFuzzer: Fuzzer {
    private var planter: Planter<Seeded>
    private var mutator: Mutator
    private let plants: Bool
    private var scanner = EventScanner()
    private var replacer = Scrubber(Scrub(kinds: modelled))
    private var dropper = Scrubber(Scrub(kinds: modelled, action: .drop))
    private var out = ByteBuffer()

    init(seed: UInt64, plants: Bool) {
        planter = Planter(chance: Seeded(state: seed))
        mutator = Mutator(seed: seed)
        self.plants = plants
    }

    func next() -> (Comparison, input: [UInt8]) {
        let line = mutator.below(8) == 0 ? mutator.line() : Array(planter.object().utf8)
        return (judge(line), line)
    }

    private func judge(_ line: [UInt8]) -> Comparison {
        guard let event = scanner.scan(line) else { return .invalid }
        let expected = ScrubOracle.replaced(Array(UnsafeBufferPointer(start: event.block, count: Int(event.end))))
        let isFound = replacer.scrub(event, in: whole)
        write(event, replacer.replacements)
        let isPlanted = plants && line.count % 31 == 30
        if isFound == expected.kinds.isEmpty || isPlanted || Array(out.bytes) != expected.line {
            return .unexplained("scrub made \(text(out)) instead of \(String(decoding: expected.line, as: UTF8.self))")
        }
        _ = dropper.scrub(event, in: whole)
        write(event, dropper.replacements)
        guard let left = scanner.scan(Array(out.bytes)) else { return .unexplained("no event is left: \(text(out))") }
        return dropper.scrub(left, in: whole) ? .unexplained("a find is left: \(text(out))") : .valid
    }

    private func write(_ event: ScannedEvent, _ replacements: borrowing Replacements) {
        out.removeAll()
        replacements.write(event.block, start: event.start, end: event.end, to: &out)
    }
}

private func text(_ buffer: borrowing ByteBuffer) -> String { String(decoding: buffer.bytes, as: UTF8.self) }

final class MaskFuzzer: Fuzzer {
    private static let rules = [
        ("[0-9]", "#"), ("(?s)(.)", "\\1"), ("x?", "-"), ("(?i)[a-f]", "<\\0\"\\\\>"), ("[^\\x00-\\x7f]", ""),
    ]

    private var planter: Planter<Seeded>
    private let plants: Bool
    private var scanner = EventScanner()
    private var maskers: [MaskRoom]
    private var out = ByteBuffer()
    private var turn = 0

    /// Holds a masker in a class, since an array cannot hold a masker itself.
    private final class MaskRoom {
        var masker: Masker
        init(_ mask: Mask) { masker = Masker(mask) }
    }

    init(seed: UInt64, plants: Bool) throws(MaskFault) {
        planter = Planter(chance: Seeded(state: seed))
        self.plants = plants
        maskers = []
        for rule in MaskFuzzer.rules { maskers.append(MaskRoom(try Mask(pattern: rule.0, with: rule.1))) }
    }

    func next() -> (Comparison, input: [UInt8]) {
        let line = Array(planter.object().utf8)
        turn = (turn + 1) % maskers.count
        return (judge(line, maskers[turn]), line)
    }

    private func judge(_ line: [UInt8], _ one: MaskRoom) -> Comparison {
        guard let event = scanner.scan(line) else { return .invalid }
        let isChanged = one.masker.mask(event, in: whole)
        out.removeAll()
        one.masker.replacements.write(event.block, start: event.start, end: event.end, to: &out)
        let made = Array(out.bytes)
        if !isChanged, made != line { return .unexplained("nothing matched, but it became \(text(out))") }
        guard scanner.scan(made) != nil else { return .unexplained("it is not an event any more: \(text(out))") }
        let before = ScrubOracle.strings(line)
        let after = ScrubOracle.strings(made)
        let isPlanted = plants && line.count % 31 == 30
        guard before.count == after.count, !isPlanted else { return .unexplained("\(before.count) strings became \(after.count)") }
        for (old, new) in zip(before, after) {
            let letters = ScrubOracle.letters(line, old.range).map(\.value)
            let expected = old.isKey ? letters : letters.flatMap { MaskFuzzer.masked($0, turn) }
            guard ScrubOracle.letters(made, new.range).map(\.value) == expected else {
                return .unexplained("rule \(turn) made \(text(out))")
            }
        }
        return .valid
    }

    /// Returns what a rule makes of a character, as a second implementation of the rule.
    private static func masked(_ c: UInt32, _ rule: Int) -> [UInt32] {
        let isHalf = (0xd800..<0xe000).contains(c)
        switch rule {
        case 0: return (0x30...0x39).contains(c) ? [0x23] : [c]
        case 1: return isHalf ? [0xfffd] : [c]
        case 2: return c == 0x78 ? [0x2d] : [c]
        case 3: return (0x61...0x66).contains(c | 0x20) && c < 0x80 ? [0x3c, c, 0x22, 0x5c, 0x3e] : [c]
        default: return c < 0x80 ? [c] : []
        }
    }
}
