// What `check` prints is what the router understood: no key of the schema can be set without a difference in the print.

import Document
import Plans
import TestSupport
import Testing

@testable import InspectCommands

@Suite("The plan that check prints")
struct PlanSheetTests {
    /// Keys of which nothing is shown: `$schema` is for editors, `lint` for the linter, the version can only be 1, values that select a part
    /// of the schema, and values that are secret.
    private static let fixed = Set([
        "$schema", "version", "sources.*.plugin", "providers.*.plugin", "providers.*.token", "sources.*.keys.*.secret",
        "consent.unknown.for",
    ]).union(["", "consent.", "sources.*.", "providers.*.", "routes[]."].flatMap { ["\($0)lint", "\($0)lint.allow"] })

    private func sheet(_ text: String) -> (text: String, json: String)? {
        EveryKey.plan(text).map { plan in
            let sheet = PlanSheet(plan, file: "routes.json", modules: plan.providers.map { "\($0.plugin).so" })
            return (sheet.text(), sheet.json())
        }
    }

    @Test("the configurations of this suite are valid and hold every key of the schema")
    func covers() throws {
        let walk = try SchemaWalk(EveryKey.schema)
        var held: Set<String> = []
        for file in EveryKey.files {
            #expect(EveryKey.plan(file) != nil)
            held.formUnion(walk.places(in: try Outline.read(Source(Array(file.utf8)), resolving: nil).root).map(\.path))
        }
        #expect(walk.paths().subtracting(held).sorted() == [])
        #expect(walk.paths().count > 250)
    }

    @Test("a key with another value, or without one, is another print, as text and as JSON", .enabled(if: !isSanitized))
    func everyKey() throws {
        let walk = try SchemaWalk(EveryKey.schema)
        var printed: Set<String> = []
        for (file, unchosen) in zip(EveryKey.files, EveryKey.unchosen) {
            let whole = try #require(sheet(file))
            let root = try Outline.read(Source(Array(file.utf8)), resolving: nil).root
            for place in walk.places(in: root) where !Self.fixed.contains(place.path) && !unchosen.contains(place.path) {
                // What cannot be left out or changed as a whole is changed by one of its own keys.
                if !(place.value.entries ?? []).isEmpty { printed.insert(place.path) }
                var isValid = false
                let isPrinted = Self.changes(of: place, in: file).contains { change in
                    guard let other = sheet(change) else { return false }
                    isValid = true
                    return other.text != whole.text && other.json != whole.json
                }
                if isPrinted { printed.insert(place.path) }
                #expect(isPrinted || !isValid, "not printed: \(place.path)")
            }
        }
        #expect(walk.paths().subtracting(Self.fixed).subtracting(printed).sorted() == [], "no other value is valid")
    }

    /// Returns the file with other values of the key, and without it. The values come first: a key that is left out may have the same value
    /// by itself.
    private static func changes(of place: SchemaWalk.Place, in text: String) -> [String] {
        let file = Array(text.utf8)
        func changed(_ range: Range<Int>, _ new: String) -> String {
            String(decoding: file[..<range.lowerBound] + Array(new.utf8) + file[range.upperBound...], as: UTF8.self)
        }
        let entries = place.owner.entries ?? []
        let index = entries.firstIndex { $0.key.range == place.key.range }!
        let start = index == 0 ? place.key.range.lowerBound : entries[index - 1].node.range.upperBound
        let end = index == 0 && entries.count > 1 ? entries[1].key.range.lowerBound : place.value.range.upperBound
        return values(of: place.value, in: file).map { changed(place.value.range, $0) }.filter { $0 != text } + [changed(start..<end, "")]
    }

    private static func values(of value: Node, in file: [UInt8]) -> [String] {
        switch value.value {
        case .bool(let value): return ["\(!value)"]
        case .number: return ["2", "0.5", "11"]
        case .text(let text):
            let isQuantity = text.value.utf8.first.map { (0x30...0x39).contains($0) } == true && text.value.utf8.last! > 0x39
            let words = isQuantity ? ["1MB", "11s", "1/s"] : [text.value + "x", "all", "some", "spare", "other", "127.0.0.1:7"]
            return words.map { "\"\($0)\"" }
        case .list(let items) where items.count > 1:
            // Without its last item.
            return [String(decoding: file[value.range.lowerBound..<items[items.count - 2].range.upperBound], as: UTF8.self) + "]"]
        case .null, .list, .object: return []
        }
    }

    @Test("shows no secret: not of keys, not of settings, not of URLs, not from the environment")
    func hides() throws {
        let sheet = try #require(self.sheet(EveryKey.files[0]))
        for text in [sheet.text, sheet.json] {
            for secret in ["hush-hush", "pw@", "abc", "0123456789"] { #expect(!text.contains(secret), "\(secret)") }
            #expect(text.contains("https://(secret)@host/x?key=(secret)"))
        }
    }

    @Test("a sample without a rate is not shown as one")
    func limitAlone() throws {
        let file = #"{"providers":{"out":{"plugin":"probe"}},"routes":[{"sample":{"limit":"5/s"},"to":["out"]}]}"#
        let text = try #require(sheet(file)).text
        #expect(text.contains("    1. sample: at most 5/s, and 5 at once after a pause\n") && !text.contains("1.0"), "\(text)")
    }

    @Test("the stages of a route stand in the order in which an event meets them")
    func order() throws {
        let plan = try #require(EveryKey.plan(EveryKey.files[0]))
        let stages = PlanWords(plan).stages(of: plan.routes[1])
        var labels: [String] = []
        for stage in stages where labels.last != stage.label { labels.append(stage.label) }
        #expect(labels == ["filter", "consent", "sample", "transform", "session", "retention"])
        #expect(
            stages.prefix { $0.label == "filter" }.map(\.key) == ["else", "events", "match", "match", "not", "not", "not", "not", "where"])
    }

    @Test("the JSON is one object on one line, with each section under its key")
    func json() throws {
        let json = try #require(sheet(EveryKey.files[0])).json
        #expect(json.filter { $0 == "\n" }.count == 1 && json.hasSuffix("\n"))
        let root = try Outline.read(Source(Array(json.utf8)), resolving: nil).root
        #expect(
            root.entries?.map(\.key.name) == [
                "file", "keys", "sources", "limits", "message_id", "consent", "emit", "plan", "routes", "providers", "state", "audit",
                "shutdown",
                "admin",
            ])
        #expect(root["routes"]?["items"]?.items?[1]["stages"]?.items?.first?["key"]?.text?.value == "else")
    }
}
