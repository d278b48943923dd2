// `switchyard consent`, on a state folder that no process uses and beside a running router.

import CSQLite
import Foundation
import Glibc
import Testing

private let section =
    #""levels": { "none": [], "essential": ["operations"], "standard": ["operations", "analytics"] }, "default": "standard""#

private func routes(_ ledger: String = #", "ledger": "ids""#) -> String {
    """
    { "keys": { "ids": "0123456789abcdef0123456789abcdef" }, "consent": { \(section)\(ledger) },
      "providers": { "out": { "plugin": "console", "format": "ndjson" } }, "routes": [ { "to": ["out"] } ] }
    """
}

extension TestRouter {
    fileprivate func consent(_ words: String..., input: String = "") throws -> Result {
        try run(["consent"] + words + ["--state", path("state")], input: input)
    }

    fileprivate func consentObject(_ words: String...) throws -> NSDictionary {
        try JSONSerialization.jsonObject(with: run(["consent"] + words + ["--json", "--state", path("state")]).output) as! NSDictionary
    }

    /// Starts a router and waits until it answers, even if a killed router left its socket.
    fileprivate func startAnswering() throws -> Run {
        let run = try startRouter()
        try waitUntil("it answers") { try command("status", "--json").text.contains(#""running":true"#) }
        return run
    }
}

/// Changes an SQLite file directly.
private func execute(_ sql: String, on path: String) {
    var database: OpaquePointer?
    #expect(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK)
    #expect(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK)
    sqlite3_close(database)
}

@Suite("The command consent")
struct ConsentCommandTests {
    @Test("set and withdraw apply to the next event of a running router, and still apply after a kill")
    func running() throws {
        let router = try TestRouter(routes: routes())
        let run = try router.startAnswering()
        var judged = 0
        func send(_ name: String, to run: Run) throws {
            judged += 1
            run.send(#"{"userId":"u1","event":"\#(name)"}"# + "\n")
            try waitUntil("\(name) is judged") { try router.status()["events"] as? Int == judged }
        }
        #expect(try router.consent("get", "u1").text == "nothing is on record\n")
        try send("before", to: run)
        #expect(try router.consent("set", "u1", "--level", "standard").text == "it is on record\n")
        try send("between", to: run)
        #expect(run.outputLines(1) == [#"{"userId":"u1","event":"between"}"#])
        #expect(try router.consent("withdraw", "u1").code == 0)
        try send("after", to: run)
        run.end(by: SIGKILL)

        let again = try router.startAnswering()
        judged = 0
        let record = try router.consentObject("get", "u1")["record"] as? NSDictionary
        #expect(record?["withdrawn"] as? Bool == true && record?["origin"] as? String == "socket")
        try send("restarted", to: again)
        #expect(try router.consent("set", "u1", "--grant", "operations,analytics", "--version", "2").code == 0)
        try send("anew", to: again)
        let rest = again.finish()
        #expect(rest.code == 0 && rest.lines == [#"{"userId":"u1","event":"anew"}"#])
    }

    @Test("a clock behind the newest record denies with its own reason, is reported once, and can be accepted", arguments: [false, true])
    func clock(isRunning: Bool) throws {
        let router = try TestRouter(routes: routes())
        #expect(try router.consent("set", "u1", "--level", "standard").code == 0)
        #expect(try router.consent("clock").text == "the clock is not behind\n")
        // As if an old program without checksums had written the ledger on a day in 2096.
        let tables = ["about", "keys", "origins", "terms", "subjects", "history", "receipts", "receipt_lines"]
        execute(
            tables.map { "ALTER TABLE \($0) DROP COLUMN checksum; " }.joined()
                + "DROP TABLE proof; DROP TABLE seal; DROP TABLE evidence; PRAGMA user_version = 1; UPDATE about SET value = 4000000000000000000 WHERE name = 'received'",
            on: router.path("state/ledger.sqlite"))
        unlink(router.path("state/ledger.witness"))
        let run = isRunning ? try router.startAnswering() : nil
        for name in ["one", "two"] { run?.send(#"{"userId":"u1","event":"\#(name)"}"# + "\n") }
        if isRunning { try waitUntil("they are judged") { try router.status()["events"] as? Int == 2 } }
        #expect(try router.consent("clock").text.hasPrefix("the clock is behind: the newest record was written at 2096-10-02T"))
        let believed = try router.consentObject("clock", "--believe")
        #expect(believed["behind"] as? Bool == false && believed["was_behind"] as? Bool == true)
        #expect(try router.consentObject("clock")["was_behind"] as? Bool == false)
        guard let run else { return }
        run.send(#"{"userId":"u1","event":"three"}"# + "\n")
        let result = run.finish()
        #expect(result.lines == [#"{"userId":"u1","event":"three"}"#])
        #expect(result.errors.components(separatedBy: "the latest decision cannot be known").count == 2)
        #expect(result.errors.contains("run switchyard consent clock --believe"))
        #expect(result.errors.contains("the clock is no longer behind"))
    }

    @Test("with an unreadable ledger no router starts, and the file is not changed")
    func damagedLedger() throws {
        let router = try TestRouter(routes: routes())
        #expect(try router.consent("set", "u1", "--level", "standard").code == 0)
        let file = router.path("state/ledger.sqlite")
        try Data(repeating: 0x5a, count: 8192).write(to: URL(fileURLWithPath: file))
        let result = try router.run(["--state", router.path("state")], input: #"{"userId":"u1"}"# + "\n")
        #expect(result.code == 69 && result.output.isEmpty)
        #expect(result.errors.contains("events that need consent are denied"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data(repeating: 0x5a, count: 8192))
    }

    @Test("an invalid consent signal is reported once for each member, with its name and without its value")
    func brokenSignals() throws {
        let router = try TestRouter(routes: routes())
        let run = try router.startAnswering()
        let events = [#"{"gpc":"se7ret"}"#, #"{"gpc":1}"#, #"{"consent":{"level":"se7ret"}}"#, #"{"consent":{"level":7}}"#]
        for (index, context) in events.enumerated() {
            run.send(#"{"userId":"u1","context":\#(context)}"# + "\n")
            try waitUntil("it is judged") { try router.status()["events"] as? Int == index + 1 }
        }
        let result = run.finish()
        let told = result.errors.split(separator: "\n").filter { $0.contains("further ones are only counted") }
        #expect(
            told == [
                "switchyard: an event is denied (denied_broken), since its context.gpc is not true or false; further ones are only counted",
                "switchyard: an event is denied (denied_broken), since its context.consent.level is not the name of a level, or a list of such names; further ones are only counted",
            ])
        #expect(!result.errors.contains("se7ret"))
    }

    @Test("ties apply the statements for one id to the others until they are untied", arguments: [false, true])
    func ties(isRunning: Bool) throws {
        let router = try TestRouter(routes: routes())
        let run = isRunning ? try router.startAnswering() : nil
        #expect(try router.consent("set", "u1", "--level", "standard", "--deny", "analytics").code == 0)
        #expect(try router.consent("tie", "u1", "u2", "u3").code == 0)
        let tied = try router.consentObject("get", "u3")
        #expect(tied["record"] is NSNull && tied["tied"] as? Int == 2)
        #expect(((tied["effective"] as? [NSDictionary])?.first?["denied"] as? [String]) == ["analytics"])
        #expect(try router.consent("get", "u3").text.contains("together  level standard, denied analytics\n"))
        #expect(try router.consent("untie", "u3").text == "the id is not tied any more\n")
        #expect(try router.consent("untie", "u3").text == "the id was not tied\n")
        #expect(try router.consent("get", "u3").text == "nothing is on record\n")
        let stats = try router.consentObject("stats")
        #expect(stats["ids"] as? Int == 2 && stats["tied"] as? Int == 2 && stats["persons"] as? Int == 1)
        let crowd = (0...100).map { "c\($0)\n" }.joined()
        let refused = try router.consent("tie", "-", input: crowd)
        #expect(refused.code == 65 && refused.errors.contains("101 ids") && refused.errors.contains("at most 100"))
        #expect(run?.finish().code ?? 0 == 0)
    }

    @Test("a withdrawal of purposes keeps the other purposes, and a decision with an earlier time has no effect", arguments: [false, true])
    func history(isRunning: Bool) throws {
        let router = try TestRouter(routes: routes())
        let run = isRunning ? try router.startAnswering() : nil
        let words = ["--level", "standard", "--version", "2", "--at", "2026-01-02T00:00:00Z"]
        #expect(try router.run(["consent", "set", "u1", "--state", router.path("state")] + words).code == 0)
        #expect(try router.consent("withdraw", "u1", "--purposes", "analytics").code == 0)
        let late = try router.consent("set", "u1", "--level", "standard", "--at", "2026-01-01T00:00:00Z")
        #expect(late.code == 0 && late.text == "it is only in the history, since a later decision is on record\n")
        let entry = try router.consentObject("get", "u1")
        let record = entry["record"] as? NSDictionary
        #expect(record?["level"] as? String == "standard" && record?["denied"] as? [String] == ["analytics"])
        let history = try #require(entry["history"] as? [NSDictionary])
        #expect(history.map { $0["held"] as? Bool } == [true, true, false])
        #expect(history.map { $0["origin"] as? String } == Array(repeating: isRunning ? "socket" : "command", count: 3))
        let exported = try router.consent("export", "--history").lines
        #expect(exported.count == 3 && exported[0].contains(#""decided":"2026-01-02T00:00:00"#))
        #expect(run?.finish().code ?? 0 == 0)
    }

    @Test("an invalid argument is refused with the valid values", arguments: [false, true])
    func faults(isRunning: Bool) throws {
        let router = try TestRouter(routes: routes())
        let run = isRunning ? try router.startAnswering() : nil
        func fault(_ words: String...) throws -> String {
            let result = try router.run(["consent"] + words + ["--state", router.path("state")])
            #expect(result.code == 64 && result.output.isEmpty)
            return result.errors
        }
        #expect(
            try fault("set", "u1", "--level", "standrad")
                == "switchyard: unknown level 'standrad', expected none, essential or standard\n")
        #expect(
            try fault("set", "u1", "--grant", "operations,ads") == "switchyard: unknown purpose 'ads', expected operations or analytics\n")
        #expect(try fault("withdraw", "u1", "--purposes", "") == "switchyard: purposes must be names separated by commas\n")
        #expect(try fault("set", "u1", "--version", "2") == "switchyard: set has nothing to record: expected level, grant or deny\n")
        #expect(
            try fault("set", "u1", "--grant", "analytics", "--deny", "analytics")
                == "switchyard: 'analytics' is both granted and denied\n")
        #expect(
            try fault("set", "u1", "--level", "none", "--at", "yesterday")
                == "switchyard: at must be a time such as 2026-11-21T10:30:00Z\n")
        #expect(try fault("export", "--format", "xml") == "switchyard: format must be ndjson or csv\n")
        #expect(try fault("get") == "switchyard: get takes one id, was given 0; see switchyard consent --help\n")
        #expect(try fault("get", "") == "switchyard: an id is empty; see switchyard consent --help\n")
        #expect(try fault("tie", "u1", "u1") == "switchyard: an id was given twice; see switchyard consent --help\n")
        #expect(try fault("get", "u1", "--level", "none") == "switchyard: consent get takes no --level\n")
        #expect(try fault("statz").hasPrefix("switchyard: unknown action 'statz', did you mean stats?"))
        #expect(try router.consentObject("stats")["decisions"] as? Int == 0)
        #expect(run?.finish().code ?? 0 == 0)
    }

    @Test("without a ledger in routes.json the message says what to add")
    func noLedger() throws {
        let router = try TestRouter(routes: routes(""))
        let advice =
            #"routes.json: no ledger is kept; add "ledger": "ids" to its consent section, and a secret of that name to "keys", such as "#
            + #""ids": "${file:/etc/switchyard/ids.key}""# + "\n"
        let resting = try router.consent("set", "u1", "--level", "none")
        #expect(resting.code == 78 && resting.errors == advice)
        #expect(access(router.path("state/ledger.sqlite"), F_OK) != 0)
        let run = try router.startAnswering()
        let running = try router.consent("set", "u1", "--level", "none")
        #expect(running.code == 78 && running.errors == advice)
        #expect(run.finish().code == 0)
        let nowhere = try router.run(["consent", "get", "u1", "--state", router.path("nowhere")])
        #expect(nowhere.code == 69 && access(router.path("nowhere"), F_OK) != 0)
    }

    @Test("check reports that a ledger is kept, its key, and which versions count")
    func check() throws {
        let router = try TestRouter(routes: routes(#", "ledger": "ids", "minimum_version": "2026-01""#))
        let text = try router.run(["check"]).text
        #expect(text.contains("\n  decisions are kept in the ledger, with ids hashed under the key ids\n"))
        #expect(text.contains("\n  consent on record to a text before version 2026-01 counts as unknown\n"))
        try router.write(routes(""), to: "routes.json")
        #expect(!(try router.run(["check"]).text.contains("on record")))
    }

    @Test("commands that run at the same time wait for each other")
    func together() throws {
        let router = try TestRouter(routes: routes())
        let runs = try (0..<4).map { number in
            try router.start(["consent", "set", "u\(number)", "--level", "standard", "--state", router.path("state")])
        }
        for run in runs { #expect(run.finish().code == 0) }
        #expect(try router.consentObject("stats")["ids"] as? Int == 4)
    }

    @Test("an id from standard input never reaches the arguments, a file or a message")
    func privacy() throws {
        let router = try TestRouter(routes: routes())
        let id = "someone@example.com"
        #expect(try router.consent("set", "-", "--level", "standard", input: id + "\n").code == 0)
        let run = try router.startAnswering()
        #expect(try router.consent("get", "-", input: id + "\r\n").text.contains("decision  level standard"))
        #expect(try router.consent("withdraw", "-", input: id).code == 0)
        let line = #"{"id":"\#(id)","level":"x","decided":"2026-01-01T00:00:00Z"}"#
        let bad = try router.consent("import", "-", input: line)
        #expect(bad.code == 65 && !bad.errors.contains(id))
        #expect(
            bad.errorLines.first == "switchyard: standard input:1: level is unknown, expected none, essential or standard")
        let two = try router.consent("get", "-", input: "a\nb\n")
        #expect(two.code == 64 && two.errors.contains("get takes one id, was given 2"))
        for name in try FileManager.default.contentsOfDirectory(atPath: router.path("state")) where name != "control.sock" {
            let file = try Data(contentsOf: URL(fileURLWithPath: router.path("state/" + name)))
            #expect(file.range(of: Data(id.utf8)) == nil, "\(name) holds the id")
        }
        let rest = run.finish()
        #expect(rest.code == 0 && !rest.errors.contains(id))
    }

    @Test("import accepts an export in either format, in more than one piece", arguments: [false, true], ["ndjson", "csv"])
    func moves(isRunning: Bool, format: String) throws {
        let router = try TestRouter(routes: routes())
        let count = 5200
        // The first and the last line belong to one person and are in different pieces.
        let lines = (0..<count).map { number in
            let person = number == 0 || number == count - 1 ? #","person":"p""# : ""
            return #"{"id":"user-\#(number)","level":"standard","decided":"2026-01-01T00:00:00Z","version":"2"\#(person)}"#
        }
        let run = isRunning ? try router.startAnswering() : nil
        let taken = try router.consent("import", "-", input: lines.joined(separator: "\n"))
        #expect(taken.code == 0 && taken.errors == "switchyard: 5,200 of 5,200 lines were taken\n")
        let entry = try router.consentObject("get", "user-\(count - 1)")
        #expect(entry["tied"] as? Int == 1)
        let exported = try router.consent("export", "--format", format)
        #expect(exported.code == 0 && exported.output.count { $0 == 0x0a } == count + (format == "csv" ? 1 : 0))
        try router.write(exported.text, to: "ledger." + format)
        #expect(try router.consent("withdraw", "user-7").code == 0)
        let again = try router.consent("import", router.path("ledger." + format), "--format", format, "--json")
        #expect(again.text == #"{"lines":5200,"taken":5199,"late":1,"bad":0}"# + "\n" && again.errors.isEmpty)
        #expect(try router.consentObject("stats")["withdrawn"] as? Int == 1)
        #expect(run?.finish().code ?? 0 == 0)
    }

    @Test("an import reports each bad line with its number, takes the good ones, and dates lines without a time")
    func imports() throws {
        let router = try TestRouter(routes: routes())
        let text = #"{"id":"a","level":"none"}"# + "\nnope\n" + #"{"id":"b","granted":["ads"]}"# + "\n" + #"{"id":"c","withdrawn":true}"#
        let undated = try router.consent("import", "-", input: text)
        #expect(undated.code == 65 && undated.errorLines.count == 5)
        try router.write(text, to: "list.ndjson")
        let result = try router.consent("import", "list.ndjson", "--at", "2026-02-03T00:00:00Z")
        #expect(result.code == 65)
        #expect(
            result.errorLines == [
                "switchyard: list.ndjson:2: is not JSON, expected an object on one line",
                "switchyard: list.ndjson:3: a purpose is unknown, expected operations or analytics",
                "switchyard: 2 of 4 lines were taken, 2 are bad",
            ])
        let record = try router.consentObject("get", "c")["record"] as? NSDictionary
        #expect(record?["withdrawn"] as? Bool == true && (record?["decided"] as? String)?.hasPrefix("2026-02-03T00:00:00") == true)
        let gone = try router.consent("import", "gone.ndjson")
        #expect(gone.code == 69 && gone.errors == "switchyard: gone.ndjson: cannot be opened: No such file or directory\n")
        let folder = try router.consent("import", router.path("state"))
        #expect(folder.code == 69 && folder.errors.contains("is a folder"))
        #expect(try router.consent("import").code == 64)
    }
}
