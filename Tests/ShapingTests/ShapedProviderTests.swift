import Admission
import Delivery
import Editing
import Events
import Expressions
import Judging
import Plans
import Platform
import Queueing
import Redaction
import Testing

@testable import Models
@testable import Shaping

@Suite("A provider behind its shape")
struct ShapedProviderTests {
    /// Leaves out events named `b`, and sets a member.
    private static let some = shape {
        $0.not.events = [Glob("b")]
        $0.transforms = [SetStep(constants: [(path: try! Path(parsing: "to"), json: "1")])]
    }
    private static let lines = ["a", "b", "c", "b", "d"].map { #"{"event":"\#($0)"}"# }

    @Test("hands over shaped copies of what its filter leaves, and maps outcomes back by index")
    func maps() {
        let inner = ScriptedProvider()
        let outcomes = Outcomes()
        let provider = ShapedProvider(inner, ShapedProviderTests.some)
        provider.deliver(batch(ShapedProviderTests.lines), attempt: 1) { outcomes.take($0) }
        #expect(inner.batches == [["a", "c", "d"].map { #"{"event":"\#($0)","to":1}"# }])
        #expect(outcomes.list.isEmpty)
        inner.answer(BatchOutcome(.delivered, events: [1: .rejected(Answer("c")), 2: .unknown(Answer("d"))]))
        let own: [Int: Outcome] = [1: .filtered(.not), 2: .rejected(Answer("c")), 3: .filtered(.not), 4: .unknown(Answer("d"))]
        #expect(outcomes.list == [BatchOutcome(.delivered, events: own)])
    }

    @Test(
        "the outcome of the batch stays that of the batch",
        arguments: [
            Outcome.delivered, .rejected(Answer("x")), .retry(Answer("x"), after: .seconds(3)), .retry(Answer("x"), after: nil),
            .unknown(Answer("x")), .fault(Answer("x")), .closed(Answer("x")),
        ])
    func kinds(_ outcome: Outcome) {
        let inner = ScriptedProvider()
        let outcomes = Outcomes()
        let provider = ShapedProvider(inner, ShapedProviderTests.some)
        provider.deliver(batch(ShapedProviderTests.lines), attempt: 1) { outcomes.take($0) }
        inner.answer(BatchOutcome(outcome))
        #expect(outcomes.list == [BatchOutcome(outcome, events: [1: .filtered(.not), 3: .filtered(.not)])])
        // Without a filter nothing has an outcome of its own.
        let plain = ShapedProvider(inner, shape { $0.transforms = [DropStep([try! Path(parsing: "event")])] })
        plain.deliver(batch(ShapedProviderTests.lines), attempt: 1) { outcomes.take($0) }
        #expect(inner.batches.last == Array(repeating: "{}", count: 5))
        inner.answer(BatchOutcome(outcome, events: [4: .fault(Answer("own"))]))
        #expect(outcomes.list.last == BatchOutcome(outcome, events: [4: .fault(Answer("own"))]))
    }

    @Test("a provider is not called if nothing is left")
    func nothingLeft() {
        let inner = ScriptedProvider()
        let outcomes = Outcomes()
        let provider = ShapedProvider(inner, shape { $0.events = [Glob("x*")] })
        provider.deliver(batch(ShapedProviderTests.lines), attempt: 1) { outcomes.take($0) }
        #expect(inner.batches.isEmpty)
        #expect(outcomes.list == [BatchOutcome(.filtered(.events))])
        provider.deliver(batch([#"{"event":"x1"}"#]), attempt: 1) { outcomes.take($0) }
        #expect(inner.batches == [[#"{"event":"x1"}"#]])
    }

    @Test("each reason is told: the filter by its stage, and a step that withholds the event")
    func reasons() {
        let inner = ScriptedProvider()
        let outcomes = Outcomes()
        let provider = ShapedProvider(
            inner,
            shape {
                $0.events = [Glob("a*")]
                $0.match = [MatchPlan(path: try! Path(parsing: "m"), anyOf: [.number("1")])]
                $0.not.events = [Glob("ab")]
                $0.condition = condition("n > 1")
                $0.transforms = [ScrubStep(Scrub(kinds: SensitiveSet(.email), action: .reject, texts: Scrub.defaultTexts))]
            })
        let lines = [
            #"{"event":"x","m":1,"n":2}"#, #"{"event":"a","m":2,"n":2}"#, #"{"event":"ab","m":1,"n":2}"#, #"{"event":"a","m":1,"n":1}"#,
            #"{"event":"a","m":1}"#, #"{"event":"a","m":1,"n":2,"t":"bob@example.org"}"#,
        ]
        provider.deliver(batch(lines), attempt: 1) { outcomes.take($0) }
        let reasons: [Exclusion] = [.events, .match, .not, .where, .whereErrors, .withheld]
        #expect(outcomes.list.first?.events == Dictionary(uniqueKeysWithValues: reasons.enumerated().map { ($0, .filtered($1)) }))
        #expect(inner.batches.isEmpty)
    }

    @Test("without a shape everything passes as it is, and a shape that is adopted holds from the next batch on")
    func adopts() {
        let inner = ScriptedProvider()
        let provider = ShapedProvider(inner, nil)
        let whole = batch(ShapedProviderTests.lines)
        provider.deliver(whole, attempt: 1) { _ in }
        #expect(inner.state.withLock { $0.last } === whole)
        provider.adopt(ShapedProviderTests.some)
        provider.deliver(whole, attempt: 2) { _ in }
        #expect(inner.batches.last?.count == 3)
        provider.adopt(nil)
        provider.deliver(whole, attempt: 3) { _ in }
        #expect(inner.batches.last == ShapedProviderTests.lines)
        provider.flush { _ in }
        provider.reopen()
        provider.onClosed { _ in }
        provider.close()
        #expect(inner.calls == ["flush", "reopen", "onClosed", "close"])
    }

    @Test("a shaped batch lives until its delivery has ended, and no longer")
    func lives() {
        let inner = ScriptedProvider()
        let outcomes = Outcomes()
        let provider = ShapedProvider(inner, ShapedProviderTests.some)
        provider.deliver(batch(ShapedProviderTests.lines), attempt: 1) { outcomes.take($0) }
        #expect(inner.state.withLock { $0.last != nil })
        inner.answer(BatchOutcome(.delivered))
        #expect(outcomes.list.count == 1)
        #expect(inner.state.withLock { $0.last == nil })
    }

    @Test("errors of expressions are counted, and leave the event as it is")
    func errors() {
        let inner = ScriptedProvider()
        let set = SetStep([(path: try! Path(parsing: "b"), value: .expression(try! Expression("a + 1")))])
        let provider = ShapedProvider(inner, shape { $0.transforms = [set] })
        provider.deliver(batch([#"{"a":1}"#, #"{"a":"x"}"#, "{}"]), attempt: 1) { _ in }
        #expect(inner.batches == [[#"{"a":1,"b":2}"#, #"{"a":"x"}"#, "{}"]])
        #expect(provider.transformErrors == 2)
    }
}
