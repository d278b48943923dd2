// What a withdrawal has destroyed among the dead letters stays destroyed if damage to their file brings it back.

import ConsentGate
import Foundation
import Ledger
import Plans
import Platform
import Queueing
import TestSupport
import Testing

@testable import Admission
@testable import Delivery
@testable import Events
@testable import Judging
@testable import Withdrawal

@Suite("Damaged dead letters")
struct DamagedLettersTests {
    private let ledger: StreamLedger
    private let check: SecondCheck
    private let names = RunNames(["all"])

    init() throws {
        ledger = try StreamLedger()
        check = SecondCheck(ledger.registry.records, levels: RunNames())
        check.adopt(Ruleset(streamPlan(), subjectKey: ledger.key, records: ledger.registry.records).consent)
        try ledger.set("withdrawn", ConsentTerms(level: "standard"))
        try ledger.set("other", ConsentTerms(level: "standard"))
    }

    private var path: String { ledger.folder + "/dead-letters.sqlite" }

    private func letters() -> DeadLetters { DeadLetters(path: path, clock: .system) { _ in } }

    private func key(_ id: String) -> SubjectKey { SubjectKey(of: Array(id.utf8), under: ledger.key) }

    private func bury(_ id: String, in letters: DeadLetters) {
        var parcel = Parcel()
        parcel.bytes.append("{\"userId\":\"\(id)\",\"note\":\"letter of \(id)\"}\n")
        parcel.subjectColumn.append(key(id))
        parcel.entryColumn.append(
            Entry(
                end: UInt32(parcel.bytes.count), route: 0, isImmediate: false, level: EntryLevel.none, subjectCount: 1, firstSubject: 0,
                messageIDOffset: 0, messageIDCount: 0, arrival: 5))
        let (lost, _) = letters.bury(
            Batch(parcel), provider: "out", routes: names.all, reason: .rejected, Answer("no"), attempts: 1, isLost: true)
        #expect(lost == 0)
    }

    /// Returns if the file holds the text.
    private func holds(_ text: String) -> Bool {
        FileManager.default.contents(atPath: path)?.firstRange(of: Data(text.utf8)) != nil
    }

    @Test("are searched at the start for what an earlier withdrawal has destroyed, and undamaged ones are not")
    func search() throws {
        let first = letters()
        for id in ["withdrawn", "other", "broken"] { bury(id, in: first) }
        first.end()
        // As if the damage had brought its letter back after the withdrawal was carried out.
        check.ban(1, [key("withdrawn")], purposes: nil, until: 10, isFinished: true)
        let whole = letters()
        whole.begin()
        #expect(try steps(whole).sweepDamagedLetters() == nil && holds("letter of withdrawn"))
        whole.end()
        var bytes = try #require(FileManager.default.contents(atPath: path))
        let place = try #require(bytes.firstRange(of: Data("letter of broken".utf8)))
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let second = letters()
        second.begin()
        #expect(holds("letter of withdrawn"))
        let swept = try #require(try steps(second).sweepDamagedLetters())
        #expect(swept.destroyed[1].events == 1)
        second.end()
        #expect(!holds("letter of withdrawn") && holds("letter of other"))
    }

    private func steps(_ letters: DeadLetters) -> WithdrawalSteps {
        WithdrawalSteps(registry: ledger.registry, check: check, deadLetters: letters, names: names, clock: .system)
    }
}
