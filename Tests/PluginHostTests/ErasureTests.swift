import Delivery
import Document
import Plans
import Platform
import Queueing
import Testing

@testable import PluginHost

private let request = ErasureRequest(
    subjects: [SubjectID(member: "userId", id: "u\"1"), SubjectID(member: "anonymousId", id: "a")], state: Array("before".utf8), attempt: 2,
    begun: 77, deadlineMilliseconds: 5000)

/// What the module was given, as its message repeats it.
private let given = #"[{"member":"userId","id":"u\"1"},{"member":"anonymousId","id":"a"}] before 2 77 5000 (secret)"#

private func atWork(_ events: [Int: Outcome] = [:]) -> ErasureAnswer {
    ErasureAnswer(
        BatchOutcome(.retry(Answer(code: 202, given), after: .milliseconds(1500)), events: events), state: Array("job 7".utf8))
}

private func unknown(_ words: String) -> ErasureAnswer { ErasureAnswer(.unknown(Answer("the module erases " + words))) }

@Suite("Erasures by a module", .timeLimit(.minutes(20)))
struct ErasureTests {
    private let fixture: ModuleFixture

    init() throws { fixture = try ModuleFixture() }

    private func make(_ word: String, _ options: [String] = []) throws -> ModuleInstance {
        try fixture.build("erases.c", as: "erases.so", options)
        let module = try #require(try fixture.folders.module("erases"))
        let settings = Secret(Array("{\"do\":\"\(word)\"}".utf8))
        return try module.make(settings: settings, name: "out", hiding: HiddenTexts(["s3cret-text"])) { _, _ in }
    }

    private func isolated(_ word: String, deadline: Duration = .seconds(600)) throws -> IsolatedInstance {
        try fixture.build("erases.c", as: "erases.so")
        let module = try #require(try fixture.folders.module("erases"))
        var plan = ProviderPlan(name: "out", plugin: "erases", settings: Secret(Array("{\"do\":\"\(word)\"}".utf8)))
        plan.delivery.deadline = deadline
        plan.isolation = IsolationPlan()
        return try IsolatedInstance(
            module, plan, hiding: HiddenTexts(["s3cret-text"]), executable: ModuleFixture.router, clock: .system
        ) { _, _ in }
    }

    private func erase(_ instance: any Provider) -> ErasureAnswer {
        let answers = Mailbox<ErasureAnswer>()
        instance.erase(request) { answers.put($0) }
        return answers.wait()[0]
    }

    @Test("the module gets the subjects, the state and the deadline, and its answer is read with secrets masked")
    func answers() throws {
        let instance = try make("plain")
        defer { instance.close() }
        #expect(instance.canErase && erase(instance) == atWork())
    }

    @Test("a subject may have an outcome of its own, and an answer may come from another thread")
    func forms() throws {
        let one = try make("one")
        #expect(erase(one) == atWork([1: .delivered]))
        one.close()
        let thread = try make("thread")
        #expect(erase(thread) == ErasureAnswer(BatchOutcome(.delivered), state: Array("later".utf8)))
        thread.close()
    }

    @Test(
        "an answer that makes no sense is unknown, and the last state stays",
        arguments: [
            ("strange", unknown("reported an outcome of the unknown kind 99"), true),
            ("outside", unknown("named the event 2 of a batch of 2"), true),
            ("long", unknown("gave a state of 8193 bytes for an erasure; at most 8192 are kept"), false),
            ("huge", unknown("gave a state of 18446744073709551615 bytes for an erasure; at most 8192 are kept"), false),
            ("nothing", unknown("ended an erasure without an outcome"), false),
        ])
    func senseless(word: String, expected: ErasureAnswer, hasState: Bool) throws {
        let instance = try make(word)
        defer { instance.close() }
        var expected = expected
        if hasState { expected.state = Array("job 7".utf8) }
        #expect(erase(instance) == expected)
    }

    @Test("a second end is counted and ignored, and the end of the instance ends what is under way")
    func ends() throws {
        let twice = try make("twice")
        #expect(erase(twice) == atWork() && twice.strayCompletions == 1)
        twice.close()
        let never = try make("never")
        let answers = Mailbox<ErasureAnswer>()
        never.erase(request) { answers.put($0) }
        #expect(answers.all.isEmpty)
        never.close()
        #expect(answers.wait() == [ErasureAnswer(.unknown(Answer("the provider was closed before the module answered")))])
        #expect(erase(never) == ErasureAnswer(.retry(Answer("the provider is closed"), after: nil)))
    }

    @Test("an erasure begins while a delivery has not returned, also in an isolated module", arguments: [false, true])
    func beside(isIsolated: Bool) throws {
        let instance: any Provider = isIsolated ? try isolated("beside") : try make("beside")
        defer { instance.close() }
        let outcomes = Mailbox<BatchOutcome>()
        // The module returns from the delivery only when an erasure has begun.
        let thread = Platform.Thread.start("delivery") { instance.deliver(batch("{}"), attempt: 1) { outcomes.put($0) } }
        #expect(erase(instance) == atWork())
        #expect(outcomes.wait() == [BatchOutcome(.delivered)])
        thread.join()
    }

    @Test("a module without the entry cannot erase, and what it says about erasing by hand is kept")
    func absent() throws {
        let old = try make("plain", ["-DOLD"])
        defer { old.close() }
        #expect(
            !old.canErase
                && erase(old)
                    == ErasureAnswer(
                        .rejected(
                            Answer(
                                "the module cannot erase; by hand: Write to privacy@erases.example.")))
        )
        #expect(try fixture.folders.module("erases")?.description.byHand == "Write to privacy@erases.example.")
    }

    @Test("an isolated module erases in its process, and its crash makes the erasure unknown", .timeLimit(.minutes(20)))
    func isolation() throws {
        let out = try isolated("one")
        #expect(erase(out) == atWork([1: .delivered]))
        out.close()
        let crashing = try isolated("crashes")
        defer { crashing.close() }
        guard case .unknown(let answer) = erase(crashing).outcome.batch else {
            Issue.record("the erasure of a process that has crashed is not unknown")
            return
        }
        #expect(answer.message.hasPrefix("the process of the module erases "))
    }
}
