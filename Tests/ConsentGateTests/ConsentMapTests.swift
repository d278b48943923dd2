import Events
import Judging
import Plans
import Seeded
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Models

/// Nothing is allowed: the example of "Consent string and vendor list formats v2".
private let nothing = "CQSbk4AQSbk4ANwAAAENAwCgAAAAAAAAAAYgACPAAAAA.IDKQA4AAgAKAGQAygAAA.YAAAAAAAAAAA"
/// Consent for purposes 1, 7 and 8 and for vendor 3, legitimate interest for purpose 9 and for vendor 4.
private let some = "CPXxRfAPXxRfAAfKABENB-CgAIMAAACAAAYgABiAAgQAA"

private func section(_ change: (inout ConsentPlan) -> Void = { _ in }) -> ConsentPlan {
    var consent = ConsentPlan()
    consent.levels = [
        .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
        .init(name: "standard", purposes: ["operations", "analytics"]),
        .init(name: "detailed", purposes: ["operations", "analytics", "marketing"]),
    ]
    change(&consent)
    return consent
}

private func tcf(_ purposes: Int..., vendor: Int? = nil, by bases: [String]? = nil) -> ConsentMeaning {
    var tcf = ConsentMeaning()
    tcf.settings["purposes"] = .numbers(purposes)
    tcf.settings["vendor"] = vendor.map { .numbers([$0]) }
    tcf.settings["basis"] = bases.map { .words($0) }
    return tcf
}

private func words(_ words: String...) -> ConsentMeaning {
    var meaning = ConsentMeaning()
    meaning.words = words
    return meaning
}

/// Returns the first letters of the granted purposes, or the reason why there are none.
private func granted(_ context: String, _ consent: ConsentPlan) -> String {
    let purposes = ["operations", "analytics", "marketing"]
    var plan = plan()
    plan.consent = consent
    plan.routes = purposes.map { purpose in route { $0.consent = ConsentDemand(level: 0, purposes: [purpose]) } }
    let verdicts = JudgeFixture(plan).verdicts(#"{"context":\#(context)}"#)
    if verdicts.contains(.denied(.broken)) { return "broken" }
    if verdicts.contains(.denied(.unknown)) { return "unknown" }
    return String(zip(purposes, verdicts).filter { $0.1 == .admitted }.compactMap(\.0.first))
}

@Suite struct ConsentMapTests {
    // MARK: TCF

    private let analytics = section { $0.map["tcf"] = [.init("analytics", tcf(8)), .init("marketing", tcf(2))] }

    @Test("a TC string grants the purposes of the map if there is no other signal")
    func tcfGrants() {
        #expect(granted(#"{"consent":{"tcf":"\#(some)"}}"#, analytics) == "a")
        #expect(granted(#"{"consent":{"tcf":"\#(nothing)"}}"#, analytics) == "")
        #expect(granted(#"{"consent":{"tcf":"\u0043\#(some.dropFirst())"}}"#, analytics) == "a")
    }

    @Test("every named TCF purpose must be allowed, for the named vendor and on a named basis")
    func tcfRules() {
        func passes(_ rule: ConsentMeaning) -> Bool {
            granted(#"{"consent":{"tcf":"\#(some)"}}"#, section { $0.map["tcf"] = [.init("marketing", rule)] }) == "m"
        }
        #expect(passes(tcf(8)) && passes(tcf(1, 7, 8)) && !passes(tcf(1, 2, 8)) && !passes(tcf(9)))
        #expect(passes(tcf(8, vendor: 3)) && !passes(tcf(8, vendor: 4)) && !passes(tcf(8, vendor: 755)))
        #expect(passes(tcf(9, by: ["legitimate_interest"])) && !passes(tcf(8, by: ["legitimate_interest"])))
        #expect(passes(tcf(8, 9, by: ["consent", "legitimate_interest"])))
        #expect(passes(tcf(9, vendor: 4, by: ["legitimate_interest"])) && !passes(tcf(9, vendor: 3, by: ["legitimate_interest"])))
    }

    @Test("purposes that a signal does not cover stay unknown")
    func scope() {
        let context = #"{"consent":{"tcf":"\#(some)"}}"#
        var assuming = analytics
        assuming.unknown = .assume(1)
        #expect(granted(context, assuming) == "oa")
        // The assumed level is capped too.
        assuming.unknown = .assume(3)
        #expect(granted(context, assuming) == "oa")
        #expect(granted("{}", assuming) == "oam")
    }

    @Test("beside another signal, a TC string can only restrict")
    func tcfCaps() {
        #expect(granted(#"{"consent":{"level":"detailed","tcf":"\#(some)"}}"#, analytics) == "oa")
        #expect(granted(#"{"consent":{"level":"essential","tcf":"\#(some)"}}"#, analytics) == "o")
        #expect(granted(#"{"consent":{"purposes":["marketing"],"tcf":"\#(some)"}}"#, analytics) == "")
        #expect(granted(#"{"consent":{"categoryPreferences":{"operations":true},"tcf":"\#(some)"}}"#, analytics) == "o")
        #expect(granted(#"{"gpc":true,"consent":{"tcf":"\#(some)"}}"#, analytics) == "")
    }

    // MARK: GPP

    private let selling = section {
        $0.map["gpp"] = [.init("marketing", words("sale", "sharing")), .init("analytics", words("targeted_advertising", "sensitive_data"))]
    }

    @Test("an opt-out of a GPP string refuses, even what is assumed, and grants nothing")
    func gppRefuses() {
        var assuming = selling
        assuming.unknown = .assume(3)
        let (sold, kept) = ("DBABT~1YYN", "DBABT~1YNN")
        #expect(granted(#"{"consent":{"gpp":"\#(kept)"}}"#, selling) == "unknown")
        #expect(granted(#"{"consent":{"gpp":"\#(sold)"}}"#, selling) == "unknown")
        #expect(granted(#"{"consent":{"gpp":"\#(kept)"}}"#, assuming) == "oam")
        #expect(granted(#"{"consent":{"gpp":"\#(sold)"}}"#, assuming) == "oa")
        #expect(granted(#"{"consent":{"level":"detailed","gpp":"\#(sold)"}}"#, selling) == "oa")
        #expect(granted(#"{"consent":{"level":"detailed","gpp":"\#(kept)"}}"#, selling) == "oam")
    }

    @Test("Global Privacy Control in a section of a GPP string counts as that of the event")
    func gppControl() {
        // The national section, without an opt-out.
        let control = #"{"consent":{"level":"detailed","gpp":"DBABL~BAAqAAAAAA.YA"}}"#
        #expect(granted(control, selling) == "")
        #expect(granted(control.replacing(".YA", with: ".QA"), selling) == "oam")
        var naming = selling
        naming.gpc = ["marketing"]
        #expect(granted(control, naming) == "oa")
        naming.gpc = []
        #expect(granted(control, naming) == "oam")
    }

    @Test("the European section of a GPP string counts as a TC string")
    func gppHoldsTCF() {
        #expect(granted(#"{"consent":{"gpp":"DBABM~\#(some)"}}"#, analytics) == "a")
        // With both, the stricter one holds.
        #expect(granted(#"{"consent":{"gpp":"DBABM~\#(nothing)","tcf":"\#(some)"}}"#, analytics) == "")
        #expect(granted(#"{"consent":{"gpp":"DBABM~\#(some)"}}"#, selling) == "unknown")
    }

    // MARK: Google's consent mode

    private let google = section {
        $0.map["google"] = [.init("marketing", words("ad_storage", "ad_user_data")), .init("analytics", words("analytics_storage"))]
    }

    @Test(
        "a purpose needs all of its signals, and is not covered if none of them is given",
        arguments: [
            (#"{"analytics_storage":"granted"}"#, "a", "oam"), (#"{"analytics_storage":"denied"}"#, "", "om"),
            (#"{"ad_storage":"granted","ad_user_data":"granted"}"#, "m", "oam"), (#"{"ad_storage":"granted"}"#, "", "oa"),
            (#"{"ad_storage":"granted","ad_user_data":"denied"}"#, "", "oa"),
            (
                #"{ "ad_storage" : "granted" , "x" : [ {"y}":"]"} , 2 ] , "wait_for_update" : 500 , "ad_user_data" : "granted" }"#, "m",
                "oam"
            ),
            (#"{"ad\u005fstorage":"gr\u0061nted","ad_user_data":"granted","z":null}"#, "m", "oam"),
            (#"{"analytics_storage":"granted","analytics_storage":"denied"}"#, "", "om"),
            (#"{"analytics_storage":"denied","analytics_storage":"granted"}"#, "", "om"),
            (#"{}"#, "unknown", "oam"), (#"{"ad_personalization":"denied"}"#, "unknown", "oam"),
        ])
    func google(mode: String, alone: String, assuming all: String) {
        var assuming = google
        assuming.unknown = .assume(3)
        #expect(granted(#"{"consent":{"google":\#(mode)}}"#, google) == alone)
        #expect(granted(#"{"consent":{"google":\#(mode)}}"#, assuming) == all)
    }

    // MARK: Categories

    @Test("an alias of a purpose counts like its name, wherever an event names purposes")
    func categories() {
        let consent = section {
            $0.map.categories = [.init("marketing", ["Advertising", "C0004"]), .init("analytics", ["C0002", "C0004"])]
        }
        #expect(granted(#"{"consent":{"categoryPreferences":{"Advertising":true}}}"#, consent) == "m")
        #expect(granted(#"{"consent":{"categoryPreferences":{"C0004":true,"operations":true}}}"#, consent) == "oam")
        #expect(granted(#"{"consent":{"categoryPreferences":{"C0004":true,"Advertising":false}}}"#, consent) == "a")
        #expect(granted(#"{"consent":{"categoryPreferences":{"marketing":true,"C0004":false,"C0002":true}}}"#, consent) == "")
        #expect(granted(#"{"consent":{"purposes":["C0002","c0004"]}}"#, consent) == "a")
        #expect(granted(#"{"consentManagement":{"allowedConsentIds":["C0004"],"deniedConsentIds":["C0002"]}}"#, consent) == "m")
        #expect(granted(#"{"consentManagement":{"allowedConsentIds":["marketing","analytics"]}}"#, consent) == "am")
    }

    // MARK: Empty and broken signals

    private let everything = section {
        $0.unknown = .assume(3)
        $0.map["tcf"] = [.init("analytics", tcf(8))]
        $0.map["gpp"] = [.init("marketing", words("sale"))]
        $0.map["google"] = [.init("marketing", words("ad_storage"))]
    }

    @Test("an unmapped signal is not read, even if it is broken", arguments: [#""tcf":7"#, #""gpp":"x""#, #""google":{"ad_storage":1}"#])
    func unmapped(member: String) {
        #expect(granted(#"{"consent":{\#(member)}}"#, section { $0.unknown = .assume(3) }) == "oam")
    }

    @Test("an empty string states nothing", arguments: [#""tcf":"""#, #""gpp":"""#])
    func empty(member: String) {
        #expect(granted(#"{"consent":{\#(member)}}"#, everything) == "oam")
    }

    @Test(
        "a broken signal with a map denies, even if a level is assumed",
        arguments: [
            #""tcf":null"#, #""tcf":7"#, #""tcf":"x""#, #""tcf":"\ud800""#, #""tcf":["\#(some)"]"#, #""tcf":"\#(some.dropLast(2))""#,
            #""tcf":"BOEFEAyOEFEAyAHABDENAIgAAAB9vABAASA""#, #""gpp":null"#, #""gpp":"1YNN""#, #""gpp":"DBABT~1YN""#,
            #""gpp":"DBABM~\#(some.dropLast(2))""#, #""gpp":{}"#, #""google":null"#, #""google":"granted""#, #""google":[]"#,
            #""google":{"ad_storage":true}"#, #""google":{"ad_storage":"Granted"}"#, #""google":{"ad_storage":"\ud800"}"#,
            #""google":{"ad_storage":["granted"]}"#, #""google":{"ad_storage":null,"analytics_storage":"granted"}"#,
        ])
    func broken(member: String) {
        #expect(granted(#"{"consent":{\#(member)}}"#, everything) == "broken")
        #expect(granted(#"{"consent":{\#(member),"level":"detailed"}}"#, everything) == "broken")
    }

    @Test("one broken signal denies, whatever the other signals are")
    func brokenAmongOthers() {
        let good = #""tcf":"\#(some)","gpp":"DBABT~1YNN","google":{"ad_storage":"granted"}"#
        #expect(granted("{\"consent\":{\(good)}}", everything) == "oam")
        #expect(granted("{\"consent\":{\(good.replacing("1YNN", with: "1YN"))}}", everything) == "broken")
        #expect(granted("{\"consent\":{\(good.replacing("granted", with: "x"))}}", everything) == "broken")
        #expect(granted("{\"consent\":{\(good.replacing(some, with: "x"))}}", everything) == "broken")
    }

    @Test("earlier events do not affect the verdict")
    func independence() {
        var plan = plan()
        plan.consent = everything
        plan.consent?.unknown = .deny
        plan.routes = ["analytics", "marketing"].map { purpose in route { $0.consent = ConsentDemand(level: 0, purposes: [purpose]) } }
        let fixture = JudgeFixture(plan)
        let strings = [some, nothing, String(some.dropLast(2)), ""]
        let modes = [#"{"ad_storage":"granted"}"#, #"{"ad_storage":"denied"}"#, "{}"]
        let sections = ["DBABT~1YNN", "DBABT~1YYN", "DBABL~BAAqAAAAAA.YA"]
        var random = Seeded(state: 3)
        func pick(_ list: [String]) -> String { list[Int.random(in: 0..<list.count, using: &random)] }
        for _ in 0..<300 {
            var members: [String] = []
            if Bool.random(using: &random) { members.append(#""google":\#(pick(modes))"#) }
            if Bool.random(using: &random) { members.append(#""gpp":"\#(pick(sections))""#) }
            if Bool.random(using: &random) { members.append(#""tcf":"\#(pick(strings))""#) }
            let line = #"{"context":{"consent":{\#(members.joined(separator: ","))}}}"#
            #expect(fixture.verdicts(line) == JudgeFixture(plan).verdicts(line), "\(line)")
        }
    }

    // MARK: Members of the user's own

    private let own = section {
        $0.unknown = .assume(1)
        $0.map.members = [
            .init("analytics", [MatchPlan(path: path("context.device.att"), anyOf: [.string("authorized"), .number("3")])]),
            .init(
                "marketing",
                [
                    MatchPlan(path: path("context.device.att"), anyOf: [.string("authorized")]),
                    MatchPlan(path: path("ads"), anyOf: [.bool(true)]),
                ]),
        ]
    }

    @Test("a member of the user's own grants or denies its purposes by its value, and a missing one states nothing")
    func members() {
        func granted(_ rest: String) -> String {
            var plan = plan()
            plan.consent = own
            plan.routes = ["operations", "analytics", "marketing"].map { name in
                route { $0.consent = ConsentDemand(level: 0, purposes: [name]) }
            }
            let fixture = JudgeFixture(plan)
            let verdicts = fixture.verdicts("{\(rest)}")
            if verdicts.contains(.denied(.broken)) {
                return "broken " + fixture.judge.takeBrokenSignals().map(\.path.description).joined()
            }
            return String(zip("oam", verdicts).filter { $0.1 == .admitted }.map(\.0))
        }
        #expect(granted(#""context":{"device":{"att":"authorized"}}"#) == "oam")
        #expect(granted(#""context":{"device":{"att":3.0}}"#) == "oa")
        #expect(granted(#""context":{"device":{"att":"denied"}}"#) == "o")
        #expect(granted(#""context":{"device":{"att":"authorized"}},"ads":false"#) == "oa")
        #expect(granted(#""ads":true"#) == "om")
        #expect(granted(#""ads":null,"context":{"device":{"att":null}}"#) == "o")
        #expect(granted(#""x":1"#) == "o")
        #expect(granted(#""ads":true,"context":{"gpc":true}"#) == "")
        #expect(granted(#""ads":[true]"#) == "broken ads")
        #expect(granted(#""context":{"device":{"att":{"x":1}}}"#) == "broken context.device.att")
        #expect(granted(#""ads":true,"context":"x""#) == "broken context")
        // The same values once more, because the gate remembers what it has read.
        #expect(granted(#""ads":true,"context":"x""#) == "broken context")
    }

    @Test("OneTrust's active groups grant the purposes that categories gives them, and no others")
    func oneTrust() {
        let consent = section {
            $0.map.categories = [.init("analytics", ["C0002"]), .init("marketing", ["C0004"]), .init("operations", ["C0001"])]
        }
        func read(_ text: String) -> String { granted(#"{"consent":{"onetrust":"\#(text)"}}"#, consent) }
        #expect(read("C0001:1,C0002:0,C0004:1") == "om")
        #expect(read(",C0001,C0002,") == "oa")
        #expect(read("isGpcEnabled=0&groups=C0001%3A1%2CC0002%3A1%2CC0004%3A0&x=1") == "oa")
        #expect(read("isGpcEnabled=1&groups=C0001%3A1") == "")
        #expect(read("C0001:1,C0001:0,C0002:1") == "a")
        #expect(read("C0001:2") == "broken")
        #expect(read("") == "unknown" && read("isGpcEnabled=0") == "unknown")
        #expect(granted(#"{"consent":{"onetrust":["C0001"]}}"#, consent) == "broken")
    }

    @Test("of a list of levels the lowest holds")
    func levels() {
        let consent = section()
        func read(_ level: String) -> String { granted(#"{"consent":{"level":\#(level)}}"#, consent) }
        #expect(read(#"["detailed","essential"]"#) == "o" && read(#"["essential", "detailed"]"#) == "o" && read(#"["standard"]"#) == "oa")
        for broken in ["[]", #"["essential","x"]"#, #"["essential",7]"#, #"[["essential"]]"#] { #expect(read(broken) == "broken") }
    }

    @Test("Canada's string grants the purposes of the map by express or by implied consent")
    func canada() {
        let text = "DBABD~BPSG_8APSG_8AAyACAENGdCgf_gfgAfgfgBhADVqxGAD0AILVgAA.fHHHA4444ao"
        func read(_ bases: [String]?, vendor: Int?) -> String {
            granted(#"{"consent":{"gpp":"\#(text)"}}"#, section { $0.map["tcf"] = [.init("analytics", tcf(1, vendor: vendor, by: bases))] })
        }
        #expect(read(nil, vendor: 12) == "a" && read(nil, vendor: 18) == "")
        let broken = #"{"consent":{"gpp":"DBABD~CPXxRfAPXxRfAAfKABENB-CgAAAAAAAAAAYgAAAAAAAA"}}"#
        #expect(granted(broken, section { $0.map["tcf"] = [.init("analytics", tcf(1))] }) == "broken")
        #expect(granted(broken, section { $0.map["gpp"] = [.init("analytics", words("sale"))] }) == "unknown")
    }
}
