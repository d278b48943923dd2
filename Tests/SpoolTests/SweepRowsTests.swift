import Platform
import Testing

@testable import Policy
@testable import Spool

@Suite("A sweep of a spool")
struct SweepRowsTests {
    @Test("goes on from where it was until it has seen every row")
    func allRows() throws {
        let folder = Folder()
        let file = try spool(folder)
        var work = SpoolWork()
        // The time at which an event came in is its length.
        work.insert = (1...600).map { (Int64($0), batch(["aa", "bbbbbb"])) }
        try file.commit(work)
        let broom = Broom(nil, Retention(all: 10), now: 12)
        var row: Int64? = 0
        var aged = 0
        while let after = row {
            let swept = try file.sweep(after: after, broom)
            aged += swept.aged.values.reduce(0, +)
            row = swept.next
        }
        #expect(aged == 600)
        let left = try file.all()
        #expect(left.count == 600 && left.allSatisfy { $0.hasSuffix(": bbbbbb") })
    }
}
