import Admission
import ConsentGate
import Events
import Foundation
import HeldEventStore
import Plans
import Platform
import Queueing
import Testing
import Workers

@testable import Delivery
@testable import Generations
@testable import Holding
@testable import Judging
@testable import Ledger
@testable import Router
@testable import Withdrawal

/// Notes what happens, in order.
private final class TestLog: Sendable {
    private let words = Monitor<[String]>([])
    var all: [String] { words.withLock { $0 } }
    func note(_ word: String) {
        words.withLock { $0.append(word) }
        words.wake()
    }
    func wait(for word: String, times: Int = 1) { words.wait(while: { words in words.count { $0 == word } < times }) }
}

private final class SilentProvider: Provider {
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) { done(BatchOutcome(.delivered)) }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func erase(_ request: ErasureRequest, _ done: @escaping @Sendable (ErasureAnswer) -> Void) {}
    func close() {}
}

@Suite("Released events that no lane has yet")
struct HeldHandOverTests {
    @Test("A withdrawal destroys what waits in the lanes once more after a lane has got what was released before")
    func handOver() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (key, log) = ([UInt8](0..<16), TestLog())
        let keys = LedgerKeys(current: LedgerKeys.Key("ids", Array("0123456789abcdef".utf8)))
        let options = LedgerFile.Options(keys: keys) { id in
            let subject = SubjectKey(of: id, under: key)
            return ShortHash(high: subject.high, low: subject.low)
        }
        let registry = try Registry(#require(try LedgerFile(folder + "/ledger.sqlite", options: options)))
        defer { registry.close() }
        var plan = Plan()
        plan.namedSources = [SourcePlan(name: "in", plugin: "stdin")]
        plan.consent = ConsentPlan()
        plan.consent!.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["a"])]
        plan.consent!.subject = [Path(keys: ["userId"])]
        plan.consent!.unknown = .hold
        plan.consent!.ledger = LedgerPlan()
        var route = RoutePlan(name: "all")
        route.consent = ConsentDemand(level: 1)
        route.providers = [0]
        plan.routes = [route]
        plan.providers = [ProviderPlan(name: "out", plugin: "noop", settings: Secret([]))]
        plan.messageID.add = false
        let names = RunNames(["all"])
        let ruleset = Ruleset(plan, subjectKey: key, records: registry.records)
        let deadLetters = DeadLetters(path: folder + "/dead-letters.sqlite", clock: .system) { _ in }
        let provider = SilentProvider()
        let lane = Lane(
            name: "out", provider: provider, plan: DeliveryPlan(), concurrency: 1, routes: names, deadLetters: deadLetters, clock: .system,
            random: RandomSource(seed: 0), news: { _, _ in })
        let generation = Generation(
            number: 1, plan: plan, ruleset: ruleset,
            destinations: [Destination(index: 0, lane: lane, slot: ProviderSlot(provider, clock: .system))], routes: [0])
        let store = HeldStore(
            HeldPlace(path: folder + "/held.sqlite"), registry: registry,
            generations: GenerationRegistry(generation, openLanes: OpenLanes(stop: try WakeUp(), inbox: nil, say: { _ in })),
            totals: Monitor(Totals()), names: names, sources: plan.sources, clock: .system,
            handOver: { parcels, _, _ in
                for index in parcels.indices { parcels[index].removeAll() }
                log.note("released")
                // A lane has no room. The withdrawal asks for the lanes when it begins, and when it destroys what waits in them.
                log.wait(for: "lanes", times: 2)
                log.note("handed over")
            }, say: { _ in })
        let check = SecondCheck(registry.records, levels: RunNames())
        check.adopt(ruleset.consent)
        let withdrawals = Withdrawals(
            registry, check: check, deadLetters: deadLetters, names: names,
            lanes: {
                log.note("lanes")
                return []
            }, heldStore: store,
            strays: { _, _ in
                log.note("strays")
                return [:]
            }, settle: {}, clock: .system, say: { _ in })
        var held = HeldEvents()
        try hold(#"{"userId":"u1"}"#, ruleset, in: &held)
        try #require(held.count == 1)
        #expect(store.take(held, generation, source: 0, key: 0).isEmpty)
        let thread = ThreadHandle(Platform.Thread.start("held events") { store.work() })
        _ = try registry.use { (file) throws(StorageFault) in
            ((), try file.set(LedgerID("u1"), ConsentTerms(level: "all"), origin: "test").changes)
        }
        log.wait(for: "released")
        _ = try withdrawals.withdraw(LedgerID("u1"), purposes: nil, origin: "test")
        log.wait(for: "strays")
        log.wait(for: "handed over")
        let all = log.all
        let (handed, last) = try (#require(all.firstIndex(of: "handed over")), #require(all.lastIndex(of: "lanes")))
        #expect(handed < last, "\(all)")
        store.end(hurried: true)
        thread.join()
        store.close()
    }

    private func hold(_ line: String, _ ruleset: Ruleset, in held: inout HeldEvents) throws {
        var worker = Worker(ruleset, lineLimit: 1000, depth: 10, blockSize: 100)
        worker.block.arrival = Clock.system.wall()
        worker.block.text.append(line)
        worker.work()
        swap(&held, &worker.judge.held)
    }
}
