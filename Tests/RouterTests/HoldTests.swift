import Admission
import ConsentGate
import Delivery
import Events
import Foundation
import Glibc
import HeldEventStore
import Judging
import Plans
import Platform
import Queueing
import Spool
import TestSupport
import Testing
import Withdrawal

@testable import Holding
@testable import Ledger
@testable import Router

private let subjectKey = [UInt8](0..<16)

private func levels(_ plan: inout Plan) {
    plan.consent = ConsentPlan()
    plan.consent!.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["a"])]
    plan.consent!.subject = [Path(keys: ["userId"]), Path(keys: ["anonymousId"])]
    plan.consent!.unknown = .hold
    plan.consent!.ledger = LedgerPlan()
}

private func shortHash(_ id: [UInt8]) -> ShortHash {
    let key = SubjectKey(of: id, under: subjectKey)
    return ShortHash(high: key.high, low: key.low)
}

/// A provider that collects its lines.
private final class TestCollector: Provider, @unchecked Sendable {
    private let state = Monitor<[String]>([])
    var lines: [String] { state.withLock { $0 } }
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        state.withLock { state in
            for index in 0..<batch.count { state.append(String(decoding: batch.event(index), as: UTF8.self)) }
        }
        state.wake()
        done(BatchOutcome(.delivered))
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
    func wait(for count: Int) { state.wait(while: { $0.count < count }) }
}

/// A router that reads a pipe and has a ledger. It may use the folder of an earlier router.
private final class HoldFixture: @unchecked Sendable {
    let router: Router
    let registry: Registry
    let out = TestCollector()
    let said = Monitor<[String]>([])
    private var ends: [Int32] = [0, 0]
    private let account = Monitor<Account?>(nil)

    init(_ folder: String, isDurable: Bool = false, clock: Clock = .system, vfs: String? = nil, _ change: (inout Plan) -> Void = { _ in })
        throws
    {
        pipe(&ends)
        var plan = Plan()
        plan.providers = [ProviderPlan(name: "out", plugin: "store", settings: Secret([]))]
        plan.providers[0].delivery.batch.wait = .milliseconds(1)
        if isDurable { plan.providers[0].delivery.queue.disk = 10_000_000 }
        var all = RoutePlan(name: "all")
        all.providers = [0]
        all.consent = ConsentDemand(level: 1)
        plan.routes = [all]
        plan.messageID.add = false
        levels(&plan)
        change(&plan)
        let keys = LedgerKeys(current: LedgerKeys.Key("ids", Array("0123456789abcdef".utf8)))
        var keeping = LedgerFile.Options(keys: keys, short: shortHash)
        keeping.clock = clock
        registry = try Registry(LedgerFile(folder + "/ledger.sqlite", options: keeping)!)
        var options = RouterOptions(deadLetters: folder + "/dead-letters.sqlite")
        options.input = ends[0]
        options.workers = 4
        options.blockSize = 512
        options.key = subjectKey
        options.names = RunNames(plan.routes.map(\.name))
        options.registry = registry
        options.held = HeldPlace(path: folder + "/" + HeldFile.name)
        options.held!.options.vfs = vfs
        options.clock = clock
        let said = said
        var spooling = SpoolFile.Options()
        spooling.levels = options.levels
        let store =
            try isDurable
            ? SpoolFile(path: folder + "/spool-out.sqlite", names: options.names!, options: spooling) { line in
                said.withLock { $0.append(line) }
            } : nil
        router = Router(plan, outlets: [Outlet(provider: out, concurrency: 1, store: store)], options: options) { line in
            said.withLock { $0.append(line) }
        }
        let (router, account) = (router, account)
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
    }

    func send(_ text: String) { Array((text + "\n").utf8).withUnsafeBytes { try? writeAll(ends[1], $0) } }
    func say(_ id: String, _ level: String) throws {
        _ = try registry.use { (file) throws(StorageFault) in
            let outcome = try file.set(LedgerID(id), ConsentTerms(level: level), origin: "test")
            return (outcome.holds, outcome.changes)
        }
    }
    func waitUntilHeld(_ count: Int) {
        while router.status.held?.events != count { usleep(1000) }
    }
    func finish() -> Account {
        close(ends[1])
        let result = account.waitUntilReady { $0.map(Readiness.ready) ?? .notBefore(nil) }
        close(ends[0])
        registry.close()
        return result
    }
}

private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
}

private func event(_ id: String, _ number: Int) -> String { #"{"userId":"\#(id)","n":\#(number)}"# }

@Suite("A router that holds events")
struct HoldTests {
    @Test("releases a held event when any of its ids gets a decision", arguments: [false, true])
    func anySubject(isDurable: Bool) throws {
        try withFolder { folder in
            let fixture = try HoldFixture(folder, isDurable: isDurable)
            let both = #"{"userId":"ann","anonymousId":"x1"}"#
            for line in [event("ann", 1), both, #"{"anonymousId":"x1"}"#, event("bob", 1)] { fixture.send(line) }
            fixture.waitUntilHeld(4)
            try fixture.say("x1", "all")
            fixture.out.wait(for: 2)
            #expect(fixture.out.lines == [both, #"{"anonymousId":"x1"}"#])
            fixture.waitUntilHeld(2)
            let account = fixture.finish()
            #expect(account.balances && account.held.events == 2 && account.verdicts[0, .held] == 2 && account.verdicts[0, .admitted] == 2)
        }
    }

    @Test("delivers each held event exactly once, although decisions come meanwhile, and over several runs", arguments: [false, true])
    func storm(isDurable: Bool) throws {
        try withFolder { folder in
            var sent: [String: [Int]] = [:]
            var got: [String] = []
            let ids = (0..<40).map { "user\($0)" }
            for run in 0..<3 {
                let fixture = try HoldFixture(folder, isDurable: isDurable)
                for number in 0..<600 {
                    let id = ids[(number * 7 + run) % ids.count]
                    sent[id, default: []].append(run * 1000 + number)
                    fixture.send(event(id, run * 1000 + number))
                    // Some subjects decide during a run; the last third decides in the last run.
                    if number % 20 == 10, run < 2 { try fixture.say(ids[(number / 20 + run * 13) % 27], "all") }
                }
                if run == 2 { for id in ids { try fixture.say(id, "all") } }
                let account = fixture.finish()
                #expect(account.balances && account.providers[0].undelivered == 0, "run \(run): \(account)")
                #expect(account.verdicts[0, .held] == account.held.events, "run \(run)")
                got += fixture.out.lines
            }
            #expect(got.count == 1800 && Set(got).count == 1800, "each event is delivered once")
            for (id, numbers) in sent {
                let own = Set(got.filter { $0.contains("\"\(id)\"") })
                #expect(own == Set(numbers.map { event(id, $0) }))
            }
        }
    }

    @Test("delivers the held events of a subject in the order of their arrival")
    func order() throws {
        try withFolder { folder in
            let fixture = try HoldFixture(folder)
            for number in 0..<1000 { fixture.send(event(number % 3 == 0 ? "bob" : "ann", number)) }
            fixture.waitUntilHeld(1000)
            try fixture.say("ann", "all")
            let own = (0..<1000).filter { $0 % 3 != 0 }
            fixture.out.wait(for: own.count)
            #expect(fixture.out.lines == own.map { event("ann", $0) })
            #expect(fixture.finish().held.events == 334)
        }
    }

    @Test("destroys events without a decision in time, also those of an earlier run")
    func expiry() throws {
        try withFolder { folder in
            let first = try HoldFixture(folder, clock: Clock(now: Clock.system.now, wall: { 1_000_000_000_000 }))
            first.send(event("ann", 1))
            first.waitUntilHeld(1)
            #expect(first.finish().verdicts[0, .held] == 1)
            // The second run is a day minus a second later, and the third is a second after that.
            let early = try HoldFixture(folder, clock: Clock(now: Clock.system.now, wall: { 1_000_000_000_000 + 86_399_000_000_000 }))
            let waiting = early.finish()
            #expect(waiting.held.events == 1 && waiting.held.resumed == 1 && waiting.balances)
            let late = try HoldFixture(folder, clock: Clock(now: Clock.system.now, wall: { 1_000_000_000_000 + 86_400_000_000_000 }))
            late.waitUntilHeld(0)
            let account = late.finish()
            #expect(account.verdicts[0, .expired] == 1 && account.verdicts[0, .held] == 0 && account.balances)
        }
    }

    @Test("destroys held events that no route may have any more, and lets others wait for the routes that may")
    func retention() throws {
        try withFolder { folder in
            let start: Int64 = 1_000_000_000_000
            func fixture(after seconds: Int64) throws -> HoldFixture {
                try HoldFixture(folder, clock: Clock(now: Clock.system.now, wall: { start + seconds * 1_000_000_000 })) { plan in
                    var long = plan.routes[0]
                    long.name = "long"
                    long.retention = .seconds(3600)
                    plan.routes[0].retention = .seconds(60)
                    plan.routes.append(long)
                }
            }
            let first = try fixture(after: 0)
            first.send(event("ann", 1))
            first.waitUntilHeld(1)
            _ = first.finish()
            let early = try fixture(after: 59).finish()
            #expect(early.verdicts[0, .held] == 1 && early.verdicts[1, .held] == 1 && early.held.events == 1)
            let middle = try fixture(after: 60)
            let narrowed = middle.finish()
            #expect(narrowed.verdicts[0, .expired] == 1 && narrowed.verdicts[1, .held] == 1 && narrowed.held.events == 1)
            let late = try fixture(after: 3600)
            late.waitUntilHeld(0)
            let account = late.finish()
            #expect(account.verdicts[1, .expired] == 1 && account.verdicts[1, .held] == 0 && account.balances)
        }
    }

    @Test("delivers no held event of a subject that withdrew, even if it consents again at once")
    func consentAgain() throws {
        try withFolder { folder in
            let fixture = try HoldFixture(folder)
            for number in 0..<20 { fixture.send(event("ann", number)) }
            fixture.waitUntilHeld(20)
            _ = try fixture.router.withdrawals!.withdraw(LedgerID("ann"), purposes: nil, origin: "test")
            try fixture.say("ann", "all")
            fixture.waitUntilHeld(0)
            fixture.send(event("ann", 99))
            let account = fixture.finish()
            #expect(fixture.out.lines == [event("ann", 99)])
            #expect(account.verdicts[0, .withdrawn] == 20 && account.verdicts[0, .held] == 0 && account.balances)
        }
    }

    @Test("keeps holding events while the decisions on record cannot be read")
    func unreadable() throws {
        try withFolder { folder in
            let time = Monitor<Int64>(10_000_000_000_000)
            let fixture = try HoldFixture(folder, clock: Clock(now: Clock.system.now, wall: { time.withLock { $0 } }))
            fixture.send(event("ann", 1))
            fixture.waitUntilHeld(1)
            fixture.registry.records.isUnreadable = true
            fixture.registry.publish([LedgerChange(short: shortHash(Array("ann".utf8)), effective: [ConsentTerms(level: "all")])])
            let account = fixture.finish()
            #expect(account.verdicts[0, .held] == 1 && account.held.events == 1 && fixture.out.lines == [])
        }
    }

    @Test("denies events that it cannot store, reports it once, and holds events again when the disk has space")
    func full() throws {
        let disk = FaultyDisk()
        try withFolder { folder in
            let fixture = try HoldFixture(folder, vfs: disk.name)
            fixture.send(event("ann", 1))
            fixture.waitUntilHeld(1)
            disk.fail(at: 0, .full, stays: true)
            for number in 2...4 {
                fixture.send(event("ann", number))
                while fixture.router.status.events != number { usleep(1000) }
            }
            #expect(fixture.router.status.held?.fault != nil && fixture.router.status.held?.events == 1)
            disk.heal()
            var number = 4
            while fixture.router.status.held?.events == 1 {
                number += 1
                fixture.send(event("ann", number))
                while fixture.router.status.events != number { usleep(1000) }
            }
            #expect(fixture.router.status.held?.fault == nil)
            try fixture.say("ann", "all")
            fixture.out.wait(for: 2)
            #expect(fixture.out.lines == [event("ann", 1), event("ann", number)])
            let account = fixture.finish()
            #expect(account.verdicts[0, .denied(.unstored)] == number - 2 && account.balances)
            #expect(fixture.said.withLock { $0.map { $0.contains("cannot be held") } } == [true, false])
        }
    }

    @Test("reports the events lost in a damaged file, releases the rest, and does not call the run complete")
    func damaged() throws {
        try withFolder { folder in
            let first = try HoldFixture(folder)
            for number in 1...3 { first.send(event("ann", number)) }
            first.waitUntilHeld(3)
            #expect(!first.finish().foundDamage)
            let file = URL(fileURLWithPath: folder + "/" + HeldFile.name)
            var bytes = try Data(contentsOf: file)
            let at = try #require(bytes.range(of: Data(event("ann", 2).utf8)))
            bytes[at.upperBound - 2] = UInt8(ascii: "3")
            try bytes.write(to: file)
            let second = try HoldFixture(folder)
            second.waitUntilHeld(2)
            try second.say("ann", "all")
            second.out.wait(for: 2)
            let account = second.finish()
            #expect(second.out.lines == [event("ann", 1), event("ann", 3)])
            #expect(account.foundDamage && account.held.damaged == 1 && account.balances && account.verdicts[0, .admitted] == 2)
            #expect(second.said.withLock { $0.contains { $0.hasSuffix("1 of 3 held events are lost") } }, "\(second.said.withLock { $0 })")
            #expect(!(try HoldFixture(folder).finish().foundDamage))
        }
    }

    @Test("denies events that it would hold if it has no place for them")
    func nowhere() throws {
        var plan = Plan()
        plan.providers = [ProviderPlan(name: "out", plugin: "store", settings: Secret([]))]
        var all = RoutePlan(name: "all")
        all.providers = [0]
        all.consent = ConsentDemand(level: 1)
        plan.routes = [all]
        levels(&plan)
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        var options = RouterOptions(deadLetters: "/nonexistent/dead-letters.sqlite")
        options.input = ends[0]
        let router = Router(plan, outlets: [Outlet(provider: TestCollector(), concurrency: 1)], options: options) { _ in }
        _ = Array((event("ann", 1) + "\n").utf8).withUnsafeBytes { try? writeAll(ends[1], $0) }
        close(ends[1])
        let account = router.run()
        close(ends[0])
        #expect(account.verdicts[0, .denied(.unstored)] == 1 && account.balances)
    }
}
