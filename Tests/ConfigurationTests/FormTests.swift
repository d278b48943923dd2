import Platform
import Testing

@testable import Document
@testable import FormReading

@Suite("Forms")
struct FormTests {
    private struct Whole: Sendable {
        var first = 0
        var second = 0
    }

    /// Counts how often the form of each member is made.
    private final class Counter: Sendable {
        private let made = Monitor<[String]>([])
        var names: [String] { made.withLock { $0 } }

        func form(_ name: String) -> Form<Int> {
            made.withLock { $0.append(name) }
            return Forms.integer(0...9)
        }
    }

    private func form(_ counter: Counter) -> Form<Whole> {
        .object(
            Whole(),
            [
                Member("first", counter.form("first"), "The first.", into: \.first),
                Member("second", counter.form("second"), required: true, "The second.", into: \.second),
            ])
    }

    private func read(_ json: String, _ form: Form<Whole>) throws -> (whole: Whole?, faults: [String]) {
        let source = Source(Array(json.utf8))
        let reading = Reading(source)
        let whole = form.read(try Outline.read(source, resolving: nil).root, reading)
        return (whole, reading.faults.map(\.message))
    }

    @Test("reading makes the forms of the members that are there, and no others")
    func reading() throws {
        let counter = Counter()
        let form = form(counter)
        #expect(counter.names == [])
        let read = try read(#"{"second": 3}"#, form)
        #expect(read.whole?.second == 3 && read.faults == [] && counter.names == ["second"])
        #expect(
            try self.read(#"{"first": 1}"#, form).faults == ["lacks 'second': the second"], "a missing member is named without its form")
    }

    @Test("the schema has every member, with its default and its example")
    func schema() {
        let schema = form(Counter()).schema
        #expect(schema.contains(#""first":{"description":"The first.","default":0,"examples":[4],"type":"integer""#), "\(schema)")
        #expect(schema.contains(#""second":{"description":"The second.","examples":[4]"#) && schema.contains(#""required":["second"]"#))
    }
}
