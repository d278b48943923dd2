// The health of a router whose provider hangs in a call, or never answers.

import Admission
import Delivery
import Platform
import Queueing
import TestSupport
import Testing

@testable import Router

/// A provider whose call does not return until the test releases it.
private final class BlockingProvider: Provider {
    private let state = Monitor((isCalled: false, isFree: false))

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        state.withLock { $0.isCalled = true }
        state.wake()
        state.wait { !$0.isFree }
        done(BatchOutcome(.delivered))
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}

    func waitForCall() { state.wait { !$0.isCalled } }
    func letGo() {
        state.withLock { $0.isFree = true }
        state.wake()
    }
}

/// A provider that takes every batch, and either answers at once or never.
private final class PlainProvider: Provider {
    private let answers: Bool
    init(answers: Bool) { self.answers = answers }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        if answers { done(BatchOutcome(.delivered)) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

@Suite("The health of a router")
struct HealthTests {
    @Test("names a lane within ten seconds if its provider hangs, and is good again when the call returns")
    func hanging() {
        let time = ManualClock()
        let provider = BlockingProvider()
        let fixture = RouterFixture([provider], watchdog: Watchdog(clock: time.clock))
        fixture.send("{}\n")
        provider.waitForCall()
        #expect(fixture.router.health.isGood)
        time.advance(.seconds(9))
        #expect(fixture.router.health.troubles == ["lane p0 hangs"])
        #expect(fixture.router.readiness.troubles == ["lane p0 hangs"])
        provider.letGo()
        let account = fixture.finish()
        #expect(account.isComplete)
        #expect(fixture.router.health.isGood)
        #expect(fixture.router.readiness.troubles == ["the router is ending"])
    }

    @Test("a lane that has stopped makes the router not ready, and leaves it healthy")
    func stopped() {
        // The router ends when its last lane has stopped, so a second lane works.
        let fixture = RouterFixture([PlainProvider(answers: false), PlainProvider(answers: true)], deadline: .milliseconds(1))
        fixture.send("{}\n")
        fixture.said.wait(while: { said in !said.contains { $0.contains("is not called again") } })
        #expect(fixture.router.health == Health(troubles: [], notes: ["lane p0 has stopped"]))
        #expect(fixture.router.readiness.troubles == ["lane p0 has stopped"])
        _ = fixture.finish()
    }
}
