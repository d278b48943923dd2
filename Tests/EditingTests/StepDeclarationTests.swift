import Editing
import Plans
import Testing

@testable import Admission
@testable import Models

/// Tests what each operation declares about itself.
@Suite struct StepDeclarationTests {
    @Test("the example of each operation has the result that it declares", arguments: StepDeclaration.all.map(\.name))
    func examples(name: String) throws {
        let declaration = try #require(StepDeclaration.all.first { $0.name == name })
        let step = try #require(declaration.read(declaration.example.settings), "the settings are invalid")
        var plan = plan(route { $0.transforms = [step] })
        plan.keys = [Key(name: "ids", secret: Secret(Array("an example's key of some length".utf8)))]
        let fixture = JudgeFixture(plan)
        #expect(fixture.take(declaration.example.event))
        #expect(fixture.lines().first == declaration.example.result)
    }

    @Test("each sample of each operation gives valid settings", arguments: StepDeclaration.all.map(\.name))
    func samples(name: String) throws {
        let declaration = try #require(StepDeclaration.all.first { $0.name == name })
        #expect(!declaration.samples.isEmpty)
        for sample in declaration.samples {
            var settings = ""
            for (index, piece) in sample.split(separator: "\"$", omittingEmptySubsequences: false).enumerated() {
                // Each place gets a text of its own, since the keys of a table must differ.
                let parts = piece.split(separator: "\"", maxSplits: 1, omittingEmptySubsequences: false)
                settings += index == 0 ? String(piece) : "\"\(parts[0] == "expression" ? "a.b" : "a\(index)")\"\(parts[1])"
            }
            #expect(declaration.read(settings) != nil, "\(settings)")
        }
    }

    @Test("the names of the operations differ, and each has a sentence")
    func names() {
        #expect(Set(StepDeclaration.all.map(\.name)).count == StepDeclaration.all.count)
        for step in StepDeclaration.all { #expect(step.about.hasSuffix(".") && step.about.first!.isUppercase, "\(step.name)") }
    }

    @Test("the operations that are folded name what they change, and nothing else")
    func summaries() throws {
        func summary(_ name: String, _ settings: String) throws -> String {
            let step = try #require(StepDeclaration.all.first { $0.name == name }?.read(settings))
            return step.summary { $0 == "a" ? "(secret)" : $0 }
        }
        #expect(try summary("drop", #"["a","b"]"#) == "drop (secret), b")
        #expect(try summary("set", #"{"a":1,"b":{"cel":"n"}}"#) == "set (secret) to 1, b to n")
        #expect(try summary("hash", #"{"fields":["b"],"key":"ids"}"#) == "hash b with key ids")
        #expect(
            try summary("hash", #"{"fields":["b"],"key":"ids","length":8,"name":true}"#)
                == "hash b with key ids to 8 digits, prefixed with ids:")
        #expect(try summary("rename", #"{"b.c":"d"}"#) == "move b.c to b.d")
    }
}
