// Tests for the age of dead letters, with a clock that the test sets.

import Foundation
import Plans
import Platform
import Queueing
import Spool
import TestSupport
import Testing

@testable import Admission
@testable import Delivery
@testable import Events
@testable import Router

@Suite("The retention of dead letters")
struct LetterRetentionTests {
    private static let second: Int64 = 1_000_000_000

    private final class RetentionFixture {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
        let said = Monitor<[String]>([])
        let letters: DeadLetters
        let retention: LetterRetention
        let schedule: LetterSchedule
        private let wall = Monitor<Int64>(1000 * LetterRetentionTests.second)

        init() {
            let (said, wall) = (said, wall)
            let say: @Sendable (String) -> Void = { line in
                said.withLock { $0.append(line) }
                said.wake()
            }
            // Waits use the real monotonic clock, and the test wakes the thread by a burial.
            let clock = Clock(now: Clock.system.now, wall: { wall.withLock { $0 } })
            schedule = LetterSchedule()
            letters = DeadLetters(path: folder + "/dead-letters.sqlite", clock: clock, onBurial: schedule.note, warn: say)
            retention = LetterRetention(letters, schedule: schedule, clock: clock, say: say)
        }

        deinit {
            retention.end()
            letters.end()
            try? FileManager.default.removeItem(atPath: folder)
        }

        func set(_ seconds: Double) { wall.withLock { $0 = Int64(seconds * Double(LetterRetentionTests.second)) } }

        func bury(_ event: String, provider: String = "p", route: String = "r", arrival: Int64) {
            var parcel = Parcel()
            parcel.bytes.append("{\"n\":\"\(event)\"}\n")
            parcel.entryColumn.append(
                Entry(
                    end: UInt32(parcel.bytes.count), route: 0, isImmediate: false, level: EntryLevel.none, subjectCount: 0, firstSubject: 0,
                    messageIDOffset: 0, messageIDCount: 0, arrival: arrival * LetterRetentionTests.second))
            let (lost, _) = letters.bury(
                Batch(parcel), provider: provider, routes: [route], reason: .rejected, Answer("no"), attempts: 1, isLost: true)
            #expect(lost == 0)
        }

        /// The names of the events in the file.
        var left: [String] {
            deadLetters(in: letters.path).compactMap { text in
                text.firstRange(of: "\"n\":\"").map { range in String(text[range.upperBound...].prefix { $0 != "\"" }) }
            }
        }
    }

    private func plan(_ providers: [(String, Duration?)], _ routes: [(String, Duration?)] = []) -> Plan {
        var plan = Plan()
        plan.providers = providers.map { name, time in
            var provider = ProviderPlan(name: name, plugin: "x", settings: Secret([]))
            provider.delivery.retention = time
            return provider
        }
        plan.routes = routes.map { name, time in
            var route = RoutePlan(name: name)
            route.retention = time
            return route
        }
        return plan
    }

    @Test("removes what is too old before a plan takes over, by the shorter time of provider and route, and says how many")
    func adopts() {
        let fixture = RetentionFixture()
        fixture.bury("old", arrival: 899)
        fixture.bury("due", arrival: 900)
        fixture.bury("young", arrival: 901)
        fixture.bury("short", route: "quick", arrival: 989)
        fixture.bury("shortly", route: "quick", arrival: 991)
        fixture.bury("other", provider: "q", arrival: 1)
        fixture.bury("quick other", provider: "q", route: "quick", arrival: 1)
        fixture.retention.adopt(plan([("p", .seconds(100)), ("q", nil)], [("quick", .seconds(10)), ("r", nil)]))
        #expect(fixture.left == ["young", "shortly", "other"])
        #expect(fixture.said.withLock { $0 } == ["dead letters removed because they are older than retention allows: 4"])
    }

    @Test("removes nothing and says nothing without a time, and takes back a time that a later plan no longer has")
    func none() {
        let fixture = RetentionFixture()
        fixture.bury("a", arrival: 1)
        fixture.retention.adopt(plan([("p", nil)], [("r", nil)]))
        #expect(fixture.left == ["a"] && fixture.said.withLock { $0 } == [])
        fixture.retention.adopt(plan([("p", .seconds(5000))]))
        fixture.retention.adopt(plan([("p", nil)]))
        fixture.set(9000)
        fixture.retention.adopt(plan([("q", .seconds(1))]))
        #expect(fixture.left == ["a"] && fixture.said.withLock { $0 } == [])
    }

    @Test("goes on for a provider and a route that were removed from the plan, since nobody has allowed more")
    func removed() {
        let fixture = RetentionFixture()
        fixture.bury("a", provider: "gone", arrival: 990)
        fixture.bury("b", route: "gone too", arrival: 995)
        fixture.bury("c", arrival: 1)
        fixture.retention.adopt(plan([("gone", .seconds(20))], [("gone too", .seconds(30))]))
        #expect(fixture.left == ["a", "b", "c"])
        fixture.set(1010)
        fixture.retention.adopt(plan([("p", nil)]))
        #expect(fixture.left == ["b", "c"])
        fixture.set(1025)
        fixture.retention.adopt(plan([("p", nil)]))
        #expect(fixture.left == ["c"])
    }

    @Test("removes a letter during the run when it is due, also one that was buried later")
    func due() {
        let fixture = RetentionFixture()
        fixture.retention.adopt(plan([("p", .seconds(100)), ("q", nil)]))
        fixture.bury("first", arrival: 950)
        fixture.bury("second", arrival: 1049)
        fixture.set(1050)
        // This letter never expires. Its burial wakes the thread, which finds the first one due.
        fixture.bury("wake", provider: "q", arrival: 1050)
        fixture.said.wait(while: { $0.isEmpty })
        #expect(fixture.left == ["second", "wake"])
        fixture.set(1149)
        fixture.bury("wake again", provider: "q", arrival: 1149)
        fixture.said.wait(while: { $0.count < 2 })
        #expect(fixture.left == ["wake", "wake again"])
        #expect(fixture.said.withLock { $0.allSatisfy { $0.hasSuffix("retention allows: 1") } })
    }

    @Test("searches at the time of the next letter, of whichever burial, and again a second after a search at the earliest")
    func schedule() {
        let fixture = RetentionFixture()
        func due() -> Double? { fixture.schedule.due.map { Double($0) / Double(LetterRetentionTests.second) } }
        fixture.bury("before the first plan", arrival: 990)
        #expect(due() == nil)
        fixture.retention.adopt(plan([("p", .seconds(100)), ("q", .seconds(40))], [("r", nil), ("quick", .seconds(70))]))
        #expect(due() == 1090)
        fixture.bury("later", arrival: 1060)
        #expect(due() == 1090, "a later letter does not delay the search")
        fixture.bury("earlier", provider: "q", arrival: 1010)
        #expect(due() == 1050, "the shortest time of all, since a search is harmless")
        fixture.set(1089.5)
        fixture.retention.adopt(plan([("p", .seconds(100)), ("q", .seconds(40))]))
        #expect(fixture.left == ["before the first plan", "later"])
        #expect(due() == 1090.5, "at the earliest a second after this search")
    }

    @Test("reports letters that it cannot remove, keeps them, and removes them when it can")
    func fails() throws {
        let fixture = RetentionFixture()
        fixture.bury("old", arrival: 1)
        fixture.letters.reopen()
        let path = fixture.letters.path
        for end in ["", "-wal", "-shm", ".witness"] { rename(path + end, path + ".aside" + end) }
        let witness = fixture.folder + "/dead-letters.witness"
        rename(witness, witness + ".aside")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try Data(count: 4096).write(to: URL(fileURLWithPath: path + "/entry"))
        fixture.retention.adopt(plan([("p", .seconds(100))]))
        let said = fixture.said.withLock { $0 }
        #expect(
            said.count == 1 && said[0].hasPrefix("dead letters that may be older than retention allows are not removed yet: \(path)"),
            "\(said)")
        #expect(fixture.schedule.due == 1060 * LetterRetentionTests.second, "it tries again in a minute")
        try FileManager.default.removeItem(atPath: path)
        for end in ["", "-wal", "-shm"] { rename(path + ".aside" + end, path + end) }
        rename(witness + ".aside", witness)
        fixture.retention.adopt(plan([("p", .seconds(100))]))
        #expect(fixture.left == [])
        #expect(fixture.said.withLock { $0.last } == "dead letters removed because they are older than retention allows: 1")
    }
}
