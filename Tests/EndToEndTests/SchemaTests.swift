import Foundation
import Testing

@Suite("schema and the manual page")
struct SchemaTests {
    @Test("schema prints a JSON Schema with the settings of every installed module")
    func schema() throws {
        let result = try TestRouter().run(["schema"])
        #expect(result.code == 0)
        #expect(result.errors == "")
        let schema = try #require(try JSONSerialization.jsonObject(with: result.output) as? [String: Any])
        #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
        #expect(schema["required"] as? [String] == ["providers", "routes"])
        let definitions = try #require(schema["$defs"] as? [String: Any])
        let file = try #require(definitions["provider-file"] as? [String: Any])
        #expect(file["required"] as? [String] == ["path"])
        let settings = try #require(file["properties"] as? [String: Any])
        for name in ["plugin", "delivery", "path", "rotate", "mode", "sync"] { #expect(settings[name] != nil, "\(name)") }
        for name in ["console", "noop"] { #expect(definitions["provider-\(name)"] != nil, "\(name)") }
    }

    @Test("the manual page names every command and option of the help, and groff accepts it without warnings")
    func manual() throws {
        let router = try TestRouter()
        let page = try router.run(["help", "--man"])
        #expect(page.code == 0)
        #expect(page.text.contains(".TH SWITCHYARD 1"))
        let help = try router.run(["--help"])
        let commands = help.lines.drop { $0 != "Commands:" }.dropFirst().prefix { $0.hasPrefix("  ") }.compactMap {
            $0.split(separator: " ").first.map(String.init)
        }
        #expect(commands.count >= 5)
        for command in commands {
            #expect(page.text.contains(".SS switchyard \(command.replacingOccurrences(of: "-", with: "\\-"))"))
            let options = try router.run([command, "--help"]).text.split(separator: " ").filter { $0.hasPrefix("--") && $0.count > 2 }
            for option in options { #expect(page.text.contains(option.replacingOccurrences(of: "-", with: "\\-")), "\(option)") }
        }

        try router.write(page.text, to: "switchyard.1")
        let groff = Process()
        groff.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        groff.arguments = ["groff", "-man", "-ww", "-z", router.path("switchyard.1")]
        let errors = Pipe()
        groff.standardError = errors
        try groff.run()
        let complaints = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        groff.waitUntilExit()
        #expect(complaints == "")
        #expect(groff.terminationStatus == 0)
    }
}
