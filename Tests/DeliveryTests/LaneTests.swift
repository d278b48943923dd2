import Foundation
import Plans
import Platform
import TestSupport
import Testing

@testable import Admission
@testable import Delivery
@testable import Queueing

/// A provider that a test controls.
private final class ControlledProvider: Provider, @unchecked Sendable {
    typealias Done = @Sendable (BatchOutcome) -> Void
    private struct State: ~Copyable {
        var delivered: [[String]] = []
        var pending: [Done] = []
        var script: [BatchOutcome] = []
        var isHanging = false
        var isClosed = false
        var closedHandler: (@Sendable (Answer) -> Void)?
    }
    private let state = Monitor(State())

    init(script: [BatchOutcome] = [], hangs: Bool = false) {
        state.withLock {
            $0.script = script
            $0.isHanging = hangs
        }
    }

    var delivered: [[String]] { state.withLock { $0.delivered } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping Done) {
        let outcome: BatchOutcome? = state.withLock { state in
            state.delivered.append(texts(batch))
            if state.isHanging {
                state.pending.append(done)
                return nil
            }
            return state.script.isEmpty ? BatchOutcome(.delivered) : state.script.removeFirst()
        }
        state.wake()
        if let outcome { done(outcome) }
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) { state.withLock { $0.closedHandler = handler } }
    func close() { state.withLock { $0.isClosed = true } }

    func waitForDelivery() {
        state.wait(while: { $0.delivered.isEmpty })
    }
    func completeAll(_ outcome: BatchOutcome) {
        let pending = state.withLock { state in
            state.isHanging = false
            defer { state.pending = [] }
            return state.pending
        }
        for done in pending { done(outcome) }
    }
    func leave() { state.withLock { $0.closedHandler }?(Answer("left")) }
}

/// A provider whose call does not return until the test permits it.
private final class BlockingProvider: Provider, Sendable {
    private let state = Monitor((calls: 0, isOpen: false))
    var calls: Int { state.withLock { $0.calls } }

    func deliver(_ batch: Batch, attempt: Int, _ done: @escaping @Sendable (BatchOutcome) -> Void) {
        state.withLock { $0.calls += 1 }
        state.wait(while: { !$0.isOpen })
        done(BatchOutcome(.delivered))
    }
    func open() {
        state.withLock { $0.isOpen = true }
        state.wake()
    }
    func flush(_ done: @escaping @Sendable (Outcome) -> Void) { done(.delivered) }
    func reopen() {}
    func onClosed(_ handler: @escaping @Sendable (Answer) -> Void) {}
    func close() {}
}

private final class Fixture {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("switchyard-\(UUID().uuidString)").path
    let said = Monitor<[String]>([])
    var deadLetterFile: String { folder + "/state/dead-letters.sqlite" }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func lane(
        _ provider: any Provider, _ plan: DeliveryPlan = plan(wait: .zero), tell: @escaping @Sendable () -> Void = {}
    ) -> Lane {
        let said = said
        let letters = DeadLetters(
            path: deadLetterFile,
            clock: Clock(now: { instant(0) }, wall: { 1_763_721_000_123_000_000 }), warn: { line in said.withLock { $0.append(line) } })
        let lane = Lane(
            name: "out", provider: provider, plan: plan, concurrency: 1, routes: RunNames(["first", "second"]), deadLetters: letters,
            clock: .system,
            random: RandomSource(seed: 1),
            news: { _, news in
                said.withLock { $0.append("\(news)") }
                said.wake()
                tell()
            })
        lane.start()
        return lane
    }
}

/// A time later than any correct test takes, counted from when it is asked for.
private var soon: Platform.Instant { Clock.system.now() + .seconds(600) }

@Suite("A lane")
struct LaneTests {
    @Test("delivers what it takes, in order, and closes its provider at the end")
    func deliversInOrder() {
        let fixture = Fixture()
        let provider = ControlledProvider()
        let lane = fixture.lane(provider)
        for number in 0..<100 {
            var parcel = parcel(["\(number)"])
            lane.waitAndTake(&parcel)
            let isEmpty = parcel.isEmpty
            #expect(isEmpty)
        }
        lane.drain()
        lane.waitForEnd()
        lane.waitForClose(until: soon)
        #expect(provider.delivered.flatMap { $0 } == (0..<100).map(String.init))
        #expect(provider.isClosed)
        #expect(lane.account.total(.delivered) == 100)
    }

    @Test("is not over while the fate of its events is still being reported")
    func tellsBeforeItIsOver() {
        let fixture = Fixture()
        let provider = ControlledProvider()
        let gate = Monitor((isTold: false, isOpen: false))
        let lane = fixture.lane(provider) {
            gate.withLock { $0.isTold = true }
            gate.wake()
            gate.wait(while: { !$0.isOpen })
        }
        let destination = Thread.start("destination") { provider.leave() }
        gate.wait(while: { !$0.isTold })
        lane.waitForClose(until: soon)
        #expect(provider.isClosed && !lane.isOver)
        gate.withLock { $0.isOpen = true }
        gate.wake()
        destination.join()
        lane.waitForEnd()
        #expect(lane.isOver)
    }

    @Test("makes its source wait while it is full, and lets it continue when there is space")
    func blocks() {
        var plan = plan(events: 1, wait: .zero)
        plan.queue.memory = 4
        let fixture = Fixture()
        let provider = ControlledProvider(hangs: true)
        let lane = fixture.lane(provider, plan)
        let taken = Monitor(0)
        let source = Thread.start("source") {
            for number in 0..<9 {
                var parcel = parcel(["\(number)"])
                lane.waitAndTake(&parcel)
                taken.withLock { $0 += 1 }
            }
        }
        provider.waitForDelivery()
        // Two events of two bytes fill the queue. The third waits until the provider takes one.
        #expect(taken.withLock { $0 } <= 2)
        provider.completeAll(.init(.delivered))
        source.join()
        lane.drain()
        lane.waitForEnd()
        #expect(provider.delivered.flatMap { $0 } == (0..<9).map(String.init))
    }

    @Test("keeps refused events with the provider's answer in a file that only the owner can read")
    func buries() throws {
        let fixture = Fixture()
        let provider = ControlledProvider(script: [.init(.rejected(Answer(code: 422, "no \"such\" thing\u{1b}[2J")))])
        let lane = fixture.lane(provider)
        var parcel = parcel([#"{"a":1.0}"#], route: 1)
        lane.waitAndTake(&parcel)
        lane.drain()
        lane.waitForEnd()
        #expect(
            deadLetters(in: fixture.deadLetterFile) == [
                #"{"at":"2025-11-21T10:30:00.123Z","provider":"out","route":"second","reason":"rejected","attempts":1,"code":422,"#
                    + #""answer":"no \"such\" thing\u001b[2J","arrival":"1970-01-01T00:00:00.000Z","event":{"a":1.0}}"#
            ])
        let attributes = try FileManager.default.attributesOfItem(atPath: fixture.deadLetterFile)
        #expect((attributes[.posixPermissions] as? Int) == 0o600)
        let folder = try FileManager.default.attributesOfItem(atPath: fixture.folder + "/state")
        #expect((folder[.posixPermissions] as? Int) == 0o700)
    }

    @Test("reports and counts what is lost when dead letters cannot be kept")
    func losesLoudly() throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(atPath: fixture.deadLetterFile, withIntermediateDirectories: true)
        let lane = fixture.lane(ControlledProvider(script: [.init(.rejected(Answer("no")))]))
        var parcel = parcel(["{}"])
        lane.waitAndTake(&parcel)
        lane.drain()
        lane.waitForEnd()
        #expect(lane.account.lost == 1)
        #expect(fixture.said.withLock { $0.contains { $0.contains("cannot be opened: Is a directory; events lost: 1") } })
    }

    @Test("sets aside a file that holds no dead letters, and reports this")
    func mendsDeadLetters() throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(atPath: fixture.folder + "/state", withIntermediateDirectories: true)
        try #"{"torn":"#.write(toFile: fixture.deadLetterFile, atomically: false, encoding: .utf8)
        chmod(fixture.deadLetterFile, 0o666)
        let lane = fixture.lane(ControlledProvider(script: [.init(.rejected(Answer("no")))]))
        var parcel = parcel(["{}"])
        lane.waitAndTake(&parcel)
        lane.drain()
        lane.waitForEnd()
        #expect(deadLetters(in: fixture.deadLetterFile).count == 1)
        let mode = try FileManager.default.attributesOfItem(atPath: fixture.deadLetterFile)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(fixture.said.withLock { $0.contains { $0.contains("; it was set aside as \(fixture.deadLetterFile).damaged-") } })
    }

    @Test("does not follow a symbolic link to keep dead letters")
    func refusesLink() throws {
        let fixture = Fixture()
        try FileManager.default.createDirectory(atPath: fixture.folder + "/state", withIntermediateDirectories: true)
        symlink(fixture.folder + "/elsewhere", fixture.deadLetterFile)
        let lane = fixture.lane(ControlledProvider(script: [.init(.rejected(Answer("no")))]))
        var parcel = parcel(["{}"])
        lane.waitAndTake(&parcel)
        lane.drain()
        lane.waitForEnd()
        #expect(lane.account.lost == 1)
        #expect(!FileManager.default.fileExists(atPath: fixture.folder + "/elsewhere"))
    }

    @Test("also keeps events that come after it was given up")
    func keepsLateEvents() throws {
        let fixture = Fixture()
        let lane = fixture.lane(ControlledProvider())
        lane.giveUp(Answer("time is up"))
        var parcel = parcel(["{}"])
        lane.waitAndTake(&parcel)
        lane.waitForEnd()
        #expect(lane.account.total(.undelivered) == 1)
        #expect(lane.account.lost == 0)
        #expect(deadLetters(in: fixture.deadLetterFile).contains { $0.contains("time is up") })
    }

    @Test("ends when its destination leaves while nothing is delivered")
    func endsWhenLeft() {
        let fixture = Fixture()
        let provider = ControlledProvider()
        let lane = fixture.lane(provider)
        provider.leave()
        lane.waitForEnd()
        #expect(fixture.said.withLock { $0.contains { $0.contains("left") } })
    }

    @Test("with a provider that hangs is given up when its time is up, and its events are kept")
    func givesUpOnHanging() throws {
        let fixture = Fixture()
        let provider = ControlledProvider(hangs: true)
        let lane = fixture.lane(provider)
        var parcel = parcel(["{}", "[]"])
        lane.waitAndTake(&parcel)
        provider.waitForDelivery()
        lane.drain()
        #expect(!lane.isOver)
        lane.giveUp(Answer("time is up"))
        lane.waitForEnd()
        #expect(lane.account.total(.unknown) == 2, "it may have been delivered")
        #expect(deadLetters(in: fixture.deadLetterFile).count == 2)
        provider.completeAll(.init(.delivered))
        #expect(lane.account.total(.delivered) == 0, "a late completion changes nothing")
    }

    @Test("is stopped at its deadline if its provider blocks its thread, and its events are kept")
    func stopsOnStuckThread() throws {
        let fixture = Fixture()
        var plan = plan(wait: .zero)
        plan.deadline = .milliseconds(1)
        let provider = BlockingProvider()
        let lane = fixture.lane(provider, plan)
        var parcel = parcel(["{}"])
        lane.waitAndTake(&parcel)
        fixture.said.wait(while: { !$0.contains { $0.contains("is not called again") } })
        lane.drain()
        lane.waitForEnd()
        #expect(lane.account.total(.unknown) == 1 && lane.account.abandoned == 1)
        #expect(try String(contentsOfFile: fixture.deadLetterFile, encoding: .utf8).split(separator: "\n").count == 1)
        provider.open()
        lane.waitForClose(until: soon)
        #expect(provider.calls == 1, "no other call joins a call that does not return")
        #expect(lane.account.late == 1)
    }

    @Test("whose provider hangs does not delay another lane")
    func independent() {
        let fixture = Fixture()
        let hanging = fixture.lane(ControlledProvider(hangs: true))
        let good = ControlledProvider()
        let other = fixture.lane(good)
        for lane in [hanging, other] {
            var parcel = parcel(["{}"])
            lane.waitAndTake(&parcel)
        }
        good.waitForDelivery()
        #expect(good.delivered == [["{}"]])
        hanging.giveUp(Answer("test over"))
    }
}
