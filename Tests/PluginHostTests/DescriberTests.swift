import Foundation
import Plans
import Platform
import Queueing
import TestSupport
import Testing

@testable import PluginHost

/// The router describes each module in a separate process.
@Suite("A module that is described", .timeLimit(.minutes(20)))
struct DescriberTests {
    let fixture: ModuleFixture
    var path: String { fixture.folder + "/table.so" }

    init() throws { fixture = try ModuleFixture() }

    private func folders(_ timeout: Duration = .seconds(600)) -> ModuleFolders {
        ModuleFolders([fixture.folder], describer: .process(executable: ModuleFixture.router, timeout: timeout))
    }

    private func fault(_ timeout: Duration = .seconds(600)) -> String? { fixture.fault("table", in: folders(timeout)) }

    @Test("has the same description as in this process, and a provider can be made from it")
    func described() throws {
        try fixture.build("table.c", as: "table.so")
        let module = try #require(try folders().module("table"))
        #expect(module.description.version == "1.0.0" && module.path == path)
        try module.make(settings: Secret([]), name: "out") { _, _ in }.close()
    }

    // A sanitizer uses its own messages and exit codes for the end of a process.
    @Test(
        "whose constructor ends its process or crashes is refused with a message that says how", .disabled(if: isSanitized),
        arguments: [
            ("_exit(0)", "ended the process with code 0"), ("exit(3)", "ended the process with code 3"),
            ("abort()", "was killed by signal 6 (SIGABRT)"), ("raise(SIGSEGV)", "was killed by signal 11 (SIGSEGV)"),
            (#"fputs("no licence\n\033[2J", stderr); exit(1)"#, "ended the process with code 1; it wrote: no licence"),
        ])
    func constructor(code: String, end: String) throws {
        try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=\(code)"])
        #expect(fault() == "\(path): its constructor \(end)")
    }

    @Test("that hangs in its constructor or in describe is ended after the time limit")
    func hangs() throws {
        try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=for (;;) pause()"])
        #expect(fault(.milliseconds(300)) == "\(path): its constructor did not answer within 300ms")
        if !isSanitized {
            try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=if (fork() == 0) for (;;) pause(); _exit(4)"])
            #expect(fault() == "\(path): its constructor ended the process with code 4", "even if a child of it holds the pipes")
        }
        // The clock passes the time limit with every look as soon as the note exists, which may be before the first look.
        let passed = Monitor(Int64(0))
        let note = fixture.folder + "/note"
        try fixture.build("unruly.c", as: "table.so", ["-DIN_DESCRIBE=fclose(fopen(\"\(note)\", \"w\")); for (;;) pause()"])
        let clock = Clock(
            now: {
                let step: Int64 = access(note, F_OK) == 0 ? 11_000_000_000 : 0
                return passed.withLock { passed in
                    passed += step
                    return Instant(nanoseconds: passed)
                }
            }, wall: { 0 })
        let folders = ModuleFolders(
            [fixture.folder], describer: .process(executable: ModuleFixture.router, timeout: .seconds(10), clock: clock))
        #expect(fixture.fault("table", in: folders) == "\(path): its describe did not answer within 10s")
        try fixture.build("unruly.c", as: "table.so", ["-DIN_DESCRIBE=exit(0)"])
        #expect(fault() == "\(path): its describe ended the process with code 0")
    }

    @Test("that writes to the router's pipe is refused, or its text is escaped")
    func forges() throws {
        let flood = "for (;;) if (write(4, \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\", 32) < 0) _exit(1)"
        try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=\(flood)"])
        #expect(fault() == "\(path): its constructor wrote more than a description into the router's pipe")
        try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=write(4, \"r\\4\\0\\0\\0\\33[2J\", 9)"])
        #expect(fault() == "\\u{1B}[2J")
    }

    @Test("has the same faults as in this process")
    func faults() throws {
        try fixture.build("table.c", as: "table.so", ["-DABI=7"])
        #expect(fault() == fixture.fault("table"))
        try fixture.build("table.c", as: "table.so", ["-DDESCRIPTION_SIZE=262145"])
        #expect(fault() == "\(path): its description has 262145 bytes, more than the 262144 allowed")
    }

    @Test("that needs a missing library is refused with the name of the library")
    func missing() throws {
        try fixture.build("table.c", as: "libneeded-by-table.so.7", ["-Wl,-soname,libneeded-by-table.so.7"])
        try fixture.build(
            "table.c", as: "table.so", ["-Wl,--no-as-needed", fixture.folder + "/libneeded-by-table.so.7"])
        unlink(fixture.folder + "/libneeded-by-table.so.7")
        let words =
            "\(path): cannot be loaded: it needs libneeded-by-table.so.7, which is not installed where the linker looks, or not for "
            + "\(LibraryImage.name(of: LibraryImage.ownMachine)); install it, or name its folder in LD_LIBRARY_PATH"
        #expect(fault() == words)
        #expect(fixture.fault("table") == words)
    }

    @Test("is described only once while its file stays the same, and again after a change")
    func remembered() throws {
        // The module writes a line each time it is loaded.
        let note = fixture.folder + "/notes"
        let code = "{ FILE *f = fopen(\"\(note)\", \"a\"); fputs(\"loaded\\n\", f); fclose(f); }"
        try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=\(code)"])
        let folders = folders()
        for _ in 0..<3 { #expect(try folders.description(of: "table")?.version == "1.0.0") }
        #expect(try String(contentsOfFile: note, encoding: .utf8) == "loaded\n")
        let newer = #"{\"name\":\"table\",\"version\":\"2.0.0\",\"summary\":\"\",\"settings\":{\"type\":\"object\"}}"#
        // Overwrite the same file, as cp does.
        let bytes = try Data(contentsOf: URL(filePath: fixture.build("table.c", as: "next", ["-DDESCRIPTION=\"\(newer)\""])))
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: bytes)
        try file.close()
        #expect(try folders.description(of: "table")?.version == "2.0.0")
    }

    @Test("that is cut off at any length is refused with a message and never loaded")
    func cut() throws {
        let whole = try Data(contentsOf: URL(filePath: fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=raise(SIGKILL)"])))
        for count in stride(from: 0, to: whole.count, by: 97) {
            try fixture.write([UInt8](whole.prefix(count)), as: "table.so")
            let words = try #require(fixture.fault("table"))
            #expect(words.hasPrefix("\(path): is "), "cut at \(count): \(words)")
        }
    }

    @Test("with random changes in its file is refused with a message, or works")
    func chance() throws {
        let whole = try [UInt8](Data(contentsOf: URL(filePath: fixture.build("table.c", as: "table.so"))))
        var random = SystemRandomNumberGenerator()
        for _ in 0..<60 {
            var bytes = whole
            for _ in 0..<3 { bytes[Int.random(in: 64..<whole.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random) }
            try fixture.write(bytes, as: "table.so")
            if let words = fault(.seconds(30)) { #expect(!words.isEmpty) }
        }
    }

    @Test("goes on working if its file is truncated while it is in use")
    func cutInUse() throws {
        try fixture.build("scripted.c", as: "scripted.so")
        let out = try Scripted(fixture)
        truncate(fixture.folder + "/scripted.so", 0)
        #expect(out.deliver("attempt").batch != .delivered)
        #expect(out.deliver("plain").batch == .delivered)
        out.provider.close()
        #expect(fixture.fault("scripted")?.hasSuffix("scripted.so: is empty; a module is a shared library") == true)
    }
}
