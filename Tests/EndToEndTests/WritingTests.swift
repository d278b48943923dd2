// `switchyard fmt`, `diff`, `init` and `completion`.

import Document
import Foundation
import TestSupport
import Testing

@Suite("fmt, diff, init and completion") struct WritingTests {
    // MARK: - fmt

    @Test("fmt changes only the space between tokens, and is done after one time", arguments: ExampleTests.teams)
    func fmt(team: String) throws {
        let text = try String(contentsOfFile: "\(Project.root)/Examples/teams/\(team)/routes.json", encoding: .utf8)
        let router = try TestRouter(routes: text)
        #expect(try router.run(["fmt", "--check"]).code == 1 && router.read("routes.json") == text)
        let result = try router.run(["fmt"])
        #expect(result.code == 0 && result.text == "routes.json\n")
        let formed = router.read("routes.json")
        #expect(Self.tokens(formed) == Self.tokens(text) && formed != text)
        let again = try router.run(["fmt", "--check"])
        #expect(again.code == 0 && again.text.isEmpty)
        #expect(try router.run(["fmt", "-"], input: text).text == formed)
    }

    private static func tokens(_ text: String) -> String { JSONText.changing(text) { $0 } }

    @Test("fmt keeps strings and numbers byte for byte, and the mode and the link of a file")
    func verbatim() throws {
        let router = try TestRouter()
        let value = #"{"a":"\u0041 é \u202e\/ \#u{202e}","b":1.50e+00,"c":[],"d":{}}"#
        try router.write(value, to: "x.json")
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: router.path("x.json"))
        try FileManager.default.createSymbolicLink(atPath: router.path("link.json"), withDestinationPath: "x.json")
        #expect(try router.run(["fmt", "link.json"]).code == 0)
        #expect(router.read("x.json") == #"{"a": "\u0041 é \u202e\/ \#u{202e}", "b": 1.50e+00, "c": [], "d": {}}"# + "\n")
        #expect(router.mode("x.json") == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: router.path("link.json")) == "x.json")
        try router.write("{\"a\":1,}", to: "x.json")
        let wrong = try router.run(["fmt", "x.json"])
        #expect(wrong.code == 78 && wrong.errors.hasPrefix("x.json:1:8: ") && router.read("x.json") == "{\"a\":1,}")
    }

    // MARK: - diff

    private static let old = """
        { "keys": { "ids": "0123456789abcdef" }, "consent": { "levels": ["none", "all"], "default": "all" },
          "providers": { "a": { "plugin": "noop" }, "b": { "plugin": "noop", "filter": { "events": ["p*"] } } },
          "routes": [ { "name": "one", "events": ["p*"], "transform": [ { "hash": { "fields": ["userId"], "key": "ids" } } ], "to": ["a", "b"] },
                      { "name": "two", "events": ["q"], "to": ["a"] } ] }
        """
    private static let events = [
        #"{"event":"p1","userId":"u","context":{"consent":{"level":"all"}}}"#, #"{"event":"q","userId":"u"}"#, "",
        #"{"event":"p2","userId":"v","context":{"consent":{"level":"all"}}}"#, #"{"event":"q","context":{"consent":{"level":"all"}}}"#,
        "{broken",
    ].joined(separator: "\n")

    private func diff(_ find: String, _ put: String, events: String = events) throws -> Result {
        let router = try TestRouter()
        try router.write(Self.old, to: "old.json")
        let new = Self.old.replacingOccurrences(of: find, with: put)
        try router.write(new, to: "new.json")
        try router.write(events, to: "events.ndjson")
        return try router.run(["diff", "old.json", "new.json"] + (events.isEmpty ? [] : ["events.ndjson"]))
    }

    @Test(
        "diff names what changed, and which events go or look otherwise, with an example",
        arguments: [
            (
                #""events": ["q"],"#, #""events": ["q"], "consent": "none","#,
                [
                    "route two changed: consent", "5 events: 4 come out the same, 1 do not", "a: 1 more",
                    "    1 more by route two, before: denied: the event carries no consent, and unknown subjects are denied (line 2, q)",
                ]
            ),
            (
                #"{ "hash": { "fields": ["userId"], "key": "ids" } }"#, #"{ "drop": ["context"] }"#,
                [
                    "route one changed: transform", "5 events: 3 come out the same, 2 do not", "a: 2 otherwise",
                    "    2 otherwise by route one: userId is no longer hashed; context is gone (line 1, p1)", "b: 2 otherwise",
                    "    2 otherwise by route one: userId is no longer hashed; context is gone (line 1, p1)",
                ]
            ),
            (
                #"{ "events": ["p*"] } } }"#, #"{ "events": ["p1"] } } }"#,
                [
                    "provider b changed: filter", "5 events: 4 come out the same, 1 do not", "b: 1 fewer",
                    "    1 fewer by route one, now: at the hand-over filtered: event is 'p2', not p1 (line 4, p2)",
                ]
            ),
            (
                #""name": "two""#, #""name": "three""#,
                ["route three is new", "route two is gone", "5 events: 5 come out the same, 0 do not"]
            ),
        ])
    func differences(find: String, put: String, lines: [String]) throws {
        let result = try diff(find, put)
        #expect(result.code == 1 && result.lines == lines, "\(result)")
    }

    @Test("diff is 0 for equal configurations, and shows no value of a section")
    func equal() throws {
        #expect(try diff("x", "x", events: "").text == "the configurations are equal\n")
        let same = try diff("x", "x")
        #expect(same.code == 0 && same.text == "5 events: 5 come out the same, 0 do not\n")
        let key = try diff("0123456789abcdef", "fedcba9876543210", events: "")
        #expect(key.code == 1 && key.text == "keys changed: ids\n")
        #expect(try TestRouter().run(["diff", "one.json"]).code == 64)
    }

    // MARK: - init

    private static let vendors = ["amplitude", "braze", "ga4", "mixpanel", "otlp", "posthog", "rudderstack", "segment", "sentry"]

    @Test(
        "init writes a configuration whose tests pass and in which lint finds nothing",
        arguments: [["pipe"], ["sidecar"]] + vendors.map { ["vendor", "--vendor", $0] })
    func firstFiles(arguments: [String]) throws {
        let router = try TestRouter()
        let result = try router.run(["init"] + arguments)
        #expect(result.code == 0 && result.text == "routes.json\nroutes.test.json\n", "\(result)")
        let tests = try router.run(["test", "--coverage"])
        #expect(tests.code == 0 && !tests.text.contains("no test"), "\(tests)")
        let text = router.read("routes.json")
        let root = try Outline.read(Source(Array(router.read("routes.test.json").utf8)), resolving: nil).root
        let environment = Dictionary(
            (root["environment"]?.entries ?? []).map { ($0.key.name, $0.node.text?.value ?? "") }, uniquingKeysWith: { first, _ in first })
        let lint = try router.run(["lint"], environment: environment)
        #expect(lint.code == 0 && lint.text == "routes.json: 0 errors, 0 warnings, 0 notes\n", "\(lint)")
        #expect(try router.run(["fmt", "--check", "routes.json", "routes.test.json"]).code == 0)
        // Nothing is written over.
        let again = try router.run(["init", "pipe"])
        #expect(again.code == 69 && router.read("routes.json") == text)
    }

    @Test("init says what is missing, and never waits where nobody can answer")
    func missing() throws {
        for (arguments, words) in [
            ([], "init needs a kind: pipe, sidecar or vendor"), (["vendor"], "the kind vendor needs --vendor MODULE"),
            (["sidcar"], "the kind must be pipe, sidecar or vendor, is 'sidcar', did you mean sidecar?"),
            (["pipe", "--vendor", "ga4"], "--vendor belongs to the kind vendor"),
            (["vendor", "--vendor", "posthogs"], "there is no module named 'posthogs', did you mean posthog?"),
        ] {
            let router = try TestRouter()
            let result = try router.run(["init"] + arguments)
            #expect(result.code == 64 && result.errors == "switchyard: \(words)\n" && router.read("routes.json").isEmpty, "\(result)")
        }
    }

    // MARK: - completion

    @Test("the completion of bash offers commands, options and files")
    func bash() throws {
        let router = try TestRouter()
        let script = try router.run(["completion", "bash"])
        #expect(script.code == 0)
        try router.write(script.text, to: "completion")
        func offered(_ words: String, _ last: Int) throws -> [String] {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/bash")
            process.arguments = [
                "-c", "source ./completion; COMP_WORDS=(\(words)); COMP_CWORD=\(last); _switchyard; printf '%s\\n' \"${COMPREPLY[@]}\"",
            ]
            process.currentDirectoryURL = URL(fileURLWithPath: router.folder)
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        #expect(try offered("switchyard li", 1) == ["lint"])
        #expect(try offered("switchyard completio", 1) == ["completion"])
        #expect(try offered("switchyard lint --f", 2) == ["--format"])
        #expect(try offered("switchyard lint compl", 2) == ["completion"], "the file of that name")
    }

    @Test("the completions of zsh and fish have every command and option, with quotes escaped")
    func others() throws {
        let router = try TestRouter()
        for (shell, option) in [
            ("zsh", "'--format[text, sarif"), ("fish", "'__fish_seen_subcommand_from lint' -l format -r -d 'text, sarif"),
        ] {
            let text = try router.run(["completion", shell]).text
            #expect(text.contains(option), "\(shell)")
            #expect(text.contains("completion"))
        }
        #expect(try router.run(["completion", "tcsh"]).code == 64)
    }
}
