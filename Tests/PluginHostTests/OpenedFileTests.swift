import Foundation
import Plans
import Testing

@testable import PluginHost

@Suite("What was checked is what is loaded", .timeLimit(.minutes(20)))
struct OpenedFileTests {
    @Test("a link that is turned to another module after the check changes nothing")
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

    @Test("a file that is replaced after the check changes nothing")
    func replacedFile() throws {
        let workshop = try Workshop()
        let path = try workshop.build("scripted.c", as: "scripted.so")
        let file = try TrustedFile(path)
        rename(try workshop.build("table.c", as: "smuggled"), path)
        #expect(try Module(file).description.name == "scripted")
        #expect(workshop.fault("scripted")?.contains("describes itself as \"table\"") == true, "the next look finds the new file")
    }

    @Test("two modules loaded one after the other are two modules")
    func descriptors() throws {
        let workshop = try Workshop()
        let scripted = try workshop.build("scripted.c", as: "scripted.so")
        let table = try workshop.build("table.c", as: "table.so")
        // Were the first descriptor closed, the second file would get its number, and the linker would take it for the first.
        let first = try Module(TrustedFile(scripted))
        let second = try Module(TrustedFile(table))
        #expect(first.description.name == "scripted")
        #expect(second.description.name == "table")
    }
}
