// Tests that a file of rejected lines is private, and that no line in it is joined to another.

import Glibc
import Platform
import Testing

private func append(_ text: String, to file: AppendFile) throws(SystemFault) {
    try withBytes(Array(text.utf8)) { (bytes) throws(SystemFault) in try file.append(bytes) }
}

@Suite("A file for whole lines")
struct AppendFileTests {
    @Test("is made for its owner alone, and grows by what is appended")
    func new() throws {
        let folder = try TestFolder()
        let file = try AppendFile(path: folder["x"])
        #expect(file.path == folder["x"])
        #expect(try folder.mode("x") == 0o600)
        try append("one\n", to: file)
        try append("", to: file)
        try append("two\nthree\n", to: file)
        #expect(try folder.text("x") == "one\ntwo\nthree\n")
    }

    @Test("that is there already is continued, and others lose access to it", arguments: ["", "old\n"])
    func old(text: String) throws {
        let folder = try TestFolder()
        try folder.put("x", text, mode: 0o664)
        try append("new\n", to: AppendFile(path: folder["x"]))
        #expect(try folder.text("x") == text + "new\n")
        #expect(try folder.mode("x") == 0o600)
    }

    @Test("keeps a mode that shuts others out")
    func strict() throws {
        let folder = try TestFolder()
        try folder.put("x", "", mode: 0o700)
        _ = try AppendFile(path: folder["x"])
        #expect(try folder.mode("x") == 0o700)
    }

    @Test("ends a line that a kill has cut off, so that the next line stands alone")
    func torn() throws {
        let folder = try TestFolder()
        try folder.put("x", "whole\ntor")
        try append("next\n", to: AppendFile(path: folder["x"]))
        #expect(try folder.text("x") == "whole\ntor\nnext\n")
    }

    @Test("contains nothing of lines that did not fit")
    func noSpace() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            // A write beyond the limit fails after the part that fits, as on a full disk.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 10, rlim_max: 100)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { throw SystemFault() }
            let folder = try TestFolder()
            let file = try AppendFile(path: folder["x"])
            try append("12345\n", to: file)
            #expect(throws: SystemFault(code: EFBIG)) { try append("abc\ndef\n", to: file) }
            #expect(try folder.text("x") == "12345\n")
            try append("789\n", to: file)
            #expect(try folder.text("x") == "12345\n789\n")
        }
    }

    @Test("is not opened behind a link, in place of a folder, or in a folder that is not there")
    func refused() throws {
        let folder = try TestFolder()
        try folder.put("target", "")
        #expect(symlink(folder["target"], folder["link"]) == 0 && mkdir(folder["folder"], 0o700) == 0)
        for (name, code) in [("link", ELOOP), ("folder", EISDIR), ("missing/x", ENOENT), ("target/x", ENOTDIR)] {
            #expect(throws: SystemFault(code: code)) { _ = try AppendFile(path: folder[name]) }
        }
        #expect(folder.names == ["folder", "link", "target"])
    }

    @Test("of another user is refused, and keeps its mode", .enabled(if: geteuid() == 0, "only root can make files of another user"))
    func foreign() throws {
        let folder = try TestFolder()
        try folder.put("x", "theirs\n", mode: 0o644)
        #expect(chown(folder["x"], 65_534, 65_534) == 0)
        #expect(throws: SystemFault(code: EPERM)) { _ = try AppendFile(path: folder["x"]) }
        #expect(try folder.mode("x") == 0o644)
        #expect(try folder.text("x") == "theirs\n")
    }

    @Test("may be a device, whose faults are reported")
    func device() throws {
        try append("gone\n", to: AppendFile(path: "/dev/null"))
        let full = try AppendFile(path: "/dev/full")
        #expect(throws: SystemFault(code: ENOSPC)) { try append("x\n", to: full) }
    }

    @Test("may be a FIFO, which needs a reader: without one it is a fault and no wait")
    func fifo() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            signal(SIGPIPE, SIG_IGN)
            let folder = try TestFolder()
            #expect(mkfifo(folder["f"], 0o600) == 0)
            #expect(throws: SystemFault(code: ENXIO)) { _ = try AppendFile(path: folder["f"]) }
            let reader = open(folder["f"], O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            let file = try AppendFile(path: folder["f"])
            try append("line\n", to: file)
            var text = [UInt8](repeating: 0, count: 16)
            #expect(read(reader, &text, text.count) == 5)
            #expect(text.starts(with: "line\n".utf8))
            close(reader)
            #expect(throws: SystemFault(code: EPIPE)) { try append("line\n", to: file) }
        }
    }
}
