import Database
import Foundation
import Platform
import StoreFixtures
import TestSupport
import Testing

@testable import Admission
@testable import Spool

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
        var random = RandomDamage(seed)
        let done = try random.damage(folder, main: main, log: log, page: 16384)
        let said = Monitor<[String]>([])
        let file = try spool(folder, said: said)
        let rows = try file.all()
        #expect(Set(rows).isSubset(of: originals) && Set(rows).count == rows.count, "seed \(seed), \(done)")
        let lost = file.takeLoss()?.routes.values.reduce(0, +) ?? 0
        // Rows whose removal was lost come again. If the file does not say how many rows left it, they look like rows that wait.
        let words = said.withLock { $0.joined(separator: "\n") }
        let outcome = DamageOutcome(waiting: originals.dropFirst(3), removed: 3, found: rows, lost: lost, words: words)
        let tale = "seed \(seed), \(done)\(outcome)"
        #expect(outcome.isLossReported, "\(tale)")
        if outcome.again > 0 { #expect(words.contains("sent again"), "\(tale)") }
        try file.commit(.insert((5000, ["after"])))
        file.close()
        let later = try spool(folder)
        #expect(try later.all() == rows + ["5000: after"], "seed \(seed), \(done)")
        #expect(later.takeLoss() == nil, "seed \(seed), \(done)")
    }
}
