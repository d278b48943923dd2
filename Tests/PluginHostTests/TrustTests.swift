import Foundation
import PluginHost
import Testing

@Suite("Trust in a module's file", .timeLimit(.minutes(20)))
struct TrustTests {
    let fixture: ModuleFixture
    var path: String { fixture.folder + "/table.so" }

    init() throws {
        fixture = try ModuleFixture()
        try fixture.build("table.c", as: "table.so")
    }

    @Test("a file that its group or others can write is refused", arguments: [0o775, 0o757, 0o722, 0o646] as [mode_t])
    func writableFile(mode: mode_t) throws {
        chmod(path, mode)
        #expect(
            fixture.fault("table")
                == "\(path): can be written by others (mode 0\(String(mode, radix: 8))); modules are loaded only from files and "
                + "folders that others cannot change: chmod go-w '\(path)'")
        chmod(path, 0o444)
        #expect(fixture.fault("table") == nil)
    }

    @Test(
        "a folder that its group or others can write is refused, also with the sticky bit", arguments: [0o775, 0o707, 0o1777] as [mode_t])
    func writableFolder(mode: mode_t) throws {
        chmod(fixture.folder, mode)
        #expect(fixture.fault("table")?.hasPrefix("\(fixture.folder): can be written by others (mode ") == true)
        chmod(fixture.folder, 0o755)
        #expect(fixture.fault("table") == nil)
    }

    @Test("a folder at any level above is refused if others can write it, except a folder like /tmp")
    func writableParent() throws {
        let above = try fixture.subfolder("above")
        let below = try fixture.subfolder("above/between/below")
        try FileManager.default.moveItem(atPath: path, toPath: below + "/table.so")
        let folders = ModuleFolders([below])
        chmod(above, 0o777)
        #expect(fixture.fault("table", in: folders)?.hasPrefix("\(above): can be written by others (mode 0777)") == true)
        chmod(above, 0o1777)
        #expect(fixture.fault("table", in: folders) == nil)
    }

    @Test("a file or a folder of another user is refused", .enabled(if: geteuid() == 0, "only root gives files away"))
    func otherOwner() throws {
        chown(path, 12345, 0)
        #expect(
            fixture.fault("table")
                == "\(path): belongs to user 12345, who is neither root nor the user of this process (0); modules are loaded only from "
                + "files and folders of those two: chown it, or install the module elsewhere")
        chown(path, 0, 0)
        chown(fixture.folder, 12345, 0)
        #expect(fixture.fault("table")?.hasPrefix("\(fixture.folder): belongs to user 12345") == true)
    }

    @Test("a link is followed, and its target is checked in the folder where it is")
    func links() throws {
        let elsewhere = try fixture.subfolder("elsewhere")
        try FileManager.default.moveItem(atPath: path, toPath: elsewhere + "/real.so")
        symlink("elsewhere/real.so", path)
        #expect(try fixture.folders.module("table")?.path == elsewhere + "/real.so")
        chmod(elsewhere, 0o777)
        #expect(fixture.fault("table")?.hasPrefix("\(elsewhere): can be written by others") == true)
        chmod(elsewhere, 0o755)
        chmod(elsewhere + "/real.so", 0o666)
        #expect(fixture.fault("table")?.hasPrefix("\(elsewhere)/real.so: can be written by others") == true)
    }

    @Test("a trusted link in a folder that others can write is refused")
    func linkInWritableFolder() throws {
        let open = try fixture.subfolder("open", mode: 0o777)
        symlink(path, open + "/table.so")
        #expect(fixture.fault("table", in: ModuleFolders([open]))?.hasPrefix("\(open): can be written by others") == true)
    }

    @Test("a FIFO or a folder is refused, without waiting for a writer")
    func notAFile() throws {
        unlink(path)
        mkfifo(path, 0o644)
        chmod(path, 0o644)
        #expect(fixture.fault("table") == "\(path): is not a file; a module is a shared library")
        unlink(path)
        mkdir(path, 0o755)
        chmod(path, 0o755)
        #expect(fixture.fault("table") == "\(path): is not a file; a module is a shared library")
    }

    @Test("the message about a broken link names the link")
    func brokenLink() throws {
        unlink(path)
        symlink("nowhere", path)
        #expect(fixture.fault("table") == "\(path): cannot be found: No such file or directory")
    }
}
