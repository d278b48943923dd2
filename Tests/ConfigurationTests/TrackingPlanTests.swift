// The key `plan`, and the promise that a private member never leaves as it came.

import Plans
import Testing
import TrackingPlans

@testable import Configuration

@Suite("The tracking plan of routes.json")
struct TrackingPlanTests {
    private static let hidden = "drop, hash, bin, round, ip or geo it"

    private func routes(_ transform: String, more: String = "", sections: String = "") -> [String] {
        faults(
            #"{"keys":{"ids":"0123456789abcdef"},"plan":"plan.json",\#(sections)"providers":{"out":{"plugin":"console"}},"#
                + #""routes":[{\#(more)"transform":[\#(transform)],"to":["out"]}]}"#)
    }

    @Test("a fault in the file of the plan is reported with its place there")
    func fileFaults() throws {
        #expect(try read(file(#""plan":"plan.json""#, route: #""transform":[{"drop":["properties"]}]"#)).trackingPlan?.events.count == 2)
        #expect(
            faults(file(#""plan":"broken-plan.json""#)) == [
                "routes.json:1:9: plan: broken-plan.json:2:42: type must be one of null, boolean, object, array, number, string or integer"
            ])
        #expect(faults(file(#""plan":"none.json""#)) == ["routes.json:1:9: plan: 'none.json' cannot be read: No such file or directory"])
        #expect(faults(file(#""plan":"large""#)) == ["routes.json:1:9: plan: 'large' is larger than 1MB"])
        #expect(faults(file(#""plan":"${env:OUT}""#)).count == 1)
    }

    @Test(
        "a route that lets a private member leave as it came is a fault",
        arguments: [
            "", #"{"drop":["properties.other"]}"#, #"{"lower":["properties.email"]}"#, #"{"scrub":{"in":["properties.email"]}}"#,
            #"{"keep":["properties.email"]}"#, #"{"keep":["properties"]}"#, #"{"limit":{"properties.email":100}}"#,
        ])
    func exposed(transform: String) {
        let list = transform.isEmpty ? #"{"drop":["x"]}"# : transform
        let found = routes(list)
        #expect(found.count == 1, "\(found)")
        #expect(
            found.first?.hasSuffix("is private by the plan and would leave as it came: \(TrackingPlanTests.hidden)") == true, "\(found)")
    }

    @Test(
        "a route that removes, hashes or coarsens it is good",
        arguments: [
            #"{"drop":["properties.email"]}"#, #"{"drop":["properties"]}"#, #"{"hash":{"fields":["properties.email"],"key":"ids"}}"#,
            #"{"keep":["event"]}"#, #"{"bin":{"properties.email":[1,2]}}"#, #"{"ip":["properties.email"]}"#,
            #"{"set":{"properties.email":"x"}}"#,
            #"{"rename":{"properties.email":"mail"}},{"drop":["properties.mail"]}"#,
        ])
    func hidden(transform: String) { #expect(routes(transform) == []) }

    @Test("a value that is moved or copied before is followed")
    func followed() {
        #expect(
            routes(#"{"move":{"properties.email":"context.mail"}},{"drop":["properties"]}"#).first?.contains("as context.mail,") == true)
        #expect(routes(#"{"set":{"m":{"cel":"properties.email"}}},{"drop":["properties"]}"#).first?.contains("as m,") == true)
        #expect(routes(#"{"set":{"m":{"cel":"properties"}}},{"drop":["properties"]}"#).first?.contains("as m,") == true)
    }

    @Test("a route whose names keep the event out is good")
    func byName() {
        #expect(routes(#"{"drop":["x"]}"#, more: #""events":["paid"],"#) == [])
        #expect(routes(#"{"drop":["x"]}"#, more: #""not":{"events":["ord*"]},"#) == [])
        #expect(routes(#"{"drop":["x"]}"#, more: #""events":["ord*"],"#).count == 1)
    }

    @Test("a rule of emit that reads it is a fault")
    func emitted() {
        let emit = #""emit":[{"where":"true","event":{"event":"paid","properties":{"m":{"cel":"properties.email"}}}}],"#
        #expect(
            routes(#"{"drop":["properties.email"]}"#, sections: emit).map { $0.split(separator: ": ").dropFirst().joined(separator: ": ") }
                == ["emit[0]: copies properties.email of 'order', which is private by the plan"])
    }
}
