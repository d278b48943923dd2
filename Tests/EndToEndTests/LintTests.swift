// `switchyard lint`: its text, its other formats, its exit codes, and what check says of it. The rules have tests of their own.

import Document
import Foundation
import TestSupport
import Testing

@Suite("switchyard lint") struct LintTests {
    private static let wrong = """
        { "providers": { "out": { "plugin": "console" }, "é, %": { "plugin": "noop" } },
          "routes": [ { "name": "a", "where": "false", "to": ["out"] } ] }
        """

    @Test("shows each finding with its place, its reason and a way out, and exits with 1")
    func text() throws {
        let result = try TestRouter(routes: Self.wrong).run(["lint"])
        #expect(result.code == 1 && result.errors.isEmpty)
        #expect(
            result.text == """
                routes.json:1:58: warning SY0201: providers["é, %"]: no route sends to é, %
                    fix: name it in "to" of a route, or remove it
                routes.json:2:39: error SY0101: routes[0].where: 'where' is always false
                    fix: correct the filter, or remove the route
                routes.json: 1 error, 1 warning, 0 notes

                """)
        let clean = try TestRouter(routes: passThrough).run(["lint"])
        #expect(clean.code == 0 && clean.text == "routes.json: 0 errors, 0 warnings, 0 notes\n")
        let broken = try TestRouter(routes: "{}").run(["lint"])
        #expect(broken.code == 78 && broken.text.isEmpty)
        #expect(try TestRouter(routes: passThrough).run(["lint", "--format", "xml"]).code == 64)
    }

    @Test("exits with 0 if there are only notes")
    func notes() throws {
        let routes =
            #"{"sources":{"s":{"plugin":"http","listen":"127.0.0.1:0"}},"providers":{"out":{"plugin":"console"}},"routes":[{"to":["out"]}]}"#
        let result = try TestRouter(routes: routes).run(["lint"])
        #expect(result.code == 0 && result.text.contains("note SY0202") && result.text.contains("0 errors, 0 warnings, 1 note\n"))
    }

    @Test("writes annotations for GitHub, in which nothing ends a property")
    func github() throws {
        let result = try TestRouter(routes: Self.wrong).run(["lint", "--format", "github"])
        #expect(result.code == 1)
        #expect(
            result.lines[0]
                == "::warning file=routes.json,line=1,col=58,title=SY0201 provider-unused::providers[\"é, %25\"]: no route sends to é, %25; name it in \"to\" of a route, or remove it"
        )
        #expect(result.lines[1].hasPrefix("::error file=routes.json,line=2,col=39,title=SY0101 route-never-matches::"))
    }

    @Test("writes SARIF with every rule and the place of each result")
    func sarif() throws {
        let router = try TestRouter()
        try router.write(Self.wrong, to: "a b.json")
        let result = try router.run(["lint", "--format", "sarif", "a b.json"])
        let (root, faults) = try Outline.read(Source(Array(result.output)), resolving: nil)
        #expect(faults.isEmpty && root["version"]?.text?.value == "2.1.0")
        let run = try #require(root["runs"]?.items?.first)
        let rules = try #require(run["tool"]?["driver"]?["rules"]?.items)
        let found = try #require(run["results"]?.items?.last)
        #expect(found["ruleId"]?.text?.value == "SY0101" && found["level"]?.text?.value == "error")
        guard case .number(let index)? = found["ruleIndex"]?.value else { throw Missing() }
        #expect(rules[Int(index)!]["id"]?.text?.value == "SY0101")
        let place = try #require(found["locations"]?.items?.first?["physicalLocation"])
        #expect(place["artifactLocation"]?["uri"]?.text?.value == "a%20b.json")
        guard case .number(let line)? = place["region"]?["startLine"]?.value else { throw Missing() }
        #expect(line == "2")
    }
    private struct Missing: Error {}

    @Test("check says what is surely wrong, and its exit code stays")
    func check() throws {
        let result = try TestRouter(routes: Self.wrong).run(["check"])
        #expect(result.code == 0)
        #expect(result.errors == "routes.json:2:39: error SY0101: routes[0].where: 'where' is always false\n")
    }

    @Test("finds nothing in the examples that is not a note", arguments: ExampleTests.teams)
    func examples(team: String) throws {
        let text = try String(contentsOfFile: "\(Project.root)/Examples/teams/\(team)/routes.json", encoding: .utf8)
        let router = try TestRouter(routes: text)
        let plan = try String(contentsOfFile: "\(Project.root)/Examples/teams/\(team)/plan.json", encoding: .utf8)
        try router.write(plan, to: "plan.json")
        let result = try router.run(["lint"], environment: ExampleTests.environment(of: text))
        #expect(result.code == 0, "\(result.text)\(result.errors)")
    }

    @Test("docs/lint.md describes every rule")
    func page() throws {
        let page = try String(contentsOfFile: Project.root + "/docs/lint.md", encoding: .utf8)
        for rule in try TestRouter().run(["lint", "--rules"]).lines {
            let parts = rule.split(separator: " ", omittingEmptySubsequences: true)
            let row = "| \(parts[0]) | `\(parts[2].dropLast())` | \(parts[1]) |"
            #expect(page.contains(row), "no row: \(row)")
        }
    }
}
