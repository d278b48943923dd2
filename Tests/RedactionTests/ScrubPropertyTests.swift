// Compares `scrub` with the oracle, on random events with planted finds.

import Seeded
import TestSupport
import Testing

@testable import Models
@testable import Redaction

/// The kinds that the oracle finds.
private let modelled = SensitiveSet(Sensitive.allCases.filter { ScrubOracle.kinds.contains($0.name) }.map(SensitiveSet.init))

@Suite struct ScrubPropertyTests {
    @Test(arguments: 1...4) func `the scrubbed event is the one that the oracle makes`(_ seed: Int) throws {
        var planter = Planter(chance: Seeded(state: UInt64(seed)))
        var kinds: Set<String> = []
        for _ in 0..<rounds(120) {
            let line = planter.object()
            let expected = ScrubOracle.replaced(Array(line.utf8))
            let outcome = try scrubbed(line, Scrub(kinds: modelled))
            #expect(outcome.line == String(decoding: expected.line, as: UTF8.self), "\(line)")
            #expect(Set(outcome.found.list.map(\.name)) == expected.kinds)
            let rejected = try scrubbed(line, Scrub(kinds: modelled, action: .reject))
            #expect(rejected.line == line && rejected.found.isEmpty == expected.kinds.isEmpty)
            kinds.formUnion(expected.kinds)
        }
        #expect(kinds == Set(ScrubOracle.kinds))
    }

    @Test(arguments: 1...2) func `dropping leaves the same members as the oracle`(_ seed: Int) throws {
        var planter = Planter(chance: Seeded(state: UInt64(100 + seed)))
        for _ in 0..<rounds(120) {
            let line = planter.object()
            let outcome = try scrubbed(line, Scrub(kinds: modelled, action: .drop))
            #expect(Tree(outcome.line).text == Tree(line).pruned.text, "\(line)")
            // Nothing is left to find, and the line is still an event.
            #expect(try scrubbed(outcome.line, Scrub(kinds: modelled)) == Outcome(line: outcome.line, found: []))
        }
    }
}

/// A valid JSON document, without the blanks between its tokens.
private indirect enum Tree {
    case plain(String)
    case list([Tree])
    case object([(key: String, value: Tree)])

    init(_ line: String) {
        var bytes = Array(line.utf8)[...]
        self.init(&bytes)
    }

    private init(_ bytes: inout ArraySlice<UInt8>) {
        Tree.skip(&bytes)
        switch bytes.first {
        case UInt8(ascii: "{"):
            var members: [(String, Tree)] = []
            while Tree.next(&bytes, UInt8(ascii: "}")) {
                guard case .plain(let key) = Tree(&bytes) else { break }
                Tree.skip(&bytes)
                bytes.removeFirst()
                members.append((key, Tree(&bytes)))
            }
            self = .object(members)
        case UInt8(ascii: "["):
            var elements: [Tree] = []
            while Tree.next(&bytes, UInt8(ascii: "]")) { elements.append(Tree(&bytes)) }
            self = .list(elements)
        case UInt8(ascii: "\""):
            let end = ScrubOracle.strings(Array(bytes))[0].range.upperBound
            self = .plain(String(decoding: bytes.prefix(end), as: UTF8.self))
            bytes.removeFirst(end)
        default:
            let word = bytes.prefix { !",]} ".utf8.contains($0) }
            self = .plain(String(decoding: word, as: UTF8.self))
            bytes.removeFirst(word.count)
        }
    }

    /// Moves to the next member. Returns false, after the closing bracket, if there is none.
    private static func next(_ bytes: inout ArraySlice<UInt8>, _ close: UInt8) -> Bool {
        if bytes.first != UInt8(ascii: ",") || close == bytes.first { skip(&bytes) }
        if bytes.first == close {
            bytes.removeFirst()
            return false
        }
        bytes.removeFirst()
        skip(&bytes)
        guard bytes.first == close else { return true }
        bytes.removeFirst()
        return false
    }

    private static func skip(_ bytes: inout ArraySlice<UInt8>) { while bytes.first == 0x20 { bytes.removeFirst() } }

    var text: String {
        switch self {
        case .plain(let text): text
        case .list(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members): "{" + members.map { $0.key + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    private static func holdsFind(_ text: String) -> Bool {
        text.hasPrefix("\"") && ScrubOracle.holdsFind(Array(text.utf8), 0..<text.utf8.count)
    }

    var pruned: Tree {
        switch self {
        case .plain: return self
        case .list(let elements):
            return .list(elements.map { if case .plain(let text) = $0, Tree.holdsFind(text) { .plain("null") } else { $0.pruned } })
        case .object(let members):
            return .object(
                members.compactMap { key, value in
                    if Tree.holdsFind(key) { return nil }
                    if case .plain(let text) = value, Tree.holdsFind(text) { return nil }
                    return (key, value.pruned)
                })
        }
    }
}
