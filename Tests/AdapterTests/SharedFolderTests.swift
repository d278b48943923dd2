// Tests for files of another user in a folder that every user may write. They need root, since only root can make files of another user.

import Glibc
import PluginKit
import Testing

@testable import File

private let isRoot = geteuid() == 0
private let stranger: uid_t = 65_534

@Suite("file, in a folder that every user may write", .enabled(if: isRoot, "only root can make files of another user"))
struct SharedFolderTests {
    let folder = TemporaryFolder()
    let other = TemporaryFolder()
    private var path: String { folder.path + "/x" }
    private let place = "in a folder that every user may write"

    init() { chmod(folder.path, 0o1777) }

    private func deliver(to path: String) throws -> String {
        let file = try FileProvider(settings: Settings(json: #"{"path":"\#(path)"}"#), host: HostRecorder().host, system: .system)
        defer { file.close() }
        return Batch.with(["{}"]) { file.deliver($0) }.text
    }

    @Test("another user's link is not followed, whether its target exists or not", arguments: [true, false])
    func link(isThere: Bool) throws {
        if isThere { other.write("secret", "") }
        symlink(other.path + "/secret", path)
        lchown(path, stranger, stranger)
        #expect(
            try deliver(to: path)
                == "retry 13: '\(path)' is a symbolic link of another user (uid 65534) \(place), and is not followed")
        #expect(other.names == (isThere ? ["secret"] : []) && other.text("secret") ?? "" == "")
    }

    @Test("another user's link is not followed in the folders of a path, nor behind an own link")
    func onTheWay() throws {
        symlink(other.path, path)
        lchown(path, stranger, stranger)
        let words = "retry 13: '\(path)' is a symbolic link of another user (uid 65534) \(place), and is not followed"
        #expect(try deliver(to: path + "/y") == words)
        symlink(path, other.path + "/mine")
        #expect(try deliver(to: other.path + "/mine/y") == words)
        #expect(other.names == ["mine"])
    }

    @Test("an own link and a link of the folder's owner are followed")
    func ownLinks() throws {
        other.write("mine", "")
        symlink(other.path + "/mine", path)
        #expect(try deliver(to: path) == "delivered")
        chown(folder.path, stranger, stranger)
        lchown(path, stranger, stranger)
        #expect(try deliver(to: path) == "delivered")
        #expect(other.text("mine") == "{}\n{}\n")
    }

    @Test("in a folder that other users may not write, every user's link is followed")
    func privateFolder() throws {
        other.write("theirs", "")
        symlink(other.path + "/theirs", path)
        lchown(path, stranger, stranger)
        chmod(folder.path, 0o755)
        #expect(try deliver(to: path) == "delivered")
    }

    @Test("another user's file, another user's FIFO and a file with a second hard link are not written to")
    func others() throws {
        folder.write("x", "")
        chown(path, stranger, stranger)
        #expect(try deliver(to: path) == "retry 13: '\(path)' is a file of another user (uid 65534) \(place), and is not written to")
        unlink(path)
        mkfifo(path, 0o666)
        chown(path, stranger, stranger)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        #expect(try deliver(to: path) == "retry 13: '\(path)' is a FIFO of another user (uid 65534) \(place), and is not written to")
        unlink(path)
        other.write("secret", "")
        Glibc.link(other.path + "/secret", path)
        #expect(try deliver(to: path) == "retry 13: '\(path)' is a file with more than one hard link \(place), and is not written to")
        #expect(other.text("secret") == "")
    }

    @Test("a link that appears between the check and the opening is not written to")
    func between() throws {
        other.write("secret", "")
        let (path, secret) = (path, other.path + "/secret")
        var system = FileSystem.system
        system.open = { opened, flags, mode in
            symlink(secret, path)
            defer { unlink(path) }
            return open(opened, flags, mode)
        }
        let file = try FileProvider(settings: Settings(json: #"{"path":"\#(path)"}"#), host: HostRecorder().host, system: system)
        #expect(
            Batch.with(["{}"]) { file.deliver($0) }.text
                == "retry 11: another file took the place of '\(path)': Resource temporarily unavailable")
        #expect(other.text("secret") == "")
    }

    @Test("a file that exists under the temporary name of a compressed file is not written to")
    func partial() throws {
        folder.write("x.20260102T030405.678Z.gz.partial", "")
        let held = open(path + ".20260102T030405.678Z.gz.partial", O_RDONLY)
        defer { close(held) }
        var system = FileSystem.system
        system.now = { 1_767_323_045_678_000_000 }
        let settings = #"{"path":"\#(path)","rotate":{"bytes":3,"compression":"gzip"}}"#
        let file = try FileProvider(settings: Settings(json: settings), host: HostRecorder().host, system: system)
        #expect(Batch.with(["{}", "{}"]) { file.deliver($0) }.text == "delivered")
        file.close()
        var status = stat()
        #expect(fstat(held, &status) == 0 && status.st_size == 0)
        #expect(folder.names == ["x", "x.20260102T030405.678Z.gz"])
    }

    @Test("own files are opened and opened again")
    func own() throws {
        for _ in 0..<2 { #expect(try deliver(to: path) == "delivered") }
        #expect(folder.text("x") == "{}\n{}\n")
    }
}
