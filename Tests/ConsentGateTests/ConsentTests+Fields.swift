// Members that demand more consent than the event: they are cut out, and the entry remembers the demand of those that it keeps.

import Editing
import Events
import Plans
import Testing

@testable import Admission
@testable import ConsentGate
@testable import Judging
@testable import Models

extension ConsentTests {
    private func cut(_ line: String, _ consent: ConsentPlan, _ transforms: any Step...) -> String? {
        var plan = plan(
            route {
                $0.consent = ConsentDemand(level: 0)
                $0.transforms = transforms
            })
        plan.consent = consent
        let fixture = JudgeFixture(plan)
        fixture.take(line)
        return fixture.lines().first
    }

    @Test("members that demand more than the event's state are cut out, and the event is admitted")
    func fields() {
        let consent = section { $0.fields = [(path("traits.role"), 3), (path("ip"), 1), (path("free"), 0)] }
        func event(_ context: String) -> String { #"{"ip":1,"traits":{"role":2,"n":3},"free":4,"context":\#(context)}"# }
        func rest(_ context: String, ip: String = "", role: String = "") -> String {
            "{\(ip)\"traits\":{\(role)\"n\":3},\"free\":4,\"context\":\(context)}"
        }
        let (none, essential, detailed) = ("{}", #"{"consent":{"level":"essential"}}"#, #"{"consent":{"level":"detailed"}}"#)
        #expect(cut(event(none), consent) == rest(none))
        #expect(cut(event(essential), consent) == rest(essential, ip: "\"ip\":1,"))
        #expect(cut(event(detailed), consent) == event(detailed))
        let broken = #"{"consent":{"level":7}}"#
        #expect(cut(event(broken), consent) == rest(broken))
        var assuming = consent
        assuming.unknown = .assume(3)
        #expect(cut(event(none), assuming) == event(none))
        #expect(cut(event(broken), assuming) == rest(broken))
    }

    @Test("a member is cut before the transforms begin: it is not hashed, but can be set")
    func fieldsAndTransforms() {
        let consent = section { $0.fields = [(path("id"), 1), (path("a.b"), 1)] }
        #expect(cut(#"{"id":1,"n":2}"#, consent, HashStep([path("id")], key: 0)) == #"{"n":2}"#)
        #expect(cut(#"{"id":1,"n":2}"#, consent, SetStep(constants: [(path("id"), "0")])) == #"{"id":0,"n":2}"#)
        #expect(cut(#"{"a":{"b":1}}"#, consent, SetStep(constants: [(path("a.c"), "0")])) == #"{"a":{"c":0}}"#)
        #expect(cut(#"{"a":{"b":1},"id":2}"#, consent, DropStep([path("a")])) == "{}")
    }

    @Test(
        "an entry has the highest level of its route's demand and of the fields that the event keeps",
        arguments: [
            ("{}", 0, nil), (#"{"consent":{"level":"essential"}}"#, 0, "essential"), (#"{"consent":{"level":"standard"}}"#, 0, "essential"),
            (#"{"consent":{"level":"detailed"}}"#, 0, "detailed"), (#"{"consent":{"level":"detailed"}}"#, 3, "detailed"),
            (#"{"consent":{"level":"standard"}}"#, 2, "standard"),
        ] as [(String, Int, String?)])
    func entryLevel(context: String, demand: Int, expected: String?) throws {
        var plan = plan(route { $0.consent = ConsentDemand(level: demand) })
        plan.consent = section { $0.fields = [(path("traits.role"), 3), (path("ip"), 1)] }
        let levels = RunNames()
        let fixture = JudgeFixture(plan, levels: levels)
        fixture.take(#"{"ip":1,"traits":{"role":2},"context":\#(context)}"#)
        let entry = try #require(fixture.parcels[0].entries.first)
        #expect(EntryLevel.number(of: entry.level).map { levels.all[Int($0)] } == expected)
    }

    @Test(
        "a field that an event came without does not raise the level of its entry",
        arguments: [
            (#""n":1"#, 0, nil), (#""traits":{"n":1}"#, 0, nil), (#""traits":[{"role":2}]"#, 0, nil), (#""ip":null"#, 0, "essential"),
            (#""ip":1"#, 0, "essential"), (#""ip":1"#, 2, "standard"), (#""i\u0070":1"#, 0, "essential"),
            (#""traits":{"role":2}"#, 0, "detailed"), (#""ip":1,"traits":{"role":{}}"#, 0, "detailed"),
        ] as [(String, Int, String?)])
    func lackedField(members: String, demand: Int, expected: String?) throws {
        var plan = plan(route { $0.consent = ConsentDemand(level: demand) })
        plan.consent = section { $0.fields = [(path("ip"), 1), (path("traits.role"), 3), (path("free"), 0)] }
        let levels = RunNames()
        let fixture = JudgeFixture(plan, levels: levels)
        fixture.take(#"{\#(members),"free":1,"context":{"consent":{"level":"detailed"}}}"#)
        let entry = try #require(fixture.parcels[0].entries.first)
        #expect(EntryLevel.number(of: entry.level).map { levels.all[Int($0)] } == expected)
    }

    @Test("a field that is cut out of an event does not raise the level of its entry")
    func cutField() throws {
        var plan = plan(route { $0.consent = ConsentDemand(level: 0) })
        plan.consent = section { $0.fields = [(path("ip"), 1), (path("traits.role"), 3)] }
        let levels = RunNames()
        let fixture = JudgeFixture(plan, levels: levels)
        fixture.take(#"{"ip":1,"traits":{"role":2},"context":{"consent":{"level":"standard"}}}"#)
        #expect(fixture.lines() == [#"{"ip":1,"traits":{},"context":{"consent":{"level":"standard"}}}"#])
        let entry = try #require(fixture.parcels[0].entries.first)
        #expect(EntryLevel.number(of: entry.level).map { levels.all[Int($0)] } == "essential")
    }

    @Test("a waiting event is refused as soon as its subject's level falls below that of a field that it keeps, and one without it is not")
    func keptField() throws {
        var plan = plan(route { $0.consent = ConsentDemand(level: 0) })
        plan.consent = section {
            $0.fields = [(path("ip"), 2)]
            $0.subject = [path("userId")]
        }
        let (records, levels) = (ConsentRecords(), RunNames())
        let fixture = JudgeFixture(plan, records: records, levels: levels)
        let check = SecondCheck(records, levels: levels)
        check.adopt(fixture.ruleset.consent)
        let subject = SubjectKey(of: Array("u".utf8), under: Array(0..<16))
        records.set(subject, [ConsentTerms(level: "detailed")])
        fixture.take(#"{"userId":"u","ip":1}"#)
        fixture.take(#"{"userId":"u","n":1}"#)
        #expect(fixture.lines() == [#"{"userId":"u","ip":1}"#, #"{"userId":"u","n":1}"#])
        func answer() -> SecondCheck.Answer { check.check(fixture.parcels[0].entries, fixture.parcels[0].subjects) }
        #expect(answer() == .pass)
        records.set(subject, [ConsentTerms(level: "standard")])
        #expect(answer() == .pass)
        records.set(subject, [ConsentTerms(level: "essential")])
        #expect(answer() == .refused([0]))
    }
}
