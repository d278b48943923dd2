// The first plan that is written from events: what it says, what it never says, and that the same events satisfy it.

import Document
import Events
import Testing
import TrackingPlans

@testable import PlanTools

/// A plan that was inferred from lines.
struct Inferred {
    let text: String
    let report: [String]
    let root: Node

    init(_ lines: [String], version: Path = TrackingPlan.defaultVersion) throws {
        var inference = PlanInference(version: version)
        var block = Block()
        for line in lines { block.text.append(line + "\n") }
        block.seal()
        inference.read(block)
        let result = inference.result
        (text, report) = (result.plan, result.report)
        root = try Outline.read(Source(Array(text.utf8)), resolving: nil).root
    }

    /// The schema of `properties` of an event, without spaces.
    func properties(_ event: String) -> String {
        root["events"]?[event]?["properties"].map { JSONText.of($0, in: Source(Array(text.utf8))) } ?? ""
    }

    /// What the lines violate under the plan.
    func violations(_ lines: [String]) throws -> [String] {
        let plan = try PlanFile.read(Array(text.utf8)).get()
        let paths = PathTrie(plan.paths)
        var scanner = Scanner(paths)
        var stage = PlanStage(plan, paths)
        var decoder = Decoder()
        var found: [String] = []
        for line in lines {
            var block = Block()
            block.text.append(line)
            block.seal()
            guard let event = scanner.scan(block.bytes, 0) else { continue }
            stage.begin()
            let name = event.slots[paths.slot(of: Path(keys: ["event"]))!].string(in: event.block).flatMap { decoder.decode($0) }
            _ = stage.check(event, name: name)
            if let finding = stage.finding { found.append("\(finding.violation.text) \(line.prefix(200))") }
        }
        return found
    }
}

@Suite("A plan from events") struct InferenceTests {
    private static func order(_ properties: String, user: Int? = nil) -> String {
        #"{"event":"order","properties":\#(properties)\#(user.map { #","userId":"u\#($0)""# } ?? "")}"#
    }

    @Test("members have the types that were seen, and are required if all events have them")
    func types() throws {
        let plan = try Inferred([
            Self.order(#"{"total":1,"note":"a","lines":[{"sku":"x","n":1},{"sku":"y"}],"gift":true}"#),
            Self.order(#"{"total":1.5,"note":null,"lines":[],"gift":false,"extra":{"a":[1,"b"]}}"#),
        ])
        #expect(
            plan.properties("order")
                == #"{"type":"object","required":["total","note","lines","gift"],"properties":{"total":{"type":"number"},"#
                + #""note":{"type":["string","null"]},"lines":{"type":"array","items":{"type":"object","required":["sku"],"#
                + #""properties":{"sku":{"type":"string"},"n":{"type":"integer","description":"In 1 of 2."}}}},"gift":{"type":"boolean"},"#
                + #""extra":{"type":"object","description":"In 1 of 2.","required":["a"],"properties":{"a":{"type":"array","#
                + #""items":{"type":["string","integer"]}}}}}}"#)
        #expect(plan.report == ["2 events, 1 name"])
    }

    @Test("an event without properties counts as one without members")
    func absent() throws {
        let lines = [Self.order(#"{"a":1}"#), #"{"event":"order"}"#, #"{"event":"order","properties":null}"#]
        let plan = try Inferred(lines)
        #expect(plan.properties("order").hasPrefix(#"{"type":["object","null"],"properties""#), "\(plan.text)")
        #expect(try plan.violations(lines) == [])
    }

    @Test("events go by name and version, and an event without a name by its type")
    func versions() throws {
        let lines = [
            #"{"event":"a","context":{"schema_version":2},"properties":{"x":1}}"#, #"{"event":"a","context":{"schema_version":"1"}}"#,
            #"{"event":"a"}"#, #"{"type":"identify","traits":{"plan":"free"}}"#, #"{"n":1}"#, "{broken", "",
        ]
        let plan = try Inferred(lines)
        #expect(
            plan.text == #"{"events":{"a":{"description":"Seen 3 times.","properties":{},"versions":{"1":{},"#
                + #""2":{"properties":{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}}}},"#
                + #""identify":{"description":"Seen once.","traits":{"type":"object","required":["plan"],"#
                + #""properties":{"plan":{"type":"string"}}}}}}"#)
        #expect(try plan.violations(lines) == [])
        #expect(
            plan.report.prefix(3) == [
                "5 events, 2 names, 2 versions", "1 line is not valid; line 6: expected a key in double quotes, found 0x62 'b'",
                "1 event without a name and a type: no plan checks them",
            ])
        let other = try Inferred([#"{"event":"a","v":"1"}"#], version: Path(keys: ["v"]))
        #expect(other.text == #"{"version":"v","events":{"a":{"description":"Seen once.","versions":{"1":{}}}}}"#)
    }

    // MARK: - Enums

    private static func choices(_ count: Int, of texts: [String], users: Int?, key: String = "plan") throws -> Bool {
        let lines = (0..<count).map { n in
            order(#"{"\#(key)":"\#(texts[n % texts.count])"}"#, user: users.map { n / texts.count % $0 })
        }
        let plan = try Inferred(lines)
        #expect(try plan.violations(lines) == [])
        return plan.text.contains("enum")
    }

    @Test("few texts in many events of many people are an enum")
    func enums() throws {
        #expect(try Self.choices(100, of: ["free", "paid", "de-CH"], users: 10))
        #expect(try Self.choices(100, of: ["free", "paid"], users: nil))
        #expect(try !Self.choices(99, of: ["free", "paid"], users: 10), "too few strings")
        #expect(try !Self.choices(100, of: (0..<11).map { "a\($0)" }, users: nil), "too many texts for the strings")
        #expect(try !Self.choices(1000, of: (0..<21).map { "a\($0)" }, users: nil), "too many texts")
    }

    @Test("a text that few people sent, or that looks like an identifier, makes no enum")
    func identifiers() throws {
        #expect(try !Self.choices(100, of: ["free", "paid"], users: 4), "four people")
        #expect(try !Self.choices(100, of: ["free", "Anna Schmidt"], users: nil), "a space")
        #expect(try !Self.choices(100, of: ["a@b.example"], users: nil), "an address")
        #expect(try !Self.choices(100, of: ["order-1234"], users: nil), "four digits")
        #expect(try !Self.choices(100, of: ["deadbeefdeadbee1"], users: nil), "hexadecimal digits")
        #expect(try !Self.choices(100, of: ["anna"], users: nil, key: "firstName"), "the name of a person")
        #expect(try !Self.choices(100, of: ["anna"], users: nil, key: "user_id"), "an id")
        let rare = (0..<200).map { Self.order(#"{"plan":"\#($0 < 4 ? "rare" : "free")"}"#) }
        #expect(try !Inferred(rare).text.contains("enum"), "a rare text")
    }

    @Test("values of people are not in the plan and not in the report")
    func secrets() throws {
        let lines = (0..<300).map { n in
            Self.order(#"{"mail":"p\#(n)@b.example","who":"Ann\#(n)","phones":{"+49\#(n)555\#(n)":1},"city":"Bern"}"#, user: n % 3)
        }
        let plan = try Inferred(lines)
        for secret in ["b.example", "Ann", "555", "Bern"] { #expect(!plan.text.contains(secret) && !plan.report.joined().contains(secret)) }
        #expect(
            plan.report.dropFirst() == [
                "order: properties.mail: holds addresses for mail; \"private\": true keeps them from leaving as they came",
                "order: properties.phones: anything is allowed there, since names look like identifiers",
            ])
        #expect(try plan.violations(lines) == [])
    }

    @Test("formats are named if all strings have them")
    func formats() throws {
        func format(_ texts: [String]) throws -> Bool {
            try Inferred(texts.map { Self.order(#"{"x":"\#($0)"}"#) }).text.contains("format")
        }
        let uuid = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
        #expect(try format(Array(repeating: uuid, count: 5)))
        #expect(try !format(Array(repeating: uuid, count: 4)))
        #expect(try !format(Array(repeating: uuid, count: 5) + ["x"]))
        #expect(try format(Array(repeating: "2026-11-21T10:30:00Z", count: 5)))
        #expect(try !format(Array(repeating: "2026-11-21T10:30:00", count: 5)))
        #expect(try format(Array(repeating: "a@b.example", count: 5)))
        #expect(try !format(Array(repeating: "a@b", count: 5)))
    }

    // MARK: - Limits

    @Test("what passes a limit is open, the report says so, and the events satisfy the plan")
    func limits() throws {
        func list(_ count: Int) -> String { "[" + (0..<count).map(String.init).joined(separator: ",") + "]" }
        func object(_ names: Int) -> String { "{" + (0..<names).map { #""m\#($0)":1"# }.joined(separator: ",") + "}" }
        let lines = [
            Self.order(#"{"wide":\#(object(201)),"deep":{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":1}}}}}}}}},"twice":{"a":1,"a":2}}"#),
            #"{"event":"long","properties":{"list":\#(list(20_000))}}"#,
            #"{"event":"zero","properties":{"a\u0000":1,"b":"\ud800"},"traits":{"\ud800":1}}"#, #"{"event":"order 12345"}"#,
            #"{"event":"\ud800","type":"track"}"#, #"{"event":"","properties":{"a":1}}"#,
        ]
        let plan = try Inferred(lines)
        #expect(try plan.violations(lines) == [])
        #expect(
            plan.report.dropFirst() == [
                "2 events left out, since their names look like identifiers",
                "long: properties: anything is allowed there, since an event has more than 10000 values there",
                "order: properties.wide: anything is allowed there, since there are more than 200 names",
                "order: properties.deep.a.b.c.d.e.f.g: anything is allowed there, since it is nested more than 8 levels deep",
                "order: properties.twice: anything is allowed there, since a name stands twice in one object",
                "zero: properties: anything is allowed there, since names look like identifiers",
                "zero: traits: anything is allowed there, since names look like identifiers",
            ], "\(plan.report)")
    }

    @Test("names, versions and members are bounded")
    func bounds() throws {
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        func word(_ n: Int) -> String { String([letters[n / 676], letters[n / 26 % 26], letters[n % 26]]) }
        let names = (0..<600).map { #"{"event":"\#(word($0))","properties":{"\#(word($0))":1,"x\#(word($0))":"\#(word($0))"}}"# }
        let versions = (0..<17).map { #"{"event":"v","context":{"schema_version":\#($0)},"properties":{"a":1}}"# }
        let plan = try Inferred(versions + names)
        #expect(plan.root["events"]?.entries?.count == 500)
        #expect(plan.report.contains("101 events left out, since a plan gets 500 names at most"))
        #expect(plan.report.contains("v: nothing is said of its members, since it has too many versions, or one that no plan can list"))
        #expect(try plan.violations(versions + names) == [])
        let wide = (0..<50).map { n in
            #"{"event":"\#(word(n))","properties":{"# + (0..<100).map { #""m\#(word($0))":1"# }.joined(separator: ",") + "}}"
        }
        let full = try Inferred(wide)
        #expect(full.report.contains("abo: properties: anything is allowed there, since the plan has 4000 members already"))
        #expect(try full.violations(wide) == [])
    }

    @Test("a plan that would be too large for the router says less")
    func large() throws {
        let name = String(repeating: #"\"\\"#, count: 45)
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        let lines = (0..<40).map { n in
            let members = (0..<100).map { #""\#(name)\#(letters[n % 26])\#($0)":null"# }.joined(separator: ",")
            return #"{"event":"\#(letters[n % 26])\#(n)\#(String(repeating: "x", count: 80))","properties":{\#(members)}}"#
        }
        let plan = try Inferred(lines)
        #expect(plan.text.utf8.count < 1 << 20)
        #expect(plan.report.last == "schemas are left out, since the plan would have more than 1 MB", "\(plan.text.utf8.count)")
        #expect(try plan.violations(lines) == [])
    }
}
