// The configurations of ten teams in Examples/teams: each passes check as it is, and its sample events reach its providers as its folder
// says. For the run, files take the place of the vendors, and standard input that of the sources; routes and consent stay.

import Document
import Foundation
import TestSupport
import Testing

@Suite("The examples of ten teams", .timeLimit(.minutes(10)))
struct ExampleTests {
    private static let folder = Project.root + "/Examples/teams"
    static let teams = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { !$0.contains(".") }.sorted()

    private func read(_ team: String, _ file: String) throws -> String {
        try String(contentsOfFile: "\(Self.folder)/\(team)/\(file)", encoding: .utf8)
    }

    /// A value for each variable that the text names. Keys are long enough, and a DSN is a URL.
    static func environment(of text: String) -> [String: String] {
        let names = text.components(separatedBy: "${env:").dropFirst().map { $0.components(separatedBy: "}")[0] }
        return Dictionary(names.map { ($0, $0 == "SENTRY_DSN" ? "https://key@sentry.example/1" : "0123456789abcdef-\($0)") }) { first, _ in
            first
        }
    }

    @Test("there are ten")
    func ten() { #expect(Self.teams.count == 10) }

    @Test("pass check, which shows none of their secrets", arguments: teams)
    func check(team: String) throws {
        let text = try read(team, "routes.json")
        let router = try TestRouter(routes: text)
        try router.write(try read(team, "plan.json"), to: "plan.json")
        let result = try router.run(["check"], environment: Self.environment(of: text))
        #expect(result.code == 0, "\(result.errors)")
        #expect(!result.text.contains("0123456789abcdef"))
    }

    @Test("pass the tests in their folder, which take every route", arguments: teams)
    func tests(team: String) throws {
        let router = try TestRouter()
        for file in ["routes.json", "plan.json", "routes.test.json"] { try router.write(try read(team, file), to: file) }
        let result = try router.run(["test", "--coverage"])
        #expect(result.code == 0 && !result.text.contains("refuses without consent"), "\(result.text)\(result.errors)")
    }

    @Test("give each provider what the folder says, event by event", arguments: teams)
    func outcome(team: String) throws {
        let text = try read(team, "routes.json")
        let root = try Outline.read(Source(Array(text.utf8)), resolving: nil).root
        let providers = try #require(root["providers"]?.entries)
        let router = try TestRouter(routes: withFiles(text, root, providers))
        try router.write(try read(team, "plan.json"), to: "plan.json")
        let result = try router.run(environment: Self.environment(of: text), input: try read(team, "events.ndjson"))
        // An event that is held for consent is not delivered yet.
        #expect(result.code == 0 || result.errors.contains("held for consent"), "\(result.errors)")
        for name in providers.map(\.key.name) {
            let expected = try read(team, "expected/\(name).ndjson")
            #expect(Self.withoutSessions(router.read("\(name).ndjson")) == expected, "\(team): \(name)\n\(result.errors)")
        }
    }

    @Test("have a tracking plan that a test of each folder sees broken", arguments: teams)
    func plan(team: String) throws {
        #expect(try read(team, "routes.json").contains("\n  \"plan\": \"plan.json\",\n"))
        let router = try TestRouter()
        try router.write(try read(team, "routes.test.json"), to: "routes.test.json")
        // Without what a violation does, at least one test fails.
        let routes = try read(team, "routes.json")
        try router.write(routes.replacingOccurrences(of: "  \"plan\": \"plan.json\",\n", with: ""), to: "routes.json")
        let result = try router.run(["test"])
        // One plan only counts, and the mark of another is in no copy that a route keeps.
        #expect(result.code == (["inference", "ops-logs"].contains(team) ? 0 : 1), "\(result.text)\(result.errors)")
    }

    /// Returns the configuration with a file in place of each module, and standard input in place of the sources.
    private func withFiles(_ text: String, _ root: Node, _ providers: [Node.Entry]) -> String {
        let bytes = Array(text.utf8)
        func written(_ node: Node) -> String { String(decoding: bytes[node.range], as: UTF8.self) }
        var changes = providers.map { provider in
            let own = ["filter", "transform"].compactMap { key in provider.node[key].map { #","\#(key)":\#(written($0))"# } }.joined()
            return (provider.node.range, #"{"plugin":"file","path":"\#(provider.key.name).ndjson"\#(own)}"#)
        }
        let right = root["consent"]?["ledger"] == nil ? "" : #","consent":"write""#
        let input = #"{"in":{"plugin":"stdin"\#(right)}}"#
        if let sources = root["sources"] { changes.append((sources.range, input)) }
        if let admin = root["admin"] { changes.append((admin.range, #"{"listen":"127.0.0.1:0"}"#)) }
        var result = bytes
        for (range, new) in changes.sorted(by: { $0.0.lowerBound > $1.0.lowerBound }) {
            result.replaceSubrange(range, with: Array(new.utf8))
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The ids of sessions are keyed by the run.
    private static func withoutSessions(_ text: String) -> String {
        text.replacing(/"sessionId":"[0-9a-f-]{36}"/, with: #""sessionId":"(a session)""#)
    }
}
