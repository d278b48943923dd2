import Foundation
import Testing

@Suite("The command, where it once went wrong")
struct CommandFixTests {
    // MARK: What only a module can judge

    @Test("check makes each provider, tells the faults of all of them with their places, and connects to nothing")
    func checkMakesProviders() throws {
        let yard = try Yard(
            routes: #"""
                { "providers": {
                    "a": { "plugin": "file", "path": "x/" },
                    "b": { "plugin": "file", "path": "" },
                    "c": { "plugin": "file", "path": "x", "rotate": {} },
                    "d d": { "plugin": "file", "path": "x", "rotate": { "keep": 2 } },
                    "e": { "plugin": "file", "path": "x", "rotate": { "bytes": "0B" } },
                    "f": { "plugin": "file", "path": "x", "rotate": { "every": "0s" } },
                    "g": { "plugin": "file", "path": "x\u0000y" },
                    "fine": { "plugin": "file", "path": "made/fine.ndjson" } },
                  "routes": [ { "to": ["a", "b", "c", "d d", "e", "f", "g", "fine"] } ] }
                """#)
        let check = try yard.run(["check"])
        #expect(check.code == 78)
        #expect(check.text == "")
        let places = [
            "2:10: providers.a: path ends in '/'", "3:10: providers.b: path is empty", "4:10: providers.c: rotate needs",
            "5:12: providers[\"d d\"]: rotate needs", "6:10: providers.e: rotate.bytes must be", "7:10: providers.f: rotate.every must be",
            "8:10: providers.g: path holds a zero byte",
        ]
        try #require(check.errorLines.count == places.count, "\(check.errors)")
        for (line, place) in zip(check.errorLines, places) { #expect(line.hasPrefix("routes.json:" + place), "\(line)") }
        #expect(try yard.run(input: "{}\n").errors == check.errors, "run says the same")
        #expect(try FileManager.default.contentsOfDirectory(atPath: yard.folder) == ["routes.json"])
    }
}
