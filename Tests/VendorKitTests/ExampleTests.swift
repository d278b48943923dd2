import Foundation
import PluginKit
import Testing
import VendorSupport

@Suite("VendorKit: the documented example")
struct ExampleTests {
    @Test("the example of docs/write-a-provider.md is the one that these tests compile")
    func document() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let page = try String(contentsOf: tests.appendingPathComponent("../../docs/write-a-provider.md"), encoding: .utf8)
        let code = try String(contentsOf: tests.appendingPathComponent("Example.swift"), encoding: .utf8)
        // The module also exports a function, for which it needs a public import.
        #expect(page.contains("```swift\npublic \(code)"))
    }

    @Test("it maps events, refuses what it does not take, and believes the indices of an answer")
    func works() throws {
        let event =
            #"{"type":"track","event":"A","userId":7,"messageId":"m","timestamp":"1970-01-01T00:00:01Z","properties":{"a":1},"#
            + #""context":{"ip":"i","x":1}}"#
        let mapped = try Mapped(Example.self, #"{"key":"k3y"}"#, [event, #"{"type":"page"}"#])
        #expect(
            mapped.first == #"{"key":"k3y","events":[{"id":"m","name":"A","person":"7","time":1000,"#
                + #""properties":{"a":1,"ip":"i","switchyard_unmapped":{"context":{"x":1}}}}]}"#)
        #expect(mapped.refused == [1: "the event is no track event with a name"])
        let own = #"{"event":"A","userId":"u","properties":{"switchyard_unmapped":1}}"#
        #expect(
            try Mapped(Example.self, #"{"key":"k"}"#, [own]).refused[0]
                == "properties has the member switchyard_unmapped, which the provider itself writes")
        #expect(throws: SettingsFault.self) { try Mapped(Example.self, #"{"key":"k\"y"}"#, []) }
        let exchange = try Exchange(Example.self, #""key":"k3y""#, body: #"{"failed":[1]}"#)
        defer { exchange.close() }
        #expect(exchange.settle([event, event, event]) == ["delivered", "rejected", "delivered"])
    }
}
