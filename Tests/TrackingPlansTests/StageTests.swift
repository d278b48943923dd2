// What the stage of a plan answers for an event, and how it changes the event.

import Document
import Events
import Testing

@testable import TrackingPlans

/// A plan and a scanner for its members.
struct PlanUnderTest {
    let plan: TrackingPlan
    private let paths: PathTrie

    init(_ text: String) throws {
        plan = try PlanFile.read(Array(text.utf8)).get()
        paths = PathTrie(plan.paths, listing: TrackingPlan.properties)
    }

    /// Returns what becomes of the event: its text, or `rejected`. `found` is the violation and what was done.
    func treat(_ line: String) -> (text: String, found: String?) {
        let store = Store()
        defer { withExtendedLifetime(store) {} }
        var scanner = Scanner(paths)
        let block = store.text(Array((line + "\n").utf8))
        guard let event = scanner.scan(block.base, 0) else { return ("no event", nil) }
        var stage = PlanStage(plan, paths)
        stage.begin()
        let name = event.slots[paths.slot(of: Path(keys: ["event"]))!].string(in: event.block)
        let answer = stage.check(event, name: name)
        let found = stage.finding.map { "\($0.action.rawValue) \($0.violation.text)" }
        guard case .passes(let passed) = answer else { return ("rejected", found) }
        let bytes = UnsafeBufferPointer(start: passed.block + Int(passed.start), count: Int(passed.end - passed.start))
        return (String(decoding: bytes, as: UTF8.self), found)
    }
}

struct StageTests {
    private static func plan(_ action: String, more: String = "") -> String {
        #"""
        {"names": "^[a-z_]+$", "violation": "\#(action)", "require": ["messageId"], \#(more)
         "events": {
           "order": {"owner": "shop",
             "properties": {"type": "object", "required": ["total"], "additionalProperties": false,
                            "properties": {"total": {"type": "number"}, "note": {"type": "string"},
                                           "items": {"type": "array", "items": {"properties": {"n": {"type": "integer"}}, "required": ["n"]}}}},
             "versions": {"2": {"properties": {"required": ["sum"]}}}},
           "identify": {"traits": {"properties": {"email": {"maxLength": 5}}}}}}
        """#
    }

    private static let good = #"{"event":"order","messageId":"1","properties":{"total":1}}"#

    @Test func anEventThatSatisfiesThePlanPassesAsItIs() throws {
        let plan = try PlanUnderTest(StageTests.plan("reject"))
        #expect(plan.treat(StageTests.good) == (StageTests.good, nil))
    }

    @Test func aRejectedEventNamesThePlaceAndTheRule() throws {
        let plan = try PlanUnderTest(StageTests.plan("reject"))
        #expect(
            plan.treat(#"{"event":"order","messageId":"1","properties":{"total":"x"}}"#) == ("rejected", "reject /properties/total: type"))
        #expect(plan.treat(#"{"event":"order","messageId":"1"}"#) == ("rejected", "reject /properties/total: required"))
        #expect(plan.treat(#"{"event":"order","messageId":"1","properties":5}"#) == ("rejected", "reject /properties: type"))
        #expect(plan.treat(#"{"event":"order","properties":{"total":1}}"#) == ("rejected", "reject /messageId: require"))
    }

    @Test func theVersionOfAnEventChoosesItsSchemas() throws {
        let plan = try PlanUnderTest(StageTests.plan("reject"))
        func event(_ version: String) -> String {
            #"{"event":"order","messageId":"1","context":{"schema_version":\#(version)},"properties":{"sum":1}}"#
        }
        #expect(plan.treat(event("2")).found == nil)
        #expect(plan.treat(event(#""2""#)).found == nil)
        #expect(plan.treat(event("3")).found == "reject /context/schema_version: version")
    }

    @Test func anEventWithoutANameGoesByItsType() throws {
        let plan = try PlanUnderTest(StageTests.plan("reject"))
        #expect(plan.treat(#"{"type":"identify","messageId":"1","traits":{"email":"123456"}}"#).found == "reject /traits/email: maxLength")
        #expect(plan.treat(#"{"messageId":"1"}"#).found == nil)
    }

    @Test func aCountedEventPassesAsItIs() throws {
        let plan = try PlanUnderTest(StageTests.plan("count"))
        let event = #"{"event":"order","messageId":"1","properties":{"total":"x"}}"#
        #expect(plan.treat(event) == (event, "count /properties/total: type"))
    }

    @Test func strippingRemovesTheOffendingMembersAndNothingElse() throws {
        let plan = try PlanUnderTest(StageTests.plan("strip"))
        func event(_ properties: String) -> String { #"{"event":"order", "messageId":"1" ,"properties": \#(properties) }"# }
        #expect(plan.treat(event(#"{"x": 1, "total": 1.0, "note": 2, "y": [{}]}"#)).text == event(#"{"total": 1.0}"#))
        // Without its member the item violates the plan too, so the list goes.
        #expect(plan.treat(event(#"{"total":1,"items":[{"n":1},{"n":"a"}]}"#)).text == event(#"{"total":1}"#))
        #expect(plan.treat(event(#"{"total":"a"}"#)) == ("rejected", "reject /properties/total: type"))
        #expect(plan.treat(event(#"{"total":1,"note":"a","note":"b"}"#)).text == event(#"{"total":1,"note":"a"}"#))
    }

    @Test func aMarkSaysWhatTheEventViolates() throws {
        let plan = try PlanUnderTest(StageTests.plan("mark"))
        func event(_ context: String) -> String { #"{\#(context)"event":"order","messageId":"1","properties":{}}"# }
        let mark = #""violation":"/properties/total: required""#
        #expect(plan.treat(event("")).text == event(#""context":{"switchyard":{\#(mark)}},"#))
        #expect(plan.treat(event(#""context":{},"#)).text == event(#""context":{"switchyard":{\#(mark)}},"#))
        #expect(plan.treat(event(#""context":{"a":1},"#)).text == event(#""context":{"switchyard":{\#(mark)},"a":1},"#))
        #expect(plan.treat(event(#""context":{"switchyard":{"b":1}},"#)).text == event(#""context":{"switchyard":{\#(mark),"b":1}},"#))
        #expect(
            plan.treat(event(#""context":{"switchyard":{"violation":"mine"}},"#)).text == event(#""context":{"switchyard":{\#(mark)}},"#))
        #expect(plan.treat(event(#""context":7,"#)).text == event(#""context":{"switchyard":{\#(mark)}},"#))
    }

    @Test func anUnplannedEventPassesUnlessThePlanSaysOtherwise() throws {
        let event = #"{"event":"other"}"#
        #expect(try PlanUnderTest(StageTests.plan("reject")).treat(event) == (event, nil))
        #expect(
            try PlanUnderTest(StageTests.plan("count", more: #""unplanned": "reject","#)).treat(event) == (
                "rejected", "reject /event: unplanned"
            ))
        #expect(try PlanUnderTest(StageTests.plan("reject")).treat(#"{"event":"Other"}"#).found == "reject /event: names")
    }

    @Test func theAnswerIsKeptForTheOtherRoutesAndCountedOnce() throws {
        let plan = try PlanFile.read(Array(StageTests.plan("reject").utf8)).get()
        let paths = PathTrie(plan.paths)
        let store = Store()
        defer { withExtendedLifetime(store) {} }
        var scanner = Scanner(paths)
        let event = scanner.scan(store.text(Array("{\"event\":\"order\"}\n".utf8)).base, 0)!
        var stage = PlanStage(plan, paths)
        let name = event.slots[paths.slot(of: Path(keys: ["event"]))!].string(in: event.block)
        for _ in 0..<2 {
            guard case .rejected = stage.check(event, name: name) else {
                Issue.record("the event passes")
                return
            }
        }
        #expect(stage.takeAction() == .reject)
        #expect(stage.takeAction() == nil)
        stage.begin()
        #expect(stage.finding == nil)
    }
}

struct PlanFileTests {
    private func faults(_ text: String) -> [String] {
        switch PlanFile.read(Array(text.utf8)) {
        case .success: []
        case .failure(let faults): faults.faults.map { "\($0.line):\($0.column): \($0.message)" }
        }
    }

    @Test func everyFaultHasItsPlace() {
        #expect(faults("{").first?.hasPrefix("1:2: ") == true)
        #expect(faults(#"{"event": {}}"#).count == 2)
        #expect(faults(#"{"events": {"a": {"properties": {"type": "no"}}}}"#).first?.hasPrefix("1:42: type must be one of") == true)
        #expect(faults(#"{"names": "^b", "events": {"a": {}}}"#) == ["1:28: the name 'a' does not match the rule of 'names'"])
        #expect(
            faults(#"{"unplanned": "strip", "events": {"a": {}}}"#).first?.hasPrefix("1:15: unplanned must be count, mark or reject")
                == true)
        #expect(faults(#"{"violation": "drop", "events": {"a": {}}}"#).count == 1)
    }

    @Test func privateMembersAreThoseThatPropertiesName() throws {
        let plan = try PlanFile.read(
            Array(
                #"""
                {"events": {"a": {"properties": {"properties": {"p": {"private": true, "type": "string"},
                 "o": {"properties": {"q": {"private": true}}}, "private": {"type": "string"}}},
                 "versions": {"1": {"traits": {"allOf": [{"properties": {"r": {"private": true}}}]}}}}}}
                """#.utf8)
        ).get()
        #expect(Set(plan.privateMembers.map(\.path.description)) == ["properties.p", "properties.o.q", "traits.r"])
        #expect(faults(#"{"events": {"a": {"properties": {"items": {"private": true}}}}}"#).count == 1)
        #expect(faults(#"{"events": {"a": {"properties": {"properties": {"b": {"private": 1}}}}}}"#).count == 1)
    }
}
