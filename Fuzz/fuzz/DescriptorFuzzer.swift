// Fuzzes the description of a hostile module. It is refused, or it is JSON, its text cannot move a cursor, and the schema of routes.json
// for it is JSON too.

import Configuration
import Plans

@testable import PluginHost

struct DescriptorFuzzer: Fuzzer {
    private var mutator: Mutator
    private let plants: Bool
    private let oracle = ObjectOracle()

    init(seed: UInt64, plants: Bool) {
        mutator = Mutator(seed: seed, seeds: DescriptorFuzzer.seeds)
        self.plants = plants
    }

    private static let seeds = [
        #"{"name":"vendor","version":"1.0.0","summary":"Sends.","settings":{"type":"object","properties":{"url":{"type":"string","description":"where to"},"size":{"type":"string","format":"size","default":"1MB"},"n":{"type":"integer","minimum":1,"maximum":9,"default":3},"x":{"type":"number","default":0.5},"on":{"type":"boolean","default":true}},"required":["url"]}}"#,
        #"{"name":"a","version":"0","summary":"","settings":{"type":"object","properties":{"list":{"type":"array","items":{"type":"string","enum":["a","b"]}},"map":{"type":"object","properties":{},"additionalProperties":{"type":"string","pattern":"^[a-z]+$"}}}},"limits":{"events":500,"bytes":1000000},"capabilities":{"erase":true,"deduplicates":true,"concurrency":4},"delivery":{"batch":{"events":10,"bytes":"1KB","wait":"5s"},"ordered":true,"deadline":"0s"}}"#,
        "{\"name\":\"b\",\"version\":\"\\u001b[2J\",\"summary\":\"\\u202e\\n\",\"settings\":{\"type\":\"object\"}}",
    ].map { Array($0.utf8) }

    mutating func next() -> (Comparison, input: [UInt8]) {
        let text = mutator.line()
        return (judge(text), text)
    }

    private func judge(_ text: [UInt8]) -> Comparison {
        // The host refuses a text that is not UTF-8 before it reads it.
        guard let json = String(validating: text, as: UTF8.self) else { return .invalid }
        let about: ModuleDescription
        do throws(ModuleFault) {
            about = try ModuleDescription.read(json: json)
        } catch {
            let isPlanted = plants && text.count % 61 == 60 && !oracle.isObject(text)
            if isPlanted { return .unexplained("it was accepted, but is not an object for simdjson") }
            return ForeignText.harmless(error.description) == error.description
                ? .invalid : .unexplained("the fault could move a cursor: \(error.description.debugDescription)")
        }
        if !oracle.isObject(text) { return .unexplained("it was accepted, but is not an object for simdjson") }
        let module = InstalledModule(name: about.name, path: "/modules/a.so", state: .success(about))
        for line in (Listing.table([module]) + Listing.details(module)).split(separator: "\n")
        where ForeignText.harmless(String(line)) != line {
            return .unexplained("it prints text that could move a cursor")
        }
        guard oracle.isObject(Array(RoutesFile.schema(for: [about]).utf8)) else { return .unexplained("its schema is not a JSON object") }
        return .valid
    }
}
