import Foundation
import Plans
import Platform
import TestSupport
import Testing

@testable import PluginHost

/// A router keeps the descriptions of its modules for its next start.
@Suite("The description of a module from the last start", .timeLimit(.minutes(20)))
struct KnownDescriptionsTests {
    let fixture: ModuleFixture
    var file: String { fixture.folder + "/descriptions" }
    var notes: String { fixture.folder + "/notes" }
    /// How often a process has loaded the module.
    var loads: Int { (try? String(contentsOfFile: notes, encoding: .utf8))?.split(separator: "\n").count ?? 0 }

    /// Builds a module that writes a line each time it is loaded.
    init() throws {
        fixture = try ModuleFixture()
        let code = "{ FILE *f = fopen(\"\(notes)\", \"a\"); fputs(\"loaded\\n\", f); fclose(f); }"
        try fixture.build("unruly.c", as: "table.so", ["-DIN_CONSTRUCTOR=\(code)"])
    }

    private func version(_ known: KnownDescriptions) throws -> String? {
        let describer = Describer.process(executable: ModuleFixture.router, timeout: .seconds(600), known: known)
        return try ModuleFolders([fixture.folder], describer: describer).description(of: "table")?.version
    }

    /// What a process does that has the module in its plan: it takes over the file, describes the module, and keeps the file when it runs.
    private func start(keeps: Bool = true) throws -> KnownDescriptions {
        let known = KnownDescriptions()
        known.recall(from: file)
        #expect(try version(known) == "1.0.0")
        if keeps { known.keep(at: file) }
        return known
    }

    @Test("is used, and the module is not asked again")
    func used() throws {
        for _ in 0..<3 { _ = try start() }
        #expect(loads == 1)
    }

    @Test("is not used if the module's file has changed")
    func changed() throws {
        _ = try start()
        try fixture.build("table.c", as: "next.so", [])
        #expect(rename(fixture.folder + "/next.so", fixture.folder + "/table.so") == 0)
        let newer = KnownDescriptions()
        newer.recall(from: file)
        #expect(try version(newer) == "1.0.0")
        #expect(loads == 1, "the file has another module now")
        try fixture.build(
            "table.c", as: "table.so",
            [#"-DDESCRIPTION="{\"name\":\"table\",\"version\":\"2.0.0\",\"summary\":\"\",\"settings\":{\"type\":\"object\"}}""#])
        newer.keep(at: file)
        let newest = KnownDescriptions()
        newest.recall(from: file)
        #expect(try version(newest) == "2.0.0")
    }

    @Test("is gone while a start loads modules, so that a module which ends the router is described in a process again")
    func failed() throws {
        _ = try start()
        _ = try start(keeps: false)
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(loads == 1)
        _ = try start()
        #expect(loads == 2)
    }

    @Test("is used only at the start")
    func startOnly() throws {
        _ = try start()
        let known = KnownDescriptions()
        known.recall(from: file)
        known.keep(at: file)
        #expect(try version(known) == "1.0.0")
        #expect(loads == 2)
    }

    @Test("is not used if other users could have written the file, or if it is not a file")
    func untrusted() throws {
        _ = try start()
        chmod(file, 0o666)
        _ = try start()
        #expect(loads == 2)
        let bytes = try Data(contentsOf: URL(filePath: file))
        try bytes.write(to: URL(filePath: fixture.folder + "/elsewhere"))
        unlink(file)
        symlink(fixture.folder + "/elsewhere", file)
        _ = try start()
        #expect(loads == 3)
        #expect(chmod(file, 0o600) == 0)
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
    }

    @Test("is not used if any byte of the file has changed, or is missing")
    func damaged() throws {
        let known = try start()
        let identity = try TrustedFile(fixture.folder + "/table.so").identity
        #expect(FileIdentity(numbers: identity.numbers) == identity)
        #expect(known.description(of: identity)?.version == "1.0.0")
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
        #expect(DescriptionsFormat.read(bytes)?.keys.first == identity)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 1 << UInt8(index % 8)
            #expect(DescriptionsFormat.read(other) == nil)
            #expect(DescriptionsFormat.read(Array(bytes[..<index])) == nil)
        }
    }
}
