import ConsentGate
import Foundation
import Platform
import Testing

@testable import Ledger

/// The result of an import.
private struct Result {
    var counts = LedgerImport.Counts()
    var bad: [String] = []
    var changes: [LedgerChange] = []
}

private func take(
    _ text: String, into ledger: LedgerFile, _ format: LedgerFormat, pieces: Int = .max, decided: Int64? = nil, batch: Int = 10_000
) throws(StorageFault) -> Result {
    try take(Array(text.utf8), into: ledger, format, pieces: pieces, decided: decided, batch: batch)
}

private func take(
    _ bytes: [UInt8], into ledger: LedgerFile, _ format: LedgerFormat, pieces: Int = .max, decided: Int64? = nil, batch: Int = 10_000,
    check: @escaping @Sendable (ConsentTerms) -> String? = { _ in nil }
) throws(StorageFault) -> Result {
    let result = Monitor(Result())
    var options = LedgerImport.Options()
    options.format = format
    options.decided = decided
    options.batch = batch
    options.check = check
    let intake = LedgerImport(
        into: ledger, options, bad: { line, words in result.withLock { $0.bad.append("\(line): \(words)") } },
        changed: { changes in result.withLock { $0.changes += changes } })
    var at = 0
    while at < bytes.count {
        let piece = Array(bytes[at..<min(bytes.count, at + min(pieces, bytes.count))])
        at += piece.count
        try piece.withUnsafeBufferPointer { (piece) throws(StorageFault) in try intake.take(UnsafeRawBufferPointer(piece)) }
    }
    try intake.finish()
    return result.withLock {
        $0.counts = intake.counts
        return $0
    }
}

private func export(_ ledger: LedgerFile, _ format: LedgerFormat, history: Bool = false) throws(StorageFault) -> String {
    var text: [UInt8] = []
    var options = LedgerFile.ExportOptions()
    options.format = format
    options.hasHistory = history
    try ledger.export(options) { text += $0 }
    return String(decoding: text, as: UTF8.self)
}

private let time = "2026-11-21T10:30:00Z"
/// 2026-11-21T10:30:00Z
private let moment: Int64 = 1_795_257_000_000_000_000

@Suite("An import")
struct ImportTests {
    private let folder = Folder()

    @Test("an import skips lines whose terms are refused, and does not check lines without terms")
    func refusedTerms() throws {
        let ledger = try ledger(folder)
        let text = #"{"id":"a","level":"gold"}"# + "\n" + #"{"id":"b","level":"none"}"# + "\n" + #"{"id":"c","person":"1"}"#
        let result = try take(Array(text.utf8), into: ledger, .ndjson, decided: moment) { $0.level == "gold" ? "level is unknown" : nil }
        #expect(result.bad == ["1: level is unknown"])
        #expect(result.counts.lines == 3 && result.counts.taken == 2 && result.counts.bad == 1)
        #expect(try ledger.get(LedgerID("a")) == nil)
    }

    private func later() throws -> LedgerFile { try ledger(folder, TestClock(1_800_000_000)) }

    @Test("an import reads NDJSON in pieces of any size, after a byte order mark", arguments: [1, 7, 100, Int.max])
    func json(pieces: Int) throws {
        let ledger = try later()
        let text = """
            \u{feff}{"id":"a","level":"analytics","granted":["measure"],"version":"2","decided":"\(time)","origin":"shop"}\r
            {"id":"ä\\u0022","purposes":["ads","measure"],"denied":["mail"],"decided":"2026-11-21T11:30:00.5+01:00"}

            {"id":"c","withdrawn":true,"decided":"\(time)"}
            {"id":"d","person":7}
            {"id":"a","person":7}
            {"id":"c","level":"marketing","decided":"2020-01-01T00:00:00Z"}
            """
        let result = try take(text, into: ledger, .ndjson, pieces: pieces)
        #expect(result.bad.isEmpty)
        #expect(result.counts.lines == 6 && result.counts.taken == 5 && result.counts.late == 1)
        #expect(
            try ledger.get(LedgerID("a"))?.record
                == ConsentRecord(terms: analytics, decided: moment, received: seconds(1_800_000_000), origin: "shop"))
        let second = try ledger.get(LedgerID("ä\""))?.record
        #expect(second?.terms == ConsentTerms(granted: ["ads", "measure"], denied: ["mail"]))
        #expect(second?.decided == moment + 500_000_000 && second?.origin == "import")
        #expect(try ledger.get(LedgerID("c"))?.record?.terms == .withdrawn)
        #expect(try ledger.get(LedgerID("d"))?.effective == [analytics])
        #expect(Set(result.changes.map(\.short)) == [short("a"), short("ä\""), short("c"), short("d")])
    }

    @Test("an import reads CSV with quotes, commas, line ends in cells, and either line end", arguments: [1, 5, Int.max], ["\n", "\r\n"])
    func csv(pieces: Int, end: String) throws {
        let ledger = try later()
        let text = [
            "\u{feff}decided,id,level,granted,denied,version,withdrawn",
            "\(time),plain,analytics,measure,,2,",
            "\(time),\"with, \"\"quotes\"\"\(end)and a line\",,\" ads ; measure \",\"[\"\"a;b\"\"]\",,false",
            "",
            "\(time),\"\"\"\",,,,,true",
            "\(time),last,none,,,,",
        ].joined(separator: end)
        let result = try take(text, into: ledger, .csv, pieces: pieces)
        #expect(result.bad.isEmpty, "\(result.bad)")
        #expect(result.counts.taken == 4)
        #expect(try ledger.get(LedgerID("plain"))?.record?.terms == analytics)
        #expect(
            try ledger.get(LedgerID("with, \"quotes\"\(end)and a line"))?.record?.terms
                == ConsentTerms(granted: ["ads", "measure"], denied: ["a;b"]))
        #expect(try ledger.get(LedgerID("\""))?.record?.terms == .withdrawn)
        #expect(try ledger.get(LedgerID("last"))?.record?.terms == ConsentTerms(level: "none"))
    }

    @Test(
        "an invalid line is reported with its number and the reason but not its content, and the valid lines are taken",
        arguments: [
            ("secret-id", "is not JSON, expected an object on one line"),
            ("[1]", "is not an object"),
            (#"{"id":"secret-id","level":"x","level":"y"}"#, "is not JSON, expected an object on one line"),
            (
                #"{"id":"secret-id","denyed":["secret-id"]}"#,
                "has an unknown member, expected some of id, hmac, key, short, mark, person, withdrawn, level, granted, denied, "
                    + "version, decided, received, origin"
            ),
            (#"{"level":"x","decided":"2020-01-01"}"#, "has no subject: expected id, or hmac with key, short and mark"),
            (#"{"id":"","level":"x","decided":"2020-01-01"}"#, "id is empty"),
            (#"{"id":7,"level":"x","decided":"2020-01-01"}"#, "id must be a string"),
            (#"{"id":"secret-id","decided":"2020-01-01"}"#, "says nothing: expected level, granted, denied, withdrawn or person"),
            (#"{"id":"secret-id","granted":"ads","decided":"2020-01-01"}"#, "granted must be a list of strings"),
            (#"{"id":"secret-id","granted":["a"],"purposes":["b"]}"#, "has both purposes and granted, expected one of them"),
            (#"{"id":"secret-id","withdrawn":"yes"}"#, "withdrawn must be true or false"),
            (
                #"{"id":"secret-id","withdrawn":true,"level":"x"}"#,
                "withdrawn covers everything: it excludes level, granted, denied and version"
            ),
            (#"{"id":"secret-id","level":"x","decided":"soon"}"#, "decided must be a time such as 2026-11-21T10:30:00Z"),
            (
                #"{"id":"secret-id","level":"x"}"#,
                "decided is missing: expected the time of the decision, such as 2026-11-21T10:30:00Z"
            ),
            (#"{"id":"secret-id","hmac":"00"}"#, "has both id and hmac, expected one of them"),
            (#"{"hmac":"0g"}"#, "hmac must be 64 hexadecimal digits"),
        ])
    func badJSON(line: String, words: String) throws {
        let ledger = try later()
        let good = #"{"id":"good","level":"none","decided":"\#(time)"}"#
        let result = try take("\(good)\n\n\(line)\n\(good)\n", into: ledger, .ndjson)
        #expect(result.bad == ["3: \(words)"])
        #expect(result.counts.taken == 2 && result.counts.bad == 1 && result.counts.lines == 3)
    }

    @Test(
        "an invalid line of CSV is reported in the same way, and nothing is taken after an invalid header",
        arguments: [
            ("id,level,decided\na,none,\(time)\nb,none\nc,none,\(time)", ["3: has 2 cells, expected 3 as in the header"], 2),
            (
                "id,level,decided\na,no\"ne,\(time)\nc,none,\(time)",
                ["2: has a misplaced or missing quote, or is too long"], 1
            ),
            (
                "id,level,decided\nc,none,\(time)\n\"a,none,\(time)\n",
                ["3: has a misplaced or missing quote, or is too long"], 1
            ),
            (
                "id,level,decided\n\"a,none,\(time)\nb,none,\(time)\nc,\"none\",\(time)\nd,none,\(time)",
                [
                    "2: has a misplaced or missing quote, or is too long; everything up to line 4 is skipped"
                ], 1
            ),
            ("id,granted,decided\na,[1],\(time)", ["2: granted must be names separated by ;, or a JSON list"], 0),
            ("id,withdrawn,decided\na,1,\(time)", ["2: withdrawn must be true or false"], 0),
            (
                "a,none,\(time)\nb,none,\(time)",
                ["1: is not a header: expected column names, each at most once, out of \(LedgerLine.Member.all)"], 0
            ),
            (
                "id,level,id\nb,none,b",
                ["1: is not a header: expected column names, each at most once, out of \(LedgerLine.Member.all)"], 0
            ),
        ] as [(String, [String], Int)])
    func badCSV(text: String, bad: [String], taken: Int) throws {
        let result = try take(text, into: later(), .csv)
        #expect(result.bad == bad)
        #expect(result.counts.taken == taken)
    }

    @Test("an endless line is not kept in memory", arguments: LedgerFormat.allCases)
    func endless(format: LedgerFormat) throws {
        let ledger = try later()
        let head = format == .csv ? "id,level,decided\n" : ""
        let good = format == .csv ? "good,none,\(time)" : #"{"id":"good","level":"none","decided":"\#(time)"}"#
        let result = try take(
            head + String(repeating: "x", count: (1 << 20) + 10) + "\n" + good, into: ledger, format, pieces: 1 << 16)
        let words =
            format == .csv
            ? "2: has a misplaced or missing quote, or is too long" : "1: is longer than a megabyte"
        #expect(result.bad == [words] && result.counts.taken == 1)
    }

    @Test("an import survives random bytes and never repeats them", arguments: LedgerFormat.allCases, 0..<20 as Range<UInt64>)
    func hostile(format: LedgerFormat, seed: UInt64) throws {
        let ledger = try later()
        let lines = (0..<30).map { number in
            format == .csv
                ? "planted-\(number),\"analytics\",\"measure;ads\",\(time)"
                : #"{"id":"planted-\#(number)","level":"analytics","granted":["measure"],"decided":"\#(time)"}"#
        }
        var bytes = Array((format == .csv ? ["id,level,granted,decided"] + lines : lines).joined(separator: "\n").utf8)
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        func chance() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state >> 8
        }
        for _ in 0..<12 {
            let at = 30 + Int(chance() % UInt64(bytes.count - 30))
            switch chance() % 3 {
            case 0: bytes[at] = UInt8(truncatingIfNeeded: chance())
            case 1: bytes.remove(at: at)
            default: bytes.insert(contentsOf: [0x22, 0x0a, 0x2c, 0x00].prefix(Int(chance() % 5)), at: at)
            }
        }
        let result = try take(bytes, into: ledger, format, pieces: Int(1 + chance() % 50))
        #expect(result.counts.taken + result.counts.late + result.counts.bad == result.counts.lines)
        #expect(!result.bad.contains { $0.contains("planted") })
        #expect(!folder.holds("planted"))
    }

    @Test("an import dates lines without a time, and ties persons across its transactions")
    func batches() throws {
        let ledger = try later()
        let text = (0..<25).map { #"{"id":"id-\#($0)","level":"none","person":"\#($0 % 2)"}"# }.joined(separator: "\n")
        let result = try take(text, into: ledger, .ndjson, decided: moment, batch: 4)
        #expect(result.bad.isEmpty && result.counts.taken == 25)
        #expect(try ledger.person(of: LedgerID("id-24")).count == 13)
        #expect(try ledger.get(LedgerID("id-3"))?.record?.decided == moment)
    }

    @Test("a line that withdraws has a receipt, unless that same withdrawal is on record with one")
    func receipts() throws {
        let ledger = try later()
        // An event of a source that may only refuse has withdrawn, and no receipt was begun.
        try ledger.set(LedgerID("a"), .withdrawn, decided: moment, origin: "source web")
        let line = #"{"id":"a","withdrawn":true,"decided":"2026-11-21T10:30:00Z"}"#
        _ = try take(line, into: ledger, .ndjson)
        #expect(try ledger.receipts().count == 1)
        _ = try take(line, into: ledger, .ndjson)
        #expect(try ledger.receipts().count == 1)
        _ = try take(#"{"id":"a","withdrawn":true,"decided":"2026-11-21T10:30:01Z"}"#, into: ledger, .ndjson)
        #expect(try ledger.receipts().count == 2)
        try ledger.set(LedgerID("a"), marketing, origin: "command")
        _ = try take(line, into: ledger, .ndjson)
        #expect(try ledger.receipts().count == 2)
    }
}

@Suite("An export")
struct ExportTests {
    private let folder = Folder()
    private let other = Folder()

    private func filled(_ folder: Folder) throws -> LedgerFile {
        let testClock = TestClock(1_800_000_000)
        let ledger = try ledger(folder, testClock)
        try ledger.set(LedgerID("a"), marketing, decided: moment, origin: "source web, \"eu\"")
        try ledger.set(LedgerID("a"), ConsentTerms(granted: ["a;b", "[c"], denied: [" d"], version: "1\n2"), origin: "command")
        try ledger.withdraw(LedgerID("b"), decided: moment + 1, origin: "socket")
        try ledger.set(LedgerID("c"), ConsentTerms(), decided: moment, origin: "command")
        try ledger.set(LedgerID("c"), marketing, decided: moment - 1, origin: "command")
        try ledger.tie([LedgerID("b"), LedgerID("silent")])
        return ledger
    }

    @Test("the parts of an export together are the whole export", arguments: [LedgerFormat.ndjson, .csv], [1, 3, 7, 8])
    func parts(format: LedgerFormat, most: Int) throws {
        let folder = Folder()
        let ledger = try ledger(folder)
        for number in 0..<7 { try ledger.set(LedgerID("u\(number)"), ConsentTerms(level: "none"), origin: "command") }
        try ledger.tie([LedgerID("u1"), LedgerID("u5")])
        var options = LedgerFile.ExportOptions()
        options.format = format
        options.most = most
        var text: [UInt8] = []
        var count = 0
        repeat {
            options.after = try ledger.export(options) { text += $0 } ?? 0
            count += 1
        } while options.after != 0
        #expect(String(decoding: text, as: UTF8.self) == (try export(ledger, format)))
        #expect(count == 7 / most + 1)
    }

    @Test(
        "an import of an export gives the same ledger, in both formats, with and without history", arguments: LedgerFormat.allCases,
        [false, true])
    func round(format: LedgerFormat, history: Bool) throws {
        let old = try filled(folder)
        let text = try export(old, format, history: history)
        for id in ["a", "b", "c", "silent"] { #expect(!text.contains("\"id\":\"\(id)\"")) }
        let new = try ledger(other, TestClock(1_800_000_000))
        let result = try take(text, into: new, format)
        #expect(result.bad.isEmpty, "\(result.bad)\n\(text)")
        #expect(try new.all() == (try old.all()))
        for id in ["a", "b", "c", "silent"] {
            let (was, now) = (try old.get(LedgerID(id)), try new.get(LedgerID(id)))
            #expect(now?.id == was?.id && now?.record == was?.record && now?.ties == was?.ties)
            if history { #expect(now?.history == was?.history) }
        }
    }

    @Test("an export has the documented form")
    func text() throws {
        let ledger = try ledger(folder, TestClock(1_800_000_000))
        try ledger.set(LedgerID("a"), analytics, decided: moment, origin: "command")
        let hmac = hex(first.hmac([0x61]))
        let names = (short: short("a").withBytes { hex($0) }, mark: ledger.mark.withBytes { hex($0) })
        #expect(
            try export(ledger, .ndjson) == """
                {"hmac":"\(hmac)","key":"first","short":"\(names.short)","mark":"\(names.mark)","level":"analytics",\
                "granted":["measure"],"version":"2","decided":"2026-11-21T10:30:00.000Z","received":"2027-01-15T08:00:00.000Z",\
                "origin":"command"}

                """)
        #expect(
            try export(ledger, .csv)
                == "hmac,key,short,mark,person,withdrawn,level,granted,denied,version,decided,received,origin\r\n"
                + "\(hmac),first,\(names.short),\(names.mark),,,analytics,measure,,2,2026-11-21T10:30:00.000Z,2027-01-15T08:00:00.000Z,command\r\n"
        )
    }

    @Test("an export of another state folder is refused, because its short hashes are foreign; so is a line that mixes two ids")
    func foreign() throws {
        let text = try export(try filled(folder), .ndjson)
        var foreign = options(TestClock(1_800_000_000))
        foreign.short = { short([0] + $0) }
        let elsewhere = try #require(try LedgerFile(other.ledger, options: foreign))
        let result = try take(text, into: elsewhere, .ndjson)
        #expect(result.counts.bad == 4 && result.bad[0].hasSuffix("only raw ids can be imported"))
        let third = Folder()
        let home = try filled(third)
        let mixed = text.replacingOccurrences(of: hex(first.hmac([0x61])), with: hex(first.hmac([0x62])))
        let mixing = try take(mixed, into: home, .ndjson)
        #expect(mixing.bad.contains { $0.hasSuffix("hmac and short belong to two different ids of the ledger") })
    }
}
