// Tests what a new plan may change in a running router, and what becomes of the lanes that it removes.

import Admission
import Delivery
import Events
import Generations
import Judging
import Plans
import Platform
import Queueing
import Router
import Testing

/// A provider that takes every batch, or never answers. A test can make its destination go away.
private final class Sink: Provider {
    private let state = Monitor((lines: [String](), isClosed: false, left: (@Sendable (Answer) -> Void)?.none))
    private let answers: Bool

    init(answers: Bool = true) { self.answers = answers }
    var lines: [String] { state.withLock { $0.lines } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    func wait(for count: Int) { state.wait(while: { $0.lines.count < count }) }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        state.withLock { state in
            for index in 0..<batch.count { state.lines.append(String(decoding: batch.event(index), as: UTF8.self)) }
        }
        state.wake()
        if answers { done(BatchOutcome(.delivered)) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { state.withLock { $0.left = handler } }
    func close() { state.withLock { $0.isClosed = true } }
    func leave() { state.withLock { $0.left }?(Answer("left")) }
}

@Suite("A new plan for a running router")
struct ReloadEdgeTests {
    /// Returns the refusal of the plan, or nil if the router can adopt it.
    private func refusal(_ fixture: RouterFixture, _ change: (inout Plan) -> Void) -> [String]? {
        var plan = fixture.plan
        change(&plan)
        do throws(ReloadRefusal) {
            _ = try fixture.router.changes(to: plan)
            return nil
        } catch {
            return error.lines
        }
    }

    @Test("is refused as a whole, with every key that needs a restart, and changes nothing")
    func refusals() {
        let sink = Sink()
        let fixture = RouterFixture([sink])
        let all = refusal(fixture) { plan in
            plan.limits.line = 1
            plan.limits.disk = 1
            plan.limits.diskFree = 1
            plan.admin = AdminPlan()
            plan.namedSources = [SourcePlan(name: "other", plugin: "stdin")]
            plan.messageID.deduplicate = MessageIDPlan.Deduplication()
            plan.keys = [Key(name: "k", secret: Secret([1]))]
            plan.consent = ConsentPlan()
            plan.consent?.ledger = LedgerPlan()
            plan.state.encrypt = 0
            plan.providers[0].delivery.queue.disk = 1000
        }
        let keys = [
            "limits.line", "limits.disk", "limits.disk_free", "admin", "sources", "message_id.deduplicate", "consent.ledger",
            "state.encrypt",
        ]
        #expect(
            all == keys.map { "\($0) cannot be changed while the router runs; restart it" } + [
                "providers.p0.delivery.queue.disk cannot be given to a provider while the router runs; restart it, or give the provider another name"
            ])
        #expect(fixture.router.status.generation == 1)
        let account = fixture.finish()
        #expect(account.balances)
    }

    @Test("may change everything that is judged or delivered, and limits.depth and shutdown")
    func allowed() {
        let fixture = RouterFixture([Sink()])
        let refusal = refusal(fixture) { plan in
            plan.limits.depth = 7
            plan.shutdown.deadline = .seconds(1)
            plan.messageID.add = false
            plan.keys = [Key(name: "k", secret: Secret([1]))]
            plan.consent = ConsentPlan()
            plan.routes = []
            plan.providers[0].plugin = "other"
            plan.providers[0].delivery.queue.durability = .power
            plan.providers[0].delivery.queue.memory = 1
        }
        #expect(refusal == nil)
        _ = fixture.finish()
    }

    @Test("keeps an instance whose settings are equal, tunes its lane, and replaces it only if it must")
    func changes() throws {
        let fixture = RouterFixture([Sink(), Sink()])
        func changes(_ change: (inout Plan) -> Void) throws -> PlanChanges {
            var plan = fixture.plan
            change(&plan)
            return try fixture.router.changes(to: plan)
        }
        let same = try changes { $0.routes[0].name = "renamed" }
        #expect(same.providers == [.kept(isTuned: false), .kept(isTuned: false)] && same.removed == [] && same.wanted == [])
        let tunings: [(inout DeliveryPlan) -> Void] = [
            { $0.batch.events = 1 }, { $0.queue.memory = 1 }, { $0.retry.first = .seconds(9) }, { $0.breaker = 1 }, { $0.deadline = .zero },
            { $0.deadLetters = .block }, { $0.abandon = 1 }, { $0.retention = .seconds(9) }, { $0.ordered = true },
        ]
        for (number, tune) in tunings.enumerated() {
            #expect(
                try changes { tune(&$0.providers[1].delivery) }.providers == [.kept(isTuned: false), .kept(isTuned: true)], "\(number)")
        }
        #expect(try changes { $0.providers[0].settings = Secret([1]) }.wanted == [0])
        #expect(try changes { $0.providers[1].plugin = "other" }.providers == [.kept(isTuned: false), .changed])
        #expect(try changes { $0.providers[1].isolation = IsolationPlan() }.providers[1] == .changed)
        let other = try changes { plan in
            plan.providers.removeFirst()
            plan.providers.append(ProviderPlan(name: "new", plugin: "store", settings: Secret([])))
            plan.providers.append(ProviderPlan(name: "newer", plugin: "store", settings: Secret([])))
        }
        #expect(other.providers == [.kept(isTuned: false), .added, .added] && other.removed == ["p0"] && other.wanted == [1, 2])
        _ = fixture.finish()
    }

    @Test("of an ending router is refused")
    func ending() throws {
        let fixture = RouterFixture([Sink()])
        let changes = try fixture.router.changes(to: fixture.plan)
        _ = fixture.finish()
        #expect(throws: ReloadRefusal(["the router is ending"])) { try fixture.router.adopt(fixture.plan, changes, outlets: [:]) }
    }

    @Test("that removes a provider gives up what its lane cannot deliver in time, and the other lanes go on")
    func removes() throws {
        let (hanging, stays) = (Sink(answers: false), Sink())
        let fixture = RouterFixture([hanging, stays])
        fixture.send("{\"n\":1}\n")
        for sink in [hanging, stays] { sink.wait(for: 1) }
        var plan = fixture.plan
        plan.providers = [plan.providers[1]]
        plan.routes[0].providers = [0]
        plan.shutdown.deadline = .zero
        let changes = try fixture.router.changes(to: plan)
        #expect(changes.removed == ["p0"] && changes.wanted == [])
        try fixture.router.adopt(plan, changes, outlets: [:])
        fixture.send("{\"n\":2}\n")
        stays.wait(for: 2)
        #expect(fixture.router.status.generation == 2)
        let account = fixture.finish()
        #expect(account.balances && account.providers.map(\.name) == ["p0", "p1"])
        #expect(account.providers.map { $0.lane.totalTaken } == [1, 2])
        #expect(account.providers[0].lane.total(.unknown) == 1 && account.providers.map(\.undelivered) == [1, 0])
        #expect(hanging.lines.count == 1 && stays.lines == ["{\"n\":1}", "{\"n\":2}"])
    }

    @Test("whose every provider has left meanwhile ends the router, as if they left afterwards")
    func keepsWhatLeft() throws {
        let (leaving, removed) = (Sink(), Sink())
        let fixture = RouterFixture([leaving, removed])
        fixture.send("{\"n\":1}\n")
        for sink in [leaving, removed] { sink.wait(for: 1) }
        var plan = fixture.plan
        plan.providers = [plan.providers[0]]
        plan.routes[0].providers = [0]
        let changes = try fixture.router.changes(to: plan)
        #expect(changes.providers == [.kept(isTuned: false)] && changes.removed == ["p1"])
        leaving.leave()
        fixture.said.wait(while: { $0.isEmpty })
        try fixture.router.adopt(plan, changes, outlets: [:])
        let said = fixture.said.withLock { $0 }
        try #require(said == ["p0: left; the lane is closed", "no provider of the new plan is left, ending"])
        let account = fixture.finish(endingInput: false)
        #expect(account.balances && account.providers.map { $0.lane.total(.delivered) } == [1, 1])
    }

    @Test("that adds and renames routes keeps the account of each, and it balances with those of before")
    func routes() throws {
        let sink = Sink()
        let fixture = RouterFixture([sink])
        fixture.send("{\"n\":1}\n")
        sink.wait(for: 1)
        var plan = fixture.plan
        plan.routes[0].name = "renamed"
        var second = RoutePlan(name: "second")
        second.providers = [0]
        plan.routes.append(second)
        try fixture.router.adopt(plan, try fixture.router.changes(to: plan), outlets: [:])
        fixture.send("{\"n\":2}\nbad\n")
        sink.wait(for: 3)
        // The first plan comes back, and its route continues under its number.
        try fixture.router.adopt(fixture.plan, try fixture.router.changes(to: fixture.plan), outlets: [:])
        fixture.send("{\"n\":3}\n")
        let account = fixture.finish()
        #expect(account.balances && account.isComplete && account.received == 4 && account.rejected == 1 && account.valid == 3)
        #expect(account.routes == ["all", "renamed", "second"])
        #expect((0..<3).map { account.verdicts[$0, .admitted] } == [2, 1, 1])
        #expect((0..<3).map { account.providers[0].lane.taken(route: $0) } == [2, 1, 1])
        #expect(sink.lines == ["{\"n\":1}", "{\"n\":2}", "{\"n\":2}", "{\"n\":3}"])
    }

    @Test("that does not take over closes the providers that were opened for it")
    func discards() throws {
        let fixture = RouterFixture([Sink()])
        let opened = Sink()
        fixture.router.discard(Outlet(provider: opened, concurrency: 1), of: "new")
        #expect(opened.isClosed)
        let account = fixture.finish()
        #expect(account.providers.map(\.name) == ["p0"] && account.isComplete)
    }
}

@Suite("The account of a run")
struct AccountTests {
    @Test("does not balance if one event is missing at a route, at a provider or in the input")
    func missing() {
        let sinks = [Sink(), Sink(answers: false)]
        let fixture = RouterFixture(sinks)
        fixture.send("{\"n\":1}\nbad\n{\"n\":2}\n")
        for sink in sinks { sink.wait(for: 1) }
        fixture.router.hurry()
        let account = fixture.finish()
        #expect(account.balances && !account.isComplete && account.lostSome && account.valid == 2)
        var input = account
        input.received -= 1
        #expect(!input.balances)
        var rejected = account
        rejected.rejected += 1
        #expect(!rejected.balances)
        var route = account
        route.verdicts = Tally(routes: 1)
        #expect(!route.balances)
        var provider = account
        provider.providers[0].lane = LaneAccount(damaged: [:])
        #expect(!provider.balances)
    }

    @Test("is not complete if a dead letter is lost, also one of an event that is in no lane")
    func letters() {
        let fixture = RouterFixture([Sink()])
        fixture.send("{\"n\":1}\n")
        var account = fixture.finish()
        #expect(account.isComplete && !account.lostSome && account.balances)
        account.providers[0].lane.lost = 1
        #expect(!account.isComplete && account.lostSome && account.balances)
        // That no reader is left for the events says nothing of the letters.
        account.providers[0].isClosed = true
        #expect(account.lostSome)
    }

    @Test("calls a destination that its reader closed incomplete, but not lost if all are closed")
    func closed() {
        let sinks = [Sink(answers: false), Sink(answers: false)]
        let fixture = RouterFixture(sinks)
        fixture.send("{\"n\":1}\n")
        for sink in sinks { sink.wait(for: 1) }
        fixture.router.hurry()
        var account = fixture.finish()
        #expect(account.lostSome && !account.isComplete)
        account.providers[0].isClosed = true
        #expect(account.lostSome)
        account.providers[1].isClosed = true
        #expect(!account.lostSome && !account.isComplete)
    }
}
