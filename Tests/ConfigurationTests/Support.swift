// Shared by the tests: modules that need no files, an environment, and short functions that read a text.

import Testing

@testable import Configuration
@testable import Document
@testable import Plans

struct Modules: ModuleCatalog {
    private static let consoleText = #"""
        {"name":"console","version":"1.0","summary":"prints","settings":{"type":"object","properties":{
          "format":{"type":"string","enum":["ndjson","pretty"]},
          "stream":{"type":"string","enum":["stdout","stderr"],"default":"stdout"}},"additionalProperties":false}}
        """#
    private static let fileText = #"""
        {"name":"file","version":"1.0","summary":"appends","settings":{"type":"object","properties":{
          "path":{"type":"string"},
          "rotate":{"type":"object","properties":{
            "bytes":{"type":"string","format":"size"},"age":{"type":"string","format":"duration"},
            "keep":{"type":"integer","minimum":1,"maximum":1000,"default":7},
            "compression":{"type":"string","enum":["none","gzip","zstd"],"default":"none"}}},
          "mode":{"type":"string","pattern":"0[0-7]{3}","default":"0600"},
          "sync":{"type":"string","enum":["never","rotation","batch"],"default":"never"},
          "utc":{"type":"boolean","default":false}},"required":["path"],"additionalProperties":false},
         "delivery":{"ordered":true,"batch":{"bytes":"256KiB"}}}
        """#
    static let probe = #"""
        {"name":"probe","version":"2.1","summary":"for tests","settings":{"type":"object","properties":{
          "whole":{"type":"integer","minimum":1,"maximum":10,"default":3},"real":{"type":"number","minimum":0.5},
          "least":{"type":"number","maximum":2},
          "size":{"type":"string","format":"size","default":"1MiB"},"pause":{"type":"string","format":"duration","default":"1.5s"},
          "tags":{"type":"array","items":{"type":"string","pattern":"[a-z]+"}},
          "headers":{"type":"object","additionalProperties":{"type":"string"}}},"additionalProperties":false},
         "limits":{"events":100,"bytes":50000},"capabilities":{"erase":true,"concurrency":4}}
        """#

    private static let logText = #"""
        {"name":"log","version":"1","summary":"reads a log","settings":{"type":"object","properties":{
          "topic":{"type":"string","default":"events"},"token":{"type":"string","writeOnly":true}},"additionalProperties":false}}
        """#

    private static let described = [
        "console": described(consoleText), "file": described(fileText), "probe": described(probe),
        "noop": described(#"{"name":"noop","version":"1","settings":{"type":"object"}}"#),
    ]

    private static func described(_ json: String) -> Result<ModuleDescription, ModuleFault> {
        Result { () throws(ModuleFault) in try ModuleDescription.read(json: json) }
    }

    var names: [String] { ["noop", "file", "console", "probe", "broken", "log"] }

    func description(of module: String) throws(ModuleFault) -> ModuleDescription? {
        switch module {
        case "console", "file", "probe", "noop": try Modules.described[module]!.get()
        case "log": ModuleDescription(only: try SourceDescription.read(json: Modules.logText))
        case "broken": throw ModuleFault("it was built for version 9 of the interface")
        default: nil
        }
    }
}

/// A secret that no message may show.
let secret = "s3cr3t-of-sixteen-bytes-and-more"

let environment = [
    "SECRET": secret, "SHORT": "s3cr3t", "OUT": "out", "LEVEL": "standard", "EMPTY": "", "MEMORY": "1MB", "PLUGIN": "noop", "MODE": "0640",
    "SYNC": "batch", "FULL": "block", "DENY": "deny",
]

func files(_ path: String) -> Result<[UInt8], PlaceholderFault> {
    switch path {
    case "plan.json":
        .success(
            Array(#"{"events": {"order": {"properties": {"properties": {"email": {"private": true}}}}, "paid": {}}}"#.utf8))
    case "broken-plan.json": .success(Array("{\n \"events\": {\"a\": {\"properties\": {\"type\": 1}}}}".utf8))
    case "key": .success(Array((secret + "\n").utf8))
    case "two-lines": .success(Array("a\n\n".utf8))
    case "binary": .success([0xFF, 0xFE])
    case "large": .success(Array(repeating: 0x41, count: 1_000_001))
    default: .failure(PlaceholderFault("No such file or directory"))
    }
}

func read(_ text: [UInt8]) throws(ConfigurationFaults) -> Plan {
    try RoutesFile(environment: { environment[$0] }, contents: files, catalog: Modules()).read(text, file: "routes.json")
}

func read(_ text: String) throws(ConfigurationFaults) -> Plan { try read(Array(text.utf8)) }

func faults(_ text: [UInt8]) -> [String] {
    do throws(ConfigurationFaults) {
        _ = try read(text)
        return []
    } catch {
        return error.faults.map(\.description)
    }
}

func faults(_ text: String) -> [String] { faults(Array(text.utf8)) }

/// Returns a file that is valid if the given sections and the given members of the provider and the route are valid.
func file(_ sections: String = "", provider: String = #""plugin":"console""#, route: String = "") -> String {
    let before = sections.isEmpty ? "" : sections + ",\n"
    return "{\(before)\"providers\":{\"out\":{\(provider)}},\n\"routes\":[{\(route.isEmpty ? "" : route + ",")\"to\":[\"out\"]}]}"
}

func settings(_ plan: Plan, _ provider: Int = 0) -> String { String(decoding: plan.providers[provider].settings.bytes, as: UTF8.self) }
