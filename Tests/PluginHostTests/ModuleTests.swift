import Foundation
import Plans
import PluginHost
import Testing

@Suite("A module", .timeLimit(.minutes(20)))
struct ModuleTests {
    let fixture: ModuleFixture
    var path: String { fixture.folder + "/table.so" }

    init() throws { fixture = try ModuleFixture() }

    @Test(
        "a table that cannot be used is refused with the fault and a remedy",
        arguments: [
            (
                ["-DABI=7"],
                "was built for version 7 of the plugin interface, this router has version 1; "
                    + "build the module against this router's switchyard_plugin.h"
            ),
            (["-DSIZE=40"], "its table has 40 bytes, at least 48 are needed; set struct_size to sizeof(switchyard_plugin)"),
            (["-DSIZE=0"], "its table has 0 bytes, at least 48 are needed; set struct_size to sizeof(switchyard_plugin)"),
            (["-DWITHOUT_DELIVER"], "its table lacks deliver; every module must have it"),
            (["-DWITHOUT_CREATE", "-DWITHOUT_DESTROY"], "its table lacks create, destroy; every module must have it"),
            (["-DWITHOUT_DESCRIBE"], "its table lacks describe; every module must have it"),
            (["-DNO_TABLE"], "switchyard_plugin_entry returned no table; report it to the module's author"),
            (
                ["-DTHE_ENTRY=another_entry"],
                "has no symbol switchyard_plugin_entry; it is not a Switchyard module, or does not export its entry"
            ),
            (["-DNO_DESCRIPTION"], "describe returned nothing; it must return a JSON object"),
            (["-DDESCRIPTION=\"\""], "describe returned nothing; it must return a JSON object"),
            (["-DDESCRIPTION_SIZE=-1"], "its description has 18446744073709551615 bytes, more than the 262144 allowed"),
            (["-DDESCRIPTION_SIZE=262145"], "its description has 262145 bytes, more than the 262144 allowed"),
            (["-DDESCRIPTION=\"{\\\"name\\\":\\\"\\xff\\\"}\""], "its description is not UTF-8"),
        ])
    func badTables(options: [String], message: String) throws {
        try fixture.build("table.c", as: "table.so", options)
        #expect(fixture.fault("table") == "\(path): \(message)")
        #expect(fixture.fault("table") == "\(path): \(message)", "the second attempt fails too")
    }

    @Test("a description that is not a JSON object is refused with the reader's reason")
    func badDescription() throws {
        try fixture.build("table.c", as: "table.so", ["-DDESCRIPTION=\"[\""])
        #expect(fixture.fault("table")?.hasPrefix("\(path): its description ") == true)
    }

    @Test("a shorter table, of an older module, is accepted, and functions that it lacks are not called")
    func shorterTable() throws {
        try fixture.build("table.c", as: "table.so", ["-DSIZE=48"])
        let module = try #require(try fixture.folders.module("table"))
        let provider = try module.make(settings: Secret([]), name: "out") { _, _ in }
        // The module's reopen is after the end of its table. A call of it would end the process.
        provider.reopen()
        provider.close()
    }

    @Test("a longer table, of a newer module, is accepted")
    func longerTable() throws {
        try fixture.build("table.c", as: "table.so", ["-DSIZE=4000"])
        #expect(try fixture.folders.module("table") != nil)
    }

    @Test("a file that is not a library is refused before it is loaded, with its own path")
    func notALibrary() throws {
        try fixture.write(Array("not a library, by far\n".utf8), as: "table.so")
        #expect(fixture.fault("table") == "\(path): is not a shared library; it has no ELF header")
        try fixture.write(Array(String(repeating: "not a library, by far\n", count: 100).utf8), as: "table.so")
        #expect(fixture.fault("table") == "\(path): is not a shared library; it has no ELF header")
    }

    @Test("a missing symbol is found when the module is loaded, not when it is called")
    func unresolvedSymbol() throws {
        try fixture.build("table.c", as: "table.so", ["-DNEEDS_WHAT_NOBODY_HAS"])
        #expect(fixture.fault("table") == "\(path): cannot be loaded: undefined symbol: nobody_has_this")
    }

    @Test("a module that failed to load does not prevent loading the next one")
    func afterFailure() throws {
        try fixture.write([UInt8](repeating: 1, count: 5000), as: "table.so")
        #expect(fixture.fault("table") != nil)
        try fixture.build("scripted.c", as: "scripted.so")
        #expect(try fixture.folders.module("scripted")?.description.name == "scripted")
        try fixture.build("table.c", as: "table.so")
        #expect(try fixture.folders.module("table")?.description.name == "table")
    }

    @Test("a new file of the same name is loaded in addition to the old one")
    func replaced() throws {
        let description = #"{\"name\":\"table\",\"version\":\"2.0.0\",\"summary\":\"\",\"settings\":{\"type\":\"object\"}}"#
        try fixture.build("table.c", as: "table.so")
        let old = try #require(try fixture.folders.module("table"))
        try fixture.build("table.c", as: "next", ["-DDESCRIPTION=\"\(description)\""])
        rename(fixture.folder + "/next", path)
        let new = try #require(try fixture.folders.module("table"))
        #expect([old, new].map(\.description.version) == ["1.0.0", "2.0.0"])
    }
}
