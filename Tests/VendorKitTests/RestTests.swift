// What a vendor has no place of its own for, in the ways that formats want it.

import Testing
import VendorKit
import VendorSupport

/// Writes what is left of the properties and of the event: flat, or as lines that are no JSON. Texts of a table come before.
private struct Leftovers: Vendor {
    static let about = VendorDescription(name: "leftovers", version: "1.0.0", summary: "For tests.", settings: [:])
    static let table: MemberTable = ["properties.a": "x", "context.a": "x", "properties.b": "y"]

    private let flat, lines: Endpoint.ID
    private let members: MemberMap

    init(_ setup: inout Setup) {
        flat = setup.endpoint(
            Endpoint("https://flat.invalid", path: "/", envelope: Envelope("[", between: ",", after: "]"), limits: .init()))
        var text = Endpoint("https://lines.invalid", path: "/", envelope: Envelope(), limits: .init())
        text.isJSON = false
        lines = setup.endpoint(text)
        members = setup.members(Leftovers.table)
        setup.reserve("own", in: "properties")
    }

    func map(_ event: CanonicalEvent, to wire: inout WireEvents) {
        wire.begin(flat)
        wire.openObject()
        wire.texts(members, of: event)
        wire.spliceFlatRest(of: event.properties, in: event)
        wire.closeObject()
        wire.end()
        wire.begin(lines)
        // Each is given once, and only what is left of it.
        for object in [event.properties, event.traits, event.traits, event.whole] {
            wire.withRest(of: object, in: event) { wire, rest in
                for (key, value) in rest.members {
                    wire.put(bytes: key.json)
                    wire.put("=")
                    wire.put(bytes: value.json)
                    wire.put("\n")
                }
            }
        }
        wire.end()
    }
}

private func bodies(_ event: String) throws -> [String] {
    let mapped = try Mapped(Leftovers.self, "{}", [event])
    return mapped.refused.isEmpty ? mapped.bodies.map(\.text) : [mapped.refused[0] ?? ""]
}

@Suite("VendorKit: what is left of an event")
struct RestTests {
    @Test("a table writes texts only, and of two members for one name the first text")
    func texts() throws {
        #expect(try bodies(#"{"properties":{"a":1,"b":"y"},"context":{"a":"z"}}"#)[0] == #"[{"x":"z","y":"y","a":1}]"#)
        #expect(try bodies(#"{"properties":{"a":"1","b":""},"context":{"a":"z"}}"#)[0] == #"[{"x":"1","b":""}]"#)
    }

    @Test("what is left of an object can be written flat into the object that is open")
    func flat() throws {
        #expect(
            try bodies(#"{"properties":{"n":{"m":{"k":1},"l":[{"q":2}]},"a":"A","e":{}}}"#)[0]
                == #"[{"x":"A","n.m.k":1,"n.l":[{"q":2}],"e":{}}]"#)
        #expect(try bodies(#"{"properties":[1]}"#)[0] == "[{}]")
    }

    @Test("a format that is no JSON gets what is left, each member once")
    func lines() throws {
        #expect(
            try bodies(
                #"{"type":"track","event":"E","properties":{"p":1},"traits":{"t":{"u":[1]}},"context":{"a":"z","c":null},"s":"\"\\"}"#)[1]
                == "\"t\"={\"u\":[1]}\n\"event\"=\"E\"\n\"context\"={\"c\":null}\n\"s\"=\"\\\"\\\\\"\n")
        #expect(try bodies("{}") == ["[{}]", ""])
        // What is left of a long event ends at the end of the copy.
        let long = String(repeating: "x", count: 5000)
        #expect(try bodies(#"{"context":{"a":"z","long":"\#(long)"},"t":1}"#)[1] == "\"context\"={\"long\":\"\(long)\"}\n\"t\"=1\n")
    }

    @Test("an event that has a member which the vendor itself writes is refused")
    func reserved() throws {
        #expect(try bodies(#"{"properties":{"own":null}}"#) == ["properties has the member own, which the provider itself writes"])
    }
}
