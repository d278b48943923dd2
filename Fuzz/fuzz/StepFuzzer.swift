// Applies random transforms to random events. The oracle accepts every result as JSON. The result of structural steps and splices equals
// the result of the slow model.

import Admission
import Editing
import Events
import Plans
import Seeded

@testable import Models

final class StepFuzzer: Fuzzer {
    /// The number of events for the transforms of one plan. Compiling a plan takes longer than judging an event.
    private static let eventsOfPlan = 16

    private var chooser: StepChooser<Seeded>
    private var structural: SpliceGenerator
    private let oracle = ObjectOracle()
    private let plants: Bool
    private var fixture: JudgeFixture?
    private var transforms: [any Step] = []
    private var isStructural = false
    private var turn = 0
    /// The number of copies that the fixture has made under this plan.
    private var copies = 0

    init(seed: UInt64, plants: Bool) {
        chooser = StepChooser(Seeded(state: seed))
        structural = SpliceGenerator(random: Seeded(state: seed &+ 1), isSpaced: true)
        self.plants = plants
    }

    func next() -> (Comparison, input: [UInt8]) {
        if turn % StepFuzzer.eventsOfPlan == 0 { renew() }
        turn += 1
        let line = isStructural ? structural.space() + structural.object(3) : event()
        return (judge(line), Array("\(line) by \(transforms)".utf8))
    }

    private func renew() {
        isStructural.toggle()
        if isStructural {
            transforms = structural.transforms() + [structural.step()] + structural.transforms() + [structural.step()]
            // The model does not know the spaces of an object that is hashed.
            structural.isSpaced = !transforms.contains { $0 is HashStep }
        } else {
            transforms = chooser.transforms() + [chooser.transform()]
        }
        var plan = Plan()
        plan.providers = [ProviderPlan(name: "out", plugin: "noop", settings: Secret([]))]
        plan.keys = [Key(name: "ids", secret: Secret(Array("secret".utf8))), Key(name: "other", secret: Secret(Array("other".utf8)))]
        var route = RoutePlan(name: "route")
        route.transforms = transforms
        route.providers = [0]
        plan.routes = [route]
        fixture = JudgeFixture(plan)
        copies = 0
    }

    private func event() -> String { "{\(chooser.members().joined(separator: chooser.pick([",", " , "])))}" }

    private func judge(_ line: String) -> Comparison {
        guard let fixture, fixture.take(line) else { return .invalid }
        let copy = fixture.lines().dropFirst(copies).first
        guard let copy else { return isStructural ? .unexplained("it was held back") : .explained("held back") }
        copies += 1
        if plants, line.utf8.count % 31 == 30 { return .unexplained("planted") }
        guard oracle.isObject(tamed(copy)) else { return .unexplained("the result is not JSON: \(copy)") }
        return isStructural ? compared(line, copy) : .valid
    }

    /// Returns the line without the valid parts that the oracle refuses: a lone surrogate, and a number beyond the range of a double.
    private func tamed(_ line: String) -> [UInt8] {
        var bytes = Array(line.utf8)
        for (wild, tame) in [("\\ud800", "\\u0800"), ("1E400", "1E100")] {
            let wild = Array(wild.utf8)
            var at = 0
            while at + wild.count <= bytes.count {
                let end = at + wild.count
                if bytes[at..<end].elementsEqual(wild) { bytes.replaceSubrange(at..<end, with: tame.utf8) }
                at += 1
            }
        }
        return bytes
    }

    private func compared(_ line: String, _ copy: String) -> Comparison {
        let model = ModelParser.parse(line)
        model.apply(transforms, secrets: ["secret", "other"], isSpaced: structural.isSpaced)
        return model.difference(ModelParser.parse(copy)).map { .unexplained("\($0), in \(copy)") } ?? .valid
    }
}
