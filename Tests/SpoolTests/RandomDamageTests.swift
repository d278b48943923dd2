import Database
import Foundation
import Platform
import TestSupport
import Testing

@testable import Admission
@testable import Spool

/// Makes random damage, which depends only on the seed.
struct Vandal {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func chance(_ most: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state >> 11) % max(1, most)
    }

    /// Damages the contents of a file: flips bits, zeroes a range, cuts the end, appends bytes or swaps two pages. Returns a description.
    mutating func damage(_ data: inout Data, page: Int) -> String {
        guard !data.isEmpty else { return "nothing" }
        let at = chance(data.count)
        switch chance(5) {
        case 0:
            for _ in 0...chance(3) { data[chance(data.count)] ^= 1 << UInt8(chance(8)) }
            return "flip"
        case 1:
            let end = min(data.count, at + 1 + chance(3 * page))
            data.replaceSubrange(at..<end, with: Data(count: end - at))
            return "zero \(at)..<\(end)"
        case 2:
            data = data.prefix(at)
            return "cut to \(at)"
        case 3:
            data.append(Data((0..<(1 + chance(2 * page))).map { _ in UInt8(chance(256)) }))
            return "append"
        default:
            let pages = data.count / page
            guard pages > 1 else { return "nothing" }
            let (one, other) = (chance(pages) * page, chance(pages) * page)
            let held = Data(data[one..<one + page])
            data.replaceSubrange(one..<one + page, with: Data(data[other..<other + page]))
            data.replaceSubrange(other..<other + page, with: held)
            return "swap \(one / page) and \(other / page)"
        }
    }
}

@Suite("A spool with random damage")
struct RandomDamageTests {
    private static let removed: ClosedRange<Int64> = 1...3
    private static let sound = Result { try killed(removing: removed) }

    @Test(
        "never gives out a wrong event, never crashes the process, and never loses an event silently",
        arguments: 0..<rounds(230) as Range<UInt64>)
    func damage(seed: UInt64) throws {
        let originals = (1...40).map { "\($0): row-\($0)-" + String(repeating: $0 > 20 ? "y" : "x", count: 900) }
        let folder = try Self.sound.get().killed()
        var vandal = Vandal(seed)
        var done = ""
        for name in [[main], [log], [main, log]][vandal.chance(3)] {
            var data = folder.bytes(name)
            done += "\(name): \(vandal.damage(&data, page: 16384)); "
            try folder.write(data, name)
        }
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        let rows = try file.all()
        #expect(Set(rows).isSubset(of: originals) && Set(rows).count == rows.count, "seed \(seed), \(done)")
        let missing = Set(originals.dropFirst(3)).subtracting(rows).count
        let lost = file.takeLoss()?.routes.values.reduce(0, +) ?? 0
        // Rows whose removal was lost come again. If the file does not say how many rows left it, they look like rows that wait.
        let again = rows.count - (37 - missing)
        let words = said.withLock { $0.joined(separator: "\n") }
        let tale = "seed \(seed), \(done)\(missing) are missing, \(again) come again, \(lost) are told: \(words)"
        #expect(lost >= missing - (words.contains("at least ") ? again : 0) && lost <= missing + 3, "\(tale)")
        if again > 0 { #expect(words.contains("sent again"), "\(tale)") }
        try file.commit(.insert((5000, ["after"])))
        file.close()
        let later = try spool(folder)
        #expect(try later.all() == rows + ["5000: after"], "seed \(seed), \(done)")
        #expect(later.takeLoss() == nil, "seed \(seed), \(done)")
    }
}
