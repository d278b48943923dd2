// The faults of invalid files, and what no message shows.

import Seeded
import TestSupport
import Testing

@testable import Configuration
@testable import Document
@testable import Plans

@Suite("Faults of routes.json")
struct FaultTests {
    @Test("each broken file gets exactly its messages", arguments: Broken.all)
    func corpus(broken: Broken) {
        #expect(faults(broken.text) == broken.faults.map { "routes.json:" + $0 })
    }

    @Test("no message of any broken file shows what a placeholder resolved to")
    func secretsAreHidden() {
        for broken in Broken.all {
            for fault in faults(broken.text) { #expect(!fault.contains(secret), "\(broken.what)") }
        }
    }

    @Test("a secret in any string of a file shows in no message")
    func secretsEverywhere() {
        // Each string of the file in turn becomes one from the environment, whether that is valid there or not.
        let source = Source(Array(good.utf8))
        var lexer = Lexer(source.bytes)
        var strings: [Range<Int>] = []
        while let token = lexer.next() { if token.kind == .string { strings.append(token.range) } }
        for range in strings {
            for placeholder in ["${env:SECRET}", "x${file:key}", "${env:SHORT}${env:EMPTY}"] {
                let text = source.bytes[..<range.lowerBound] + Array("\"\(placeholder)\"".utf8) + source.bytes[range.upperBound...]
                for fault in faults(Array(text)) { #expect(!fault.contains("s3cr3t")) }
            }
        }
    }

    @Test("a size from the environment does not show in the faults that it causes")
    func hiddenSizes() {
        let delivery = #""delivery":{"batch":{"bytes":"2MB"},"queue":{"memory":"${env:MEMORY}"}}"#
        #expect(
            faults(file(provider: #""plugin":"console","# + delivery))
                == [#"routes.json:1:70: providers.out.delivery.batch.bytes must be at most the queue's memory, is "2MB""#])
    }

    @Test("faults come in the order of the file, each once")
    func order() {
        let everything = Broken.all.first { $0.what == "everything at once" }!
        do throws(ConfigurationFaults) {
            _ = try read(everything.text)
            Issue.record("the file is broken")
        } catch {
            let places = error.faults.map { [$0.line, $0.column] }
            #expect(places == places.sorted { $0.lexicographicallyPrecedes($1) })
            #expect(Set(error.faults).count == error.faults.count)
        }
    }

    @Test("every truncation of a good file gets a message that points into it")
    func truncations() {
        let bytes = Array(good.utf8)
        for count in 0..<bytes.count - 1 {
            expectSane(Array(bytes[..<count]), mustFail: true)
        }
    }

    @Test("a good file with flipped, lost and doubled bytes never crashes the reader")
    func flips() {
        var random = Seeded(state: 7)
        let bytes = Array(good.utf8)
        for _ in 0..<rounds(3000) {
            var broken = bytes
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let at = Int.random(in: 0..<broken.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: broken[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: broken.remove(at: at)
                case 2: broken.insert(broken[at], at: at)
                default: broken[at] = Array("{}[]\",:0$\\\n".utf8).randomElement(using: &random)!
                }
            }
            expectSane(broken)
        }
    }

    @Test("a value of any other type, anywhere in a good file, never crashes the reader")
    func swappedTypes() {
        let source = Source(Array(good.utf8))
        guard let (root, _) = try? Outline.read(source, resolving: nil) else {
            Issue.record("the file is good")
            return
        }
        var ranges: [Range<Int>] = []
        func collect(_ node: Node) {
            ranges.append(node.range)
            for item in node.items ?? [] { collect(item) }
            for entry in node.entries ?? [] { collect(entry.node) }
        }
        collect(root)
        for index in places(below: ranges.count) {
            let range = ranges[index]
            for value in ["null", "true", "-1", "1e999", "\"\"", "[]", "{}", "[[]]", "[{}]", "{\"\":{}}", "[null,1]"] {
                expectSane(Array(source.bytes[..<range.lowerBound] + Array(value.utf8) + source.bytes[range.upperBound...]))
            }
        }
    }

    @Test("a hostile depth is refused before a recursive function reads it")
    func depth() {
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(faults(deep) == ["routes.json:1:129: nested more than 128 deep"])
        #expect(faults(String(repeating: "{\"a\":", count: 500)).count == 1)
    }

    @Test("a file of more than 16 MB is refused")
    func size() {
        #expect(faults([UInt8](repeating: 0x20, count: 16_000_001)) == ["routes.json:1:1: larger than 16MB"])
    }

    @Test("a file with too many values is refused")
    func manyValues() {
        let text = "[" + String(repeating: "0,", count: 1_000_001)
        #expect(faults(text) == ["routes.json:1:2000000: more than 1000000 keys and values"])
    }

    @Test("more routes than an index can hold are refused")
    func manyRoutes() {
        let routes = Array(repeating: "{\"to\":[\"out\"]}", count: 65_001).joined(separator: ",")
        let text = "{\"providers\":{\"out\":{\"plugin\":\"console\"}},\"routes\":[\(routes)]}"
        #expect(faults(text) == ["routes.json:1:52: routes: must hold at most 65000 routes, holds 65001"])
    }

    @Test(
        "a misspelt word gets the nearest choice as a suggestion",
        arguments: [
            ("evnets", "events"), ("event", "events"), ("EVENTS", "events"), ("macth", "match"), ("tranform", "transform"),
        ])
    func nearMisses(word: String, meant: String) {
        #expect(Words.nearest(word, among: ["name", "events", "match", "transform", "to"]) == meant)
    }

    @Test("a word that is far from every choice gets no suggestion")
    func farMisses() {
        for word in ["", "where", "limit", "xy", String(repeating: "events", count: 20)] {
            #expect(Words.nearest(word, among: ["name", "events", "match", "transform", "sample"]) == nil)
        }
    }

    private func expectSane(_ bytes: [UInt8], mustFail: Bool = false) {
        do throws(ConfigurationFaults) {
            _ = try read(bytes)
            #expect(!mustFail, "\(bytes.count) bytes of the file are accepted as the whole file")
        } catch {
            #expect(!error.faults.isEmpty)
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for fault in error.faults {
                #expect(
                    fault.line >= 1 && fault.line <= lines.count && fault.column >= 1 && fault.column <= lines[fault.line - 1].count + 1)
                #expect(!fault.message.contains("\n"))
                #expect(!fault.message.contains("s3cr3t"))
            }
        }
    }
}

/// A valid file that uses most sections and keys.
let good = #"""
    {
      "version": 1,
      "keys": { "ids": "${env:SECRET}", "other": "${file:key}" },
      "limits": { "line": "1MiB", "depth": 64 },
      "sources": { "input": { "plugin": "stdin" } },
      "consent": {
        "subject": ["userId", "anonymousId"],
        "levels": { "none": [], "essential": ["operations"], "standard": ["operations", "analytics"] },
        "unknown": { "assume": "essential" },
        "default": { "level": "essential", "purposes": ["analytics"] },
        "fields": { "traits.role": "standard", "properties[\"a.b\"]": "standard" },
        "events": { "search_*": "standard" },
        "gpc": ["analytics"]
      },
      "providers": {
        "archive": { "plugin": "file", "path": "var/${env:OUT}-%Y.ndjson", "rotate": { "bytes": "100MB", "age": "1.5h" }, "mode": "0640" },
        "probe": { "plugin": "probe", "tags": ["a", "b"], "headers": { "Authorization": "Bearer ${env:SECRET}" },
                   "delivery": { "batch": { "events": 50, "bytes": "10KB", "wait": "250ms" },
                                 "queue": { "memory": "16MB", "full": "drop_oldest" },
                                 "retry": { "first": "100ms", "most": "10s", "for": "1h" },
                                 "immediate": ["error_*"], "ordered": false } }
      },
      "routes": [
        { "name": "errors", "events": "error_*", "consent": "none", "to": ["archive", "probe"] },
        { "events": ["item_*", "search_*"],
          "match": { "type": "track", "properties.n": [1, 1.0, true, null, "\u00e9"] },
          "sample": { "rate": 0.25, "by": "anonymousId", "keep": ["error_*"] },
          "transform": [ { "drop": ["context.ip", "traits[\"a.b\"].c"] }, { "hash": { "fields": ["userId"], "key": "ids" } },
                         { "set": { "context.by": { "n": [1.0, 123456789012345678901234567890, -0, 1E400], "s": "$${x} ${env:OUT} \u00e9" } } } ],
          "to": ["probe"] }
      ]
    }

    """#
