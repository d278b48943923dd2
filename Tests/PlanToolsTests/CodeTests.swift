// The typed code of a plan: what it says, and that compilers take it, whatever the plan names its events and members.

import Foundation
import Testing

@testable import PlanTools

@Suite("The typed code of a plan") struct CodeTests {
    private static let plan = #"""
        {"events":{"order_completed":{"owner":"shop","description":"An order was paid.","require":["messageId"],
           "properties":{"type":"object","required":["total","class"],"properties":{
             "total":{"type":"number","minimum":0,"description":"In euros."},"class":{"enum":["a b","a-b","1",""]},
             "note":{"type":["string","null"]},"mail":{"type":"string","format":"email","private":true},
             "lines":{"type":"array","items":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"n":{"type":"integer"}}}},
             "either":{"type":["string","integer"]},"any":{},"map":{"type":"object"},"flag":{"type":"boolean"},"odd":{"const":5},
             "nullable":{"enum":["x",null]}}},
           "versions":{"2":{"properties":{"type":"object","required":["cents","n"],"properties":{"cents":{"type":"integer"},"n":{"type":["integer","null"]}}}}}},
          "identify":{"traits":{"type":"object","properties":{"plan":{"type":"string"}}}},"ping":{}}}
        """#

    /// Events and members whose names are words of the languages, differ only in characters that no identifier has, or are hostile.
    private static let hostile: String = {
        let names = [
            "class", "self", "init", "a b", "a-b", "a_b", "AB", "1", "", "ö", "日本", "x\\n*/ import os\\\"\\\"\\\"", "json", "name",
            "version",
            "#{x}", "${x}", "\\\\(x)", "\\u202e", "String", "JSONValue", "PlannedEvent", "None", "Type", "some", "members", "value", "Self",
            "int", "dict", "str", "type",
        ]
        let members = names.map {
            #""\#($0)":{"type":"object","description":"\#($0)","properties":{"\#($0)":{"enum":["\#($0)","z"]},"_":{}}}"#
        }
        let schema = #"{"type":"object","required":["\#(names[0])"],"properties":{\#(members.joined(separator: ","))}}"#
        let events = names.filter { !$0.isEmpty }.map {
            #""\#($0)":{"owner":"\#($0)","description":"\#($0)","traits":{}\#($0 == names[0] ? #","properties":\#(schema)"# : "")}"#
        }
        return #"{"version":"v[\"x y\"]","events":{"first":{"versions":{"\#(names[11])":{},"1":{}}},\#(events.joined(separator: ","))}}"#
    }()

    private static func code(_ plan: String, _ language: CodeLanguage) throws -> String {
        PlanCode.text(try PlanDocument(Array(plan.utf8)), in: language)
    }

    /// Runs a program on a file with the text. Returns what it says if it fails.
    private static func complaint(_ command: [String], _ text: String, _ name: String) throws -> String? {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("plan-code-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent(name)
        try text.write(to: file, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command + [file.path]
        process.currentDirectoryURL = folder
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let said = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 && said.isEmpty ? nil : said + " (\(process.terminationStatus))"
    }

    @Test("Swift has an enum of the events, and a structure for each object")
    func swift() throws {
        let code = try Self.code(Self.plan, .swift)
        for part in [
            "    /// An order was paid.\n    /// Owner: shop.\n    /// If it violates the plan, it passes and is counted.\n"
                + "    /// It must also have: messageId.\n    case orderCompleted(properties: OrderCompletedProperties)\n",
            "    case orderCompletedV2(properties: OrderCompletedV2Properties)\n", "    case identify(traits: IdentifyTraits)\n",
            "    case ping\n",
            "    /// In euros.\n    /// Not checked here: minimum 0\n    public var total: Double\n",
            "    public var class_2: OrderCompletedPropertiesClass\n", "    public var note: String?\n",
            "    /// Private: it never leaves the router as it came.\n    /// Not checked here: format email\n    public var mail: String?\n",
            "    public var lines: [OrderCompletedPropertiesLinesItem]?\n", "    public var either: JSONValue?\n",
            "    public var map: [String: JSONValue]?\n", "    /// Not checked here: enum 5\n    public var odd: JSONValue?\n",
            "    case aB = \"a b\"\n    case aB_2 = \"a-b\"\n    case _1 = \"1\"\n    case empty = \"\"\n", "    public var n: Int?\n",
        ] { #expect(code.contains(part), "\(part)\n\(code)") }
    }

    @Test("the compiler takes the Swift code, and the code writes events of the plan")
    func swiftCompiles() throws {
        let hostile = try Self.code(Self.hostile, .swift)
        let complaint = try Self.complaint(["swiftc", "-typecheck", "-swift-version", "6"], hostile, "Events.swift")
        #expect(complaint == nil, "\(complaint?.prefix(3000) ?? "")")
        let calls = """

            let event = PlannedEvent.orderCompletedV2(properties: OrderCompletedV2Properties(cents: 5, n: nil))
            guard event.json.text == #"{"event":"order_completed","context":{"schema_version":"2"},"properties":{"cents":5,"n":null}}"# else {
                fatalError(event.json.text)
            }
            let order = OrderCompletedProperties(
                total: 1.5, class_2: .aB, lines: [OrderCompletedPropertiesLinesItem(sku: "\\"x")], map: ["k": .bool(true)], nullable: .x)
            guard order.json.text == #"{"total":1.5,"class":"a b","lines":[{"sku":"\\"x"}],"map":{"k":true},"nullable":"x"}"# else {
                fatalError(order.json.text)
            }
            guard PlannedEvent.identify(traits: IdentifyTraits()).json.text == #"{"type":"identify","traits":{}}"# else { fatalError() }
            """
        #expect(try Self.complaint(["swift", "-swift-version", "6"], Self.code(Self.plan, .swift) + calls, "main.swift") == nil)
    }

    @Test("Python has a dataclass for each event, and the interpreter takes it")
    func python() throws {
        let code = try Self.code(Self.plan, .python)
        for part in [
            "@dataclass(frozen=True)\nclass OrderCompleted:\n    properties: OrderCompletedProperties\n",
            "    # In euros.\n    # Not checked here: minimum 0\n    \"total\": float,\n", "    \"note\": NotRequired[Union[str, None]],\n",
            "OrderCompletedPropertiesClass = Literal[\"a b\", \"a-b\", \"1\", \"\"]\n",
            "    \"lines\": NotRequired[list[OrderCompletedPropertiesLinesItem]],\n", "    \"either\": NotRequired[Union[str, int]],\n",
            "        return {\"event\": \"order_completed\", \"context\": {\"schema_version\": \"2\"}, \"properties\": self.properties}\n",
            "PlannedEvent = Union[OrderCompleted, OrderCompletedV2, Identify, Ping]\n",
        ] { #expect(code.contains(part), "\(part)\n\(code)") }
        let calls = "\nassert Ping().json() == {'event': 'ping'}\nassert Identify(traits={}).json() == {'type': 'identify', 'traits': {}}\n"
        #expect(try Self.complaint(["python3"], code + calls, "events.py") == nil)
        let hostile = try Self.code(Self.hostile, .python)
        #expect(try Self.complaint(["python3", "-m", "py_compile"], hostile, "events.py") == nil)
        #expect(try Self.complaint(["python3"], hostile, "events.py") == nil)
    }

    @Test("TypeScript has an interface for each event")
    func typescript() throws {
        let code = try Self.code(Self.plan, .typescript)
        for part in [
            "export interface OrderCompletedV2 {\n  event: \"order_completed\";\n  \"context\": { \"schema_version\": \"2\" };\n"
                + "  properties: OrderCompletedV2Properties;\n}\n",
            "  // In euros.\n  // Not checked here: minimum 0\n  \"total\": number;\n", "  \"note\"?: string | null;\n",
            "export type OrderCompletedPropertiesClass = \"a b\" | \"a-b\" | \"1\" | \"\";\n",
            "  \"lines\"?: Array<OrderCompletedPropertiesLinesItem>;\n", "  \"map\"?: Record<string, unknown>;\n",
            "export type PlannedEvent = OrderCompleted | OrderCompletedV2 | Identify | Ping;\n",
        ] { #expect(code.contains(part), "\(part)\n\(code)") }
    }

    @Test("no text of a plan ends a comment, a literal or a line", arguments: CodeLanguage.allCases)
    func texts(language: CodeLanguage) throws {
        let code = try Self.code(Self.hostile, language)
        for scalar in code.unicodeScalars { #expect(scalar == "\n" || scalar.value >= 0x20 && scalar != "\u{202e}") }
        for line in code.split(separator: "\n") where line.contains("*/ import os") {
            let start = line.drop { $0 == " " }
            #expect(start.hasPrefix("//") || start.hasPrefix("#") || line.contains("\\u"), "\(line)")
        }
    }
}
