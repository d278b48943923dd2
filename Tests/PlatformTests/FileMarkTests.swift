// Tests how a file is recognised after its name has changed, and how a file is replaced as a whole.

import Glibc
import Platform
import Testing

@Suite("The mark of a file")
struct FileMarkTests {
    private static let sizes = [0, 1, 1023, 1024, 1025, 2047, 2048, 2049, 5000]

    private func text(_ count: Int) -> String { String(decoding: (0..<count).map { UInt8(ascii: "a") + UInt8($0 % 23) }, as: UTF8.self) }

    /// Changes one byte of a file in place.
    private func change(_ name: String, at place: Int, in folder: TestFolder) throws {
        let file = try folder.opened(name, O_WRONLY)
        #expect(pwrite(file.number, "#", 1, off_t(place)) == 1)
    }

    private func mark(_ name: String, upTo size: Int, in folder: TestFolder) throws -> FileMark {
        let file = try folder.opened(name, O_RDONLY)
        return try FileMark(file.number, upTo: size)
    }

    private func fits(_ mark: FileMark, _ name: String, in folder: TestFolder) throws -> Bool {
        let file = try folder.opened(name, O_RDONLY)
        return mark.fits(file.number)
    }

    @Test("fits the file after it grew and was renamed", arguments: sizes)
    func grown(size: Int) throws {
        let folder = try TestFolder()
        try folder.put("x", text(size))
        let file = try folder.opened("x", O_RDWR | O_APPEND)
        let mark = try FileMark(file.number, upTo: size)
        #expect(mark.isSound && mark.end == size)
        #expect(mark.length == min(size, 1024) && mark.tailLength == min(max(0, size - 1024), 1024))
        #expect(mark.fits(file.number))
        #expect(write(file.number, "more", 4) == 4)
        #expect(rename(folder["x"], folder["y"]) == 0)
        #expect(try fits(mark, "y", in: folder))
    }

    @Test("does not fit if a byte of the beginning or before the end was changed, or if the file is shorter", arguments: sizes.dropFirst())
    func changed(size: Int) throws {
        let folder = try TestFolder()
        for place in [0, min(size, 1024) - 1, max(0, size - 1024), size - 1] {
            try folder.put("x", text(size))
            let mark = try self.mark("x", upTo: size, in: folder)
            try change("x", at: place, in: folder)
            #expect(try !fits(mark, "x", in: folder), "a change at \(place)")
        }
        try folder.put("x", text(size))
        let mark = try self.mark("x", upTo: size, in: folder)
        #expect(truncate(folder["x"], off_t(size - 1)) == 0)
        #expect(try !fits(mark, "x", in: folder))
    }

    @Test("ignores changes of what was not read yet, and between its two parts")
    func unread() throws {
        let folder = try TestFolder()
        try folder.put("x", text(5000))
        let mark = try self.mark("x", upTo: 4000, in: folder)
        for place in [4000, 4999, 1024, 2975] { try change("x", at: place, in: folder) }
        #expect(try fits(mark, "x", in: folder))
        try change("x", at: 2976, in: folder)
        #expect(try !fits(mark, "x", in: folder))
    }

    @Test("does not fit another file of the same contents")
    func copy() throws {
        let folder = try TestFolder()
        try folder.put("x", text(100))
        try folder.put("y", text(100))
        let x = try folder.opened("x", O_RDONLY)
        let y = try folder.opened("y", O_RDONLY)
        let (mark, other) = (try FileMark(x.number, upTo: 100), try FileMark(y.number, upTo: 100))
        #expect(mark.hash == other.hash && mark.tail == other.tail && mark != other)
        #expect(mark.fits(x.number) && !mark.fits(y.number) && other.fits(y.number))
        #expect(!mark.fits(-1))
        var elsewhere = mark
        elsewhere.device += 1
        #expect(!elsewhere.fits(x.number))
    }

    @Test("cannot be made of a file that is shorter than what was read, nor of no file")
    func faults() throws {
        let folder = try TestFolder()
        try folder.put("x", "short")
        let file = try folder.opened("x", O_RDONLY)
        #expect(throws: SystemFault(code: EIO)) { _ = try FileMark(file.number, upTo: 6) }
        #expect(throws: SystemFault(code: EBADF)) { _ = try FileMark(-1, upTo: 0) }
    }

    @Test("that was stored is checked before it is used")
    func sound() {
        func isSound(_ length: Int, _ end: Int, _ tail: Int) -> Bool {
            FileMark(device: 1, number: 1, length: length, hash: 0, end: end, tailLength: tail, tail: 0).isSound
        }
        #expect(isSound(0, 0, 0) && isSound(1024, 2048, 1024) && isSound(1024, .max, 1024) && isSound(5, 9, 4))
        #expect(!isSound(-1, 0, 0) && !isSound(1025, 5000, 0) && !isSound(1, 0, 0) && !isSound(0, -1, 0) && !isSound(0, .min, 0))
        #expect(!isSound(0, 5000, 1025) && !isSound(0, 10, -1) && !isSound(5, 8, 4))
    }

    @Test("has the hash FNV-1a")
    func hash() {
        #expect(fnv1a([]) == 0xcbf2_9ce4_8422_2325)
        #expect(fnv1a("a".utf8) == 0xaf63_dc4c_8601_ec8c)
        #expect(fnv1a("foobar".utf8) == 0x8594_4171_f739_67e8)
    }
}

@Suite("A file that is replaced")
struct ReplaceFileTests {
    @Test("has the new bytes, for its owner alone; a reader of the old file keeps it")
    func replaced() throws {
        let folder = try TestFolder()
        try folder.put("x", "old", mode: 0o644)
        let reader = try folder.opened("x", O_RDONLY)
        try replaceFile(folder["x"], with: Array("new".utf8))
        #expect(try folder.text("x") == "new")
        #expect(try folder.mode("x") == 0o600)
        #expect(try allBytes(of: reader.number) == Array("old".utf8))
        try replaceFile(folder["x"], with: [])
        try replaceFile(folder["y"], with: [1, 2])
        #expect(try folder.text("x") == "" && folder.text("y") == "\u{1}\u{2}")
        #expect(folder.names == ["x", "y"])
    }

    @Test("is not written through a link that lies in the way")
    func draft() throws {
        let folder = try TestFolder()
        try folder.put("target", "precious")
        #expect(symlink(folder["target"], folder["x.new"]) == 0)
        try replaceFile(folder["x"], with: [UInt8(ascii: "x")])
        #expect(try folder.text("target") == "precious" && folder.text("x") == "x")
        #expect(folder.names == ["target", "x"])
    }

    @Test("stays as it was, without a rest of the new one, if the disk is full")
    func noSpace() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 10, rlim_max: 100)
            guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { throw SystemFault() }
            let folder = try TestFolder()
            try folder.put("x", "old")
            #expect(throws: SystemFault(code: EFBIG)) { try replaceFile(folder["x"], with: [UInt8](repeating: 1, count: 11)) }
            #expect(try folder.text("x") == "old")
            #expect(folder.names == ["x"])
        }
    }

    @Test("cannot be a folder, nor in a folder that is not there, and then nothing is left")
    func refused() throws {
        let folder = try TestFolder()
        #expect(mkdir(folder["x"], 0o700) == 0)
        #expect(throws: SystemFault(code: EISDIR)) { try replaceFile(folder["x"], with: [1]) }
        #expect(throws: SystemFault(code: ENOENT)) { try replaceFile(folder["missing/x"], with: [1]) }
        #expect(folder.names == ["x"])
    }
}

@Suite("The place of a file")
struct FilePlaceTests {
    @Test("is the same by its path, by a link and by a descriptor")
    func same() throws {
        let folder = try TestFolder()
        try folder.put("x", "")
        #expect(symlink("x", folder["link"]) == 0)
        let file = try folder.opened("x", O_RDONLY)
        let place = FilePlace(folder["x"])
        #expect(place != nil && place == FilePlace(file.number) && place == FilePlace(folder["link"]))
        #expect(rename(folder["x"], folder["y"]) == 0)
        #expect(place == FilePlace(folder["y"]) && place == FilePlace(file.number) && FilePlace(folder["link"]) == nil)
    }

    @Test("is another one for a file that takes the name, and none without a file")
    func other() throws {
        let folder = try TestFolder()
        try folder.put("x", "")
        // The file stays open, so that the system cannot give its number to the next one.
        let file = try folder.opened("x", O_RDONLY)
        #expect(unlink(folder["x"]) == 0)
        #expect(FilePlace(folder["x"]) == nil && FilePlace(file.number) != nil && FilePlace(-1) == nil)
        try folder.put("x", "")
        #expect(FilePlace(folder["x"]) != FilePlace(file.number))
    }

    @Test("that was lost is a fault that names the path")
    func removed() {
        let fault = StorageFault.removed("/a/b")
        #expect(fault.kind == .removed && "\(fault)" == "/a/b: was removed, moved away or replaced while the router has it")
        #expect(fault == StorageFault(.removed, fault.description) && fault != StorageFault(.full, fault.description))
    }
}

@Suite("The beginning of an input")
struct FileBeginningTests {
    @Test("is a byte order mark of three bytes, or none")
    func mark() {
        #expect(FileBeginning.mark([0xef, 0xbb, 0xbf, 0x7b]) == 3 && FileBeginning.mark([0xef, 0xbb, 0xbf]) == 3)
        #expect(FileBeginning.mark([0xef, 0xbb]) == 0 && FileBeginning.mark([]) == 0 && FileBeginning.mark([0xfe, 0xff, 0xbf]) == 0)
    }

    @Test("tells compressed data, of which it needs four bytes at most")
    func compression() {
        let (gzip, zstd) = (FileBeginning.compression([0x1f, 0x8b, 8, 0]), FileBeginning.compression([0x28, 0xb5, 0x2f, 0xfd]))
        #expect(gzip?.name == "gzip" && gzip?.command == "zcat" && zstd?.name == "zstd" && zstd?.command == "zstdcat")
        for bytes: [UInt8] in [[], [0x1f], [0x28, 0xb5, 0x2f], Array("{\"a\"".utf8)] { #expect(FileBeginning.compression(bytes) == nil) }
        #expect(FileBeginning.most == 4)
    }
}
