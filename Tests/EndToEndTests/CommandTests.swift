import Foundation
import Testing

@Suite("The command")
struct CommandTests {
    @Test(
        "wrong usage exits with 64 and says what is wrong",
        arguments: [
            (["chekc"], "unknown command 'chekc', did you mean check?"),
            (["--wrokers", "2"], "unknown option '--wrokers', did you mean --workers?"),
            (["--workers"], "--workers needs a value: --workers N"),
            (["--workers", "0"], "--workers must be a number from 1 to 1024, is '0'"),
            (["--workers", "1", "--workers", "2"], "--workers was given twice"),
            (["--strict=yes"], "--strict takes no value, was given 'yes'"),
            (["run", "file"], "unexpected argument 'file'; see switchyard run --help"),
            (["--drain", "3"], "--drain must be a time such as 500ms, 30s or 5m, is '3'"),
            (["--stats", "xml"], "--stats must be text, json or none, is 'xml'"),
            (["providers", "consle"], "there is no module 'consle', did you mean console?"),
            (["-c", "-"], "the configuration cannot come from standard input, where the events come from; name a file"),
            (["check", "a", "b"], "unexpected argument 'b'"),
        ])
    func usage(arguments: [String], message: String) throws {
        let result = try TestRouter(routes: passThrough).run(arguments)
        #expect(result.errors.contains("switchyard: " + message))
        #expect(result.errorLines.count == 1)
        #expect(result.text == "")
        #expect(result.code == 64)
    }

    @Test(
        "--help works everywhere and names every option and exit code",
        arguments: [["--help"], ["run", "--help"], ["check", "-h"], ["providers", "--help"], ["help", "run"]])
    func help(arguments: [String]) throws {
        let result = try TestRouter().run(arguments)
        #expect(result.code == 0)
        #expect(result.text.hasPrefix("Usage: switchyard"))
        if arguments == ["--help"] { for code in ["64", "65", "69", "70", "78"] { #expect(result.text.contains("  \(code)")) } }
        if arguments.contains("run") { #expect(result.text.contains("--workers N")) }
    }

    @Test("--version prints one line")
    func version() throws {
        let result = try TestRouter().run(["--version"])
        #expect(result.lines.count == 1)
        #expect(result.text.hasPrefix("switchyard "))
        #expect(result.code == 0)
    }

    @Test("without a configuration it shows the smallest one and exits with 78")
    func noConfiguration() throws {
        let result = try TestRouter().run(input: "{}\n")
        #expect(result.code == 78)
        #expect(result.errors.contains("routes.json: No such file or directory"))
        let smallest = try #require(result.errorLines.last)
        let router = try TestRouter(routes: smallest)
        #expect(try router.run(input: "{}\n").code == 0, "what it shows works")
    }

    @Test("all faults of a configuration are reported together, with their places and without secrets")
    func faults() throws {
        let router = try TestRouter(
            routes: """
                { "keys": { "ids": "${env:IDS}" },
                  "providers": { "out": { "plugin": "consle" }, "log": { "plugin": "file", "pth": "x" } },
                  "routes": [ { "to": ["ot"], "sample": { "rate": 1.5 } } ] }
                """)
        let result = try router.run(["check"], environment: ["IDS": "hush-hush"])
        #expect(result.code == 78)
        #expect(result.text == "")
        #expect(!result.errors.contains("hush"))
        for part in [
            "routes.json:1:", "routes.json:2:", "did you mean 'console'", "did you mean 'path'", "routes.json:3:",
            "must be between 0 and 1, is 1.5",
        ] {
            #expect(result.errors.contains(part), "\(part)")
        }
        #expect(result.errorLines.count >= 5)
        #expect(result.errorLines.allSatisfy { $0.hasPrefix("routes.json:") })
    }

    @Test("check prints the plan it understood")
    func check() throws {
        let router = try TestRouter(
            routes: """
                { "keys": { "ids": "0123456789abcdef" },
                  "providers": { "out": { "plugin": "console" } },
                  "routes": [ { "name": "product", "events": ["item_*", "${env:GLOB}"], "match": { "type": "track", "tenant": "${env:TENANT}" }, "sample": { "rate": 0.25, "by": "userId" },
                                "transform": [ { "drop": ["context.ip"] }, { "hash": { "fields": ["userId"], "key": "ids" } } ], "to": ["out"] } ] }
                """)
        let result = try router.run(["check"], environment: ["GLOB": "hush_*", "TENANT": "hush-hush"])
        #expect(result.code == 0)
        for part in [
            "routes.json is good", "the gate is off", "product → out", "event is item_* or (secret)", "tenant is (secret)",
            "type is \"track\"", "sample: 0.25 by userId",
            "drop context.ip", "hash userId with key ids", "libConsole.so",
        ] {
            #expect(result.text.contains(part), "\(part)")
        }
        #expect(!result.text.contains("0123456789abcdef"))
        #expect(!result.text.contains("hush"))
    }

    @Test("providers lists what is installed, with settings")
    func providers() throws {
        let list = try TestRouter().run(["providers"])
        #expect(list.code == 0)
        for name in ["console", "file", "noop"] { #expect(list.lines.contains { $0.contains(name) }) }
        let file = try TestRouter().run(["providers", "file"])
        #expect(file.code == 0)
        for setting in ["path", "rotate", "mode", "sync"] { #expect(file.text.contains(setting)) }
    }

    @Test("run and check refuse settings that only the module can judge, with the module's message")
    func moduleRefuses() throws {
        let router = try TestRouter(
            routes: #"{ "providers": { "log": { "plugin": "file", "path": "x-%Q" } }, "routes": [ { "to": ["log"] } ] }"#)
        for arguments in [["run"], ["check"]] {
            let result = try router.run(arguments, input: "{}\n")
            #expect(result.code == 78)
            #expect(result.text == "")
            #expect(result.errors.hasPrefix("routes.json:1:25: providers.log: path holds '%Q'"))
        }
    }
}
