// Mistakes in the configurations and the tracking plans of the ten teams, such as a demand for consent that is gone, a glob that is wider, or a
// member that is no longer private: check, lint, a test of routes, diff or plan diff finds nearly all of them. That the files differ does not
// count: diff must show other events, and plan diff must say whom it breaks.

import Foundation
import TestSupport
import Testing

@Suite("Mistakes that are planted in the examples", .timeLimit(.minutes(10))) struct PlantedCaseTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let team: String
        let what: String
        let find: String
        let put: String
        var isInPlan = false

        init(_ team: String, _ what: String, _ find: String, _ put: String) {
            (self.team, self.what, self.find, self.put) = (team, what, find, put)
        }

        init(plan team: String, _ what: String, _ find: String, _ put: String) {
            self.init(team, what, find, put)
            isInPlan = true
        }
        var testDescription: String { "\(team): \(what)" }
    }

    static let mistakes = [
        Mistake("ads-tcf", "a demand is gone", #""consent": { "purposes": ["ads"] },"#, ""),
        Mistake("ads-tcf", "a hash is forgotten", #"{ "hash": { "fields": ["traits.email"], "key": "ids" } },"#, ""),
        Mistake("ads-tcf", "Global Privacy Control refuses less", #""gpc": ["ads"],"#, #""gpc": ["measurement"],"#),
        Mistake("ads-tcf", "a secret stands in the file", "${env:GA4_SECRET}", "0f3a9c77e1b24d55"),
        Mistake("devices", "a glob is wider", #"["firmware_*", "reboot"]"#, #"["*"]"#),
        Mistake("devices", "a range is not checked", #""where": "properties.value > -100.0 && properties.value < 1000.0","#, ""),
        Mistake(
            "experiments", "a hash is forgotten on one of two routes",
            #"[100, 300, 1000] } }, { "hash": { "fields": ["userId"], "key": "ids" } }"#,
            "[100, 300, 1000] } }"),
        Mistake("experiments", "the default level is lower", #""default": "analytics""#, #""default": "none""#),
        Mistake("experiments", "a provider takes everything", #""filter": { "events": ["experiment_exposed"] },"#, ""),
        Mistake("game-telemetry", "a member is no longer dropped", #"["context.ip", "properties.chat"]"#, #"["context.ip"]"#),
        Mistake("game-telemetry", "an exclusion is gone", #"["player_moved", "chat_*"]"#, #"["player_moved"]"#),
        Mistake("health", "one member more is kept", #""properties.note"] }"#, #""properties.note", "properties.name"] }"#),
        Mistake("health", "private text is not searched", #"{ "scrub": { "in": ["properties.note"], "action": "reject" } },"#, ""),
        Mistake("health", "an old text counts", #""minimum_version": "3""#, #""minimum_version": "2""#),
        Mistake("inference", "a level is lower", #""consent": "training","#, #""consent": "usage","#),
        Mistake("inference", "texts are not searched", #"{ "scrub": { "in": ["properties.prompt", "properties.completion"] } },"#, ""),
        Mistake("mobile-analytics", "a route demands nothing", #""consent": "essential","#, #""consent": "none","#),
        Mistake("mobile-analytics", "addresses go out whole", #"{ "ip": { "fields": ["context.ip"] } },"#, ""),
        Mistake(
            "shop-gdpr", "one of two ids is not hashed", #""fields": ["userId", "anonymousId"], "key": "ids""#,
            #""fields": ["anonymousId"], "key": "ids""#),
        Mistake("shop-gdpr", "a purpose is not demanded", #""consent": { "purposes": ["marketing"] },"#, ""),
        Mistake(plan: "ads-tcf", "a member is no longer private", #", "private": true"#, ""),
        Mistake(plan: "devices", "a value that an expression reads may be absent", #""required": ["value"],"#, ""),
        Mistake(plan: "experiments", "violations only count", #""violation": "reject""#, #""violation": "count""#),
        Mistake(plan: "game-telemetry", "a limit is gone", #""gems": {"type": "integer", "minimum": 0}"#, #""gems": {"type": "integer"}"#),
        Mistake(plan: "health", "unplanned events pass", #""unplanned": "reject""#, #""unplanned": "count""#),
        Mistake(plan: "inference", "a number that an expression reads may be absent", #""required": ["input", "output"],"#, ""),
        Mistake(plan: "mobile-analytics", "other members pass", #""violation": "strip""#, #""violation": "count""#),
        Mistake(plan: "ops-logs", "a level is not planned", #", "fatal"]"#, "]"),
    ]

    /// The tools that find the mistake.
    private static func finders(_ mistake: Mistake) throws -> [String] {
        func read(_ file: String) throws -> String {
            try String(contentsOfFile: "\(Project.root)/Examples/teams/\(mistake.team)/\(file)", encoding: .utf8)
        }
        let right = [false: try read("routes.json"), true: try read("plan.json")]
        var files = right
        files[mistake.isInPlan] = right[mistake.isInPlan]!.replacingOccurrences(of: mistake.find, with: mistake.put)
        #expect(files != right, "\(mistake.testDescription): the text is not there")
        let router = try TestRouter(routes: files[false]!)
        try router.write(files[true]!, to: "plan.json")
        for file in ["routes.test.json", "events.ndjson"] { try router.write(try read(file), to: file) }
        try router.write(right[false]!.replacingOccurrences(of: "plan.json", with: "right-plan.json"), to: "right.json")
        try router.write(right[true]!, to: "right-plan.json")
        let environment = ExampleTests.environment(of: right[false]!)
        let check = try router.run(["check"], environment: environment)
        // The only mistake that makes a configuration wrong.
        #expect(check.code == 0 || check.errors.contains("is private by the plan"), "\(mistake.testDescription): \(check.errors)")
        if check.code != 0 { return ["check"] }
        var finders: [String] = []
        // The examples themselves have no errors and no warnings.
        if try router.run(["lint"], environment: environment).code == 1 { finders.append("lint") }
        if try router.run(["test"]).code == 1 { finders.append("test") }
        let diff = try router.run(["diff", "right.json", "routes.json", "events.ndjson"], environment: environment)
        if !diff.text.contains("come out the same, 0 do not") { finders.append("diff") }
        if mistake.isInPlan, try router.run(["plan", "diff", "right-plan.json", "plan.json"]).code == 1 { finders.append("plan diff") }
        return finders
    }

    @Test("at least nine of ten are found")
    func count() throws {
        #expect(Self.mistakes.count == 28)
        let found = try Self.mistakes.map { ($0, try Self.finders($0)) }
        let missed = found.filter { $0.1.isEmpty }.map(\.0.testDescription)
        #expect(missed.count <= 2, "not found: \(missed)")
        let by = ["check", "lint", "test", "diff", "plan diff"].map { finder in "\(finder) \(found.count { $0.1.contains(finder) })" }
        print("found \(28 - missed.count) of 28 (\(by.joined(separator: ", "))); not found: \(missed)")
    }
}
