// Each rule of the linter: a configuration in which it finds something, and one that differs by little in which it finds nothing.

import Configuration
import Document
import Linting
import Plans
import Testing

private struct Modules: ModuleCatalog {
    private static let text = #"""
        {"name":"vendor","version":"1","summary":"for tests","settings":{"type":"object","properties":{
          "url":{"type":"string"},"token":{"type":"string","writeOnly":true},
          "headers":{"type":"object","additionalProperties":{"type":"string","writeOnly":true}}},"additionalProperties":false},
         "mapping":[{"from":"event","to":"name"}],
         "refuses":[{"topic":"name_length","most":10,"what":"names of more than 10 characters"},
                    {"topic":"reserved_name","what":"names that it reserves, such as app_open or error"}]}
        """#
    static let vendor = try! ModuleDescription.read(json: text)
    var names: [String] { ["vendor"] }
    func description(of module: String) -> ModuleDescription? { module == "vendor" ? Modules.vendor : nil }
}

/// The findings of a text, as `SY0101 routes[0]`.
private func lint(_ text: String) throws -> [String] { findings(text).map { "\($0.rule.number) \($0.path)" } }

/// `plan` is the text of the tracking plan, if the configuration names one.
func findings(_ text: String, plan: String = "") -> [LintFinding] {
    let reader = RoutesFile(
        environment: { $0 == "SECRET" ? "0123456789abcdef" : nil }, contents: { _ in .success(Array(plan.utf8)) }, catalog: Modules())
    do {
        let document = try reader.document(Array(text.utf8), file: "routes.json")
        return Linter.findings(document, modules: ["vendor": Modules.vendor])
    } catch {
        Issue.record("\(error.faults.map(\.description))")
        return []
    }
}

/// A configuration with these routes, the providers `a` and `b`, and more sections.
private func routes(_ routes: String, more: String = "") -> String {
    """
    { "providers": { "a": { "plugin": "vendor" }, "b": { "plugin": "vendor" } }, \(more)
      "routes": [ \(routes), { "events": ["zz"], "to": ["b"] }, { "events": ["zy"], "to": ["a"] } ] }
    """
}

@Suite("The linter") struct LintingTests {
    private static let consent = #""consent": { "levels": { "none": [], "some": ["ops"], "all": ["ops", "ads"] }, "default": "all" },"#
    private static let keys = #""keys": { "x": "${env:SECRET}", "y": "${env:SECRET}" },"#

    @Test(
        "finds filters that no event passes",
        arguments: [
            (#""where": "false""#, #""where": "x == 1""#), (#""not": { "where": "true" }"#, #""not": { "where": "x" }"#),
            (
                #""events": ["p_*", "q"], "not": { "events": ["p*", "*q"] }"#,
                #""events": ["p_*", "q"], "not": { "events": ["p_x*", "*q"] }"#
            ),
            (
                #""match": { "k": [1, 2] }, "not": { "match": { "k": [1.0, 2, 3] } }"#,
                #""match": { "k": [1, 2] }, "not": { "match": { "k": [2, 3] } }"#
            ),
            (#""match": { "k": "x" }, "where": "k == 'y' && z""#, #""match": { "k": "x" }, "where": "k == 'y' || z""#),
            (#""where": "k == 'y' && k == 'z'""#, #""where": "k == 'y' && l == 'z'""#),
            (#""where": "x > 1 && y && !(x>1)""#, #""where": "x > 1 && y && !(x>2)""#),
            (#""where": "!(x > 1 || y) && y""#, #""where": "!(x > 1 && y) && y""#),
            (#""where": "x > 1", "not": { "where": "y || x > 1" }"#, #""where": "x > 1", "not": { "where": "y && x > 1" }"#),
            (#""events": ["p*"], "match": { "event": "q" }"#, #""events": ["p*"], "match": { "event": "pq" }"#),
        ])
    func neverMatches(wrong: String, right: String) throws {
        #expect(try lint(routes("{ \(wrong), \"to\": [\"a\"] }")).contains { $0.hasPrefix("SY0101 routes[0]") })
        #expect(try lint(routes("{ \(right), \"to\": [\"a\"] }")).allSatisfy { !$0.hasPrefix("SY0101") })
    }

    @Test(
        "finds a route with else that an earlier one leaves nothing",
        arguments: [
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["pq", "p_*r"], "else": true, "to": ["b"] }"#, true),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["pq", "q"], "else": true, "to": ["b"] }"#, false),
            (#"{ "match": { "k": [1, 2] }, "to": ["a"] }, { "match": { "k": 2 }, "else": true, "to": ["b"] }"#, true),
            (#"{ "match": { "k": [1, 2] }, "to": ["a"] }, { "match": { "k": 3 }, "else": true, "to": ["b"] }"#, false),
            (#"{ "events": ["p*"], "where": "x", "to": ["a"] }, { "events": ["pq"], "else": true, "to": ["b"] }"#, false),
            (#"{ "events": ["p*"], "not": { "events": ["pq"] }, "to": ["a"] }, { "events": ["pq"], "else": true, "to": ["b"] }"#, false),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["pq"], "to": ["b"] }"#, false),
            // Conditions: the same, parts of another, equalities, and what is excluded.
            (#"{ "where": "x > 1", "to": ["a"] }, { "where": "x  >  1", "else": true, "to": ["b"] }"#, true),
            (#"{ "where": "x > 1", "to": ["a"] }, { "where": "x > 2", "else": true, "to": ["b"] }"#, false),
            (#"{ "where": "x > 1", "to": ["a"] }, { "where": "y && x > 1", "else": true, "to": ["b"] }"#, true),
            (#"{ "where": "x > 1 && y", "to": ["a"] }, { "where": "x > 1", "else": true, "to": ["b"] }"#, false),
            (#"{ "where": "x > 1", "to": ["a"] }, { "where": "y || x > 1", "else": true, "to": ["b"] }"#, false),
            (#"{ "where": "x == 'a b'", "to": ["a"] }, { "where": "x == 'ab'", "else": true, "to": ["b"] }"#, false),
            (#"{ "where": "k == 'y'", "to": ["a"] }, { "match": { "k": "y" }, "where": "x", "else": true, "to": ["b"] }"#, true),
            (#"{ "where": "k in ['y', 'z']", "to": ["a"] }, { "where": "k == 'y'", "else": true, "to": ["b"] }"#, true),
            (#"{ "where": "k == 'y'", "to": ["a"] }, { "where": "k in ['y', 'z']", "else": true, "to": ["b"] }"#, false),
            (#"{ "where": "k != 'y'", "to": ["a"] }, { "match": { "k": "z" }, "else": true, "to": ["b"] }"#, false),
            (#"{ "not": { "where": "x > 1" }, "to": ["a"] }, { "not": { "where": "y || x > 1" }, "else": true, "to": ["b"] }"#, true),
            (#"{ "not": { "where": "y || x > 1" }, "to": ["a"] }, { "not": { "where": "x > 1" }, "else": true, "to": ["b"] }"#, false),
            (#"{ "not": { "where": "x > 1" }, "to": ["a"] }, { "where": "!(x > 1)", "else": true, "to": ["b"] }"#, true),
            (#"{ "events": ["p*"], "not": { "events": ["pr"] }, "to": ["a"] }, { "events": ["pq"], "else": true, "to": ["b"] }"#, true),
            (#"{ "not": { "events": ["pr"] }, "to": ["a"] }, { "not": { "events": ["p*"] }, "else": true, "to": ["b"] }"#, true),
            (#"{ "not": { "events": ["p*"] }, "to": ["a"] }, { "not": { "events": ["pr"] }, "else": true, "to": ["b"] }"#, false),
            (#"{ "not": { "match": { "k": 1 } }, "to": ["a"] }, { "match": { "k": [2, 3] }, "else": true, "to": ["b"] }"#, true),
            (#"{ "not": { "match": { "k": 1 } }, "to": ["a"] }, { "match": { "k": [1, 3] }, "else": true, "to": ["b"] }"#, false),
            (#"{ "not": { "match": { "k": 1 } }, "to": ["a"] }, { "not": { "match": { "k": [1, 3] } }, "else": true, "to": ["b"] }"#, true),
            (
                #"{ "not": { "match": { "k": [1, 3] } }, "to": ["a"] }, { "not": { "match": { "k": 1 } }, "else": true, "to": ["b"] }"#,
                false
            ),
        ])
    func shadowed(text: String, isFound: Bool) throws {
        #expect(try lint(routes(text)).contains("SY0102 routes[1].else") == isFound)
    }

    @Test(
        "finds routes that give one event twice to a provider",
        arguments: [
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["*q"], "to": ["b", "a"] }"#, true),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["*q"], "to": ["b"] }"#, false),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["q*"], "to": ["b", "a"] }"#, false),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["*q"], "else": true, "to": ["b", "a"] }"#, false),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["*q"], "not": { "events": ["p*"] }, "to": ["b", "a"] }"#, false),
            (
                #"{ "events": ["p"], "match": { "k": 1 }, "to": ["a"] }, { "events": ["p"], "match": { "k": [2, 1] }, "to": ["b", "a"] }"#,
                true
            ),
            (#"{ "events": ["p"], "match": { "k": 1 }, "to": ["a"] }, { "events": ["p"], "match": { "k": 2 }, "to": ["b", "a"] }"#, false),
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["*q"], "where": "x", "to": ["b", "a"] }"#, false),
            // One takes whatever the other takes, whatever its condition is.
            (#"{ "events": ["p*"], "to": ["a"] }, { "events": ["pq"], "where": "x", "to": ["b", "a"] }"#, true),
            (#"{ "events": ["pq"], "where": "x && y", "to": ["a"] }, { "events": ["p*"], "where": "y", "to": ["b", "a"] }"#, true),
            (#"{ "where": "x && y", "to": ["a"] }, { "where": "y && z", "to": ["b", "a"] }"#, false),
            (#"{ "where": "x", "to": ["a"] }, { "where": "!x", "to": ["b", "a"] }"#, false),
            // Equalities say enough of an event.
            (#"{ "where": "k == 'y'", "to": ["a"] }, { "where": "l == 1", "to": ["b", "a"] }"#, true),
            (#"{ "where": "k == 'y'", "to": ["a"] }, { "where": "k == 'z'", "to": ["b", "a"] }"#, false),
            (#"{ "where": "k == 'y'", "to": ["a"] }, { "match": { "k": ["x", "z"] }, "to": ["b", "a"] }"#, false),
            (#"{ "where": "k == 'y'", "to": ["a"] }, { "where": "k.m == 'z'", "to": ["b", "a"] }"#, false),
        ])
    func overlap(text: String, isFound: Bool) throws {
        #expect(try lint(routes(text)).contains("SY0103 routes[1].to[1]") == isFound)
    }

    @Test("knows that a route with else does not get what an earlier one took")
    func overlapOfRest() throws {
        let rest = #"{ "events": ["p"], "to": ["b"] }, { "else": true, "to": ["a"] }, "#
        #expect(try !lint(routes(rest + #"{ "events": ["p"], "to": ["a"] }"#)).contains { $0.hasPrefix("SY0103 routes[2]") })
        #expect(try lint(routes(rest + #"{ "events": ["q"], "to": ["a"] }"#)).contains { $0.hasPrefix("SY0103 routes[2]") })
    }

    @Test(
        "finds samples that take nothing, and patterns without effect",
        arguments: [
            (#""sample": { "rate": 0 }"#, ["SY0104 routes[0].sample.rate"]), (#""sample": { "rate": 0, "keep": ["p"] }"#, []),
            (#""sample": { "rate": 0.5, "rates": { "p*": 1, "pq": 0.1 } }"#, ["SY0105 routes[0].sample.rates.pq"]),
            (#""sample": { "rate": 0.5, "rates": { "pq": 0.1, "p*": 1 } }"#, []),
            (#""events": ["p*"], "sample": { "rate": 0.5, "rates": { "q": 0.1 } }"#, ["SY0105 routes[0].sample.rates.q"]),
            (#""events": ["p*"], "sample": { "rate": 0.5, "keep": ["q"] }"#, ["SY0105 routes[0].sample.keep[0]"]),
            (#""events": ["p*", "pq"]"#, ["SY0105 routes[0].events[1]"]),
            (#""events": ["pq", "p*", "pq"]"#, ["SY0105 routes[0].events[0]", "SY0105 routes[0].events[2]"]),
            (#""events": ["p", "p"]"#, ["SY0105 routes[0].events[1]"]),
            (#""events": ["p*"], "not": { "events": ["q*"] }"#, ["SY0105 routes[0].not.events[0]"]),
            (#""events": ["p*"], "not": { "events": ["*q"] }"#, []),
            (#""sample": { "rate": 1, "by": "userId" }"#, ["SY0502 routes[0].sample.by"]),
            (#""sample": { "rate": 0.5, "by": "userId" }"#, []),
        ])
    func patterns(members: String, expected: [String]) throws {
        let found = try lint(#"{ "providers": { "a": { "plugin": "vendor" } }, "routes": [ { \#(members), "to": ["a"] } ] }"#)
        #expect(found == expected)
    }

    @Test(
        "finds providers that get nothing, and events that their modules refuse",
        arguments: [
            (#""a": { "plugin": "vendor", "filter": { "events": ["q*"] } }"#, ["SY0106 providers.a.filter"]),
            (
                #""a": { "plugin": "vendor", "filter": { "match": { "k": 1 }, "not": { "match": { "k": 1 } } } }"#,
                ["SY0106 providers.a.filter"]
            ),
            (#""a": { "plugin": "vendor", "filter": { "events": ["*q"] } }"#, []),
            (#""a": { "plugin": "vendor" }, "b": { "plugin": "vendor" }"#, ["SY0201 providers.b"]),
        ])
    func providers(providers: String, expected: [String]) throws {
        #expect(try lint(#"{ "providers": { \#(providers) }, "routes": [ { "events": ["p*"], "to": ["a"] } ] }"#) == expected)
    }

    @Test("finds names over the limits that a module declares")
    func limits() throws {
        let found = try lint(
            routes(#"{ "events": ["app_open", "appopen", "elevenchars", "elevenchars*"], "not": { "match": { "x": 1 } }, "to": ["a"] }"#))
        #expect(found.filter { $0.hasPrefix("SY0204") } == ["SY0204 routes[0].events[0]", "SY0204 routes[0].events[2]"])
    }

    @Test("finds queues in memory behind sources that take responsibility")
    func queues() throws {
        let disk = #""delivery": { "queue": { "disk": "1GB" } }"#
        func found(_ source: String, _ more: String = "") throws -> [String] {
            try lint(
                #"{ "sources": { "s": { \#(source) } }, "providers": { "a": { "plugin": "vendor"\#(more) } }, "routes": [ { "to": ["a"] } ] }"#
            )
        }
        #expect(try found(#""plugin": "stdin""#) == [])
        #expect(try found(#""plugin": "http""#) == ["SY0202 providers.a"])
        #expect(try found(#""plugin": "http""#, ", " + disk) == [])
        #expect(try found(#""plugin": "file", "paths": ["x/*"]"#) == [])
        #expect(try found(#""plugin": "file", "paths": ["x/*"], "drain": true"#) == ["SY0203 providers.a"])
        #expect(try found(#""plugin": "file", "paths": ["x/*"], "drain": true"#, ", " + disk) == [])
    }

    @Test(
        "finds purposes and levels that nothing demands, and uneven demands",
        arguments: [
            (#"{ "none": [], "some": ["ops"], "all": ["ops", "ads"] }"#, #""some""#, ["SY0301 consent.levels.all[1]"]),
            (#"{ "none": [], "some": ["ops"], "all": ["ops", "ads"] }"#, #"{ "purposes": ["ads", "ops"] }"#, []),
            (#"["none", "some", "all"]"#, #""all""#, ["SY0302 consent.levels[1]"]),
            (#"{ "none": [], "some": ["ops"] }"#, #""none""#, ["SY0301 consent.levels.some[0]", "SY0304 consent"]),
        ])
    func levels(levels: String, demand: String, expected: [String]) throws {
        let text =
            #"{ "consent": { "levels": \#(levels), "default": \#(demand) }, "providers": { "a": { "plugin": "vendor" } }, "routes": [ { "to": ["a"] } ] }"#
        #expect(try lint(text).sorted() == expected)
    }

    @Test("finds a route without consent beside one with it, to the same provider")
    func uneven() throws {
        let found = try lint(
            routes(#"{ "events": ["p"], "consent": "none", "to": ["a"] }, { "events": ["q"], "to": ["a", "b"] }"#, more: Self.consent))
        #expect(found == ["SY0303 routes[0].consent"])
    }

    @Test(
        "finds a member that is protected on one route and not on another",
        arguments: [
            (#"[ { "drop": ["x"] } ]"#, ["SY0401 routes[1].transform"]), (#"[ { "drop": ["userId"] } ]"#, []),
            (#"[ { "keep": ["x"] } ]"#, []),
            (#"[ { "hash": { "fields": ["userId"], "key": "x" } } ]"#, []), (#"[ { "lower": ["userId"] } ]"#, []),
            (#"[ { "hash": { "fields": ["userId"], "key": "y" } } ]"#, ["SY0402 routes[1].transform"]),
            (#"[ { "rename": { "userId": "id" } }, { "drop": ["id"] } ]"#, []),
            (#"[ { "rename": { "userId": "id" } } ]"#, ["SY0401 routes[1].transform"]),
            (#"[ { "set": { "userId": 1 } } ]"#, []),
        ])
    func fates(steps: String, expected: [String]) throws {
        let found = try lint(
            """
            { \(Self.keys) "providers": { "a": { "plugin": "vendor" } }, "routes": [
              { "events": ["p"], "transform": [ { "hash": { "fields": ["userId"], "key": "x" } } ], "to": ["a"] },
              { "events": ["q"], "transform": \(steps), "to": ["a"] } ] }
            """)
        #expect(found.filter { $0.hasPrefix("SY040") && !$0.hasPrefix("SY0404") } == expected)
    }

    @Test("notes a member that one route removes and another does not")
    func removed() throws {
        let text = routes(
            #"{ "events": ["p"], "transform": [ { "drop": ["context.ip"] } ], "to": ["a"] }, { "events": ["q"], "to": ["a"] }"#)
        #expect(try lint(text).prefix(1) == ["SY0404 routes[1]"])
    }

    @Test(
        "finds secrets in plain text, and not those from outside the file",
        arguments: [
            (#""token": "hush""#, ["SY0403 providers.a.token"]), (#""token": "${env:SECRET}""#, []),
            (#""headers": { "Authorization": "Bearer hush", "X-User": "me" }"#, ["SY0403 providers.a.headers.Authorization"]),
            (#""headers": { "Authorization": "Bearer ${env:SECRET}" }"#, []),
            (#""url": "https://me:hush@host/""#, ["SY0403 providers.a.url"]), (#""url": "https://host/a@b:c""#, []),
        ])
    func secrets(setting: String, expected: [String]) throws {
        #expect(try lint(#"{ "providers": { "a": { "plugin": "vendor", \#(setting) } }, "routes": [ { "to": ["a"] } ] }"#) == expected)
    }

    @Test(
        "finds keys, settings and steps without effect",
        arguments: [
            (#""keys": { "k": "${env:SECRET}" },"#, "", ["SY0501 keys.k"]),
            (#""keys": { "k": "0123456789abcdef" }, "state": { "encrypt": "k" },"#, "", ["SY0403 keys.k"]),
            (#""consent": { "levels": ["none", "all"], "default": "all", "hold": { "for": "2h" } },"#, "", ["SY0502 consent.hold"]),
            (
                #""keys": { "l": "${env:SECRET}" }, "consent": { "levels": ["none", "all"], "default": "all", "ledger": "l", "unknown": "hold", "hold": { "for": "2h" } },"#,
                "", []
            ),
            (#""limits": { "disk": "1GB" },"#, "", ["SY0502 limits.disk"]),
            ("", #", "transform": [ { "drop": ["a"] }, { "lower": ["a.b"] } ]"#, ["SY0503 routes[0].transform[1]"]),
            ("", #", "transform": [ { "keep": ["b"] }, { "drop": ["a"] } ]"#, ["SY0503 routes[0].transform[1]"]),
            ("", #", "transform": [ { "drop": ["a"] }, { "set": { "a": "X" } }, { "lower": ["a"] } ]"#, []),
            ("", #", "transform": [ { "drop": ["a.b"] }, { "flatten": ["a"] } ]"#, []),
        ])
    func dead(section: String, member: String, expected: [String]) throws {
        #expect(
            try lint(#"{ \#(section) "providers": { "a": { "plugin": "vendor" } }, "routes": [ { "to": ["a"]\#(member) } ] }"#) == expected)
    }

    @Test("is silent about what an object allows, and finds an allowance for nothing")
    func allowances() throws {
        func found(_ root: String, _ provider: String) throws -> [String] {
            try lint(
                """
                { \(root) "providers": { "a": { "plugin": "vendor" }, "b": { "plugin": "vendor"\(provider) } }, "routes": [ { "to": ["a"] } ] }
                """)
        }
        #expect(try found("", "") == ["SY0201 providers.b"])
        let elsewhere =
            #"{ "providers": { "a": { "plugin": "vendor", "lint": { "allow": ["SY0201"] } }, "b": { "plugin": "vendor" } }, "routes": [ { "to": ["a"] } ] }"#
        #expect(try lint(elsewhere) == ["SY0901 providers.a.lint.allow[0]", "SY0201 providers.b"])
        #expect(try found("", #", "lint": { "allow": ["SY0201"] }"#) == [])
        #expect(try found(#""lint": { "allow": ["SY0201"] },"#, "") == [])
        #expect(try found("", #", "lint": { "allow": ["SY0201", "SY0403"] }"#) == ["SY0901 providers.b.lint.allow[1]"])
    }

    @Test("has each number once")
    func numbers() {
        #expect(Set(LintRule.all.map(\.number)).count == LintRule.all.count && Set(LintRule.all.map(\.name)).count == LintRule.all.count)
    }

    @Test("shows no text from outside the file")
    func hidden() throws {
        let reader = RoutesFile(environment: { _ in "0123456789abcdef" }, contents: { _ in .success([]) }, catalog: Modules())
        let text =
            #"{ "providers": { "a": { "plugin": "vendor" } }, "routes": [ { "match": { "k": "${env:X}" }, "to": ["a"] }, { "to": ["a"] } ] }"#
        let found = Linter.findings(try reader.document(Array(text.utf8), file: "f"), modules: [:])
        #expect(found.map(\.rule.number) == ["SY0103"] && found[0].reason.hasSuffix("routes[0] and routes[1]: k is '(secret)'"), "\(found)")
    }
}
