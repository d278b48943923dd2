// Expressions and the tracking plan: each expression that has no value for an event of the plan, beside one that differs by little and has one.

import Linting
import Testing

@Suite("The linter, with a tracking plan") struct ExpressionLintTests {
    private static let plan = #"""
        {"events":{
          "bought":{"properties":{"type":"object","required":["total","kind"],"properties":{
            "total":{"type":"number","minimum":0},"count":{"type":"integer","minimum":0,"maximum":50},"kind":{"enum":["a","b"]},
            "note":{"type":["string","null"]},"at":{"type":"string","format":"date-time"},
            "code":{"type":"string","pattern":"^[A-Z]{3}$"},"empty":{"type":"string"},
            "items":{"type":"array","items":{"type":"object","properties":{"price":{"type":"number"}}}}}}},
          "seen":{"properties":{"type":"object","additionalProperties":false,"properties":{"page":{"type":"string"}}}},
          "free":{},
          "identify":{"traits":{"type":"object","properties":{"age":{"type":"integer"}}}}}}
        """#

    /// What is found of a route with these members, without findings of other rules.
    private func find(_ route: String, more: String = "", before: String = "", unplanned: Bool = false) -> [String] {
        let plan = unplanned ? Self.plan : String(Self.plan.dropLast()) + #","unplanned":"reject"}"#
        let text =
            #"{"plan":"plan.json",\#(more)"providers":{"a":{"plugin":"vendor"}},"routes":[\#(before){\#(route),"to":["a"]}]}"#
        return findings(text, plan: plan).filter { $0.rule.number == "SY0107" || $0.rule.number == "SY0108" }
            .map { "\($0.rule.number) \($0.path): \($0.reason)" }
    }

    @Test(
        "finds an expression that has no value for an event of the plan",
        arguments: [
            // A member that may be absent.
            (
                #""events":["bought"],"where":"properties.count > 5""#,
                "properties.count: the event has no such member, for bought without properties.count"
            ),
            // A type of a union.
            (#""events":["bought"],"where":"has(properties.note) && properties.note.size() > 5""#, "where properties.note is null"),
            // Extremes: the declared least number, an empty text, a list that is empty.
            (
                #""events":["bought"],"where":"has(properties.count) && 10 / properties.count > 5""#,
                "10 / properties.count: division by zero, for bought where properties.count is 0"
            ),
            (#""events":["bought"],"where":"has(properties.empty) && int(properties.empty) > 5""#, "this text is not a number"),
            (#""events":["bought"],"where":"has(properties.items) && properties.items[0].price > 1.0""#, "the index is out of range"),
            // Inside of a macro.
            (
                #""events":["bought"],"where":"has(properties.items) && properties.items.exists(i, i.price > 1.0)""#,
                "i.price: there is no such key"
            ),
            // Behind a member that the plan does not know, and behind what the filter demands.
            (
                #""events":["bought"],"where":"context.app == 'x' && properties.count > 5""#,
                "properties.count: the event has no such member"
            ),
            (
                #""events":["bought"],"match":{"properties.kind":"b","context.app":"x"},"where":"properties.count > 5""#,
                "properties.count: the event has no such member"
            ),
            // Of another event that the route takes.
            (#""where":"properties.total > 5.0""#, "properties.total: the event has no such member, for seen"),
            (
                #""match":{"type":"identify"},"where":"traits.age > 5""#,
                "traits.age: the event has no such member, for identify without traits.age"
            ),
        ])
    func errs(route: String, reason: String) {
        let found = find(route)
        #expect(found.contains { $0.hasPrefix("SY0107 routes[0].where: ") && $0.contains(reason) }, "\(found)")
    }

    @Test(
        "finds nothing where each event of the plan has a value",
        arguments: [
            #""events":["bought"],"where":"properties.total > 5.0""#,
            #""events":["bought"],"where":"has(properties.count) && properties.count * 1000 > 5""#,
            #""events":["bought"],"where":"this.?properties.?count.orValue(0) > 5""#,
            #""events":["bought"],"where":"has(properties.note) && properties.note != null && properties.note.size() > 5""#,
            #""events":["bought"],"where":"has(properties.at) && timestamp(properties.at) < now""#,
            #""events":["bought"],"where":"has(properties.items) && properties.items.exists(i, has(i.price) && i.price > 1.0)""#,
            #""events":["bought"],"where":"has(properties.code) && properties.code.charAt(2) == 'R'""#,
            // The plan says nothing of these.
            #""events":["bought"],"where":"context.app == 'x'""#, #""events":["bought"],"where":"properties.total > context.least""#,
            #""events":["free"],"where":"properties.count > 5""#, #""events":["unknown"],"where":"properties.count > 5""#,
            // The filter takes no such event.
            #""events":["bought"],"match":{"properties.count":5},"where":"properties.count > 5""#,
            #""events":["bought"],"not":{"match":{"properties.kind":["a","b"]}},"where":"properties.count > 5""#,
            // The plan does not allow such an event.
            #""events":["bought"],"match":{"properties.total":"x"},"where":"properties.total > 5.0""#,
        ])
    func silent(route: String) {
        let found = find(route)
        #expect(found.isEmpty, "\(found)")
    }

    @Test("finds each place of an expression")
    func places() {
        #expect(
            find(#""events":["bought"],"not":{"where":"properties.count > 5"}"#).map { String($0.prefix(28)) } == [
                "SY0107 routes[0].not.where: "
            ])
        #expect(
            find(#""events":["bought"],"sample":{"rate":0.5,"keep":{"where":"properties.count > 5"}}"#).map { String($0.prefix(36)) }
                == ["SY0107 routes[0].sample.keep.where: "])
        #expect(
            find(#""events":["bought"],"transform":[{"drop":["x"]},{"set":{"y":{"cel":"properties.count + 1"}}}]"#).map {
                String($0.prefix(32))
            }
                == [String("SY0107 routes[0].transform[1]: pr".prefix(32))])
        let emits =
            #""emit":[{"where":"event == 'bought'","event":{"event":"e","n":{"cel":"properties.count"}}},"#
            + #"{"where":"properties.note == 'x'","event":{"event":"f"}}],"#
        let found = find(#""events":["zzz"]"#, more: emits)
        #expect(
            found.contains { $0.hasPrefix("SY0107 emit[0].event: properties.count: the event has no such member, for bought without") },
            "\(found)")
        #expect(
            found.contains { $0.hasPrefix("SY0107 emit[1].where: properties.note: the event has no such member, for bought without") },
            "\(found)")
    }

    @Test("tries another event of those that are alike for the route, if what is wrong with the first one is no finding")
    func alike() {
        let event = #"{"properties":{"type":"object","properties":{"count":{"type":"integer"}}}}"#
        let plan = #"{"unplanned":"reject","events":{"free":{},"first":\#(event),"second":\#(event),"third":\#(event)}}"#
        func find(_ first: String, _ second: String) -> [String] {
            let text =
                #"{"plan":"plan.json","providers":{"a":{"plugin":"vendor"}},"routes":[{\#(first),"to":["a"]},{\#(second),"to":["a"]}]}"#
            return findings(text, plan: plan).filter { $0.rule.number == "SY0107" }.map { "\($0.path): \($0.reason)" }
        }
        let condition = #""where":"properties.count > 5""#
        // The first event is taken by an earlier route, or the plan says nothing of its members.
        let rest = find(#""events":["first"]"#, #""events":["first","second","third"],"else":true,\#(condition)"#)
        #expect(
            rest.count == 1 && rest[0].contains("routes[1].where: ") && rest[0].contains("for second without properties.count"), "\(rest)")
        let known = find(#""events":["x"]"#, condition)
        #expect(known.count == 1 && known[0].contains("for first without properties.count"), "\(known)")
        #expect(find(#""events":["first","second","third"]"#, #""else":true,\#(condition)"#).isEmpty)
    }

    @Test("says nothing of events that an earlier route takes from one with else")
    func rest() {
        let route = #""events":["bought"],"else":true,"where":"properties.count > 5""#
        #expect(find(route, before: #"{"events":["z"],"to":["a"]},"#).count == 1)
        #expect(find(route, before: #"{"events":["b*"],"to":["a"]},"#).isEmpty)
        #expect(find(route, before: #"{"events":["b*"],"where":"has(properties.count)","to":["a"]},"#).count == 1)
    }

    @Test(
        "notes a condition that no event of the plan fulfils",
        arguments: [
            (#""events":["bought"],"where":"properties.kind == 'c'""#, true),
            (#""events":["bought"],"where":"properties.kind == 'a'""#, false),
            (#""events":["bought"],"where":"properties.kind in ['c', 'd'] && has(properties.note)""#, true),
            (#""events":["bought"],"where":"properties.kind in ['c', 'b']""#, false),
            (#""events":["bought"],"where":"properties.total == 'x'""#, true),
            (#""events":["bought"],"where":"properties.other == 'x'""#, false),
            (#""events":["seen"],"where":"properties.other == 'x'""#, true), (#""events":["s*"],"where":"properties.other == 'x'""#, true),
            (#""events":["bought"],"where":"properties.kind == 'c' || has(properties.note)""#, false),
            (#""events":["bought","unknown"],"where":"properties.kind == 'c'""#, true), (#""where":"properties.kind == 'c'""#, false),
        ])
    func neverTrue(route: String, isFound: Bool) {
        #expect(find(route).contains { $0.hasPrefix("SY0108 routes[0].where") } == isFound)
    }

    @Test("does not claim to know the events that a plan without unplanned lets pass")
    func open() {
        let never = #","where":"properties.kind == 'c'""#
        #expect(find(#""events":["bou*"]"# + never, unplanned: true).isEmpty)
        #expect(find(#""events":["bought","unknown"]"# + never, unplanned: true).isEmpty)
        #expect(find(#""events":["bought"]"# + never, unplanned: true).count == 1)
    }

    @Test("is silent about what the route allows")
    func allowed() {
        #expect(find(#""events":["bought"],"lint":{"allow":["SY0107"]},"where":"properties.count > 5""#).isEmpty)
    }
}
