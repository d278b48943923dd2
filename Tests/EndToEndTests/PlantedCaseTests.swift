// Twenty mistakes in the configurations of the ten teams, such as a demand for consent that is gone, a glob that is wider, or a hash that is
// forgotten: lint, diff or a test of routes finds nearly all of them. That the files differ does not count: diff must show other events.

import Foundation
import TestSupport
import Testing

@Suite("Mistakes that are planted in the examples", .timeLimit(.minutes(10))) struct PlantedCaseTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let team: String
        let what: String
        let find: String
        let put: String

        init(_ team: String, _ what: String, _ find: String, _ put: String) {
            (self.team, self.what, self.find, self.put) = (team, what, find, put)
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
    ]

    /// The tools that find the mistake.
    private static func finders(_ mistake: Mistake) throws -> [String] {
        func read(_ file: String) throws -> String {
            try String(contentsOfFile: "\(Project.root)/Examples/teams/\(mistake.team)/\(file)", encoding: .utf8)
        }
        let right = try read("routes.json")
        let wrong = right.replacingOccurrences(of: mistake.find, with: mistake.put)
        #expect(wrong != right, "\(mistake.testDescription): the text is not there")
        let router = try TestRouter(routes: wrong)
        for file in ["routes.test.json", "events.ndjson"] { try router.write(try read(file), to: file) }
        try router.write(right, to: "right.json")
        let environment = ExampleTests.environment(of: right)
        let check = try router.run(["check"], environment: environment)
        #expect(check.code == 0, "\(mistake.testDescription) is no valid configuration: \(check.errors)")
        var finders: [String] = []
        // The examples themselves have no errors and no warnings.
        if try router.run(["lint"], environment: environment).code == 1 { finders.append("lint") }
        if try router.run(["test"]).code == 1 { finders.append("test") }
        let diff = try router.run(["diff", "right.json", "routes.json", "events.ndjson"], environment: environment)
        if !diff.text.contains("come out the same, 0 do not") { finders.append("diff") }
        return finders
    }

    @Test("at least 18 of 20 are found")
    func count() throws {
        #expect(Self.mistakes.count == 20)
        let found = try Self.mistakes.map { ($0, try Self.finders($0)) }
        let missed = found.filter { $0.1.isEmpty }.map(\.0.testDescription)
        #expect(missed.count <= 2, "not found: \(missed)")
        let by = ["lint", "test", "diff"].map { finder in "\(finder) \(found.count { $0.1.contains(finder) })" }
        print("found \(20 - missed.count) of 20 (\(by.joined(separator: ", "))); not found: \(missed)")
    }
}
