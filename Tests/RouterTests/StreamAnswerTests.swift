import Admission
import ConsentGate
import Delivery
import Events
import Glibc
import Ingest
import Plans
import Platform
import Queueing
import TestSupport
import Testing
import Workers

@testable import Router

/// A provider that collects its lines.
private final class CollectingProvider: Provider, Sendable {
    private let taken = Monitor<[String]>([])
    var lines: [String] { taken.withLock { $0 } }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        taken.withLock { taken in
            for index in 0..<batch.count { taken.append(String(decoding: batch.event(index), as: UTF8.self)) }
        }
        done(BatchOutcome(.delivered))
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

/// A router with a ledger. Either the test submits events to it, or it reads a pipe and acknowledges lines in another pipe.
private final class StreamAnswerFixture {
    let ledger: StreamLedger
    let provider = CollectingProvider()
    let router: Router
    let said = Monitor<[String]>([])
    private let account = Monitor<Account?>(nil)
    private var input: [Int32] = [0, 0]
    private var acks: [Int32] = [0, 0]

    init(listens: Bool) throws {
        ledger = try StreamLedger()
        pipe(&input)
        pipe(&acks)
        let plan = streamPlan { plan in
            plan.messageID.deduplicate = MessageIDPlan.Deduplication()
            plan.providers[0].delivery.batch.wait = .milliseconds(1)
            if listens { plan.namedSources?[0].plugin = "http" }
        }
        var options = RouterOptions(deadLetters: ledger.folder + "/dead-letters.sqlite")
        options.input = input[0]
        options.acks = listens ? nil : acks[1]
        options.workers = 2
        options.key = ledger.key
        options.registry = ledger.registry
        let said = said
        router = Router(plan, outlets: [Outlet(provider: provider, concurrency: 1)], options: options) { line in
            said.withLock { $0.append(line) }
        }
        let (router, account) = (router, account)
        Platform.Thread.start("router") {
            let result = router.run()
            account.withLock { $0 = result }
            account.wake()
        }.detach()
    }

    deinit { for descriptor in input + acks where descriptor >= 0 { close(descriptor) } }

    func submit(_ lines: String...) -> Submission {
        let answered = Monitor<Submission?>(nil)
        var text = ByteBuffer()
        for line in lines { text.append(line + "\n") }
        let isTaken = router.sink?.submit(text, from: Submitter(source: 0)) { submission in
            answered.withLock { $0 = submission }
            answered.wake()
        }
        precondition(isTaken == true)
        return answered.waitUntilReady { $0.map(Readiness.ready) ?? .notBefore(nil) }
    }

    func send(_ lines: String...) {
        Array(lines.map { $0 + "\n" }.joined().utf8).withUnsafeBytes { try? writeAll(input[1], $0) }
    }

    func finish() -> Account {
        close(input[1])
        input[1] = -1
        if router.sink != nil { router.stopReading() }
        return account.waitUntilReady { $0.map(Readiness.ready) ?? .notBefore(nil) }
    }

    /// The number of the last acknowledged line. Read it only after the router has ended.
    var acknowledged: Int {
        close(acks[1])
        acks[1] = -1
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1000)
        while true {
            let count = read(acks[0], &chunk, chunk.count)
            guard count > 0 else { break }
            text += chunk[..<count]
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").last.flatMap { Int($0) } ?? 0
    }
}

@Suite("A block with decisions")
struct StreamAnswerTests {
    @Test("is given back if the ledger cannot be written, and accepted when it comes again")
    func givenBack() throws {
        let fixture = try StreamAnswerFixture(listens: true)
        let grant = #"{"type":"consent","userId":"u","consent":{"level":"standard"},"messageId":"m1"}"#
        fixture.ledger.fail()
        #expect(fixture.submit(grant, event("u", "1", #","messageId":"m2""#)) == .overloaded(retryAfter: 1))
        #expect(fixture.submit(event("u", "2", #","messageId":"m3""#)) == .stored(invalid: []), "a block without decisions is accepted")
        fixture.ledger.heal()
        #expect(fixture.submit(grant, event("u", "1", #","messageId":"m2""#)) == .stored(invalid: []))
        #expect(try fixture.ledger.terms("u") == ConsentTerms(level: "standard"))
        let account = fixture.finish()
        #expect(account.balances && account.received == 3 && account.duplicates == 0 && account.consent.taken == 1)
        // Event 2 came before the grant was on record, and no route takes the consent event.
        #expect(fixture.provider.lines == [event("u", "1", #","messageId":"m2""#)])
    }

    @Test("that withdraws and consents again destroys the events before the new consent and keeps those after it")
    func anew() throws {
        let fixture = try StreamAnswerFixture(listens: false)
        let again = says("u", #"{"level":"standard","version":"2"}"#)
        fixture.send(says("u", grants), event("u", "1"), says("u", withdraws), again, event("u", "2"))
        let account = fixture.finish()
        // No route takes the consent events, so one event was destroyed and one is left.
        #expect(fixture.provider.lines == [event("u", "2")])
        #expect(account.balances && account.providers[0].lane.total(.withdrawn) == 1)
    }

    @Test("that the ledger could not store is never acknowledged, nor is any later block, and the run goes on")
    func notAcknowledged() throws {
        let fixture = try StreamAnswerFixture(listens: false)
        try fixture.ledger.set("v", ConsentTerms(level: "standard"))
        fixture.send(event("v", "1"))
        while fixture.provider.lines.count < 1 { sched_yield() }
        fixture.ledger.fail()
        fixture.send(says("v", withdraws), event("v", "2"))
        while fixture.router.status.events < 3 { sched_yield() }
        fixture.ledger.heal()
        fixture.send(event("v", "3"))
        let account = fixture.finish()
        #expect(account.balances && account.received == 4 && account.consent.unwritten == 1)
        #expect(fixture.provider.lines == [event("v", "1")])
        #expect(fixture.acknowledged == 1)
    }
}
