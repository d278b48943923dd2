import Foundation
import Plans
import Testing

@testable import PluginHost

@Suite("The file that was checked is the file that is loaded", .timeLimit(.minutes(20)))
struct OpenedFileTests {
    @Test("a link that gets another target after the check has no effect")
    func swappedLink() throws {
        let fixture = try ModuleFixture()
        try fixture.build("scripted.c", as: "checked")
        try fixture.build("table.c", as: "smuggled")
        let path = fixture.folder + "/scripted.so"
        symlink("checked", path)
        let file = try TrustedFile(path)
        unlink(path)
        symlink("smuggled", path)
        #expect(try Module(file).description.name == "scripted")
    }

    @Test("a file that is replaced after the check has no effect")
    func replacedFile() throws {
        let fixture = try ModuleFixture()
        let path = try fixture.build("scripted.c", as: "scripted.so")
        let file = try TrustedFile(path)
        rename(try fixture.build("table.c", as: "smuggled"), path)
        #expect(try Module(file).description.name == "scripted")
        #expect(fixture.fault("scripted")?.contains("describes itself as \"table\"") == true, "the next search finds the new file")
    }

    @Test("two modules that are loaded in sequence are two different modules")
    func descriptors() throws {
        let fixture = try ModuleFixture()
        let scripted = try fixture.build("scripted.c", as: "scripted.so")
        let table = try fixture.build("table.c", as: "table.so")
        // If the first descriptor were closed, the second file would get its number, and the linker would take it for the first file.
        let first = try Module(TrustedFile(scripted))
        let second = try Module(TrustedFile(table))
        #expect(first.description.name == "scripted")
        #expect(second.description.name == "table")
    }
}
