// Tests that requests are answered, and lines of standard input are acknowledged, only after their events are stored.

import Admission
import ConsentGate
import Foundation
import Glibc
import Ingest
import Plans
import Platform
import Spool
import Testing

@testable import Delivery
@testable import Events
@testable import Holding
@testable import Queueing
@testable import Router

/// A spool that stores nothing until the test releases it, or that always fails.
private final class HeldStore: SpoolStore {
    private struct State {
        var isHeld = true
        var hasBegun = false
        var lastRow: Int64 = 0
    }
    private let state = Monitor(State())
    private let fault: SpoolFault?

    init(_ fault: SpoolFault? = nil) { self.fault = fault }

    var contents: SpoolContents { SpoolContents() }
    func read(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow] { [] }
    func sweep(after row: Int64, _ sweep: RetentionSweep) throws(SpoolFault) -> SpoolSwept { SpoolSwept() }
    func commit(_ work: SpoolWork) throws(SpoolFault) {
        if let fault { throw fault }
        state.withLock { $0.hasBegun = true }
        state.wake()
        state.wait(while: { $0.isHeld })
    }
    func takeLoss() -> SpoolLoss? { nil }
    func tidy() throws(SpoolFault) {}
    func clearGaps() throws(SpoolFault) {}
    func close() {}

    func waitForCommit() { state.wait(while: { !$0.hasBegun }) }
    func release() {
        state.withLock { $0.isHeld = false }
        state.wake()
    }
}

private final class AcceptingProvider: Provider {
    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) { done(BatchOutcome(.delivered)) }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

/// A router with one worker and one durable lane.
private final class StoredFirstFixture {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    let router: Router
    private var input: [Int32] = [0, 0]
    private var acks: [Int32] = [0, 0]
    private let account = Monitor<Account?>(nil)

    init(_ store: HeldStore, listens: Bool) {
        pipe(&input)
        pipe(&acks)
        var plan = Plan()
        var provider = ProviderPlan(name: "out", plugin: "taker", settings: Secret([]))
        provider.delivery.batch.wait = .milliseconds(1)
        provider.delivery.queue.disk = 1 << 30
        plan.providers = [provider]
        plan.messageID.add = false
        var route = RoutePlan(name: "all")
        route.providers = [0]
        plan.routes = [route]
        plan.namedSources = [SourcePlan(name: "in", plugin: listens ? "http" : "stdin")]
        var options = RouterOptions(deadLetters: folder + "/dead-letters.sqlite")
        options.input = input[0]
        options.acks = listens ? nil : acks[1]
        options.drain = .zero
        router = Router(plan, outlets: [Outlet(provider: AcceptingProvider(), concurrency: 1, store: store)], options: options) { _ in }
        let (router, account) = (router, account)
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
    }

    deinit {
        for descriptor in input + acks where descriptor >= 0 { close(descriptor) }
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Submits the line. Returns a monitor that gets the answer.
    func submit(_ line: String) -> Monitor<Submission?> {
        let answer = Monitor<Submission?>(nil)
        var text = ByteBuffer()
        text.append(line + "\n")
        let isTaken = router.sink?.submit(text, from: Submitter(source: 0)) { submission in
            answer.withLock { $0 = submission }
            answer.wake()
        }
        precondition(isTaken == true)
        return answer
    }

    func send(_ line: String) { Array((line + "\n").utf8).withUnsafeBytes { try? writeAll(input[1], $0) } }

    func finish() {
        close(input[1])
        input[1] = -1
        if router.sink != nil { router.stopReading() }
        account.wait(while: { $0 == nil })
    }

    /// Everything that was acknowledged. Read it only after the router has ended.
    var acknowledged: String {
        close(acks[1])
        acks[1] = -1
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1000)
        while case let count = read(acks[0], &chunk, chunk.count), count > 0 { text += chunk[..<count] }
        return String(decoding: text, as: UTF8.self)
    }
}

@Suite("A router stores events")
struct StoredFirstTests {
    @Test("before it answers a request, even if storing takes long")
    func requests() {
        let store = HeldStore()
        let fixture = StoredFirstFixture(store, listens: true)
        let answer = fixture.submit("{\"n\":1}")
        store.waitForCommit()
        // The only worker answers this request after all its work for the request before. No lane has to store this one.
        let next = fixture.submit("no event")
        next.wait(while: { $0 == nil })
        #expect(answer.withLock { $0 } == nil)
        store.release()
        answer.wait(while: { $0 == nil })
        #expect(answer.withLock { $0 } == .stored(invalid: []))
        fixture.finish()
    }

    @Test("before it acknowledges a line of standard input")
    func lines() {
        let store = HeldStore()
        let fixture = StoredFirstFixture(store, listens: false)
        fixture.send("{\"n\":1}")
        store.waitForCommit()
        store.release()
        fixture.finish()
        #expect(fixture.acknowledged == "1\n")
    }

    @Test("and never acknowledges a line of standard input if storing fails")
    func unstored() {
        let fixture = StoredFirstFixture(HeldStore(SpoolFault(.failed, "no disk")), listens: false)
        fixture.send("{\"n\":1}")
        fixture.finish()
        #expect(fixture.acknowledged == "")
    }
}
