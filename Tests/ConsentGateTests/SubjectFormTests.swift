// Tests what a member for subjects may hold, and that an event whose subject cannot be read is denied.

import Events
import Judging
import Plans
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Models

private func consentPlan(_ unknown: ConsentPlan.Unknown) -> Plan {
    var consent = ConsentPlan()
    consent.levels = [.init(name: "none", purposes: []), .init(name: "all", purposes: ["analytics"])]
    consent.subject = [path("userId"), path("anonymousId")]
    consent.unknown = unknown
    var plan = plan(route { $0.consent = ConsentDemand(level: 1) }, route { $0.consent = ConsentDemand(level: 0) })
    plan.consent = consent
    return plan
}

@Suite("The ids of an event's subjects") struct SubjectFormTests {
    @Test(
        "a member that holds no id breaks the event, whatever is assumed and granted",
        arguments: [
            #"["u1"]"#, #"{"id":"42"}"#, "42.0", "4.2e1", "42e0", "-0", "true", "false", "[]", "{}", #""\ud800""#, #""a\udc00b""#,
        ])
    func broken(value: String) {
        for unknown in [ConsentPlan.Unknown.assume(1), .deny, .hold] {
            let fixture = JudgeFixture(consentPlan(unknown), records: ConsentRecords())
            for line in [
                #"{"userId":\#(value)}"#, #"{"anonymousId":\#(value),"userId":"u2"}"#,
                #"{"userId":\#(value),"context":{"consent":{"level":"all"}}}"#,
            ] {
                let finding = fixture.findings(line)[0]
                #expect(finding.verdict == .denied(.broken), "\(line)")
                #expect(finding.gate?.broken.map(\.path.keys) == [[line.contains("anonymousId") ? "anonymousId" : "userId"]])
                #expect(fixture.verdicts(line) == [.denied(.broken), .admitted], "\(line)")
            }
            #expect(fixture.judge.takeBrokenSignals().map(\.path.description).sorted() == ["anonymousId", "userId"])
            #expect(fixture.judge.takeBrokenSignals().isEmpty)
        }
    }

    @Test("a missing, empty or null member names nobody", arguments: [#"{}"#, #"{"userId":null}"#, #"{"userId":"","anonymousId":null}"#])
    func absent(line: String) {
        #expect(JudgeFixture(consentPlan(.assume(1)), records: ConsentRecords()).verdicts(line) == [.admitted, .admitted])
        #expect(JudgeFixture(consentPlan(.deny), records: ConsentRecords()).verdicts(line) == [.denied(.unknown), .admitted])
    }

    @Test("a whole number is the id that it is written as", arguments: ["42", #""42""#, #""4\u0032""#])
    func numbers(value: String) {
        let records = ConsentRecords()
        records.set(SubjectKey(of: Array("42".utf8), under: Array(0..<16)), [.withdrawn])
        let fixture = JudgeFixture(consentPlan(.assume(1)), records: records)
        #expect(fixture.verdicts(#"{"userId":\#(value)}"#)[0] == .denied(.level))
        #expect(fixture.verdicts(#"{"userId":-42}"#)[0] == .admitted)
    }
}
