// Tests which entries of a path another user may have put there. Most of them need root, since only root can make files of another user.

import Glibc
import Testing

@testable import Platform

private let stranger: uid_t = 65_534

/// What is found on a path, as text.
private func way(_ path: String, writes: Bool = true, user: UInt32? = nil) -> String {
    do throws(ForeignEntry) {
        let way = try SharedFolder(path, writes: writes, user: user)
        return (way.isOnTheWay ? "shared" : "private") + (way.found == nil ? ", nothing" : "")
    } catch {
        return "\(error.reason) of \(error.owner) at \(error.path)"
    }
}

@Suite("The folders of a path")
struct PathTests {
    @Test("are followed to the file that an open would open")
    func found() throws {
        let folder = try TestFolder()
        try folder.put("x", "")
        #expect(mkdir(folder["a"], 0o700) == 0 && symlink("a/../x", folder["near"]) == 0 && symlink(folder["near"], folder["a/far"]) == 0)
        let status = try folder.status("x")
        for name in ["x", "./x", "a/../x", "near", "a/far", "//x"] {
            let found = try SharedFolder(folder[name], writes: true).found
            #expect(found?.device == UInt64(status.st_dev) && found?.number == UInt64(status.st_ino), "\(name)")
        }
    }

    @Test("lead to nothing if an entry is missing, if links lead in a circle, and without a path")
    func nothing() throws {
        let folder = try TestFolder()
        #expect(symlink("b", folder["a"]) == 0 && symlink("a", folder["b"]) == 0 && symlink("missing", folder["c"]) == 0)
        for path in [folder["missing"], folder["missing/x"], folder["a"], folder["c"], ""] {
            #expect(try SharedFolder(path, writes: false).found == nil, "\(path)")
        }
    }

    @Test("may hold as many links as the kernel follows, and no more", arguments: [(40, true), (41, false)])
    func links(count: Int, isFound: Bool) throws {
        let folder = try TestFolder()
        try folder.put("0", "")
        for number in 1...count { #expect(symlink("\(number - 1)", folder["\(number)"]) == 0) }
        var status = stat()
        #expect(stat(folder["\(count)"], &status) == (isFound ? 0 : -1))
        #expect(try (SharedFolder(folder["\(count)"], writes: false).found != nil) == isFound)
    }

    @Test("may lead over the links of /proc, which lead to open files")
    func process() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        let writing = Descriptor(owning: ends.writing)
        var status = stat()
        #expect(fstat(reading.number, &status) == 0)
        let found = try SharedFolder("/proc/self/fd/\(writing.number)", writes: true).found
        #expect(found?.number == UInt64(status.st_ino))
    }
}

@Suite("An entry of another user", .enabled(if: geteuid() == 0, "only root can make files of another user"))
struct ForeignEntryTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try folder.put("file", "")
        try folder.put("own", "")
        mkfifo(folder["fifo"], 0o600)
        symlink("own", folder["link"])
        mkdir(folder["sub"], 0o700)
        for name in ["file", "fifo", "link", "sub"] { lchown(folder[name], stranger, stranger) }
        chmod(folder.path, 0o1777)
    }

    @Test("is refused in a folder that every user may write")
    func refused() {
        #expect(way(folder["link"]) == "link of 65534 at \(folder["link"])")
        #expect(way(folder["file"]) == "file of 65534 at \(folder["file"])")
        #expect(way(folder["fifo"]) == "fifo of 65534 at \(folder["fifo"])")
        #expect(way(folder["own"]) == "shared" && way(folder["sub"]) == "shared")
        #expect(way(folder["missing"]) == "private, nothing" || way(folder["missing"]) == "shared, nothing")
    }

    @Test("is refused as a link also for reading and in the middle of a path, and as a file only for writing")
    func reading() {
        #expect(way(folder["file"], writes: false) == "shared" && way(folder["fifo"], writes: false) == "shared")
        #expect(way(folder["link"], writes: false) == "link of 65534 at \(folder["link"])")
        #expect(way(folder["link/x"], writes: false) == "link of 65534 at \(folder["link"])")
    }

    @Test("is allowed if it belongs to the user who asks or to the owner of the folder")
    func allowed() {
        for name in ["link", "file", "fifo"] { #expect(way(folder[name], user: stranger) == "shared") }
        chown(folder.path, stranger, stranger)
        for name in ["link", "file", "fifo"] { #expect(way(folder[name]) == "shared") }
    }

    @Test("is allowed in a folder that others may not write")
    func unshared() {
        chmod(folder.path, 0o755)
        let around = way(folder["own"])
        for name in ["link", "file", "fifo"] { #expect(way(folder[name]) == around) }
    }

    @Test("may be a file with several names, of which any user may have made one")
    func names() {
        #expect(link(folder["own"], folder["second"]) == 0)
        #expect(way(folder["own"]) == "names of 0 at \(folder["own"])" && way(folder["own"], writes: false) == "shared")
    }

    @Test("is described behind its path")
    func words() {
        func words(_ reason: ForeignEntry.Reason) -> String { ForeignEntry(path: "/x", owner: 7, reason: reason).words }
        let place = "in a folder that every user may write"
        #expect(words(.link) == "is a symbolic link of another user (uid 7) \(place), and is not followed")
        #expect(words(.file) == "is a file of another user (uid 7) \(place), and is not written to")
        #expect(words(.fifo) == "is a FIFO of another user (uid 7) \(place), and is not written to")
        #expect(words(.names) == "is a file with more than one hard link \(place), and is not written to")
    }
}
