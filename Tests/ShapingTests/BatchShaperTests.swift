import Admission
import Delivery
import Editing
import Events
import Expressions
import Judging
import Plans
import Queueing
import Seeded
import Testing

@testable import Models
@testable import Shaping

@Suite("A batch that is shaped")
struct BatchShaperTests {
    private func shaped(_ shape: Shape, _ batch: Batch) -> ShapedBatch {
        var shaper = BatchShaper(shape)
        return shaper.shape(batch)
    }

    private static let grow = SetStep(constants: [(path: try! Path(parsing: "to"), json: #""0123456789""#)])

    @Test("keeps the entry of each event: route, level, subjects and time of arrival")
    func entries() {
        let whole = batch((0..<7).map { #"{"event":"\#($0 % 2 == 0 ? "a" : "b")","n":\#($0)}"# })
        for transforms in [[], [BatchShaperTests.grow]] {
            let made = shaped(
                shape {
                    $0.events = [Glob("a")]
                    $0.transforms = transforms
                }, whole
            ).batch!
            #expect(made.entries.map(\.route) == [0, 2, 4, 6])
            #expect(made.entries.map(\.arrival) == [0, 2, 4, 6].map { arrival + $0 })
            #expect(Array(made.arrivals) == [0, 2, 4, 6].map { arrival + $0 })
            #expect((0..<4).map { made.subjects(of: $0) } == [0, 2, 4, 6].map { whole.subjects(of: $0) })
            #expect(made.ends.map(Int.init) == made.entries.map { Int($0.end) })
        }
    }

    @Test("a batch that grows beyond its limit is cut: the rest stays untried, and comes next")
    func grows() {
        let lines = (0..<10).map { #"{"n":\#($0)}"# }
        // A shaped event has 26 bytes with its line end.
        let small = shape(bytes: 77) { $0.transforms = [BatchShaperTests.grow] }
        let first = shaped(small, batch(lines))
        #expect(texts(first.batch) == lines.prefix(2).map { $0.dropLast() + #","to":"0123456789"}"# })
        #expect(first.own == Dictionary(uniqueKeysWithValues: (2..<10).map { ($0, .untried) }))
        #expect(first.outcome(BatchOutcome(.delivered)).events == first.own)
        // A single event may exceed the limit of the batch.
        let tiny = shaped(shape(bytes: 5) { $0.transforms = [BatchShaperTests.grow] }, batch(lines))
        #expect(texts(tiny.batch).count == 1 && tiny.own.count == 9)
    }

    @Test("an event that is larger than the module takes is rejected alone")
    func tooLarge() {
        let lines = [#"{"n":1}"#, #"{"n":2,"x":"\#(String(repeating: "y", count: 40))"}"#, #"{"n":3}"#]
        for transforms in [[], [BatchShaperTests.grow]] {
            let made = shaped(
                shape(largest: 40) {
                    $0.condition = condition("n > 0")
                    $0.transforms = transforms
                }, batch(lines))
            #expect(texts(made.batch).count == 2)
            let size = transforms.isEmpty ? 55 : 73
            #expect(
                made.own == [1: .rejected(Answer("the event has \(size) bytes when it is handed over, and the module takes 40 at most"))],
                "\(made.own)")
            #expect(made.outcome(BatchOutcome(.delivered, events: [1: .unknown(Answer("u"))])).events[2] == .unknown(Answer("u")))
        }
        // The limit is that of the shaped event: the transform makes it small enough.
        let drop = shape(largest: 40) { $0.transforms = [DropStep([try! Path(parsing: "x")])] }
        #expect(texts(shaped(drop, batch(lines)).batch) == ["{\"n\":1}", "{\"n\":2}", "{\"n\":3}"])
    }

    @Test("what is no event for the shape is rejected with a reason, and the others are handed over")
    func hostile() {
        let good = #"{"a":1}"#
        let bad: [[UInt8]] = [
            Array(#"{"a":1,"a":2}"#.utf8), Array(#"{"a":"#.utf8), Array("null".utf8), [0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d],
            Array(repeating: UInt8(ascii: "["), count: 200_000), Array(#"{"a":"\u00"}"#.utf8), Array("{} {}".utf8), [0],
        ]
        let lines = bad.flatMap { [Array(good.utf8), $0] } + [Array(good.utf8)]
        let made = shaped(shape { $0.condition = condition("a == 1") }, batch(lines))
        #expect(texts(made.batch) == Array(repeating: good, count: bad.count + 1))
        #expect(made.own.count == bad.count)
        for (index, outcome) in made.own {
            guard case .rejected(let answer) = outcome else {
                Issue.record("\(index) is \(outcome)")
                continue
            }
            #expect(index % 2 == 1 && answer.message.hasPrefix("the event cannot be transformed for its provider: "), "\(answer)")
        }
    }

    @Test("an event that is no event any more after a step is rejected, and not filtered")
    func broken() {
        // No step reads the doubled member, but a transformed event must not have two ids.
        let steps: [any Step] = [SetStep([(path: try! Path(parsing: "z"), value: .expression(try! Expression("a + 1")))])]
        let made = shaped(shape { $0.transforms = steps }, batch([#"{"messageId":"1","messageId":"2","a":1}"#, #"{"a":3}"#]))
        #expect(texts(made.batch) == [#"{"a":3,"z":4}"#])
        guard case .rejected? = made.own[0] else { return #expect(Bool(false), "\(made.own)") }
    }

    @Test("an event that takes more steps than it may is rejected, and the others of its batch are handed over")
    func starved() {
        let greedy = condition("this.a.matches('[ab]{500}c')")
        let steps: [any Step] = (0..<6).map { SetStep([(path: try! Path(parsing: "z\($0)"), value: .expression(greedy))]) }
        let long = #"{"a":"\#(String(repeating: "a", count: 100_000))"}"#
        let made = shaped(shape { $0.transforms = steps + [ScrubStep()] }, batch([#"{"a":"1"}"#, long, #"{"a":"3"}"#]))
        #expect(made.batch?.count == 2 && made.own.count == 1)
        guard case .rejected(let answer)? = made.own[1] else { return #expect(Bool(false), "\(made.own)") }
        #expect(
            answer.message == "the event cannot be transformed for its provider: its transform takes more steps than the event may take")
    }

    @Test("the same event gets the same bytes, wherever it stands and whatever came before; `now` is its time of arrival")
    func repeats() {
        let key = Key(name: "ids", secret: Secret(Array("an example's key of some length".utf8)))
        let steps: [any Step] = [
            SetStep([(path: try! Path(parsing: "at"), value: .expression(try! Expression("string(now)")))]),
            HashStep([try! Path(parsing: "userId")], key: 0),
        ]
        let shape = shape(keys: [key]) { $0.transforms = steps }
        let lines = (0..<50).map { #"{"userId":"u\#($0)","n":\#($0)}"# }
        var shaper = BatchShaper(shape)
        let first = texts(shaper.shape(batch(lines)).batch)
        #expect(texts(shaper.shape(batch(lines)).batch) == first)
        let whole = batch(lines)
        for index in [49, 0, 17] {
            var other = BatchShaper(shape)
            #expect(texts(other.shape(whole.subset([index])).batch) == [first[index]])
        }
        #expect(Set(first).count == 50)
    }

    /// Random filters and steps on random events: the shape makes what a route with the same keys makes of the event.
    @Test("a shape does what a route with the same filter and the same steps does", arguments: 0..<UInt64(60))
    func agrees(seed: UInt64) throws {
        var chooser = StepChooser(Seeded(state: seed))
        var plan = Plan()
        plan.keys = [Key(name: "ids", secret: Secret(Array("0123456789abcdef".utf8)))]
        plan.messageID.add = false
        var provider = ProviderPlan(name: "out", plugin: "test", settings: Secret([]))
        provider.delivery.batch.bytes = 1 << 30
        provider.shape.transforms = chooser.transforms()
        if chooser.below(2) == 0 { provider.shape.events = [Glob("*a*"), Glob("b")] }
        if chooser.below(3) == 0 { provider.shape.not.match = [MatchPlan(path: try Path(parsing: "type"), anyOf: [.null, .bool(true)])] }
        if chooser.below(3) == 0 { provider.shape.condition = condition(chooser.below(2) == 0 ? "n > 1" : "has(this.a) || mail != ''") }
        guard !provider.shape.isEmpty else { return }
        plan.providers = [ProviderPlan(name: "out", plugin: "test", settings: Secret([]))]
        plan.routes = [provider.shape.route(named: "same")]
        plan.routes[0].providers = [0]
        let shape = try #require(Shape(provider, of: plan))

        let lines = (0..<40).map { _ in
            let name = chooser.pick([#""event":"xax""#, #""event":"b""#, #""event":7"#, #""event":"c""#])
            return "{" + ([name] + chooser.members()).joined(separator: ",") + "}"
        }
        // Only valid events wait in a queue.
        let whole = batch(lines)
        var shaper = BatchShaper(shape)
        let made = shaper.shape(whole)
        let place = made.places ?? Array(lines.indices)
        for (index, line) in lines.enumerated() {
            let fixture = JudgeFixture(plan)
            guard fixture.take(line, arrival: whole.arrivals[index]) else {
                guard case .rejected? = made.own[index] else {
                    Issue.record("a route cannot read \(line), but the shape made \(String(describing: made.own[index]))")
                    continue
                }
                continue
            }
            if let expected = fixture.lines().first {
                let position = place.firstIndex(of: index)
                #expect(position.map { texts(made.batch)[$0] } == expected, "\(line)")
            } else {
                let verdict = fixture.verdicts(line, arrival: whole.arrivals[index])[0]
                switch (verdict, made.own[index]) {
                case (.filtered(let stage), .filtered(let reason)?): #expect(stage.rawValue == reason.rawValue)
                case (.withheld, .filtered(.withheld)?), (.withheld, .rejected?): break
                default: Issue.record("\(line): the route says \(verdict), the shape \(String(describing: made.own[index]))")
                }
            }
        }
    }

    /// Random outcomes against the plain rule: an event has its own outcome, or that of its place in what was handed over, or none.
    @Test("outcomes come back to the events that they are about", arguments: 0..<UInt64(200))
    func outcomes(seed: UInt64) {
        var random = Seeded(state: seed)
        let names = (0..<Int.random(in: 1...12, using: &random)).map { _ in ["in", "out", "big"].randomElement(using: &random)! }
        let lines = names.map { #"{"event":"\#($0)","x":"\#(String(repeating: "y", count: $0 == "big" ? 90 : 0))"}"# }
        let limit = Int.random(in: 40...400, using: &random)
        let isGrown = random.next() % 2 == 0
        let made = shaped(
            shape(bytes: limit, largest: 100) {
                $0.not.events = [Glob("out")]
                $0.transforms = isGrown ? [BatchShaperTests.grow] : []
            }, batch(lines))
        let all: [Outcome] = [
            .delivered, .rejected(Answer("r")), .retry(Answer("t"), after: nil), .unknown(Answer("u")), .fault(Answer("f")),
            .closed(Answer("c")),
        ]
        var given = BatchOutcome(all.randomElement(using: &random)!)
        let count = made.batch?.count ?? 0
        for index in 0..<count where Int.random(in: 0..<3, using: &random) == 0 { given.events[index] = all.randomElement(using: &random)! }
        let back = made.outcome(made.batch == nil ? nil : given)

        var size = 0
        var isFull = false
        var handed = 0
        for (index, name) in names.enumerated() {
            let outcome = back.events[index] ?? back.batch
            if isFull {
                #expect(outcome == .untried)
                continue
            }
            if name == "out" {
                #expect(outcome == .filtered(.not))
                continue
            }
            // The step adds `,"to":"0123456789"`.
            let bytes = lines[index].utf8.count + 1 + (isGrown ? 18 : 0)
            if bytes > 100 {
                guard case .rejected? = back.events[index] else {
                    Issue.record("\(index) has \(bytes) bytes")
                    continue
                }
                continue
            }
            if size > 0, size + bytes > limit {
                isFull = true
                #expect(outcome == .untried)
                continue
            }
            size += bytes
            #expect(texts(made.batch)[handed].hasPrefix(lines[index].dropLast()))
            #expect(outcome == given.events[handed] ?? given.batch)
            handed += 1
        }
        #expect(handed == count)
    }
}
