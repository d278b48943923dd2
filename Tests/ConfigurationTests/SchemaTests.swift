// The schema of routes.json, and the files for another validator. Scripts/schema.sh has the files written, and Tests/Schema/validate.py
// checks the schema against them.

import Events
import Foundation
import Testing

@testable import Configuration
@testable import Document
@testable import FormReading
@testable import Plans

@Suite("The schema of routes.json")
struct SchemaTests {
    @Test("the files that the validator must accept have no faults", arguments: Good.all.indices)
    func goodFiles(index: Int) {
        #expect(faults(Good.all[index]) == [])
    }

    @Test("the schema has the settings of every installed module, and accepts no other module")
    func modules() throws {
        let (root, faults) = try Outline.read(Source(Array(SchemaTests.schema.utf8)), resolving: nil)
        #expect(faults.isEmpty)
        #expect(root["$schema"]?.text?.value == "https://json-schema.org/draft/2020-12/schema")
        let definitions = try #require(root["$defs"])
        let console = definitions["provider-console"]?["properties"]
        #expect(console?.entries?.map(\.key.name) == ["plugin", "delivery", "isolate", "filter", "transform", "lint", "format", "stream"])
        let named = definitions["provider"]?["properties"]?["plugin"]?["anyOf"]?.items?.first?["enum"]?.items
        #expect(named?.compactMap(\.text?.value) == ["noop", "file", "console", "probe"])
    }

    @Test("every reference in the schema has a target")
    func references() throws {
        let (root, _) = try Outline.read(Source(Array(SchemaTests.schema.utf8)), resolving: nil)
        func check(_ node: Node) {
            if let reference = node["$ref"]?.text?.value {
                let name = reference.replacing("#/$defs/", with: "")
                #expect(root["$defs"]?[name] != nil, "\(reference)")
            }
            for entry in node.entries ?? [] { check(entry.node) }
            for item in node.items ?? [] { check(item) }
        }
        check(root)
    }

    @Test("the schema shows the default of a member, as the file would write it")
    func defaults() throws {
        let (root, _) = try Outline.read(Source(Array(SchemaTests.schema.utf8)), resolving: nil)
        func shown(_ node: Node?) -> String? { node?["default"].map(Reading.shown) }
        let limits = root["properties"]?["limits"]?["properties"]
        #expect(shown(limits?["line"]) == #""16MB""# && shown(limits?["depth"]) == "512")
        #expect(shown(limits?["disk"]) == nil)
        let delivery = root["$defs"]?["delivery"]?["properties"]
        #expect(shown(delivery?["batch"]?["properties"]?["wait"]) == nil, "without it, events leave at once")
        #expect(shown(delivery?["queue"]?["properties"]?["full"]) == #""block""#)
        #expect(shown(delivery?["ordered"]) == "false")
        /// Returns the first member of this name in the schemas of objects.
        func member(_ name: String, in node: Node) -> Node? {
            if let member = node["properties"]?[name] { return member }
            for child in (node.entries?.map(\.node) ?? []) + (node.items ?? []) {
                if let found = member(name, in: child) { return found }
            }
            return nil
        }
        let session = member("session", in: root)?["properties"]
        let plan = SessionPlan(by: Path(keys: ["a"]))
        #expect(shown(session?["by"]) == nil && shown(session?["idle"]) != nil && shown(session?["as"]) == "\"\(plan.place)\"")
        #expect(shown(session?["most"]) == "\(plan.most)")
    }

    @Test("a file that writes every default of the schema has the same plan as one that leaves them out")
    func sameDefaults() throws {
        let (root, _) = try Outline.read(Source(Array(SchemaTests.schema.utf8)), resolving: nil)
        /// Returns an object with the defaults of the schema's members. It is nil if there are none.
        func written(_ schema: Node?) -> String? {
            let members = (schema?["properties"]?.entries ?? []).compactMap { entry -> String? in
                // The default of a section is empty; its members have defaults of their own.
                let own = entry.node["default"].flatMap { $0.entries == nil ? Reading.shown($0) : nil }
                let value = own ?? written(entry.node)
                return value.map { "\"\(entry.key.name)\":\($0)" }
            }
            return members.isEmpty ? nil : "{\(members.joined(separator: ","))}"
        }
        let limits = try #require(written(root["properties"]?["limits"]))
        let delivery = try #require(written(root["$defs"]?["delivery"]))
        func file(_ limits: String, _ delivery: String) -> String {
            #"{\#(limits)"providers":{"out":{"plugin":"noop"\#(delivery)}},"routes":[{"to":["out"]}]}"#
        }
        // `durability` needs a queue on disk.
        let plain = try read(file("", #","delivery":{"queue":{"disk":"1GB"}}"#))
        let onDisk = delivery.replacing(#""queue":{"#, with: #""queue":{"disk":"1GB","#)
        let full = try read(file("\"limits\":\(limits),", ",\"delivery\":\(onDisk)"))
        #expect("\(plain.limits)" == "\(full.limits)")
        #expect("\(plain.providers[0].delivery)" == "\(full.providers[0].delivery)")
    }

    @Test("the default of each basic form is shown as the file would write it, and none for a required member or an invalid value")
    func basicDefaults() throws {
        let form = Form<Defaults>.object(
            Defaults(),
            [
                Member("word", Forms.choice(Defaults.Word.self), "a", into: \.word), Member("flag", Forms.boolean, "a", into: \.flag),
                Member("count", Forms.integer(0...9), "a", into: \.count), Member("none", Forms.integer(1...9), "a", into: \.none),
                Member("share", Forms.number(0...1), "a", into: \.share), Member("size", Forms.size(1...(1 << 40)), "a", into: \.size),
                Member("time", Forms.time(0...100_000), "a", into: \.time), Member("path", Forms.path, "a", into: \.path),
                Member("unset", Forms.integer(0...9), "a", into: \.unset),
                Member("needed", Forms.integer(0...9), required: true, "a", into: \.count),
            ])
        let (root, _) = try Outline.read(Source(Array(form.schema.utf8)), resolving: nil)
        let shown = root["properties"]?.entries?.map { "\($0.key.name) \($0.node["default"].map(Reading.shown) ?? "-")" }
        #expect(
            shown == [
                #"word "drop_oldest""#, "flag true", "count 3", "none -", "share 0.25", #"size "16MB""#, #"time "1500ms""#, #"path "a.b""#,
                "unset -", "needed -",
            ])
    }

    private struct Defaults: Sendable {
        enum Word: String, CaseIterable, Sendable { case dropOldest = "drop_oldest" }
        var word = Word.dropOldest
        var flag = true
        var count = 3
        /// A value that the form does not accept: it means that there is none.
        var none = 0
        var share = 0.25
        var size = 16_000_000
        var time = Duration.milliseconds(1500)
        var path = Path(keys: ["a", "b"])
        var unset: Int?
    }

    @Test("the corpus for the validator is written", .enabled(if: SchemaTests.corpusFile != nil))
    func writeCorpus() throws {
        let corpus: [String: Any] = [
            "schema": SchemaTests.schema,
            "good": (Good.all + SchemaTests.variants.filter { faults($0).isEmpty }).map { ["what": "good", "text": $0] },
            "broken": Broken.all.map { ["what": $0.what, "text": $0.text] },
        ]
        let data = try JSONSerialization.data(withJSONObject: corpus)
        try data.write(to: URL(fileURLWithPath: SchemaTests.corpusFile!))
    }

    static let corpusFile = ProcessInfo.processInfo.environment["SWITCHYARD_SCHEMA_CORPUS"]

    static let schema = RoutesFile.schema(for: Modules().names.compactMap { try? Modules().description(of: $0) })

    /// The good file with each value in turn replaced by each of many values. Most of these files are invalid. The schema must accept the
    /// others.
    static let variants: [String] = {
        let source = Source(Array(good.utf8))
        guard let (root, _) = try? Outline.read(source, resolving: nil) else { return [] }
        var ranges: [Range<Int>] = []
        func collect(_ node: Node) {
            ranges.append(node.range)
            for item in node.items ?? [] { collect(item) }
            for entry in node.entries ?? [] { collect(entry.node) }
        }
        collect(root)
        let values = [
            "null", "true", "0", "1", "1.0", "0.25", #""""#, #""a""#, #""out""#, #""none""#, #""standard""#, #""analytics""#, #""probe""#,
            #""ééééééééé""#, #""${env:SECRET}""#, #""x${file:key}y""#, #""${env:MEMORY}""#, #""$${""#, #""1.5MiB""#, #""0ms""#,
            #""drop_oldest""#,
            #""a['b.c'].d""#, #""*""#, "[]", "{}", #"["a"]"#, #"["archive"]"#, #"{"assume":"none"}"#, #"{"level":"none"}"#,
            #"{"purposes":["operations"]}"#, #"{"events":"x*"}"#,
            #""100/s""#, #"{"rate":"1/m","burst":3}"#,
        ]
        return ranges.flatMap { range in
            values.map { value in
                let bytes = source.bytes[..<range.lowerBound] + Array(value.utf8) + source.bytes[range.upperBound...]
                return String(decoding: bytes, as: UTF8.self)
            }
        }
    }()
}

/// Files without faults.
enum Good {
    static let all = [
        good,
        file(),
        file(provider: #""plugin":"${env:PLUGIN}""#),
        file(
            provider: #""plugin":"file","path":"${env:OUT}","mode":"${env:MODE}","sync":"${env:SYNC}","rotate":{"bytes":"${env:MEMORY}"}"#),
        file(provider: #""plugin":"console","delivery":{"batch":{"bytes":"${env:MEMORY}"},"queue":{"full":"${env:FULL}"}}"#),
        file(
            provider:
                #""plugin":"console","filter":{"events":["a*"],"match":{"a":[1,"x"]},"not":{"events":"b"},"where":"now > timestamp(at)"}"#),
        file(
            provider:
                #""plugin":"file","path":"x","transform":[{"drop":["a"]},{"set":{"b":{"cel":"this.source"}}}],"filter":{"where":"n > 1"}"#),
        file(provider: #""plugin":"console","transform":[]"#),
        file(#""keys":{"ids":"${env:SECRET}","words":"schlüssel-für-alle"}"#),
        file(#""keys":{"short":"ééééééé€"}"#),
        file(#""keys":{}"#, route: #""transform":[]"#),
        file(#""limits":{"line":"1.5MiB","depth":100000}"#),
        file(#""consent":{"levels":["none","all"],"unknown":"deny"}"#, route: #""consent":"all""#),
        file(#""consent":{"levels":["none","${env:LEVEL}"],"unknown":"${env:DENY}","default":"${env:LEVEL}"}"#),
        file(
            #""consent":{"levels":["none","all"],"unknown":{"by":"context.region","is":{"DE":"deny","US":{"assume":"all"}},"else":"deny"},"default":"all"}"#
        ),
        file(
            #""consent":{"levels":["none","all"],"unknown":{"for":"${env:LEVEL}","is":{"a":{"by":"r","is":{"DE":"deny"},"else":"deny"}},"else":"${env:DENY}"},"default":"all"}"#
        ),
        file(#""consent":{"levels":{"none":[]},"default":{"level":"none"},"gpc":[]}"#, route: #""consent":{"level":"none"}"#),
        file(
            #""consent":{"levels":{"a":["x","y"]},"default":"a","map":{"tcf":{"x":{"purposes":[1,24],"vendor":755,"basis":["consent","legitimate_interest"]},"y":{"purposes":[8]}},"gpp":{"x":["sale","sharing","targeted_advertising","sensitive_data"]},"google":{"y":["ad_storage","analytics_storage","ad_user_data","ad_personalization"]},"categories":{"x":["${env:LEVEL}","C0004"]}}}"#
        ),
        file(route: #""match":{"a[\"b.c\"]":["x",1,null],"['d']['e\\n']":true},"sample":{"rate":1,"keep":{"events":"a*"}}"#),
        file(route: #""transform":[{"set":{"a.b":{"c":[1,{"d":null}]}}},{"drop":["x y.z"]}]"#),
        file(route: #""match":{"a":["$","$$","a$b","$$${x","$${env}","$${env:}${env:OUT}$"]},"transform":[{"set":{"b":["$${"]}}]"#),
        file(route: #""where":"properties.price > 10 && type == 'track'","sample":{"rate":0.5,"keep":{"where":"has(userId)"}}"#),
        file(route: #""sample":{"rate":0.5,"keep":{"where":"a == \"$\"","events":["a*"]}}"#),
        file(route: #""not":{"events":"debug_*","match":{"type":["page","screen"]}},"else":false"#),
        file(route: #""not":{"match":{"a":null}}"#),
        file(route: #""sample":{"rates":{"a*":0,"*":1},"by":"userId","annotate":true,"limit":"30/m"}"#),
        file(route: #""sample":{"target":"0.5/s","by":"userId","annotate":"context.sampleRate","keep":["a"]}"#),
        file(route: #""sample":{"limit":{"rate":"1000000000/s","burst":1},"annotate":false,"keep":["a"]}"#),
        file(route: #""session":{"by":"userId"}"#),
        file(#""emit":[{"where":"true","event":{"event":"b","properties":{"a":{"cel":"a + 1"},"b":[1,{"cel":"b"},{"c":null}]}}}]"#),
        file(route: #""session":{"by":"traits.id","idle":"2h","as":"session","most":1}"#),
        file(route: #""sample":{"target":"1/d","limit":{"rate":"5/h"}}"#),
        file(provider: #""plugin":"console","delivery":{"retention":"3660d"}"#, route: #""retention":"1ms""#),
        file(route: #""name":"ünïcödé 🚗","events":"*""#),
    ]
}

@Suite("Each key of the schema")
struct SchemaKeyTests {
    private let root: Node

    init() throws { root = try Outline.read(Source(Array(SchemaTests.schema.utf8)), resolving: nil).root }

    /// Every key of the router with its schema: the members of all objects except the settings of modules.
    private var keys: [(path: String, schema: Node, isRequired: Bool)] {
        var found: [(path: String, schema: Node, isRequired: Bool)] = []
        func collect(_ node: Node, _ path: String) {
            let required = node["required"]?.items?.compactMap(\.text?.value) ?? []
            for entry in node["properties"]?.entries ?? [] where entry.node["description"] != nil || entry.node["const"] == nil {
                found.append(("\(path).\(entry.key.name)", entry.node, required.contains(entry.key.name)))
                collect(entry.node, "\(path).\(entry.key.name)")
            }
            for name in ["items", "additionalProperties"] { if let inner = node[name], inner.entries != nil { collect(inner, path) } }
            for name in ["anyOf", "allOf"] { for inner in node[name]?.items ?? [] { collect(inner, path) } }
            if let inner = node["then"] { collect(inner, path) }
        }
        for entry in root["properties"]?.entries ?? [] {
            found.append((entry.key.name, entry.node, root["required"]?.items?.contains { $0.text?.value == entry.key.name } ?? false))
            collect(entry.node, entry.key.name)
        }
        // Modules describe their own settings; "console" stands for the keys that every provider has.
        for entry in root["$defs"]?.entries ?? [] where !entry.key.name.hasPrefix("provider") && !entry.key.name.hasPrefix("source-") {
            collect(entry.node, entry.key.name)
        }
        for entry in root["$defs"]?["provider-console"]?["properties"]?.entries?.prefix(5) ?? [] {
            found.append(("providers.\(entry.key.name)", entry.node, entry.key.name == "plugin"))
        }
        return found
    }

    @Test("has a description, and says what holds without it unless it is required")
    func described() {
        #expect(keys.count > 180, "\(keys.count)")
        for (path, schema, isRequired) in keys {
            let about = schema["description"]?.text?.value ?? ""
            #expect(!about.isEmpty, "no description: \(path)")
            let isSaid = isRequired || schema["default"] != nil || about.hasSuffix("when left out.")
            #expect(isSaid, "no default: \(path): \(about)")
        }
    }

    @Test("has an example")
    func examples() { for (path, schema, _) in keys { #expect(schema["examples"]?.items?.isEmpty == false, "no example: \(path)") } }
}
