import Delivery
import Events
import Foundation
import Plans
import Platform
import PluginHost
import Queueing
import TestSupport
import Testing

@testable import Admission

/// A module that does not end its deliveries, behind a real lane.
@Suite("A module that does not answer", .timeLimit(.minutes(20)))
struct DeadlineTests {
    let fixture: ModuleFixture
    init() throws {
        fixture = try ModuleFixture()
        try fixture.build("scripted.c", as: "scripted.so")
    }

    private func lane(_ provider: any Provider, abandon: Int, _ news: Mailbox<String>) -> Lane {
        var plan = DeliveryPlan()
        plan.batch.wait = .zero
        // On a busy machine a call begins after so long that a shorter deadline would be over by then.
        plan.deadline = .milliseconds(100)
        plan.abandon = abandon
        plan.retry.first = .milliseconds(1)
        let letters = DeadLetters(path: fixture.folder + "/state/dead", clock: .system) { news.put($0) }
        return Lane(
            name: "out", provider: provider, plan: plan, concurrency: 1, routes: RunNames(["all"]), deadLetters: letters, clock: .system,
            random: RandomSource(seed: 1)
        ) { _, one in
            if case .stopped(let answer) = one { news.put(answer.message) }
        }
    }

    private func give(_ lane: Lane, _ event: String) {
        var parcel = Parcel()
        parcel.bytes.append(event + "\n")
        parcel.entryColumn.append(
            Entry(
                end: UInt32(parcel.bytes.count), route: 0, isImmediate: true, subjectCount: 0, firstSubject: 0, messageIDOffset: 0,
                messageIDCount: 0, arrival: 7))
        lane.waitAndTake(&parcel)
    }

    private var deadLetters: [String] { TestSupport.deadLetters(in: fixture.folder + "/state/dead") }

    private var soon: Platform.Instant { Clock.system.now() + .seconds(600) }

    @Test("stops its lane after too many deliveries past the deadline; a late delivery still finds its whole batch")
    func never() throws {
        let out = try Scripted(fixture)
        let news = Mailbox<String>()
        let lane = lane(out.provider, abandon: 2, news)
        lane.start()
        give(lane, "{\"do\":\"keep\"}")
        #expect(
            news.wait() == ["the module holds 2 calls beyond the deadline of 100ms (delivery.deadline) and is not called again"])
        #expect(lane.account.abandoned == 2 && lane.account.late == 0)
        // The module reads the batch that was lent to it, and then ends the delivery.
        let other = try Scripted(fixture)
        other.provider.reopen()
        #expect(lane.account.late == 1)
        give(lane, "{\"do\":\"deliver\"}")
        lane.drain()
        lane.waitForEnd()
        #expect(lane.account.total(.unknown) == 1 && lane.account.total(.undelivered) == 1)
        #expect(deadLetters.count == 2)
    }

    @Test("stops its lane when a call does not return, and is destroyed when the call returns")
    func hangs() throws {
        // Each test loads its own module file: reopen in another test releases only what hangs in that test's module.
        let out = try Scripted(fixture)
        let news = Mailbox<String>()
        let lane = lane(out.provider, abandon: 3, news)
        lane.start()
        give(lane, "{\"do\":\"hang\"}")
        #expect(
            news.wait() == ["the module holds 3 calls beyond the deadline of 100ms (delivery.deadline) and is not called again"])
        lane.drain()
        lane.waitForEnd()
        #expect(deadLetters.count == 1)
        let other = try Scripted(fixture)
        other.provider.reopen()
        lane.waitForClose(until: soon)
        // On a slow machine a call can be taken from behind the one that hangs, and ends with it.
        #expect((1...3).contains(lane.account.late))
        #expect(out.lines.all == ["information out: inside", "information out: destroyed"])
    }
}
