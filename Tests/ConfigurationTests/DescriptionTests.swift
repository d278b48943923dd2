// Valid descriptions of modules, and those that are refused.

import Testing

@testable import Configuration
@testable import Plans

@Suite("Module descriptions")
struct DescriptionTests {
    @Test("a full description is read, its properties in their order")
    func full() throws {
        let module = try ModuleDescription.read(json: Modules.probe)
        #expect(module.name == "probe" && module.version == "2.1" && module.summary == "for tests")
        #expect(module.limits.events == 100 && module.limits.bytes == 50_000)
        #expect(module.canErase && module.concurrency == 4)
        #expect(module.delivery.batch.events == 100 && module.delivery.batch.bytes == 50_000)
        let rules = module.settings
        #expect(rules.members.map(\.name) == ["whole", "real", "least", "size", "pause", "tags", "headers"])
        #expect(rules.others == nil && rules.members.allSatisfy { !$0.required })
        guard case .number(let whole) = rules.members[0].schema, case .string(let size) = rules.members[3].schema else {
            Issue.record("the members are \(rules.members)")
            return
        }
        #expect(whole.integer && whole.minimum == 1 && whole.maximum == 10 && whole.fallback == 3)
        #expect(size.format == .size && size.fallback == "1MiB")
    }

    @Test("a description needs only a name, a version and settings")
    func least() throws {
        let module = try ModuleDescription.read(json: #"{"name":"a-b_1","version":"","settings":{"type":"object"}}"#)
        #expect(module.concurrency == 1 && !module.canErase && module.limits == ModuleDescription.Limits())
        #expect(module.delivery.batch.events == 500 && !module.delivery.ordered)
    }

    @Test("delivery is read like the same key of routes.json")
    func delivery() throws {
        let module = try ModuleDescription.read(
            json:
                #"{"name":"a","version":"1","settings":{"type":"object"},"delivery":{"ordered":false,"batch":{"events":7,"wait":"2s"},"immediate":["x"]}}"#
        )
        #expect(!module.delivery.ordered && module.delivery.batch.events == 7 && module.delivery.batch.wait == .seconds(2))
        #expect(module.delivery.immediate == [Glob("x")])
    }

    @Test("the mapping and the limits are read, and a row that could spoil a terminal is refused")
    func mapping() throws {
        func read(_ members: String) throws -> ModuleDescription {
            try ModuleDescription.read(json: #"{"name":"a","version":"1","settings":{"type":"object"},\#(members)}"#)
        }
        let module = try read(
            #""mapping":[{"from":"userId","to":"id","note":"n"},{"from":"everything else","to":"x","rest":true}],"#
                + #""refuses":[{"topic":"new_topic","most":40,"what":"names"}],"cuts":[{"topic":"size","what":"texts"}]"#)
        #expect(module.mapping.map(\.from) == ["userId", "everything else"] && module.mapping.map(\.isRest) == [false, true])
        #expect(module.mapping.map(\.to) == ["id", "x"] && module.mapping[0].note == "n")
        #expect(module.refuses.map(\.topic) == ["new_topic"] && module.refuses[0].most == 40 && module.refuses[0].what == "names")
        #expect(module.cuts.map(\.topic) == ["size"] && module.cuts[0].most == nil)
        #expect(try read(#""mapping":[]"#).mapping.isEmpty)
        let long = String(repeating: "x", count: 4001)
        for bad in [
            #""mapping":{}"#, #""mapping":[{"from":"a"}]"#, #""mapping":[{"from":"a","to":"\u001b[31m"}]"#,
            #""mapping":[{"from":"a\u202eb","to":"c"}]"#, #""mapping":[{"from":"a\nb","to":"c"}]"#,
            #""mapping":[{"from":"\#(long)","to":"c"}]"#,
            #""refuses":[{"topic":"a","what":"b","most":-1}]"#, #""cuts":[{"topic":"a","what":1}]"#, #""cuts":[{"what":"b"}]"#,
        ] {
            #expect(throws: ModuleFault.self, "\(bad)") { try read(bad) }
        }
    }

    @Test("a setting can be a secret")
    func secret() throws {
        let module = try ModuleDescription.read(
            json: #"{"name":"a","version":"1","settings":{"type":"object","properties":{"k":{"type":"string","writeOnly":true}}}}"#)
        guard case .string(let key) = module.settings.members[0].schema else {
            Issue.record("the members are \(module.settings.members)")
            return
        }
        #expect(key.isSecret)
    }

    @Test("a placeholder in a description is plain text")
    func placeholders() throws {
        let module = try ModuleDescription.read(json: #"{"name":"a","version":"${env:SECRET}","settings":{"type":"object"}}"#)
        #expect(module.version == "${env:SECRET}")
    }

    @Test(
        "an invalid description is refused with a message",
        arguments: [
            ("", "its description is not JSON: byte 1: empty, expected an object"),
            ("{", "its description is not JSON: byte 2: the file ends here, expected a key in double quotes or '}'"),
            ("[]", "its description is broken: the top level must be an object, is a list"),
            (
                "{}",
                "its description is broken: lacks 'name': the name that routes.json uses; lacks 'version': the version of the module; lacks 'settings': a JSON Schema of its settings"
            ),
            (described(name: "../a"), "its description is broken: name must be a name of letters a to z, digits, _ and -, is \"../a\""),
            (described(name: ""), "its description is broken: name must be a name of letters a to z, digits, _ and -, is \"\""),
            (described(#""type":"string""#), "its description is broken: settings: must be a schema of the type object"),
            (
                described(#""type":"any""#),
                "its description is broken: settings.type must be \"string\", \"integer\", \"number\", \"boolean\", \"array\" or \"object\", is \"any\""
            ),
            (
                described(#""properties":{}"#),
                "its description is broken: settings: lacks 'type', expected string, integer, number, boolean, array or object"
            ),
            (
                described(#""type":"object","$ref":"x""#),
                "its description is broken: settings: unknown keyword '$ref', expected type, description, properties, required or additionalProperties"
            ),
            (
                property(#""type":"string","minimum":1"#),
                "its description is broken: settings.properties.a: unknown keyword 'minimum', expected type, description, format, names, enum, pattern, default or writeOnly"
            ),
            (
                property(#""type":"integer","enum":[1]"#),
                "its description is broken: settings.properties.a: unknown keyword 'enum', expected type, description, minimum, maximum or default"
            ),
            (property(#""type":"array""#), "its description is broken: settings.properties.a: lacks 'items': the schema of its items"),
            (
                property(#""type":"string","format":"uri""#),
                "its description is broken: settings.properties.a.format must be \"size\", \"duration\", \"expression\" or \"condition\", is \"uri\""
            ),
            (
                property(#""type":"string","format":"size","pattern":"a""#),
                "its description is broken: settings.properties.a: 'pattern' cannot be used together with 'format'"
            ),
            (
                property(#""type":"string","pattern":"(""#),
                "its description is broken: settings.properties.a.pattern must be a POSIX extended regular expression (Unmatched ( or \\(), is \"(\""
            ),
            (
                property(#""type":"string","pattern":"(a{1,99}){1,99}""#),
                "its description is broken: settings.properties.a.pattern must be a pattern that repeats at most 1000 times, nested repeats multiplied, is \"(a{1,99}){1,99}\""
            ),
            (
                property(#""type":"string","enum":["a"],"default":"b""#),
                "its description is broken: settings.properties.a.default must be \"a\", is \"b\""
            ),
            (
                property(#""type":"string","format":"size","default":"1""#),
                "its description is broken: settings.properties.a.default must be a size such as \"16MB\" or \"512KiB\", is \"1\", did you mean \"1B\"?"
            ),
            (
                property(#""type":"integer","default":1.5"#),
                "its description is broken: settings.properties.a.default must be a whole number, is 1.5"
            ),
            (
                property(#""type":"number","minimum":2,"maximum":1"#),
                "its description is broken: settings.properties.a: no number is between minimum and maximum"
            ),
            (
                property(#""type":"number","maximum":1e999"#),
                "its description is broken: settings.properties.a.maximum must be a number, is 1e999"
            ),
            (
                property(#""type":"boolean","default":1"#),
                "its description is broken: settings.properties.a.default must be true or false, is 1"
            ),
            (
                described(#""type":"object","required":["pth"],"properties":{"path":{"type":"string"}}"#),
                "its description is broken: settings.required[0]: unknown property 'pth', did you mean 'path'?"
            ),
            (
                described(#""type":"object","additionalProperties":true"#),
                "its description is broken: settings.additionalProperties must be false or a schema object, is true"
            ),
            (
                described(#""type":"object","properties":{"plugin":{"type":"string"}}"#),
                "its description is broken: settings.properties.plugin: the router has a key of this name, expected another"
            ),
            (
                described(#""type":"object","properties":{"a":{"type":"string"},"a":{"type":"string"}}"#),
                "its description is broken: settings.properties: duplicate key 'a', expected once; the first is in line 1"
            ),
            (
                described(more: #""limits":{"events":0,"bytes":"1MB"}"#),
                "its description is broken: limits.events must be at least 1, is 0; limits.bytes must be a whole number, is \"1MB\""
            ),
            (
                described(more: #""capabilities":{"concurrency":5000,"order":true}"#),
                "its description is broken: capabilities.concurrency must be between 1 and 1024, is 5000; capabilities: unknown key 'order', expected erase, deduplicates, concurrency, streams or asks"
            ),
            (
                described(more: #""limits":{"events":10},"delivery":{"batch":{"events":11}}"#),
                "its description is broken: delivery.batch.events must be at most 10, the limit of the module, is 11"
            ),
            (
                described(more: #""summary":"a\nb""#),
                "its description is broken: summary must be at most 4000 bytes in one line, without control characters, is \"a\\nb\""
            ),
            (described(more: String(repeating: #""x":1,"#, count: 20) + #""y":[]"#), ""),
        ])
    func broken(json: String, message: String) {
        do throws(ModuleFault) {
            _ = try ModuleDescription.read(json: json)
            Issue.record("the description is accepted")
        } catch {
            if message.isEmpty { #expect(error.description.hasSuffix("; and 16 more")) } else { #expect(error.description == message) }
        }
    }

    @Test("hostile descriptions are refused")
    func hostile() {
        let nested = String(repeating: #"{"type":"array","items":"#, count: 5000)
        for json in [String(repeating: " ", count: 1_000_001), #"{"settings":"# + nested, String(repeating: "[", count: 900_000)] {
            #expect(throws: ModuleFault.self) { try ModuleDescription.read(json: json) }
        }
    }

    @Test("every truncation of a description is refused")
    func truncations() {
        let bytes = Array(Modules.probe.utf8)
        for count in 0..<bytes.count {
            #expect(throws: ModuleFault.self) { try ModuleDescription.read(json: String(decoding: bytes[..<count], as: UTF8.self)) }
        }
    }

    @Test(
        "a pattern must match the whole text, byte by byte",
        arguments: [
            ("0[0-7]{3}", "0644", true), ("0[0-7]{3}", "06444", false), ("0[0-7]{3}", "x0644", false), ("a|b", "ab", false),
            ("a|b", "b", true),
            ("[a-z]+", "a\n", false), ("[a-z]+", "a\0b", false), (".*", "", true),
        ])
    func patterns(pattern: String, text: String, matches: Bool) { #expect(Pattern.matches(pattern, text) == matches) }
}

private func described(_ settings: String = #""type":"object""#, name: String = "a", more: String = "") -> String {
    #"{"name":"\#(name)","version":"1","settings":{\#(settings)}\#(more.isEmpty ? "" : "," + more)}"#
}

private func property(_ schema: String) -> String { described(#""type":"object","properties":{"a":{\#(schema)}}"#) }
