// Tests the steps of a route that work on text. The judge applies them to the route's copy of the event.

import Editing
import Events
import Judging
import Plans
import Redaction
import Testing

@testable import Admission
@testable import Models

@Suite struct TextTests {
    private let everything = ScrubStep()

    @Test func `text is scrubbed after the previous steps, in the route's own copy`() {
        let fixture = JudgeFixture(
            plan(
                providers: 3,
                route {
                    $0.transforms = [SetStep(constants: [(path("b"), "\"::1\"")]), DropStep([path("c")]), everything]
                    $0.providers = [0, 2]
                },
                route { $0.providers = [1] }))
        #expect(fixture.take(#"{"a":"bob@x.org","c":"::2"}"#))
        for lane in [0, 2] { #expect(fixture.lines(lane) == [#"{"a":"[email]","b":"[ip]"}"#]) }
        #expect(fixture.lines(1) == [#"{"a":"bob@x.org","c":"::2"}"#])
    }

    @Test func `each step works on the result of the previous one`() throws {
        let mask = try Mask(pattern: "\\[(\\w+)\\]", with: "<\\1>")
        #expect(edited(#"{"a":"bob@x.org"}"#, everything, MaskStep(mask)) == #"{"a":"<email>"}"#)
        #expect(edited(#"{"a":"bob@x.org"}"#, MaskStep(mask), everything) == #"{"a":"[email]"}"#)
        #expect(edited(#"{"a":"[x]","b":"[x]"}"#, MaskStep(mask, in: [path("b")])) == #"{"a":"[x]","b":"<x>"}"#)
    }

    @Test func `an event without finds is delivered byte for byte`() {
        let line = #"{ "messageId" : "4111111111111111", "a" : "\u0041\/" }"#
        #expect(edited(line, everything) == line)
    }

    @Test func `the id is found at its new position`() throws {
        let fixture = JudgeFixture(plan(route { $0.transforms = [everything] }), locatesMessageIDs: true)
        #expect(fixture.take(#"{"a":"bob@example.com","messageId":"4111111111111111"}"#))
        try #require(!fixture.parcels[0].entries.isEmpty)
        let entry = fixture.parcels[0].entries[0]
        let line = Array(fixture.lines()[0].utf8)
        let start = Int(entry.messageIDOffset)
        #expect(String(decoding: line[start..<start + Int(entry.messageIDCount)], as: UTF8.self) == "4111111111111111")
    }

    @Test func `a route withholds an event that it rejects, and other routes deliver it`() {
        let rejecting = ScrubStep(Scrub(action: .reject))
        let fixture = JudgeFixture(plan(providers: 2, route { $0.transforms = [rejecting] }, route { $0.providers = [1] }))
        #expect(fixture.verdicts(#"{"a":"::1"}"#) == [.withheld, .admitted])
        #expect(fixture.take(#"{"a":"::1"}"#))
        #expect(fixture.lines().isEmpty && fixture.lines(1) == [#"{"a":"::1"}"#])
        #expect(fixture.verdicts(#"{"a":"x"}"#) == [.admitted, .admitted])
    }

    @Test func `many events go through one worker`() {
        let fixture = JudgeFixture(plan(route { $0.transforms = [everything] }))
        for n in 0..<50 {
            let filler = String(repeating: "x", count: n * 20)
            #expect(fixture.take(#"{"a":"\#(filler) bob@x.org"}"#))
            #expect(fixture.lines().last == #"{"a":"\#(filler) [email]"}"#)
        }
    }
}
