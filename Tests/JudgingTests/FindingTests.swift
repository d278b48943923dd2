import Admission
import Editing
import Events
import Expressions
import Foundation
import Plans
import Redaction
import Sampling
import Seeded
import TestSupport
import Testing

@testable import ConsentGate
@testable import Judging
@testable import Models

/// The findings must be the reasons for the verdicts, on thousands of events.
@Suite struct FindingTests {
    private static let names = ["none", "essential", "standard", "detailed"]
    private static let purposes = ["operations", "analytics", "research"]

    /// Makes plans and events that get every verdict for every reason.
    private struct Generator {
        var random: Seeded
        private var chooser: StepChooser<Seeded>

        init(random: Seeded) {
            self.random = random
            chooser = StepChooser(random)
        }

        mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }
        mutating func pick<T>(_ items: [T]) -> T { items[Int.random(in: 0..<items.count, using: &random)] }

        mutating func plan(hasPurposes: Bool) -> Plan {
            var plan = Plan()
            plan.providers = [ProviderPlan(name: "p", plugin: "noop", settings: Secret([]))]
            plan.keys = [Key(name: "ids", secret: Secret(Array("0123456789abcdef".utf8)))]
            var consent = ConsentPlan()
            consent.levels = FindingTests.names.enumerated().map { index, name in
                .init(name: name, purposes: hasPurposes ? Array(FindingTests.purposes.prefix(index)) : nil)
            }
            consent.subject = [path("userId")]
            consent.unknown = pick([.deny, .assume(1), .assume(2), .hold])
            consent.gpc = pick([nil, [], ["research"]])
            if !hasPurposes { consent.gpc = pick([nil, []]) }
            if chance(2) { consent.fields = [(path("a"), 3), (path("context.x"), 1)] }
            if chance(2) { consent.events = [(Glob("b*"), 0), (Glob("a*"), 2), (Glob("*z"), 3)] }
            if !chance(5) { plan.consent = consent }
            // With many routes their filters are compiled together.
            plan.routes = (0..<(chance(8) ? 24 : 4)).map { _ in
                route {
                    if chance(2) { $0.events = pick([[Glob("a*")], [Glob("b_z"), Glob("c")]]) }
                    if chance(2) { $0.match = [MatchPlan(path: path("n"), anyOf: [.number("1"), .number("2")])] }
                    if chance(4) { $0.match.append(MatchPlan(path: path("type"), anyOf: [.string("track")])) }
                    if chance(4) { $0.not.events = pick([[Glob("*z")], [Glob("c"), Glob("a*")]]) }
                    if chance(4) { $0.not.match = [MatchPlan(path: path("type"), anyOf: [.string("page")])] }
                    if chance(8) { $0.not.condition = try! Expression.condition(pick(["n == 2", "type == 'page' || n > 5"])) }
                    if chance(4) { $0.takesRest = true }
                    if chance(3) {
                        $0.condition = try! Expression.condition(
                            pick(["n < 3 && type == 'track'", "!has(this.userId) || n == 1", "glob(event, 'a*')", "string(n) != '2'"]))
                    }
                    $0.consent = ConsentDemand(level: Int.random(in: 0...3, using: &random))
                    if hasPurposes, chance(2) { $0.consent?.purposes = pick([["operations"], ["analytics", "research"]]) }
                    if chance(2) {
                        $0.sample = SamplePlan(
                            rate: pick([0, 0.25, 0.5, 1]), by: pick([nil, path("userId")]), keep: pick([[], [Glob("c")]]))
                        if chance(3) { $0.sample?.rates = [(Glob("c"), 0.5), (Glob("*z"), 0.1)] }
                        if chance(4) { $0.sample?.target = EventRate(perDay: pick([1, 2000])) }
                        if chance(3) { $0.sample?.limit = LimitPlan(EventRate(perDay: pick([1, 86_400])), burst: pick([1, 5])) }
                        if chance(3) { $0.sample?.annotation = pick([path("r"), path("context.r")]) }
                        if chance(3) { $0.sample?.keepCondition = try! Expression.condition(pick(["a == 1", "type.startsWith('p')"])) }
                    }
                    if chance(3) { $0.session = session() }
                    $0.transforms = steps { $0.transforms() }
                }
            }
            if chance(3) { addEmits(to: &plan) }
            return plan
        }

        private mutating func steps<T>(_ choose: (inout StepChooser<Seeded>) -> T) -> T {
            chooser.random = random
            defer { random = chooser.random }
            return choose(&chooser)
        }

        private mutating func session() -> SessionPlan {
            var session = SessionPlan(by: pick([path("userId"), path("ip")]))
            session.idle = .milliseconds(pick([1, 3000]))
            if chance(3) { session.place = path("b.session") }
            return session
        }

        /// Adds rules of `emit`. Removes limits, targets and demands by name: an emitted event uses up limits too, and demands what its
        /// original does, but the findings on the emitted event alone cannot show this.
        private mutating func addEmits(to plan: inout Plan) {
            plan.consent?.events = []
            for i in plan.routes.indices {
                plan.routes[i].sample?.limit = nil
                plan.routes[i].sample?.target = nil
            }
            plan.emits = ["n == 1", "event.startsWith('a')", "a + 1 > 0"].filter { _ in chance(2) }.map { condition in
                EmitPlan(
                    condition: try! .condition(condition),
                    members: [
                        ("event", [.json(pick([#""c""#, #""a_made""#]))]),
                        ("of", [.json("["), .value(try! Expression("type")), .json("]")]),
                    ])
            }
        }

        mutating func names() -> String {
            "[" + FindingTests.purposes.filter { _ in chance(2) }.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        }
        mutating func flags() -> String {
            "{"
                + FindingTests.purposes.filter { _ in !chance(4) }.map { "\"\($0)\":\(chance(3) ? "false" : "true")" }.joined(
                    separator: ",") + "}"
        }

        mutating func event() -> String {
            var members: [String] = []
            var context: [String] = []
            var consent: [String] = []
            if !chance(8) { members.append(#""event":\#(pick([#""a_1""#, #""b_z""#, #""c""#, "5"]))"#) }
            if !chance(4) { members.append(#""n":\#(pick(["1", "1.0", "2", "3", "null"]))"#) }
            if !chance(4) { members.append(#""type":"\#(pick(["track", "page"]))""#) }
            if !chance(4) { members.append(#""userId":"u\#(Int.random(in: 0..<50, using: &random))""#) }
            if chance(2) { members.append(#""messageId":"m""#) }
            if chance(2) { members.append(#""a":1"#) }
            if chance(2) { consent.append(#""level":\#(chance(12) ? "7" : "\"\(pick(FindingTests.names))\"")"#) }
            if chance(3) { consent.append(#""purposes":\#(chance(12) ? "\"x\"" : chance(2) ? names() : flags())"#) }
            if chance(3) { consent.append(#""categoryPreferences":\#(chance(12) ? "[]" : flags())"#) }
            if !consent.isEmpty || chance(5) { context.append(#""consent":{\#(consent.joined(separator: ","))}"#) }
            if chance(3) {
                var management: [String] = []
                if chance(2) { management.append(#""allowedConsentIds":\#(chance(12) ? "[1]" : names())"#) }
                if chance(2) { management.append(#""deniedConsentIds":\#(chance(12) ? "{}" : names())"#) }
                context.append(#""consentManagement":\#(chance(12) ? "true" : "{\(management.joined(separator: ","))}")"#)
            }
            if chance(4) { context.append(#""gpc":\#(pick(["true", "true", "false", "1"]))"#) }
            if chance(2) { context.append(#""x":\#(steps { $0.value() })"#) }
            members += steps { $0.members(without: ["n", "type", "userId", "a"]) }
            members.append(#""context":{\#(context.joined(separator: ","))}"#)
            return "{\(members.shuffled(using: &random).joined(separator: ","))}"
        }
    }

    /// The number of events and the first seed, which `make agree` sets.
    private static let events = ProcessInfo.processInfo.environment["AGREE_EVENTS"].flatMap { Int($0) } ?? rounds(7_200)
    private static let seed = ProcessInfo.processInfo.environment["AGREE_SEED"].flatMap { UInt64($0) } ?? 0

    @Test("on thousands of events every route finds a reason for exactly the verdict that the router counts", arguments: [true, false])
    func agrees(hasPurposes: Bool) {
        var fallen: Set<Verdict> = []
        var (made, erred) = (0, 0)
        for seed in Self.seed..<(Self.seed + UInt64(max(rounds(60), Self.events / 120))) {
            var generator = Generator(random: Seeded(state: seed))
            let plan = generator.plan(hasPurposes: hasPurposes)
            let routing = JudgeFixture(plan)
            var now: Int64 = 0
            for _ in 0..<60 {
                let event = generator.event()
                let before = routing.tally
                now += Int64.random(in: 0..<1_000_000_000, using: &generator.random)
                // The event, and the events that are emitted for it.
                let lines = [event] + routing.emissions(event, arrival: now)
                let findings = lines.map { routing.findings($0, arrival: now) }
                #expect(routing.take(event, arrival: now))
                for (index, route) in plan.routes.enumerated() {
                    let own = findings.map { $0[index] }
                    fallen.formUnion(own.map(\.verdict))
                    made += lines.count - 1
                    erred += own.reduce(0) { $0 + errors($1) }
                    guard let contradiction = contradiction(own, ofRoute: index, in: plan, before: before, after: routing.tally) else {
                        continue
                    }
                    Issue.record("seed \(seed), route \(index): \(contradiction)\n\(own)\n\(lines)\n\(route.transforms)")
                    return
                }
            }
        }
        // Fewer rounds do not reach every verdict.
        if isSanitized { return }
        // No plan has a tracking plan. No event comes with a key, no records are unreadable or later than now, and nobody answers for held
        // events. Whether a step withholds an event is left to chance.
        #expect(fallen.union([.withheld]).count == Tally.columns.count - (hasPurposes ? 9 : 10), "\(fallen)")
        #expect(made > 100 && erred > 100)
    }

    /// Returns what contradicts the findings of a route on an event and on the events emitted for it. Returns nil if nothing does.
    private func contradiction(_ findings: [Finding], ofRoute index: Int, in plan: Plan, before: Tally, after: Tally) -> String? {
        for verdict in Tally.columns
        where after[index, verdict] - before[index, verdict] != findings.count(where: { $0.verdict == verdict }) {
            return "\(verdict) was counted \(after[index, verdict] - before[index, verdict]) times"
        }
        let errors = findings.reduce(0) { $0 + self.errors($1) }
        if after.transformErrors(route: index) - before.transformErrors(route: index) != errors { return "the errors of the steps differ" }
        for finding in findings {
            if let contradiction = contradiction(finding, of: plan.routes[index], in: plan)
                ?? contradiction(finding, plan.routes[index].transforms)
            {
                return contradiction
            }
        }
        return nil
    }

    private func errors(_ finding: Finding) -> Int {
        finding.steps.count { if case .erred = $0.report { true } else { false } }
    }

    private func contradiction(_ finding: Finding, _ transforms: [any Step]) -> String? {
        let isPast = finding.verdict == .admitted || finding.verdict == .withheld
        if !isPast { return finding.steps.isEmpty ? nil : "a step after the stage that decided" }
        if finding.steps.contains(where: { ($0.step ?? 0) >= transforms.count }) { return "a step that does not exist" }
        let holding = finding.steps.indices.filter { index in
            switch finding.steps[index].report {
            case .broken, .unread: return true
            case .erred, .unsearched: return false
            case .found(let finds):
                guard let scrub = finding.steps[index].step.map({ transforms[$0] }) as? ScrubStep else { return true }
                return scrub.scrub.action == .reject && !finds.isEmpty
            }
        }
        if finding.verdict == .admitted { return holding.isEmpty ? nil : "it should have been withheld" }
        return holding == [finding.steps.count - 1] ? nil : "there is no reason to withhold it"
    }

    /// Returns what contradicts the finding as the reason for its verdict. Returns nil if nothing does.
    private func contradiction(_ finding: Finding, of route: RoutePlan, in plan: Plan) -> String? {
        if (finding.mismatch != nil) != (finding.verdict == .filtered(.match)) { return "a mismatch that decides nothing" }
        if (finding.takenBy != nil) != (finding.verdict == .filtered(.else)) { return "a route that took it, and decides nothing" }
        if finding.exclusion != nil, finding.verdict != .filtered(.not) { return "a member that excludes it, and decides nothing" }
        switch finding.verdict {
        case .filtered(.not):
            if finding.condition.map({ !$0.holds || finding.exclusion != nil }) ?? false { return "an expression that does not exclude it" }
        case .filtered(.where): if finding.condition?.holds ?? true || finding.condition?.fault != nil { return "a condition that is true" }
        case .filtered(.whereErrors): if finding.condition?.fault == nil { return "an error without its reason" }
        case .filtered: if finding.condition != nil { return "a stage after the one that decided" }
        default: if (finding.condition?.holds ?? true) == false { return "a condition that is false" }
        }
        if case .filtered = finding.verdict { return finding.gate == nil && finding.sample == nil ? nil : "a stage after the filter" }
        if (finding.gate == nil) != (plan.consent == nil) { return "a gate without consent" }
        if let gate = finding.gate, let contradiction = contradiction(gate, finding.verdict, of: route, in: plan) { return contradiction }
        if finding.verdict.isOfGate { return finding.sample == nil ? nil : "a stage after the gate" }
        guard let sample = route.sample else { return finding.sample == nil ? nil : "a sample that the route does not have" }
        guard let found = finding.sample else { return "no sample" }
        let isPast = finding.verdict == .admitted || finding.verdict == .withheld
        if found.isKept || found.keepCondition?.holds ?? false {
            return isPast && found.isWithinLimit == nil ? nil : "it was kept"
        }
        if sample.target == nil, found.rate != found.named.map({ sample.rates[$0].rate }) ?? sample.rate { return "another rate" }
        if Double(found.hash) * 0x1p-64 >= found.rate {
            return finding.verdict == .sampledOut ? nil : "the hash is on the wrong side of the rate"
        }
        if sample.limit != nil, finding.verdict == .limited { return found.isWithinLimit == false ? nil : "it is within the limit" }
        return isPast && found.isWithinLimit ?? (sample.limit == nil) ? nil : "it is in the sample"
    }

    private func contradiction(_ gate: GateFinding, _ verdict: Verdict, of route: RoutePlan, in plan: Plan) -> String? {
        let demanded = route.consent?.level ?? 0
        if gate.demanded < demanded || (gate.demanded > demanded) != (gate.raisedBy != nil) { return "the demand was raised by nothing" }
        let broken = gate.signals.contains { $0.isBroken }
        switch verdict {
        case .denied(.broken): return gate.state == .broken && broken ? nil : "nothing is broken"
        case .denied(.unreadable): return gate.state == .unreadable ? nil : "the record is readable"
        case .denied(.clock): return "the clock is behind no record"
        case .denied(.unknown): return gate.state == .unknown && !gate.signals.contains { $0.grants } ? nil : "something is known"
        case .held: return gate.state == .unknown && gate.isHolding ? nil : "unknown subjects are not held"
        case .denied(.full), .denied(.unstored), .expired, .withdrawn, .outdated: return "it was never held"
        case .denied(.level):
            guard case .known(let level, let isAssumed) = gate.state, level < gate.demanded else { return "the level is high enough" }
            if gate.signals.contains(where: { $0.level < gate.demanded }) { return nil }
            if isAssumed, case .assume(let assumed)? = plan.consent?.unknown, assumed < gate.demanded { return nil }
            // If levels have no purposes, a signal that names only purposes has the lowest level.
            return plan.consent?.levels.last?.purposes == nil && !gate.signals.contains { $0.member.path == path("context.consent.level") }
                ? nil : "nothing lowers the level"
        case .denied(.purpose):
            if gate.missing.isEmpty { return "no purpose is missing" }
            guard case .known(_, let isAssumed) = gate.state else { return "nothing is known" }
            let lacking = Set(gate.signals.flatMap(\.missing))
            return isAssumed || Set(gate.missing).isSubset(of: lacking) ? nil : "nobody refuses \(gate.missing)"
        case .admitted, .sampledOut, .limited, .withheld:
            guard gate.isDemanding else { return nil }
            guard case .known(let level, _) = gate.state else { return "nothing is known" }
            if broken { return "something is broken" }
            return level >= gate.demanded && gate.missing.isEmpty ? nil : "it should have been denied"
        case .filtered, .violating: return nil
        }
    }

    @Test("the first match that fails is named")
    func mismatch() {
        let plan = plan(
            route {
                $0.match = [MatchPlan(path: path("a"), anyOf: [.number("1")]), MatchPlan(path: path("b"), anyOf: [.null, .bool(true)])]
            })
        #expect(JudgeFixture(plan).findings(#"{"a":1.0,"b":false}"#)[0].mismatch == 1)
        #expect(JudgeFixture(plan).findings(#"{"a":2,"b":false}"#)[0].mismatch == 0)
        #expect(JudgeFixture(plan).findings(#"{"a":1,"b":null}"#)[0].mismatch == nil)
    }

    @Test("the route that took an event, and the member that excluded it, are named")
    func takenAndExcluded() {
        let others = ExclusionPlan(
            events: [Glob("x")], match: [MatchPlan(path: path("a"), anyOf: [.number("1")]), MatchPlan(path: path("b"), anyOf: [.null])])
        let fixture = JudgeFixture(
            plan(
                route { $0.events = [Glob("a")] }, route { $0.not = others }, route { $0.takesRest = true }))
        #expect(fixture.findings(#"{"event":"a"}"#)[2].takenBy == 0)
        #expect(fixture.findings(#"{"event":"b"}"#)[2].takenBy == 1)
        #expect(fixture.findings(#"{"event":"x","b":null}"#)[1].exclusion == nil)
        #expect(fixture.findings(#"{"event":"y","b":null}"#)[1].exclusion == 1)
    }

    @Test("each member that carries consent is a signal of its own")
    func signals() {
        var plan = plan(route { $0.consent = ConsentDemand(level: 0, purposes: ["analytics"]) })
        var consent = ConsentPlan()
        consent.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["operations", "analytics"])]
        plan.consent = consent
        let event =
            #"{"context":{"gpc":true,"consent":{"level":"all","purposes":["analytics"]},"consentManagement":{"deniedConsentIds":["analytics"]}}}"#
        let finding = JudgeFixture(plan).findings(event)[0]
        #expect(finding.verdict == .denied(.purpose))
        #expect(finding.gate?.missing == ["analytics"])
        let signals = finding.gate?.signals ?? []
        #expect(
            signals.map(\.member.path.description) == [
                "context.consent.level", "context.consent.purposes", "context.consentManagement",
                "context.consentManagement.deniedConsentIds", "context.gpc",
            ])
        #expect(signals.map(\.grants) == [true, true, false, false, false])
        #expect(signals.map(\.missing) == [[], [], [], ["analytics"], ["analytics"]])
    }

    @Test("the text that a sample hashed is named")
    func basis() {
        let plan = plan(route { $0.sample = SamplePlan(rate: 0.5, by: path("user")) })
        let fixture = JudgeFixture(plan)
        #expect(fixture.findings(#"{"user":"u","messageId":"m"}"#)[0].sample?.basis == .member)
        #expect(fixture.findings(#"{"user":{},"messageId":"m"}"#)[0].sample?.basis == .messageID)
        #expect(fixture.findings(#"{"user":null}"#)[0].sample?.basis == .wholeEvent)
    }
}
