// Sources of modules, compiled from C against the header alone: what the host accepts, what it passes on, and what it refuses.

import Document
import Events
import Glibc
import Plans
import Platform
import TestSupport
import Testing

@testable import Ingest
@testable import PluginHost

/// A sink that stores everything at once.
private final class StoringSink: EventSink {
    let taken = Monitor<[(text: String, origin: LineOrigin?)]>([])

    func submit(
        _ lines: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void
    ) -> Bool {
        let text = String(decoding: lines.bytes, as: UTF8.self)
        lines.removeAll()
        taken.withLock { $0.append((text, submitter.origin)) }
        submitter.taken?()
        answer(.stored(invalid: []))
        return true
    }
}

@Suite("A module that offers a source", .timeLimit(.minutes(20)))
struct SourceTests {
    let fixture: ModuleFixture
    private let sink = StoringSink()
    private let said = Monitor<[String]>([])

    init() throws { fixture = try ModuleFixture() }

    private func make(_ words: String) throws -> SourceInstance {
        try fixture.build("source.c", as: "source.so")
        let module = try #require(try fixture.folders.module("source"))
        return try module.makeSource(
            settings: Secret(Array("{\"say\":\"\(words)\"}".utf8)), name: "log", lineLimit: 1000, hiding: HiddenTexts(["hidden"])
        ) { [said] _, line in said.withLock { $0.append(line) } }
    }

    /// Runs a source until its module was closed. Returns what it logged and its condition.
    private func run(_ words: String, until condition: (ModuleSource) -> Bool = { $0.condition.openBlocks == 0 }) throws -> SourceCondition
    {
        let instance = try make(words)
        let source = ModuleSource(
            name: "log", index: 0, bound: 1_000_000, lineLimit: 1000, stopTime: .milliseconds(1500), module: instance, sink: sink,
            say: { [said] line in said.withLock { $0.append(line) } })
        source.start()
        while !source.hasStarted || !condition(source) { usleep(1000) }
        source.stop()
        return source.condition
    }

    private var lines: [String] { said.withLock { $0 } }

    @Test("is described with it, alone or beside a provider of the same name")
    func described() throws {
        try fixture.build("source.c", as: "source.so")
        let alone = try #require(try fixture.folders.module("source")).description
        #expect(!alone.offersProvider && alone.source?.version == "1.2.3" && alone.name == "source")
        try fixture.build("source.c", as: "source.so", ["-DBOTH=\"source\""])
        let separate = ModuleFolders([fixture.folder], describer: .process(executable: ModuleFixture.router, timeout: .seconds(600)))
        for folders in [fixture.folders, separate] {
            let both = try #require(try folders.module("source")).description
            #expect(both.offersProvider && both.summary == "takes nothing" && both.source?.summary == "hands over as told")
        }
        try fixture.build("source.c", as: "source.so", ["-DBOTH=\"other\""])
        #expect(
            fixture.fault("source")?.hasSuffix(
                "its provider describes itself as \"other\" and its source as \"source\"; the two must agree") == true)
    }

    @Test("is refused with another version, a short table, a missing function, or a setting that has the name of a key of the router")
    func refused() throws {
        let path = fixture.folder + "/source.so"
        try fixture.build("source.c", as: "source.so", ["-DABI=9"])
        #expect(
            fixture.fault("source")
                == "\(path): was built for version 9 of the source interface, this router has version 1; build the module against this "
                + "router's switchyard_source.h")
        try fixture.build("source.c", as: "source.so", ["-DSIZE=16"])
        #expect(fixture.fault("source")?.contains("its table has 16 bytes, at least ") == true)
        try fixture.build("source.c", as: "source.so", ["-DACKNOWLEDGE=NULL"])
        #expect(fixture.fault("source") == "\(path): its table lacks acknowledge; every module must have it")
        let settings = #"{\"type\":\"object\",\"properties\":{\"in_flight\":{\"type\":\"string\"}}}"#
        try fixture.build("source.c", as: "source.so", ["-DSETTINGS=\"\(settings)\""])
        #expect(
            fixture.fault("source")
                == "\(path): its description is broken: the setting 'in_flight' has the name of a key of the router")
    }

    @Test("cannot be made from settings that it refuses")
    func settings() throws {
        do {
            _ = try make("refuse")
            Issue.record("it was made")
        } catch {
            #expect("\(error)" == "these settings are refused")
        }
    }

    @Test("hands over blocks, with the place and the numbers of their lines, and gets each token back once")
    func handsOver() throws {
        let condition = try run("good")
        #expect(sink.taken.withLock { $0.map(\.text) } == ["{}\n{\"a\":1}\n"])
        #expect(sink.taken.withLock { $0.first?.origin } == LineOrigin(name: "topic/3", numbers: [41, 42]))
        #expect(lines == ["log: good 1", "log: acknowledge 7", "log: stop 1500"])
        #expect(condition.acknowledged == 1 && condition.wrong == 0)
    }

    @Test("may hand over nothing before its start and after its stop")
    func closing() throws {
        _ = try run("early late")
        #expect(lines == ["log: early -1", "log: stop 1500", "log: late -1", "log: later -1"])
        #expect(sink.taken.withLock { $0.isEmpty })
    }

    @Test("is told what is wrong with a block by -2, and nothing of the block is taken")
    func wrong() throws {
        let condition = try run("null short negative huge nothing count torn")
        let verdicts = lines.filter { $0.hasSuffix(" -2") }.map { $0.split(separator: " ")[1] }
        #expect(verdicts == ["null", "short", "negative", "huge", "nothing", "count", "torn"])
        #expect(sink.taken.withLock { $0.isEmpty } && condition.openBlocks == 0)
        #expect(
            lines.contains { $0.contains("breaks a rule") && $0.hasSuffix("it has 1099511627776 bytes, at most 1073741824 are allowed") })
    }

    @Test("cannot use a token twice, unless the first block was acknowledged")
    func twice() throws {
        // The sink stores at once, but the token is in use until the call of start has returned and the acknowledgement is made.
        _ = try run("good twice")
        #expect(lines.contains("log: twice -2"))
        #expect(lines.filter { $0 == "log: acknowledge 7" }.count == 1)
    }

    @Test("may hand over from several threads at once")
    func floods() throws {
        let condition = try run("flood") { $0.condition.acknowledged == 200 }
        #expect(condition.acknowledged == 200 && condition.wrong == 0)
    }

    @Test("has its texts escaped")
    func escapes() throws {
        let condition = try run("escape state")
        #expect(sink.taken.withLock { $0.first?.origin?.name } == "\\u{1B}[31mred\\nline \u{FFFD}")
        #expect(lines.contains("log: connected: to \\u{1B}[2J it"))
        #expect(condition.state == .fault && condition.message == "the module reports the unknown state 77")
    }

    @Test("reports how far it is behind, or that it does not know it, and its end")
    func reports() throws {
        let condition = try run("behind ended")
        #expect(condition.eventsBehind == nil && condition.timeBehind == nil && condition.hasEnded)
        #expect(lines.contains("log: ended: that was all"))
    }
}
