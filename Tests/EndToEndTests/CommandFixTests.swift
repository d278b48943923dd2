import Foundation
import Testing

@Suite("The command, faults that were fixed")
struct CommandFixTests {
    // MARK: Settings that only a module can judge

    @Test("check creates each provider, reports all faults with their places, and opens no connection")
    func checkMakesProviders() throws {
        let router = try TestRouter(
            routes: #"""
                { "providers": {
                    "a": { "plugin": "file", "path": "x/" },
                    "b": { "plugin": "file", "path": "" },
                    "c": { "plugin": "file", "path": "x", "rotate": {} },
                    "d d": { "plugin": "file", "path": "x", "rotate": { "keep": 2 } },
                    "e": { "plugin": "file", "path": "x", "rotate": { "bytes": "0B" } },
                    "f": { "plugin": "file", "path": "x", "rotate": { "age": "0s" } },
                    "g": { "plugin": "file", "path": "x\u0000y" },
                    "fine": { "plugin": "file", "path": "made/fine.ndjson" } },
                  "routes": [ { "to": ["a", "b", "c", "d d", "e", "f", "g", "fine"] } ] }
                """#)
        let check = try router.run(["check"])
        #expect(check.code == 78)
        #expect(check.text == "")
        let places = [
            "2:10: providers.a: path ends in '/'", "3:10: providers.b: path is empty", "4:10: providers.c: rotate needs",
            "5:12: providers[\"d d\"]: rotate needs", "6:10: providers.e: rotate.bytes must be", "7:10: providers.f: rotate.age must be",
            "8:10: providers.g: path holds a zero byte",
        ]
        try #require(check.errorLines.count == places.count, "\(check.errors)")
        for (line, place) in zip(check.errorLines, places) { #expect(line.hasPrefix("routes.json:" + place), "\(line)") }
        #expect(try router.run(input: "{}\n").errors == check.errors, "run reports the same")
        #expect(try FileManager.default.contentsOfDirectory(atPath: router.folder) == ["routes.json"])
    }

    // MARK: Descriptors and exit codes

    @Test("--acks with a descriptor that is not open for writing is reported at the start with 78, and nothing is read")
    func closedAcknowledgements() throws {
        let router = try TestRouter(routes: passThrough)
        func acknowledging(at descriptor: String) throws -> Result {
            let command = "exec \"$0\" run --acks \(descriptor)"
            return try router.start(["-c", command, Run.executable], executable: "/bin/sh").finish(feeding: Data("{}\n".utf8))
        }

        // The shell closes the descriptor, since a child may inherit one that another test opens at the same time.
        let closed = try acknowledging(at: "7 7>&-")
        #expect(closed.code == 78)
        #expect(closed.errors.hasPrefix("--acks: descriptor 7 is not open; "), "\(closed.errors)")
        #expect(closed.output.isEmpty)

        let reading = try acknowledging(at: "5 5</dev/null")
        #expect(reading.code == 78)
        #expect(reading.errors.hasPrefix("--acks: descriptor 5 is open for reading only; "), "\(reading.errors)")
        #expect(reading.output.isEmpty)
    }

    @Test("a run whose events wait on disk ends with 0, and its last message says how many wait")
    func waitsOnDisk() throws {
        let router = try TestRouter(
            routes: #"""
                { "providers": { "out": { "plugin": "http", "url": "http://127.0.0.1:9", "delivery": { "queue": { "disk": "10MB" } } } },
                  "routes": [ { "to": ["out"] } ] }
                """#)
        let run = try router.run(["--drain", "0s"], input: "{\"n\":1}\n{\"n\":2}\n")
        #expect(run.code == 0)
        #expect(run.errorLines.last == "switchyard: 2 events wait on disk for the next run", "\(run.errors)")
    }

    // MARK: Signals

    @Test("every command except run ends on SIGINT and SIGTERM like any program", arguments: [SIGINT, SIGTERM])
    func defaultSignals(number: Int32) throws {
        for arguments in [["check", "-"], ["explain"]] {
            let run = try TestRouter(routes: passThrough).start(arguments)
            run.signal(number)
            run.process.waitUntilExit()
            #expect(run.process.terminationReason == .uncaughtSignal, "\(arguments)")
            #expect(run.process.terminationStatus == number)
        }
    }

    @Test("a run that is still reading its configuration ends on a signal like any program", arguments: [SIGINT, SIGTERM, SIGHUP])
    func signalWhileLoading(number: Int32) throws {
        let router = try TestRouter()
        mkfifo(router.path("routes.json"), 0o600)
        let run = try router.start()
        // The run installs its signal handlers before it opens the FIFO.
        let writer = try #require(FileHandle(forWritingAtPath: router.path("routes.json")))
        run.signal(number)
        run.process.waitUntilExit()
        #expect(run.process.terminationReason == .uncaughtSignal)
        #expect(run.process.terminationStatus == number)
        try writer.close()
    }

    @Test("SIGTERM stops the reading even if nobody reads standard error", .timeLimit(.minutes(20)))
    func stopsWithBlockedErrors() throws {
        let run = try TestRouter(routes: passThrough).start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        run.fillErrors()
        run.signal(SIGTERM)
        run.process.waitUntilExit()
        #expect(run.process.terminationReason == .exit)
        #expect(run.process.terminationStatus == 0)
    }

    @Test("the third SIGTERM ends the process at once with 69, whatever hangs", .timeLimit(.minutes(20)))
    func thirdSignal() throws {
        let run = try TestRouter(routes: passThrough).start()
        run.send("{\"n\":1}\n")
        #expect(run.outputLines(1) == ["{\"n\":1}"])
        run.fillErrors()
        // The message about this line blocks for ever.
        run.send("oops\n")
        run.end(by: SIGTERM)
        #expect(run.process.terminationReason == .exit)
        #expect(run.process.terminationStatus == 69)
    }

    // MARK: Standard input

    @Test("standard input can be the configuration of check, and of explain if the event is in a file")
    func configurationFromInput() throws {
        let router = try TestRouter()
        try router.write("{}\n", to: "event.json")
        for arguments in [["check", "-"], ["check", "-c", "-"], ["explain", "-c", "-", "event.json"]] {
            #expect(try router.run(arguments, input: passThrough).code == 0, "\(arguments)")
        }
        #expect(try router.run(["explain", "-c", "-"], input: passThrough).code == 64)
    }

    @Test("${file:-} is the file with the name -, and a key is never read from standard input")
    func dashIsAFile() throws {
        let router = try TestRouter(
            routes: #"{ "keys": { "k": "${file:-}" }, "providers": { "out": { "plugin": "noop" } }, "routes": [ { "to": ["out"] } ] }"#)
        for arguments in [["run"], ["check"]] {
            let result = try router.run(arguments, input: #"{"an":"event of many bytes"}"#)
            #expect(result.code == 78)
            #expect(result.errors.contains("${file:-}: the file cannot be read: No such file or directory"))
        }
        try router.write("0123456789abcdef\n", to: "-")
        #expect(try router.run(["--stats", "text"], input: "{}\n").errors.contains("out: 1 taken: 1 delivered"))
    }

    // MARK: Values from the environment or a file

    private static let hiding = """
        { "consent": { "levels": ["none", "${env:LEVEL}"], "unknown": { "assume": "${env:LEVEL}" }, "default": "none",
                       "fields": { "traits.x": "${env:LEVEL}" } },
          "keys": { "ids": "${env:IDS}" },
          "providers": { "log": { "plugin": "file", "path": "${env:FOLDER}/log-%Y.ndjson", "mode": "0600" },
                         "full": { "plugin": "file", "path": "${file:path}" } },
          "routes": [
            { "name": "${env:ROUTE}", "consent": "${env:LEVEL}", "sample": { "rate": 1, "by": "traits.${env:MEMBER}" },
              "match": { "type": ["track", "a-${env:VALUE}"] },
              "transform": [ { "drop": ["${env:MEMBER}.a"] }, { "hash": { "fields": ["${env:MEMBER}.b"], "key": "ids" } } ],
              "to": ["log", "full"] } ] }
        """
    private static let hidden = [
        "LEVEL": "hush-level", "IDS": "hush-0123456789abcdef", "FOLDER": "/proc/hush/folder", "ROUTE": "hush-route", "MEMBER": "hushmember",
        "VALUE": "hush-value",
    ]

    @Test("check shows no value from the environment or a file")
    func checkHides() throws {
        let router = try TestRouter(routes: Self.hiding)
        try router.write("hush/full\n", to: "path")
        let result = try router.run(["check"], environment: Self.hidden)
        #expect(result.code == 0)
        #expect(!(result.text + result.errors).contains("hush"), "\(result.text)")
        for part in [
            "(secret) → log, full", "levels none < (secret)", "assumed to have (secret)", "traits.x is removed below (secret)",
            "level (secret)", "by (secret)", "drop (secret)", "hash (secret) with key ids", "type is \"track\" or (secret)",
        ] {
            #expect(result.text.contains(part), "\(part) in \(result.text)")
        }
    }

    @Test("the reasons of explain show no such value")
    func explainHides() throws {
        let router = try TestRouter(routes: Self.hiding)
        try router.write("hush/full\n", to: "path")
        let event = #"{"type":"track","context":{"consent":{"level":"hush-level"}},"traits":{"x":1}}"#
        for arguments in [["explain", "-c", "routes.json"], ["explain", "--json"]] {
            let result = try router.run(arguments, environment: Self.hidden, input: event)
            #expect(result.code == 0)
            #expect(result.text.contains("(secret)"))
            #expect(!result.text.contains("hush"), "\(result.text)")
        }
    }

    @Test("run shows no such value in messages, in the account or in the dead letters", arguments: ["text", "json"])
    func runHides(format: String) throws {
        let router = try TestRouter(routes: Self.hiding)
        try FileManager.default.createSymbolicLink(atPath: router.path("hush"), withDestinationPath: "/dev")
        try router.write("hush/full\n", to: "path")
        let run = try router.start(["--stats", format, "--drain", "1ms", "--state", "state"], environment: Self.hidden)
        run.send("{\"type\":\"track\"}\n")
        let failing = run.waitForError(
            "cannot make the folders of '(secret)", "cannot write to '(secret)': No space left on device")
        let result = run.finish()
        let errors = failing + result.errors
        #expect(result.code == 69)
        #expect(!(result.text + errors).contains("hush"), "\(errors)")
        #expect(errors.contains("cannot make the folders of '(secret)"))
        #expect(errors.contains("cannot write to '(secret)': No space left on device"))
        #expect(errors.contains("log: "), "names of providers are shown")
        try #require(router.deadLetters.count == 2)
        for letter in router.deadLetters {
            #expect(!letter.contains("hush"), "\(letter)")
            #expect(letter.contains(#""route":"(secret)""#))
        }
    }
}
