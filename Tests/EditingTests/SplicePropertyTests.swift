import Editing
import Events
import Plans
import Seeded
import TestSupport
import Testing

@testable import Admission
@testable import Models

/// Compares the edited events with the model, for random events and random transforms.
@Suite struct SplicePropertyTests {
    private typealias Generator = SpliceGenerator

    @Test("edited events are those of the model, byte for byte where nothing was changed", arguments: [false, true])
    func edits(isSpaced: Bool) {
        for seed in 0..<rounds(200) {
            var generator = Generator(random: Seeded(state: UInt64(seed)), isSpaced: isSpaced)
            var plan = plan(providers: 4)
            plan.routes = (0..<3).map { i in
                route {
                    $0.transforms = generator.transforms()
                    $0.providers = i == 2 ? [2, 3] : [i]
                }
            }
            // In every third plan, consent cuts fields before the transforms.
            var cut: [Path] = []
            if seed % 3 == 0 {
                cut = [generator.path(), generator.path()]
                var consent = ConsentPlan()
                consent.levels = [.init(name: "none", purposes: nil), .init(name: "all", purposes: nil)]
                consent.unknown = .assume(seed % 2)
                consent.fields = cut.map { ($0, 1) }
                plan.consent = consent
                for i in plan.routes.indices { plan.routes[i].consent = ConsentDemand(level: 0) }
                if seed % 2 == 1 { cut = [] }
            }
            let fixture = JudgeFixture(plan)
            var events: [String] = []
            for _ in 0..<12 { events.append(generator.space() + generator.object(2) + generator.space()) }
            for event in events where !fixture.take(event) { Issue.record("refused: \(event)") }

            for (i, event) in events.enumerated() {
                for provider in 0..<4 {
                    let route = plan.routes[min(provider, 2)]
                    let model = ModelParser.parse(event)
                    model.apply([DropStep(cut)] + route.transforms, secrets: ["secret", "other"], isSpaced: isSpaced)
                    let line = fixture.lines(provider)[i]
                    let difference =
                        isSpaced ? model.difference(ModelParser.parse(line)) : line == model.text ? nil : "instead of \(model.text)"
                    if let difference {
                        Issue.record("seed \(seed): \(event)\nby \(cut) \(route.transforms)\nbecame \(line)\n\(difference)")
                        return
                    }
                }
            }
        }
    }

    @Test("a sequence of steps and splices changes events like the model", arguments: [false, true])
    func steps(isSpaced: Bool) {
        for seed in 0..<rounds(300) {
            var generator = Generator(random: Seeded(state: UInt64(seed) + 10_000), isSpaced: isSpaced)
            var transforms: [any Step] = []
            for _ in 0..<Int.random(in: 1...3, using: &generator.random) {
                if generator.chance(2) { transforms += generator.transforms() }
                transforms.append(generator.step())
            }
            if generator.chance(2) { transforms += generator.transforms() }
            let fixture = JudgeFixture(plan(route { $0.transforms = transforms }))
            var events: [String] = []
            for _ in 0..<12 { events.append(generator.space() + generator.object(2) + generator.space()) }
            for event in events where !fixture.take(event) { Issue.record("refused: \(event)") }
            guard fixture.lines().count == events.count else {
                Issue.record("seed \(seed): held back, by \(transforms)")
                return
            }
            for (event, line) in zip(events, fixture.lines()) {
                let model = ModelParser.parse(event)
                model.apply(transforms, secrets: ["secret", "other"], isSpaced: isSpaced)
                let difference =
                    isSpaced ? model.difference(ModelParser.parse(line)) : line == model.text ? nil : "instead of \(model.text)"
                if let difference {
                    Issue.record("seed \(seed): \(event)\nby \(transforms)\nbecame \(line)\n\(difference)")
                    return
                }
            }
        }
    }
}
