// What a new plan breaks, and for whom.

import Testing

@testable import PlanTools

@Suite("Two plans compared") struct ComparisonTests {
    private static func lines(_ old: String, _ new: String) throws -> [String] {
        let comparison = PlanComparison(old: try PlanDocument(Array(old.utf8)), new: try PlanDocument(Array(new.utf8)))
        let lines = comparison.text(for: nil).split(separator: "\n").map(String.init)
        #expect(comparison.breaks(nil) == lines.contains { $0.hasPrefix("    senders:") || $0.hasPrefix("    readers:") })
        return lines.filter { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
    }

    /// The changes between two schemas of `properties`.
    private static func changes(_ old: String, _ new: String) throws -> [String] {
        func plan(_ schema: String) -> String { #"{"events":{"e":{"properties":\#(schema)}}}"# }
        return try lines(plan(old), plan(new))
    }

    @Test(
        "a schema that allows less breaks senders, and one that allows more breaks readers",
        arguments: [
            (
                #"{"properties":{"a":{}}}"#, #"{"properties":{"a":{}},"required":["a"]}"#, "properties.a is required now",
                "properties.a may be absent now"
            ),
            (
                #"{"properties":{"a":{"type":["string","null"]}}}"#, #"{"properties":{"a":{"type":"string"}}}"#,
                "properties.a may no longer be null", "properties.a may be null now"
            ),
            (
                #"{"properties":{"a":{"type":"number"}}}"#, #"{"properties":{"a":{"type":"integer"}}}"#,
                "properties.a may no longer be a number", "properties.a may be a number now"
            ),
            (
                #"{"properties":{"a":{"enum":["x","y"]}}}"#, #"{"properties":{"a":{"const":"x"}}}"#, #"properties.a may no longer be "y""#,
                #"properties.a may be "y" now"#
            ),
            (
                #"{"properties":{"a":{"type":"string"}}}"#, #"{"properties":{"a":{"enum":["x"]}}}"#,
                "properties.a must be one of a few values now",
                "properties.a may be any value now"
            ),
            ("{}", #"{"additionalProperties":false}"#, "properties may have no other members now", "properties may have other members now"),
            (
                #"{"properties":{"a":{"minimum":1}}}"#, #"{"properties":{"a":{"minimum":2}}}"#, "properties.a has minimum 2 now, before: 1",
                "properties.a has minimum 1 now, before: 2"
            ),
            (
                #"{"properties":{"a":{"maxLength":9}}}"#, #"{"properties":{"a":{"maxLength":8}}}"#,
                "properties.a has maxLength 8 now, before: 9", "properties.a has maxLength 9 now, before: 8"
            ),
            (
                #"{"properties":{"a":{}}}"#, #"{"properties":{"a":{"pattern":"x"}}}"#, #"properties.a has pattern "x" now"#,
                #"properties.a no longer has pattern "x""#
            ),
            (
                #"{"properties":{"a":{"type":"array","items":{"type":["string","boolean"]}}}}"#,
                #"{"properties":{"a":{"type":"array","items":{"type":"string"}}}}"#, "properties.a[] may no longer be a boolean",
                "properties.a[] may be a boolean now"
            ),
            (
                #"{"properties":{"a":{"properties":{"b":{}}}}}"#, #"{"properties":{"a":{"properties":{"b":{}},"required":["b"]}}}"#,
                "properties.a.b is required now", "properties.a.b may be absent now"
            ),
        ])
    func schemas(wide: String, narrow: String, senders: String, readers: String) throws {
        #expect(try Self.changes(wide, narrow) == ["senders: " + senders])
        #expect(try Self.changes(narrow, wide) == ["readers: " + readers])
        #expect(try Self.changes(wide, wide) == [])
    }

    @Test("schemas that allow the same are equal, however they are written")
    func equal() throws {
        let plain = #"{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"enum":["x"]}},"required":["a"]}"#
        let other =
            #"{"allOf":[{"required":["a"]},{"properties":{"b":{"const":"\u0078","description":"d"}}}],"type":["object"],"#
            + ##""properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"minimum":1.0,"type":"integer"}}}"##
        #expect(try Self.changes(plain, other) == [])
        #expect(try Self.changes(other, plain) == [])
    }

    @Test("a rule that cannot be compared breaks both if it or what it refers to changes")
    func rules() throws {
        func schema(_ type: String) -> String {
            ##"{"properties":{"a":{"anyOf":[{"$ref":"#/$defs/x"}]}},"$defs":{"x":{"type":"\##(type)"}}}"##
        }
        #expect(try Self.changes(schema("string"), schema("string")) == [])
        #expect(
            try Self.changes(schema("string"), schema("null")) == [
                "senders: properties.a has another rule anyOf now, which is not compared",
                "readers: properties.a no longer has the rule anyOf, which is not compared",
            ])
    }

    @Test("a schema that contains itself is compared")
    func recursion() throws {
        let tree = ##"{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}"##
        #expect(try Self.changes(tree, tree) == [])
        #expect(try !Self.changes(tree, #"{"properties":{"n":{"type":"string"}}}"#).isEmpty)
    }

    @Test("a new member breaks nobody, and one that is gone breaks readers, or senders if it is forbidden")
    func members() throws {
        let (one, both) = (#"{"properties":{"a":{}}}"#, #"{"properties":{"a":{},"b":{"type":"string"}}}"#)
        #expect(try Self.changes(one, both) == ["properties.b is new"])
        #expect(try Self.changes(both, one) == ["readers: properties.b is no longer in the plan"])
        func closed(_ schema: String) -> String { String(schema.dropLast()) + #","additionalProperties":false}"# }
        #expect(try Self.changes(closed(one), closed(both)) == ["properties.b is new"])
        #expect(try Self.changes(closed(both), closed(one)) == ["senders: properties.b is forbidden now"])
        #expect(
            try Self.changes(#"{"properties":{"a":{"private":true}}}"#, one) == [
                "readers: properties.a is no longer private: it may leave as it came"
            ])
    }

    @Test("events, versions, actions and the rules of the plan are compared")
    func events() throws {
        let old = #"{"events":{"a":{},"v":{"versions":{"1":{},"2":{"properties":{}}}},"gone":{}}}"#
        let new =
            #"{"names":"^[a-z]+$","require":["messageId"],"unplanned":"reject","#
            + #""events":{"a":{"violation":"strip","require":["userId"]},"v":{"versions":{"2":{"properties":{"required":["x"]}},"3":{}}},"new":{}}}"#
        #expect(
            try Self.lines(old, new) == [
                "senders: names of events must match another expression now", "senders: messageId is required now",
                "senders: an event that the plan does not name: it goes to the dead letters now, before: it passes",
                "senders: an event that violates the plan: it loses the offending members now, before: it passes and is counted",
                "senders: userId is required now", "senders: this version is no longer in the plan",
                "senders: properties.x is required now",
                "the version is new", "the event is new", "senders: the event is no longer in the plan: it goes to the dead letters",
            ])
        let removed = try Self.lines(old, #"{"events":{"a":{},"v":{"properties":{"required":["x"]}}}}"#)
        #expect(
            removed == [
                "senders: properties.x is required now", "senders: properties.x is required now",
                "readers: any version may come now",
                "readers: the event is no longer in the plan: it passes, and nothing checks its members",
            ], "\(removed)")
    }

    @Test("the text shows control characters as escapes, and JSON has each change")
    func output() throws {
        let old = try PlanDocument(Array(#"{"events":{"a\u001b[31m":{}}}"#.utf8))
        let new = try PlanDocument(Array(#"{"events":{"a\u001b[31m":{"properties":{"required":["x"]}}}}"#.utf8))
        let comparison = PlanComparison(old: old, new: new)
        #expect(comparison.text(for: nil) == "a\\u{1b}[31m\n    senders: properties.x is required now\n")
        #expect(comparison.text(for: .readers) == "" && !comparison.breaks(.readers) && comparison.breaks(.senders))
        #expect(
            comparison.json(for: nil)
                == #"{"breaks":true,"changes":[{"breaks":"senders","event":"a\u001b[31m","version":null,"place":"properties.x","change":"is required now"}]}"#
        )
    }
}
