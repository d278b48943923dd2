// Tests how withdrawals are counted, and how times are written.

import Ledger
import Testing

@testable import Reporting

@Suite struct FactsTests {
    @Test func `all open withdrawals are listed, and the latest of the others`() {
        var facts = WithdrawalFacts()
        for number in 1...200 { facts.add(receipt(Int64(number), begun: 0, finished: number % 2 == 0 ? nil : Double(number))) }
        #expect(facts.count == 200 && facts.open.count == 100)
        #expect(facts.latest.map(\.number) == stride(from: 199, to: 100, by: -2).map { Int64($0) })
        #expect(facts.median == Int64(101e9) && facts.longest == Int64(199e9))
    }

    @Test func `a time is written to the second`() {
        #expect(moment(time(1.75)) == "2026-11-21 10:00:01 UTC")
    }

    @Test func `no time is negative, even if the clock went back`() {
        var facts = WithdrawalFacts()
        facts.add(receipt(1, begun: 10, finished: 5))
        #expect(facts.longest == 0)
    }

    @Test(arguments: [
        (0, "0.000 s"), (250_000_000, "0.250 s"), (59_999_000_000, "59.999 s"), (185_000_000_000, "3 min 5 s"),
        (7_440_000_000_000, "2 h 4 min"),
        (262_800_000_000_000, "3 d 1 h"), (-5, "0.000 s"),
    ]) func `a time that passed is written in its two largest units`(_ nanoseconds: Int64, _ text: String) {
        #expect(elapsed(nanoseconds) == text)
    }

    @Test func `without a ledger the report says so, and has the sections of the plan`() throws {
        let document = try report(whole, nil)
        #expect(document.sections.map(\.name) == ["levels", "sources", "routes", "providers"])
        #expect(document.sentences.contains("No ledger is kept, so nothing is on record about consent and withdrawals."))
    }

    @Test func `what is open is named with the provider that has it`() throws {
        let section = try report().sections.first { $0.name == "withdrawals" }!
        #expect(section.parts[1].table?.rows.map { [$0[0], $0[4], $0[7]] } == [["3", "not yet", "8 from queue of lake"]])
    }
}
