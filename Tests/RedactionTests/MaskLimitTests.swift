// Tests what `mask` does when the steps of an event do not suffice: it replaces the whole string.

import Events
import Expressions
import Testing

@testable import Redaction

@Suite struct MaskLimitTests {
    /// Masks the line with so many steps. Returns the line, the strings that were replaced whole, and the steps that are left.
    private func masked(
        _ line: String, _ pattern: String, _ text: String, steps: Int
    ) throws -> (line: String, unsearched: Int, left: Int) {
        let mask = try Mask(pattern: pattern, with: text)
        let counter = EventSteps(shared: steps)
        defer { counter.destroy() }
        return try withEvent(line, []) { event, slots in
            var masker = Masker(mask)
            _ = masker.mask(event, in: slots, steps: counter)
            return (written(event, masker.replacements), masker.unsearched, counter.left.shared)
        }
    }

    @Test func `a string that cannot be searched is replaced whole, and the others are searched`() throws {
        let long = String(repeating: "1a", count: 100_000)
        let (line, unsearched, _) = try masked(#"{"a":"x1","b":"\#(long)","c":"2\u0031"}"#, "([0-9])a?", #"<\1>"#, steps: 1000)
        #expect(line == #"{"a":"x<1>","b":"<>","c":"<2><1>"}"# && unsearched == 1)
    }

    @Test func `no part of a string that was searched halfway remains`() throws {
        let text = String(repeating: "secret1 ", count: 200)
        let whole = try masked(#"{"a":"\#(text)"}"#, "[0-9]", "#", steps: 1_000_000)
        #expect(whole.unsearched == 0 && !whole.line.contains("1"))
        let needed = 1_000_000 - whole.left
        let halfway = try masked(#"{"a":"\#(text)"}"#, "[0-9]", "#", steps: needed / 2)
        #expect(halfway.line == ##"{"a":"#"}"## && halfway.unsearched == 1)
    }

    @Test func `many matches of a usual pattern cost as much as the text is long`() throws {
        let line = #"{"a":"\#(String(repeating: "bob@example.org said 17 ", count: 4000))"}"#
        let (changed, unsearched, _) = try masked(line, #"[\w.+-]+@[\w-]+\.[\w.-]+"#, "*", steps: EventSteps.shared)
        #expect(unsearched == 0 && !changed.contains("bob"))
    }

    @Test func `a pattern whose every search can read to the end is charged for that`() throws {
        let line = #"{"a":"\#(String(repeating: "x", count: 20_000))"}"#
        let (changed, unsearched, _) = try masked(line, "x(.*y)?", "*", steps: EventSteps.shared)
        #expect(changed == #"{"a":"*"}"# && unsearched == 1)
    }
}
