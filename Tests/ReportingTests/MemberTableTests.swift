// Tests what the table says of members after the operations of a route and of a provider.

import Editing
import Events
import Plans
import Testing

@testable import Reporting

@Suite struct MemberTableTests {
    /// Returns the rows of a provider whose only route has these operations: the member, whether it leaves, and what is done to it.
    private func rows(_ transform: String, provider: String = "", consent: String = "") throws -> [String] {
        let plan = try plan(
            """
            { "keys": { "ids": "0123456789abcdef0123456789abcdef" },\(consent)
              "providers": { "out": { "plugin": "file"\(provider) } },
              "routes": [ { "name": "r", "transform": [\(transform)], "to": ["out"] } ] }
            """)
        let part = PlanSections(plan: plan).providers.parts[0]
        return part.table!.rows.map { "\($0[0]) | \($0[1]) | \($0[2])" }
    }

    @Test func `without operations every member leaves as it is`() throws {
        #expect(try rows("") == ["every other member | yes | as it is"])
    }

    @Test func `operations are named in their order`() throws {
        #expect(
            try rows(#"{"lower":["a"]},{"limit":{"a":5}},{"hash":{"fields":["a"],"key":"ids"}}"#) == [
                "a | yes | in lower case; cut to 5 characters; hashed with the key ids", "every other member | yes | as it is",
            ])
    }

    @Test func `a removed member stays removed, with everything below it`() throws {
        #expect(
            try rows(#"{"lower":["a.b"]},{"drop":["a"]},{"limit":{"a.b":5,"a.c":5}}"#) == [
                "a.b | no | in lower case", "a | no | removed", "every other member | yes | as it is",
            ])
    }

    @Test func `after keep nothing else leaves, and a member above a kept one has only what is kept`() throws {
        #expect(
            try rows(#"{"lower":["a","d"]},{"keep":["a.b","c"]},{"limit":{"e":5}}"#) == [
                "a | yes | in lower case; only the members below it that are named", "d | no | in lower case; not kept",
                "a.b | yes | in lower case", "c | yes | as it is", "every other member | no | not kept",
            ])
    }

    @Test func `a written member leaves, whatever was there`() throws {
        #expect(
            try rows(#"{"drop":["a"]},{"set":{"a":1}}"#) == ["a | yes | set by the router", "every other member | yes | as it is"])
        #expect(try rows(#"{"keep":["b"]},{"set":{"a":1}}"#).contains("a | yes | set by the router"))
    }

    @Test func `a moved member keeps its history at the new place`() throws {
        #expect(
            try rows(#"{"lower":["a"]},{"move":{"a":"b.c"}},{"limit":{"b.c":5}}"#) == [
                "a | no | in lower case; moved to b.c", "b.c | yes | in lower case; moved from a; cut to 5 characters",
                "every other member | yes | as it is",
            ])
    }

    @Test func `what concerns all strings concerns the named and the other members`() throws {
        #expect(
            try rows(#"{"drop":["x"]},{"lower":["a"]},{"scrub":{"find":["email"]}},{"limit":{"b":5}}"#) == [
                "x | no | removed", "a | yes | in lower case; private text (email) is replaced",
                "b | yes | private text (email) is replaced; cut to 5 characters",
                "every other member | yes | private text (email) is replaced",
            ])
    }

    @Test func `a member below a changed one has that change too`() throws {
        #expect(
            try rows(#"{"scrub":{"find":["ip"],"in":["p"],"action":"drop"}},{"lower":["p.q"]},{"limit":{"p":3}}"#) == [
                "p | yes | private text (ip) removes the member; cut to 3 characters",
                "p.q | yes | private text (ip) removes the member; in lower case; cut to 3 characters",
                "every other member | yes | as it is",
            ])
    }

    @Test func `the operations of the provider come after those of the route`() throws {
        #expect(
            try rows(#"{"lower":["a"]}"#, provider: #", "transform": [ { "drop": ["a"] } ]"#) == [
                "a | no | in lower case; removed", "every other member | yes | as it is",
            ])
    }

    @Test func `a field with a level of its own says so`() throws {
        let consent = #""consent": { "levels": { "none": [], "all": ["x"] }, "default": "none", "fields": { "t.x": "all" } },"#
        #expect(try rows("", consent: consent).first == "t.x | yes | removed below the level all")
    }

    @Test func `every operation of the language states an effect that names its members`() {
        for declaration in StepDeclaration.all {
            let example = declaration.example
            let text =
                #"{"providers":{"out":{"plugin":"file"}},"keys":{"ids":"0123456789abcdef0123456789abcdef"},"routes":[{"transform":[{"#
                + "\"\(declaration.name)\":\(example.settings)" + #"}],"to":["out"]}]}"#
            let step = try? plan(text).routes[0].transforms[0]
            let effects = step?.effects { $0 } ?? []
            #expect(!effects.isEmpty, "\(declaration.name)")
            #expect(effects.allSatisfy { !$0.words.isEmpty }, "\(declaration.name)")
            let named = Set(effects.flatMap(\.paths)).union(effects.compactMap { if case .moved(let to) = $0.kind { to } else { nil } })
            #expect(named == Set(step?.paths ?? []), "\(declaration.name)")
        }
    }
}
