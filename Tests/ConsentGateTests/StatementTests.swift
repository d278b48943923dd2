import Events
import Plans
import Seeded
import Testing

@testable import ConsentGate
@testable import Judging
@testable import Models

private func plan(_ change: (inout ConsentPlan) -> Void = { _ in }) -> Plan {
    var consent = ConsentPlan()
    consent.levels = [
        .init(name: "none", purposes: []), .init(name: "essential", purposes: ["operations"]),
        .init(name: "standard", purposes: ["operations", "analytics"]),
    ]
    consent.subject = [path("userId"), path("anonymousId"), path("context.household")]
    consent.ledger = LedgerPlan()
    consent.map.categories = [.init("analytics", ["C0002"])]
    change(&consent)
    var plan = Models.plan(route())
    plan.consent = consent
    return plan
}

/// Reads the statements of events under a plan.
private final class StatementReader {
    private let ruleset: Ruleset
    private var judge: Judge
    private var scanner: Scanner

    init(_ plan: Plan = plan()) {
        ruleset = Ruleset(plan, subjectKey: Array(0..<16))
        judge = Judge(ruleset)
        scanner = Scanner(ruleset.paths)
    }

    /// Returns the statement of the event, or nil if it makes none.
    func action(_ line: String) -> ConsentAction? {
        var block = Block()
        block.text.append(line + "\n")
        block.seal()
        guard let event = scanner.scan(block.bytes, 0) else { preconditionFailure("no event: \(line)") }
        let statement = judge.statement(event)
        return statement == .none ? nil : judge.action(event, statement)
    }
}

private func action(_ line: String, _ plan: Plan = plan()) -> ConsentAction? { StatementReader(plan).action(line) }
private func act(_ line: String) -> ConsentAction.Act? { action(line)?.act }
private func own(_ consent: String) -> ConsentAction.Act? { act(#"{"type":"consent","userId":"u","consent":\#(consent)}"#) }
private func preferred(_ preferences: String) -> ConsentAction.Act? {
    act(
        #"{"type":"track","event":"Segment Consent Preference Updated","userId":"u","context":{"consent":{"categoryPreferences":"#
            + preferences + "}}}")
}
private func ids(_ line: String) -> [String]? { action(line).map { $0.ids.map { String(decoding: $0, as: UTF8.self) } } }

@Suite("Statements of events for the ledger")
struct StatementTests {
    @Test("what comes with a decision as evidence states nothing, whatever it is")
    func evidence() {
        let kept = action(
            #"{"type":"consent","userId":"u","consent":{"level":"essential","ipAddress":"192.0.2.7","userAgent":"a\u0062","text":"yes"}}"#)
        #expect(kept?.act == .state(ConsentTerms(level: "essential")))
        #expect(kept?.evidence == ConsentEvidence(ipAddress: "192.0.2.7", userAgent: "ab", text: "yes"))
        let odd = action(#"{"type":"consent","userId":"u","consent":{"withdrawn":true,"text":{"a":1},"ipAddress":7,"userAgent":null}}"#)
        #expect(odd?.act == .withdraw(nil) && odd?.evidence == nil)
        let long = action(
            #"{"type":"consent","userId":"u","consent":{"denied":["analytics"],"text":"\#(String(repeating: "x", count: 20_000))"}}"#)
        #expect(long?.act == .refuse(["analytics"]) && long?.evidence?.text?.utf8.count == ConsentEvidence.most)
        #expect(own(#"{"text":"yes"}"#) == .broken("its consent names no level and no purpose"))
    }

    @Test("an id that is not usable beside a usable one takes grants away, and leaves refusals")
    func unusableIDs() {
        #expect(
            act(#"{"type":"consent","userId":"u","anonymousId":["a"],"consent":{"level":"standard"}}"#)
                == .broken("one of its ids is not usable"))
        #expect(act(#"{"type":"consent","userId":"u","anonymousId":["a"],"consent":{"withdrawn":true}}"#) == .withdraw(nil))
        #expect(act(#"{"type":"identify","userId":["u"],"anonymousId":"a"}"#) == .broken("it does not carry two ids to tie"))
    }

    @Test(
        "an event of type consent states terms, a refusal or a withdrawal",
        arguments: [
            (#"{"level":"standard","version":"2"}"#, .state(ConsentTerms(level: "standard", version: "2"))),
            (#"{ "granted" : [ "operations" , "C0002" ] }"#, .state(ConsentTerms(granted: ["analytics", "operations"]))),
            (#"{"level":"standard","denied":["analytics"]}"#, .state(ConsentTerms(level: "standard", denied: ["analytics"]))),
            (#"{"granted":[],"denied":["operations"]}"#, .state(ConsentTerms(denied: ["operations"]))),
            (#"{"denied":["analytics"]}"#, .refuse(["analytics"])),
            (#"{"withdrawn":true}"#, .withdraw(nil)),
            (#"{"erase":true}"#, .withdraw(nil)),
            (#"{"withdrawn":["operations","analytics"]}"#, .withdraw(["analytics", "operations"])),
            (#"{"level":"none"}"#, .state(ConsentTerms(level: "none"))),
            (#"{"withdrawn":false,"level":"none"}"#, .state(ConsentTerms(level: "none"))),
            (#"{"l\u0065vel":"\u006eone"}"#, .state(ConsentTerms(level: "none"))),
            // A withdrawal of everything counts, whatever else the object holds.
            (#"{"level":"nonsense","withdrawn":true,"x":[{"y":"}"}]}"#, .withdraw(nil)),
        ] as [(String, ConsentAction.Act)])
    func ownForm(consent: String, expected: ConsentAction.Act) {
        #expect(own(consent) == expected)
    }

    @Test(
        "a statement with an invalid part is broken",
        arguments: [
            #"{}"#, #"[]"#, #""standard""#, #"null"#, #"{"level":"Standard"}"#, #"{"level":2}"#, #"{"levle":"standard"}"#,
            #"{"level":"none","level":"standard"}"#, #"{"granted":"analytics"}"#, #"{"granted":["ads"]}"#, #"{"granted":[1]}"#,
            #"{"granted":[["analytics"]]}"#, #"{"denied":{"analytics":true}}"#, #"{"denied":["analytics","ads"]}"#, #"{"withdrawn":"yes"}"#,
            #"{"withdrawn":[]}"#, #"{"withdrawn":["analytics"],"level":"standard"}"#, #"{"version":"2"}"#, #"{"level":"none","version":2}"#,
            #"{"erase":false}"#, #"{"erase":"true"}"#, #"{"withdrawn":null}"#, #"{"withdrawn":false}"#, #"{"level":"\ud800"}"#,
        ])
    func broken(consent: String) {
        #expect(isBroken(own(consent)))
    }

    private func isBroken(_ act: ConsentAction.Act?) -> Bool { if case .broken? = act { true } else { false } }

    @Test("Segment's preference event states its categories, and its other events state nothing")
    func preferences() {
        #expect(preferred(#"{"operations":true,"C0002":false}"#) == .state(ConsentTerms(granted: ["operations"], denied: ["analytics"])))
        #expect(preferred(#"{ "Ads" : true , "operations" : true }"#) == .state(ConsentTerms(granted: ["operations"])))
        #expect(preferred(#"{"analytics":true,"C0002":false}"#) == .state(ConsentTerms(denied: ["analytics"])))
        #expect(isBroken(preferred(#"{"operations":1}"#)) && isBroken(preferred("[]")))
        #expect(isBroken(act(#"{"type":"track","event":"Segment Consent Preference Updated","userId":"u"}"#)))
        #expect(act(#"{"type":"track","event":"Segment Consent Preference Updates","userId":"u"}"#) == nil)
        #expect(act(#"{"type":"page","event":"Segment Consent Preference Updated","userId":"u"}"#) == nil)
        #expect(
            act(
                #"{"type":"track","event":"Segment Consent Preference \u0055pdated","userId":"u","#
                    + #""context":{"consent":{"categoryPreferences":{"analytics":true}}}}"#) == .state(ConsentTerms(granted: ["analytics"]))
        )
    }

    @Test("a statement is about each id of its event once, and is broken without an id")
    func subjects() {
        let consent = #""type":"consent","consent":{"level":"none"}"#
        #expect(ids(#"{\#(consent),"userId":"u","anonymousId":"a","context":{"household":7}}"#) == ["u", "a", "7"])
        #expect(ids(#"{\#(consent),"userId":"\u0075","anonymousId":"u"}"#) == ["u"])
        #expect(isBroken(act(#"{\#(consent),"userId":""}"#)))
    }

    @Test("an alias ties its ids, and an identify ties user and device but no household")
    func ties() {
        #expect(act(#"{"type":"alias","previousId":"a","userId":"u"}"#) == .tie)
        #expect(ids(#"{"type":"alias","previousId":"a","userId":"u","anonymousId":"x"}"#) == ["a", "u"])
        #expect(isBroken(act(#"{"type":"alias","userId":"u"}"#)) && isBroken(act(#"{"type":"alias","previousId":"u","userId":"u"}"#)))
        #expect(ids(#"{"type":"identify","userId":"u","anonymousId":"a","context":{"household":"h"}}"#) == ["u", "a"])
        #expect(act(#"{"type":"identify","userId":"u","context":{"household":"h"}}"#) == nil)
        let users = plan { $0.subject = [path("userId")] }
        #expect(action(#"{"type":"identify","userId":"u","anonymousId":"a"}"#, users) == nil)
    }

    @Test("a reset unties its device, or else its user")
    func resets() {
        #expect(act(#"{"type":"reset","anonymousId":"a"}"#) == .untie)
        #expect(ids(#"{"type":"reset","anonymousId":"a","userId":"u"}"#) == ["a"])
        #expect(ids(#"{"type":"reset","userId":"u"}"#) == ["u"])
        #expect(isBroken(act(#"{"type":"reset"}"#)))
    }

    @Test("an escaped type is recognized, and no statement is read without a ledger")
    func types() {
        #expect(act(#"{"type":"consen\u0074","userId":"u","consent":{"level":"none"}}"#) == .state(ConsentTerms(level: "none")))
        #expect(act(#"{"type":"\u0061lias","previousId":"a","userId":"u"}"#) == .tie)
        for type in [#""consents""#, #""Consent""#, #""track""#, #""screen""#, #"["consent"]"#, "7", #""consent\u0074""#] {
            #expect(act(#"{"type":\#(type),"userId":"u","consent":{"level":"none"}}"#) == nil, "\(type)")
        }
        #expect(action(#"{"type":"consent","userId":"u","consent":{"level":"none"}}"#, plan { $0.ledger = nil }) == nil)
    }

    @Test("a statement counts from its timestamp, but a refusal is never late")
    func times() {
        func action(_ consent: String, _ time: String) -> ConsentAction? {
            ConsentGateTests.action(#"{"type":"consent","userId":"u","consent":\#(consent),"timestamp":\#(time)}"#)
        }
        let time = #""1970-01-01T00:00:10Z""#
        #expect(action(#"{"level":"standard"}"#, time)?.decided(after: 20_000_000_000) == 10_000_000_000)
        #expect(action(#"{"withdrawn":true}"#, time)?.decided(after: 20_000_000_000) == 20_000_000_000)
        #expect(action(#"{"denied":["analytics"]}"#, time)?.decided(after: nil) == 10_000_000_000)
        #expect(action(#"{"granted":[]}"#, time)?.decided(after: 20_000_000_000) == 20_000_000_000)
        for time in ["12", #""yesterday""#, "null"] { #expect(action(#"{"level":"standard"}"#, time)?.decided(after: 1) == nil) }
    }
}

@Suite("Statements of which only the refusals count")
struct LoweringTests {
    private let vocabulary = ConsentVocabulary(plan().consent!, purposes: ["operations", "analytics"])

    @Test(
        "the result never allows more than before",
        arguments: [
            (nil, ConsentTerms(level: "standard"), nil),
            (nil, ConsentTerms(granted: ["operations", "analytics"]), nil),
            (nil, ConsentTerms(level: "essential"), ConsentTerms(denied: ["analytics"])),
            (nil, ConsentTerms(granted: ["operations"], denied: ["analytics"]), ConsentTerms(denied: ["analytics"])),
            (nil, ConsentTerms(level: "none"), ConsentTerms(level: "none", denied: ["analytics", "operations"])),
            (nil, .withdrawn, .withdrawn),
            (ConsentTerms(level: "essential", version: "1"), ConsentTerms(level: "standard", version: "2"), nil),
            (ConsentTerms(level: "standard"), ConsentTerms(level: "standard"), nil),
            (
                ConsentTerms(level: "standard", version: "1"), ConsentTerms(level: "essential", version: "2"),
                ConsentTerms(level: "essential", denied: ["analytics"], version: "1")
            ),
            (
                ConsentTerms(granted: ["operations"]), ConsentTerms(denied: ["analytics"]),
                ConsentTerms(granted: ["operations"], denied: ["analytics"])
            ),
            (ConsentTerms(denied: ["analytics"]), ConsentTerms(granted: ["analytics", "operations"]), nil),
            (.withdrawn, ConsentTerms(level: "standard"), nil),
        ] as [(ConsentTerms?, ConsentTerms, ConsentTerms?)])
    func lowering(known: ConsentTerms?, stated: ConsentTerms, expected: ConsentTerms?) {
        #expect(vocabulary.lowered(known, by: stated) == expected)
    }

    @Test("the terms of tied ids are lowered one by one")
    func several() {
        let known = [ConsentTerms(level: "standard"), ConsentTerms(level: "essential")]
        #expect(vocabulary.lowered(known, by: .withdraw(nil)) == [.withdrawn])
        #expect(
            vocabulary.lowered(known, by: .refuse(["operations"])) == [
                ConsentTerms(level: "standard", denied: ["operations"]), ConsentTerms(level: "essential", denied: ["operations"]),
            ])
        #expect(vocabulary.lowered([], by: .withdraw(["analytics"])) == [ConsentTerms(denied: ["analytics"])])
        #expect(vocabulary.lowered([], by: .state(ConsentTerms(level: "standard"))) == nil)
        #expect(vocabulary.lowered(known, by: .tie) == nil && vocabulary.lowered(known, by: .untie) == nil)
    }
}

/// A random value in the `consent` of an event. It can be written as JSON, and read by the model.
private indirect enum RandomValue {
    case text(String)
    case list([RandomValue])
    case bool(Bool)
    case null, number, object

    static func random(_ chance: inout Seeded) -> RandomValue {
        let words = ["standard", "essential", "none", "analytics", "operations", "C0002", "ads", ""]
        switch Int.random(in: 0..<12, using: &chance) {
        case 0..<4: return .text(words.randomElement(using: &chance)!)
        case 4..<8:
            let isStrange = Int.random(in: 0..<5, using: &chance) == 0
            let count = Int.random(in: 0..<4, using: &chance)
            return .list((0..<count).map { _ in isStrange ? random(&chance) : .text(words[3...5].randomElement(using: &chance)!) })
        case 8, 9: return .bool(Bool.random(using: &chance))
        case 10: return .null
        default: return Bool.random(using: &chance) ? .number : .object
        }
    }

    func json(_ chance: inout Seeded) -> String {
        switch self {
        case .text(let text): return RandomValue.quoted(text, &chance)
        case .list(let items):
            var parts: [String] = []
            for item in items { parts.append(RandomValue.space(&chance) + item.json(&chance) + RandomValue.space(&chance)) }
            return "[" + parts.joined(separator: ",") + RandomValue.space(&chance) + "]"
        case .bool(let value): return "\(value)"
        case .null: return "null"
        case .number: return "-1.5e3"
        case .object: return #"{"level" : ["}"]}"#
        }
    }

    static func space(_ chance: inout Seeded) -> String { ["", "", " ", "\t "].randomElement(using: &chance)! }

    static func quoted(_ text: String, _ chance: inout Seeded) -> String {
        var parts = ""
        for scalar in text.unicodeScalars {
            let isEscaped = Int.random(in: 0..<20, using: &chance) == 0
            parts += isEscaped ? "\\u00" + String(scalar.value, radix: 16) : String(scalar)
        }
        return "\"\(parts)\""
    }

    /// The purposes of a valid list, or nil.
    var purposes: Set<String>? {
        guard case .list(let items) = self else { return nil }
        var found: Set<String> = []
        for item in items {
            guard case .text(let name) = item else { return nil }
            guard let purpose = ["operations": "operations", "analytics": "analytics", "C0002": "analytics"][name] else { return nil }
            found.insert(purpose)
        }
        return found
    }
    var text: String? { if case .text(let text) = self { text } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
}

@Suite("Events of type consent, compared with a simple model")
struct OwnFormModelTests {
    /// Returns the expected action, or nil if the statement is invalid.
    private func expected(_ members: [(name: String, value: RandomValue)]) -> ConsentAction.Act? {
        let values = Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value) })
        if values["withdrawn"]?.bool == true { return .withdraw(nil) }
        guard values["other"] == nil else { return nil }
        if let level = values["level"], !["none", "essential", "standard"].contains(level.text ?? "") { return nil }
        if let version = values["version"], version.text ?? "" == "" { return nil }
        for name in ["granted", "denied"] {
            if let value = values[name], value.purposes == nil { return nil }
        }
        let denied = Array(values["denied"]?.purposes ?? [])
        let isState = values["level"] != nil || values["granted"] != nil
        if let withdrawn = values["withdrawn"], withdrawn.bool == nil {
            guard let purposes = withdrawn.purposes, !purposes.isEmpty, !isState, denied.isEmpty else { return nil }
            return .withdraw(purposes.sorted())
        }
        if isState {
            return .state(
                ConsentTerms(
                    level: values["level"]?.text, granted: Array(values["granted"]?.purposes ?? []), denied: denied,
                    version: values["version"]?.text))
        }
        return denied.isEmpty ? nil : .refuse(denied.sorted())
    }

    @Test("any content is read as by the model", arguments: 0..<4)
    func random(seed: UInt64) {
        var chance = Seeded(state: seed)
        let reader = StatementReader()
        var kinds: [String: Int] = [:]
        for _ in 0..<3000 {
            var names = ["level", "granted", "denied", "version", "withdrawn"].shuffled(using: &chance)
            if Int.random(in: 0..<10, using: &chance) == 0 { names.insert("other", at: 0) }
            let members = names.prefix(Int.random(in: 0...3, using: &chance)).map { (name: $0, value: RandomValue.random(&chance)) }
            var parts: [String] = []
            for member in members {
                let space = RandomValue.space(&chance)
                parts.append(space + RandomValue.quoted(member.name, &chance) + space + ":" + space + member.value.json(&chance) + space)
            }
            let text = "{" + RandomValue.space(&chance) + parts.joined(separator: ",") + "}"
            let found = reader.action(#"{"type":"consent","userId":"u","consent":\#(text)}"#)?.act
            if let expected = expected(members) {
                #expect(found == expected, "\(text)")
                kinds[String("\(expected)".prefix(5)), default: 0] += 1
            } else if case .broken? = found {
                kinds["broken", default: 0] += 1
            } else {
                Issue.record("\(text) is taken for \(String(describing: found))")
            }
        }
        #expect(kinds.count >= 4 && kinds.values.allSatisfy { $0 > 20 }, "\(kinds)")
    }
}
