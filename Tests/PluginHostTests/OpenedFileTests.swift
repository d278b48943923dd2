import Foundation
import Plans
import Testing

@testable import PluginHost

@Suite("The file that was checked is the file that is loaded", .timeLimit(.minutes(20)))
struct OpenedFileTests {
    @Test("a link that gets another target after the check has no effect")
    func swappedLink() throws {
        let workshop = try Workshop()
        try workshop.build("scripted.c", as: "checked")
        try workshop.build("table.c", as: "smuggled")
        let path = workshop.folder + "/scripted.so"
        symlink("checked", path)
        let file = try TrustedFile(path)
        unlink(path)
        symlink("smuggled", path)
        #expect(try Module(file).description.name == "scripted")
    }

    @Test("a file that is replaced after the check has no effect")
    func replacedFile() throws {
        let workshop = try Workshop()
        let path = try workshop.build("scripted.c", as: "scripted.so")
        let file = try TrustedFile(path)
        rename(try workshop.build("table.c", as: "smuggled"), path)
        #expect(try Module(file).description.name == "scripted")
        #expect(workshop.fault("scripted")?.contains("describes itself as \"table\"") == true, "the next search finds the new file")
    }

    @Test("two modules that are loaded in sequence are two different modules")
    func descriptors() throws {
        let workshop = try Workshop()
        let scripted = try workshop.build("scripted.c", as: "scripted.so")
        let table = try workshop.build("table.c", as: "table.so")
        // If the first descriptor were closed, the second file would get its number, and the linker would take it for the first file.
        let first = try Module(TrustedFile(scripted))
        let second = try Module(TrustedFile(table))
        #expect(first.description.name == "scripted")
        #expect(second.description.name == "table")
    }
}
