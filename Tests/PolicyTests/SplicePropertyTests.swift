import Configuration
import Events
import Testing

@testable import Policy

/// Random events and random transforms, against the model.
@Suite struct SplicePropertyTests {
    struct Generator {
        var random: Seeded
        let isSpaced: Bool

        /// The keys that transforms name, each in two spellings.
        static let keys = [("a", #"\u0061"#), ("b", "b"), ("user id", #"user\u0020id"#), ("d\"", #"d\u0022"#)]
        static let scalars = [
            "1", "-0", "1.0", "1E400", "9007199254740993", "true", "false", "null", #""""#, #""text""#, #""t\u0065xt""#, #""\ud83d\ude97""#,
            #""lone \ud800""#, #""a\"b\\""#, #""é €""#, #""{\"a\":1}""#,
        ]

        mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }
        mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }
        mutating func space() -> String { isSpaced ? pick(["", "", " ", "  ", "\t"]) : "" }

        mutating func value(_ depth: Int) -> String {
            if depth > 0, chance(2) { return object(depth - 1) }
            if chance(6) { return "[\(space())\(value(0)),{\"a\":1}\(space())]" }
            return pick(Generator.scalars)
        }

        mutating func object(_ depth: Int) -> String {
            var keys: [String] = []
            for (plain, escaped) in Generator.keys.shuffled(using: &random) where chance(2) || chance(2) {
                keys.append(chance(5) ? escaped : plain.contains("\"") ? #"d\""# : plain)
            }
            // Members that no transform names, also twice.
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                keys.insert(pick(["x", "y", ""]), at: Int.random(in: 0...keys.count, using: &random))
            }
            if chance(8) { keys = [] }
            var text = "{" + space()
            for (i, key) in keys.enumerated() {
                if i > 0 { text += space() + "," + space() }
                text += "\"\(key)\"\(space()):\(space())\(value(depth))"
            }
            return text + space() + "}"
        }

        mutating func path() -> Path {
            Path(keys: (0..<pick([1, 1, 1, 2, 2, 3])).map { _ in pick(Generator.keys).0 })
        }

        mutating func constant() -> String {
            pick(Generator.scalars + [#"{"a":1,"b":{"user id":"u","a":null}}"#, "{}", #"["a",{"b":1}]"#, #"{"b":"text"}"#])
        }

        mutating func paths() -> [Path] { (0..<Int.random(in: 1...3, using: &random)).map { _ in path() } }

        mutating func step() -> StepPlan {
            switch Int.random(in: 0..<7, using: &random) {
            case 0: return .keep(paths() + paths())
            case 1:
                let from = path()
                return .move([(from: from, to: Path(keys: from.keys.dropLast() + [pick(Generator.keys).0]))])
            case 2, 3:
                var (from, to) = (path(), path())
                while to.keys.count > from.keys.count && to.keys.starts(with: from.keys) { (from, to) = (path(), path()) }
                return .move([(from: from, to: to)])
            case 4: return .compute([(path(), .json(constant())), (path(), .json(constant()))], onlyWhereLacking: chance(2))
            case 5: return .change(paths(), .pick([pick(Generator.keys).0, pick(Generator.keys).0]))
            default: return .change([path()], .limit(Int.random(in: 0...5, using: &random)))
            }
        }

        mutating func transforms() -> [TransformPlan] {
            (0..<Int.random(in: 0...5, using: &random)).map { _ in
                switch Int.random(in: 0..<5, using: &random) {
                case 0, 1: return .drop((0..<Int.random(in: 1...3, using: &random)).map { _ in path() })
                case 2, 3: return .set((0..<Int.random(in: 1...2, using: &random)).map { _ in (path(), constant()) })
                default: return .hash([path()], key: Int.random(in: 0..<2, using: &random))
                }
            }
        }
    }

    @Test("edited events are what the model makes of them, byte for byte where nothing was touched", arguments: [false, true])
    func edits(isSpaced: Bool) {
        for seed in 0..<200 {
            var generator = Generator(random: Seeded(state: UInt64(seed)), isSpaced: isSpaced)
            var plan = plan(providers: 4)
            plan.routes = (0..<3).map { i in
                route {
                    $0.transforms = generator.transforms()
                    $0.providers = i == 2 ? [2, 3] : [i]
                }
            }
            // Fields cut before the transforms, in every third plan.
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
            let bench = Bench(plan)
            var events: [String] = []
            for _ in 0..<12 { events.append(generator.space() + generator.object(2) + generator.space()) }
            for event in events where !bench.take(event) { Issue.record("refused: \(event)") }

            for (i, event) in events.enumerated() {
                for provider in 0..<4 {
                    let route = plan.routes[min(provider, 2)]
                    let model = ModelParser.parse(event)
                    model.apply([.drop(cut)] + route.transforms, secrets: ["secret", "other"], isSpaced: isSpaced)
                    let line = bench.lines(provider)[i]
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

    @Test("steps do to events what they do to the model, one after the other, between splices", arguments: [false, true])
    func steps(isSpaced: Bool) {
        for seed in 0..<300 {
            var generator = Generator(random: Seeded(state: UInt64(seed) + 10_000), isSpaced: isSpaced)
            var transforms: [TransformPlan] = []
            for _ in 0..<Int.random(in: 1...3, using: &generator.random) {
                if generator.chance(2) { transforms += generator.transforms() }
                transforms.append(.step(generator.step()))
            }
            if generator.chance(2) { transforms += generator.transforms() }
            let bench = Bench(plan(route { $0.transforms = transforms }))
            var events: [String] = []
            for _ in 0..<12 { events.append(generator.space() + generator.object(2) + generator.space()) }
            for event in events where !bench.take(event) { Issue.record("refused: \(event)") }
            guard bench.lines().count == events.count else {
                Issue.record("seed \(seed): held back, by \(transforms)")
                return
            }
            for (event, line) in zip(events, bench.lines()) {
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
