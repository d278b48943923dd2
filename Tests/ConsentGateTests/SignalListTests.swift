import Admission
import Events
import Foundation
import Judging
import Plans
import Seeded
import Testing

@testable import ConsentGate
@testable import Models

/// A plan that demands a purpose, and gives every signal with a configured meaning a meaning for it.
private func demandingPlan() -> Plan {
    var consent = ConsentPlan()
    consent.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["analytics"])]
    for schema in ConsentSignals.meanings {
        var meaning = ConsentMeaning()
        switch schema.shape {
        case .words(let words, _): meaning.words = words
        case .settings(let settings):
            for setting in settings where setting.isRequired {
                meaning.settings[setting.name] =
                    switch setting.values {
                    case .words(let words, _): .words(words)
                    case .numbers(let range, _), .number(let range): .numbers([range.lowerBound])
                    }
            }
        }
        consent.map[schema.key] = [.init("analytics", meaning)]
    }
    var plan = plan(route { $0.consent = ConsentDemand(level: 0, purposes: ["analytics"]) })
    plan.consent = consent
    return plan
}

/// Returns an event with this value at the path of the member.
private func event(_ member: ConsentMember, _ value: String) -> String {
    member.path.keys.reversed().reduce(value) { inner, key in "{\"\(key)\":\(inner)}" }
}

@Suite("The list of the signals of consent") struct SignalListTests {
    @Test("explain and reports name the members in this order")
    func order() {
        #expect(
            ConsentMember.all.map(\.path.description) == [
                "context", "context.consent", "context.consent.level", "context.consent.purposes", "context.consent.categoryPreferences",
                "context.consentManagement", "context.consentManagement.allowedConsentIds",
                "context.consentManagement.deniedConsentIds", "context.gpc", "context.consent.tcf", "context.consent.gpp",
                "context.consent.google", "context.consent.onetrust",
            ])
        #expect(ConsentSignals.meanings.map(\.key) == ["tcf", "gpp", "google"])
        #expect(
            ConsentMember.all.filter(\.isContainer).map(\.path.description) == ["context", "context.consent", "context.consentManagement"])
    }

    @Test("a number breaks every member, and only that member is reported", arguments: ConsentMember.all)
    func broken(member: ConsentMember) {
        let fixture = JudgeFixture(demandingPlan())
        let finding = fixture.findings(event(member, "7"))[0]
        #expect(finding.verdict == .denied(.broken))
        #expect(finding.gate?.signals.filter(\.isBroken).map(\.member) == [member])
        #expect(fixture.judge.takeBrokenSignals() == [member])
        #expect(fixture.judge.takeBrokenSignals().isEmpty)
    }

    @Test("the gate and explain agree on which random values of a member are broken", arguments: ConsentMember.all)
    func random(member: ConsentMember) {
        let fixture = JudgeFixture(demandingPlan())
        var chance = Seeded(state: UInt64(member.index))
        let values = [
            "null", "true", "false", "1.5e3", #""""#, #""all""#, #""a\u0062""#, "[]", #"["analytics","x"]"#, "[[]]", "{}",
            #"{"analytics":true}"#,
            #"{"analytics":1}"#, #"{"ad_storage":"granted"}"#, #"{"ad_storage":"x"}"#, #""DBABT~1YNN""#, #""C0001:1,C0002:0""#,
            #""C0001:2""#,
            "\"\(String(repeating: "C", count: 90))\"",
        ]
        for _ in 0..<60 {
            let line = event(member, values.randomElement(using: &chance)!)
            let finding = fixture.findings(line)[0]
            #expect((finding.verdict == .denied(.broken)) == (finding.gate?.signals.contains(where: \.isBroken) ?? false), "\(line)")
            #expect(finding.verdict == JudgeFixture(demandingPlan()).verdicts(line)[0], "\(line)")
        }
    }

    @Test("docs/consent.md describes every member")
    func documented() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appendingPathComponent("docs/consent.md"), encoding: .utf8)
        for member in ConsentMember.all {
            // The members of `consentManagement` are in the row of that object, and `consent` is only a part of the names of its members.
            let isInner = member.path.description.hasPrefix("context.consentManagement.")
            let name = isInner ? member.path.keys.last! : member.path.description
            #expect(text.contains("`\(name)`") || member.isContainer && text.contains("`\(name)."), "\(member.path)")
        }
    }
}
