// What the gate admits: signals of consent, unknown subjects, demands of levels and purposes. The files of this suite share one configuration.

import Editing
import Events
import Plans
import Seeded
import TestSupport
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Judging
@testable import Models

/// Returns the highest level that is admitted, and the verdict of the next level.
private func passes(_ context: String, _ consent: ConsentPlan, name: String = "e") -> (level: Int, then: Verdict?) {
    var plan = plan()
    plan.consent = consent
    plan.routes = consent.levels.indices.map { level in route { $0.consent = ConsentDemand(level: level) } }
    let verdicts = JudgeFixture(plan).verdicts(#"{"event":"\#(name)","context":\#(context)}"#)
    let level = verdicts.lastIndex(of: .admitted) ?? -1
    #expect(verdicts.prefix(level + 1).allSatisfy { $0 == .admitted }, "a level is admitted and a lower one is not")
    return (level, level + 1 < verdicts.count ? verdicts[level + 1] : nil)
}

/// Returns the verdict of a route that demands purposes.
private func verdict(_ context: String, _ consent: ConsentPlan, level: Int = 0, purposes: String...) -> Verdict? {
    var plan = plan(route { $0.consent = ConsentDemand(level: level, purposes: purposes) })
    plan.consent = consent
    return JudgeFixture(plan).verdicts(#"{"context":\#(context)}"#).first
}

@Suite struct ConsentTests {
    /// A section whose levels have purposes.
    func section(_ change: (inout ConsentPlan) -> Void = { _ in }) -> ConsentPlan {
        var consent = ConsentPlan()
        consent.levels = [
            .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
            .init(name: "standard", purposes: ["operations", "analytics"]),
            .init(name: "detailed", purposes: ["operations", "analytics", "research"]),
        ]
        change(&consent)
        return consent
    }

    /// A section whose levels have no purposes.
    func list(_ change: (inout ConsentPlan) -> Void = { _ in }) -> ConsentPlan {
        section {
            $0.levels = ["none", "essential", "standard", "detailed"].map { .init(name: $0, purposes: nil) }
            change(&$0)
        }
    }

    // MARK: Unknown subjects

    @Test(
        "a context that is no object is broken, beside any other signal",
        arguments: ["7", #""granted""#, "[]", #"[{"gpc":false}]"#, "true"])
    func brokenContext(context: String) {
        for consent in [section(), list()] { #expect(passes(context, consent) == (0, .denied(.broken))) }
    }

    @Test(
        "the assumption about unknown subjects can depend on a member, with a default for all other events",
        arguments: [
            (#"{"region":"US"}"#, 2), (#"{"region":"\u0055S"}"#, 2), (#"{"region":"DE"}"#, -1), (#"{"region":"us"}"#, 1),
            (#"{"region":"FR"}"#, 1), (#"{"region":""}"#, 1), (#"{"region":1}"#, 1), (#"{"region":null}"#, 1), (#"{"region":["US"]}"#, 1),
            (#"{"region":"US\ud800"}"#, 1), ("{}", 1), ("null", 1),
        ])
    func unknownByMember(context: String, level: Int) {
        for kind in [section, list] {
            let consent = kind {
                $0.unknown = .assume(1)
                $0.unknownBy = UnknownByPlan(path: Path(keys: ["context", "region"]), cases: [("US", .assume(2)), ("DE", .deny)])
            }
            // A route that demands nothing admits every event.
            let result = passes(context, consent)
            #expect(result.level == max(level, 0))
            #expect(result.then == (level < 0 ? .denied(.unknown) : .denied(.level)))
        }
    }

    @Test("the signals of an event override the assumption for its region, and a refusal restricts the assumption")
    func signalsBeforeRegion() {
        let consent = section {
            $0.unknownBy = UnknownByPlan(path: Path(keys: ["context", "region"]), cases: [("US", .assume(3))])
            $0.gpc = ["research"]
        }
        #expect(passes(#"{"region":"US","consent":{"level":"essential"}}"#, consent).level == 1)
        #expect(passes(#"{"region":"US","gpc":true}"#, consent).level == 2)
        #expect(passes(#"{"region":"FR","consent":{"level":"essential"}}"#, consent).level == 1)
        #expect(passes(#"{"region":"US"}"#, consent).level == 3)
        #expect(passes(#"{"region":"FR"}"#, consent).level == 0)
    }

    // MARK: Signals

    @Test(
        "a level admits itself and all lower levels",
        arguments: [("none", 0), ("essential", 1), ("standard", 2), ("detailed", 3), (#"stand\u0061rd"#, 2)])
    func levels(name: String, level: Int) {
        for consent in [section(), list()] {
            let result = passes(#"{"consent":{"level":"\#(name)"}}"#, consent)
            #expect(result.level == level)
            if level < 3 { #expect(result.then == .denied(.level)) }
        }
    }

    @Test("a level grants its purposes and no others")
    func impliedPurposes() {
        let standard = #"{"consent":{"level":"standard"}}"#
        #expect(verdict(standard, section(), purposes: "analytics") == .admitted)
        #expect(verdict(standard, section(), purposes: "analytics", "operations") == .admitted)
        #expect(verdict(standard, section(), purposes: "research") == .denied(.purpose))
        #expect(verdict(standard, section(), purposes: "never named") == .denied(.purpose))
        #expect(verdict(standard, section(), level: 3, purposes: "research") == .denied(.level))
    }

    @Test(
        "the level of purposes is the highest level whose purposes are all granted",
        arguments: [
            (#"["operations","analytics"]"#, 2), (#"["analytics"]"#, 0), (#"["operations"]"#, 1), ("[]", 0),
            (#"["research","analytics","operations","else"]"#, 3), (#"[ "operations" , "an\u0061lytics" ]"#, 2),
            (#"{"operations":true,"analytics":true,"research":false}"#, 2), (#"{"operations":false}"#, 0), ("{}", 0),
            (#"{ "operations" : true , "research" : true }"#, 1), (#"{"operations":true,"operations":false}"#, 0),
            (#"{"operations":false,"operations":true}"#, 0),
        ])
    func purposes(value: String, level: Int) {
        #expect(passes(#"{"consent":{"purposes":\#(value)}}"#, section()).level == level)
    }

    @Test("categories count as purposes")
    func categories() {
        #expect(passes(#"{"consent":{"categoryPreferences":{"operations":true,"analytics":true}}}"#, section()).level == 2)
        #expect(passes(#"{"consent":{"categoryPreferences":{"operations":true,"analytics":false}}}"#, section()).level == 1)
        #expect(verdict(#"{"consent":{"categoryPreferences":{"operations":true}}}"#, section(), purposes: "operations") == .admitted)
    }

    @Test("consentManagement grants the allowed purposes without the denied ones")
    func consentManagement() {
        func level(_ value: String, _ consent: ConsentPlan = section()) -> (level: Int, then: Verdict?) {
            passes(#"{"consentManagement":\#(value)}"#, consent)
        }
        #expect(level(#"{"allowedConsentIds":["operations","analytics"],"deniedConsentIds":["research"]}"#).level == 2)
        #expect(
            level(#"{"provider":"oneTrust","allowedConsentIds":["operations","analytics"],"deniedConsentIds":["analytics"]}"#).level == 1)
        #expect(level(#"{"allowedConsentIds":[]}"#) == (0, .denied(.level)))
        // Denials alone grant nothing, and restrict what is assumed.
        #expect(level(#"{"deniedConsentIds":["analytics"]}"#) == (0, .denied(.unknown)))
        #expect(level(#"{"deniedConsentIds":["analytics"]}"#, section { $0.unknown = .assume(3) }).level == 1)
    }

    @Test("Global Privacy Control refuses the purposes that the section names for it, or else all of them")
    func globalPrivacyControl() {
        let detailed = #"{"consent":{"level":"detailed"},"gpc":true}"#
        #expect(passes(detailed, section()) == (0, .denied(.level)))
        #expect(passes(detailed, section { $0.gpc = ["research"] }).level == 2)
        #expect(passes(detailed, section { $0.gpc = [] }).level == 3)
        #expect(passes(#"{"consent":{"level":"detailed"},"gpc":false}"#, section()).level == 3)
        #expect(verdict(detailed, section { $0.gpc = ["research"] }, purposes: "research") == .denied(.purpose))
        #expect(verdict(detailed, section { $0.gpc = ["research"] }, purposes: "operations") == .admitted)
    }

    @Test("if levels have no purposes, Global Privacy Control means the lowest level")
    func globalPrivacyControlWithoutPurposes() {
        #expect(passes(#"{"consent":{"level":"detailed"},"gpc":true}"#, list()) == (0, .denied(.level)))
        #expect(passes(#"{"gpc":true}"#, list { $0.unknown = .assume(2) }) == (0, .denied(.level)))
        #expect(passes(#"{"gpc":false}"#, list { $0.unknown = .assume(2) }).level == 2)
    }

    @Test("if levels have no purposes, purposes grant no level, and levels grant no purposes")
    func apart() {
        let purposes = #"{"consent":{"purposes":["ads"]}}"#
        #expect(passes(purposes, list()) == (0, .denied(.level)))
        #expect(verdict(purposes, list(), purposes: "ads") == .admitted)
        #expect(verdict(#"{"consent":{"level":"detailed"}}"#, list(), purposes: "ads") == .denied(.purpose))
        #expect(verdict(#"{"consent":{"level":"standard","purposes":["ads"]}}"#, list(), level: 2, purposes: "ads") == .admitted)
    }

    @Test("the strictest of several signals holds")
    func strictest() {
        func level(_ context: String) -> Int { passes(context, section()).level }
        #expect(level(#"{"consent":{"level":"detailed","purposes":["operations"]}}"#) == 1)
        #expect(level(#"{"consent":{"level":"essential","purposes":["operations","analytics","research"]}}"#) == 1)
        #expect(level(#"{"consent":{"purposes":["operations","analytics"],"categoryPreferences":{"operations":true}}}"#) == 1)
        #expect(level(#"{"consent":{"level":"detailed"},"consentManagement":{"deniedConsentIds":["research"]}}"#) == 2)
        #expect(
            level(#"{"consent":{"level":"detailed"},"consentManagement":{"allowedConsentIds":["operations"],"deniedConsentIds":[]}}"#) == 1)
        // A purpose is not granted if only one of two granting signals names it.
        let context = #"{"consent":{"level":"standard","purposes":["operations","analytics","ads"]}}"#
        #expect(verdict(context, section(), purposes: "ads") == .denied(.purpose))
        #expect(verdict(context, section(), level: 2, purposes: "analytics") == .admitted)
    }

    // MARK: Unknown and broken shapes

    @Test(
        "an unknown shape states nothing",
        arguments: [
            "{}", "null", #"{"consent":{}}"#, #"{"consent":{"granted":true,"Level":"x"}}"#,
            #"{"consentManagement":{}}"#,
            #"{"consentManagement":{"provider":"x"}}"#, #"{"gpc":false}"#,
        ])
    func silent(context: String) {
        for consent in [section(), list()] {
            #expect(passes(context, consent) == (0, .denied(.unknown)))
            var assuming = consent
            assuming.unknown = .assume(1)
            #expect(passes(context, assuming) == (1, .denied(.level)))
        }
    }

    @Test(
        "a known but broken shape denies, even if a level is assumed",
        arguments: [
            #"{"consent":{"level":"unheard of"}}"#, #"{"consent":{"level":3}}"#, #"{"consent":{"level":null}}"#,
            #"{"consent":{"level":"\ud800"}}"#, #"{"consent":{"level":"Standard"}}"#, #"{"consent":{"level":""}}"#,
            #"{"consent":{"purposes":"operations"}}"#, #"{"consent":{"purposes":[1]}}"#, #"{"consent":{"purposes":["operations",null]}}"#,
            #"{"consent":{"purposes":{"operations":1}}}"#, #"{"consent":{"purposes":{"operations":true,"x":"yes"}}}"#,
            #"{"consent":{"purposes":null}}"#, #"{"consent":{"categoryPreferences":["operations"]}}"#,
            #"{"consent":{"categoryPreferences":{"operations":null}}}"#, #"{"consent":{"categoryPreferences":true}}"#,
            #"{"consentManagement":{"allowedConsentIds":"operations"}}"#, #"{"consentManagement":{"allowedConsentIds":{}}}"#,
            #"{"consentManagement":{"deniedConsentIds":[["x"]]}}"#, #"{"consentManagement":{"deniedConsentIds":null}}"#,
            #"{"consent":null}"#, #"{"consent":true}"#, #"{"consent":"none"}"#, #"{"consent":[]}"#, #"{"consentManagement":true}"#,
            #"{"gpc":1}"#, #"{"gpc":"true"}"#, #"{"gpc":null}"#,
            #"{"consent":{"level":"detailed"},"gpc":"1"}"#, #"{"consent":{"level":"detailed","purposes":7}}"#,
        ])
    func broken(context: String) {
        for consent in [section(), list()] {
            var assuming = consent
            assuming.unknown = .assume(3)
            #expect(passes(context, assuming) == (0, .denied(.broken)))
            #expect(verdict(context, assuming, purposes: "operations") == .denied(.broken))
        }
    }

    @Test("unknown subjects are denied, or get the assumed level with its purposes")
    func unknown() {
        #expect(verdict("{}", section(), purposes: "operations") == .denied(.unknown))
        let assuming = section { $0.unknown = .assume(1) }
        #expect(verdict("{}", assuming, purposes: "operations") == .admitted)
        #expect(verdict("{}", assuming, purposes: "analytics") == .denied(.purpose))
        #expect(passes(#"{"gpc":true}"#, assuming) == (0, .denied(.level)))
        #expect(passes(#"{"gpc":true}"#, section()) == (0, .denied(.unknown)))
    }

    @Test("more than 64 purposes are distinguished")
    func manyPurposes() {
        let names = (0..<150).map { "purpose \($0)" }
        let consent = section { $0.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: names)] }
        func listed(_ names: [String]) -> String {
            "{\"consent\":{\"purposes\":[" + names.map { "\"\($0)\"" }.joined(separator: ",") + "]}}"
        }
        #expect(passes(listed(names), consent).level == 1)
        for missing in [0, 63, 64, 149] { #expect(passes(listed(names.filter { $0 != names[missing] }), consent).level == 0) }
        #expect(verdict(listed(["purpose 149"]), consent, purposes: "purpose 149") == .admitted)
        #expect(verdict(listed(["purpose 148"]), consent, purposes: "purpose 149") == .denied(.purpose))
    }

    // MARK: Demands

    @Test("without a consent section the gate is off, and consent members are not looked for")
    func off() {
        let fixture = JudgeFixture(plan(route { $0.consent = ConsentDemand(level: 3) }))
        #expect(fixture.take(#"{"context":{"gpc":7,"gpc":8,"consent":{"level":1}},"context":2}"#))
        #expect(fixture.lines().count == 1)
        #expect(fixture.ruleset.paths.count == 2)
    }

    @Test("if nothing is demanded, consent members are not looked for")
    func nothingDemanded() {
        var plan = plan(route { $0.consent = ConsentDemand(level: 0) })
        plan.consent = section()
        #expect(JudgeFixture(plan).ruleset.paths.count == 2)
    }

    @Test("a route without a demand demands the highest level")
    func uncovered() {
        var plan = plan(route())
        plan.consent = section()
        #expect(JudgeFixture(plan).verdicts(#"{"context":{"consent":{"level":"standard"}}}"#) == [.denied(.level)])
        #expect(JudgeFixture(plan).verdicts(#"{"context":{"consent":{"level":"detailed"}}}"#) == [.admitted])
    }

    @Test("a demand for the lowest level with purposes does not admit everyone")
    func lowestWithPurposes() {
        #expect(verdict("{}", section(), level: 0, purposes: "operations") == .denied(.unknown))
        #expect(verdict("{}", section(), level: 0) == .admitted)
    }

    @Test("events can demand more than their route, on every route, and the highest demand holds")
    func events() {
        let consent = section { $0.events = [(Glob("item_*"), 1), (Glob("item_secret*"), 3), (Glob("x"), 0)] }
        #expect(passes("{}", consent, name: "other") == (0, .denied(.unknown)))
        #expect(passes("{}", consent, name: "item_viewed").level == -1)
        let standard = #"{"consent":{"level":"standard"}}"#
        #expect(passes(standard, consent, name: "item_viewed").level == 2)
        #expect(passes(standard, consent, name: "item_secret_found").level == -1)
        #expect(passes(#"{"consent":{"level":"detailed"}}"#, consent, name: "item_secret_found").level == 3)
        #expect(passes(#"{"gpc":3}"#, consent, name: "item_viewed") == (-1, .denied(.broken)))
        let falling = section { $0.events = [(Glob("item_secret*"), 3), (Glob("item_*"), 1)] }
        #expect(passes(standard, falling, name: "item_secret_found").level == -1)
    }

    // MARK: The gate

    @Test("sampling comes after consent, and consent after the filter")
    func order() {
        func verdict(_ line: String, rate: Double) -> Verdict? {
            var plan = plan(
                route {
                    $0.events = [Glob("e")]
                    $0.consent = ConsentDemand(level: 1)
                    $0.sample = SamplePlan(rate: rate)
                })
            plan.consent = section()
            return JudgeFixture(plan).verdicts(line).first
        }
        #expect(verdict(#"{"event":"x"}"#, rate: 0) == .filtered(.events))
        #expect(verdict(#"{"event":"e"}"#, rate: 0) == .denied(.unknown))
        #expect(verdict(#"{"event":"e","context":{"consent":{"level":"standard"}}}"#, rate: 0) == .sampledOut)
        #expect(verdict(#"{"event":"e","context":{"consent":{"level":"standard"}}}"#, rate: 1) == .admitted)
    }

    // MARK: Independence of earlier events

    @Test("earlier events do not affect the verdict")
    func independence() {
        var consent = section()
        consent.unknown = .assume(1)
        var plan = plan()
        plan.consent = consent
        plan.routes = (0..<4).map { level in route { $0.consent = ConsentDemand(level: level, purposes: level == 3 ? ["research"] : []) } }
        let fixture = JudgeFixture(plan)
        var random = Seeded(state: 7)
        // There are few texts, so that many occur again: exactly, almost exactly, as another member, beside another signal, or longer than
        // the memo keeps.
        let words = [
            "operations", "analytics", "analytixs", "research", "resaerch", "an\\u0061lytics", "else", String(repeating: "long", count: 50),
        ]
        for _ in 0..<rounds(3000) {
            let names = (0..<Int.random(in: 0..<5, using: &random)).map { _ in "\"\(words.randomElement(using: &random)!)\"" }
            let list = "[\(names.joined(separator: ","))]"
            let level = ["none", "essential", "standard", "detailed", "broken"].randomElement(using: &random)!
            let context = [
                #"{"consent":{"level":"\#(level)","purposes":\#(list)}}"#, #"{"consent":{"purposes":\#(list)}}"#,
                #"{"consent":{"allowedConsentIds":\#(list)}}"#, #"{"consentManagement":{"allowedConsentIds":\#(list)}}"#,
                #"{"consentManagement":{"deniedConsentIds":\#(list)},"gpc":false}"#,
                #"{"consent":{"level":"\#(level)"},"consentManagement":{"allowedConsentIds":\#(list)}}"#,
                #"{"consent":{"level":"\#(level)","purposes":\#(list)},"gpc":true}"#, #"{"consent":"\#(level) consent"}"#, "{}",
            ].randomElement(using: &random)!
            let line = #"{"context":\#(context)}"#
            #expect(fixture.verdicts(line) == JudgeFixture(plan).verdicts(line), "\(line)")
        }
    }
}
