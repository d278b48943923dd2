// Tests the addresses of Unix sockets, the reasons why a socket cannot listen, and how programs are found and described.

import Glibc
import Testing

@testable import Platform

@Suite("The address of a Unix socket")
struct UnixAddressTests {
    /// Returns the bytes that the system is given.
    private func bytes(_ address: UnixAddress) -> [UInt8] {
        address.withPointer { pointer, size in
            Array(UnsafeRawBufferPointer(start: pointer, count: Int(size)).dropFirst(MemoryLayout<sa_family_t>.size))
        }
    }

    @Test("names its path up to the largest number of bytes")
    func short() throws {
        #expect(UnixAddress.most == 107)
        let path = "/" + String(repeating: "x", count: UnixAddress.most - 1)
        let address = try UnixAddress(path: path)
        #expect(address.path == path && bytes(address) == Array(path.utf8))
        #expect(try bytes(UnixAddress(path: "s")) == [UInt8(ascii: "s")])
    }

    @Test("names a longer path by the descriptor of its folder, as long as it exists")
    func long() throws {
        let folder = try TestFolder()
        let deep = folder[String(repeating: "x", count: 100)]
        try makeFolder(deep, mode: 0o700)
        var number: Int32 = -1
        do {
            let address = try UnixAddress(path: deep + "/socket")
            let name = String(decoding: bytes(address), as: UTF8.self)
            #expect(address.path == deep + "/socket" && name.hasPrefix("/proc/self/fd/") && name.hasSuffix("/socket"))
            number = try #require(name.split(separator: "/").dropLast().last.flatMap { Int32($0) })
            #expect(isPrivate(number) && FilePlace(number) == FilePlace(deep))
        }
        #expect(FilePlace(number) != FilePlace(deep))
    }

    @Test("is none if the folder of a long path cannot be opened, or if the name alone is too long")
    func faults() throws {
        let folder = try TestFolder()
        try folder.put("file", "")
        let name = String(repeating: "x", count: 108)
        #expect(throws: UnixAddress.Fault.folder(SystemFault(code: ENOTDIR))) { _ = try UnixAddress(path: folder["file/"] + name) }
        #expect(throws: UnixAddress.Fault.folder(SystemFault(code: ENOENT))) { _ = try UnixAddress(path: folder["missing/"] + name) }
        #expect(throws: UnixAddress.Fault.long) { _ = try UnixAddress(path: name) }
        #expect(UnixAddress.Fault.long.description == "its path is too long for a socket: at most 107 bytes fit")
        #expect(UnixAddress.Fault.folder(SystemFault(code: ENOENT)).description == "its folder cannot be opened: No such file or directory")
    }

    @Test("may be an abstract name, which begins with a zero byte and has every other byte")
    func abstract() throws {
        let name: [UInt8] = [0, 1, 0, 255]
        let address = try #require(UnixAddress(name: name))
        #expect(address.path == "" && bytes(address) == name)
        #expect(UnixAddress(name: [UInt8](repeating: 1, count: 107)) != nil)
        #expect(UnixAddress(name: [UInt8](repeating: 1, count: 108)) == nil)
    }
}

@Suite("A stream socket at a file")
struct FileSocketTests {
    @Test("is not connected where nobody listens, and says why")
    func connect() throws {
        let folder = try TestFolder()
        try folder.put("file", "")
        _ = try StreamSocket.listening(at: UnixAddress(path: folder["dead"]), mode: 0o600, existing: .removed)
        for (name, code) in [("missing", ENOENT), ("file", ECONNREFUSED), ("dead", ECONNREFUSED)] {
            #expect(throws: SystemFault(code: code)) { _ = try StreamSocket.connected(to: UnixAddress(path: folder[name])) }
        }
    }

    @Test("carries bytes both ways; its listener does not wait, and no other program inherits it")
    func bytes() throws {
        let folder = try TestFolder()
        let address = try UnixAddress(path: folder["s"])
        let listener = try StreamSocket.listening(at: address, mode: 0o600, existing: .keptUnlessDead)
        let early = StreamSocket.accept(from: listener.number)?.number
        #expect(early == nil)
        let client = try StreamSocket.connected(to: address)
        guard let server = StreamSocket.accept(from: listener.number)?.release() else { throw SystemFault() }
        defer { close(server) }
        #expect(isPrivate(listener.number) && isPrivate(client.number) && isPrivate(server))
        #expect(fcntl(client.number, F_GETFL) & O_NONBLOCK == 0 && fcntl(server, F_GETFL) & O_NONBLOCK != 0)
        var byte: UInt8 = 0
        #expect(write(client.number, "a", 1) == 1 && read(server, &byte, 1) == 1 && byte == UInt8(ascii: "a"))
        #expect(write(server, "b", 1) == 1 && read(client.number, &byte, 1) == 1 && byte == UInt8(ascii: "b"))
    }

    @Test("is given to a user, to a group or to both", .enabled(if: geteuid() == 0, "only root can give a file away"))
    func owners() async {
        // The lists of users and groups are read in a way that only one thread at a time may use.
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder()
            let name = try #require(getpwuid(1).map { String(cString: $0.pointee.pw_name) })
            let group = try #require(getgrgid(2).map { String(cString: $0.pointee.gr_name) })
            let cases: [(String, uid_t, gid_t)] = [
                (name, 1, getegid()), (":" + group, 0, 2), (name + ":" + group, 1, 2), (name + ":", 1, getegid()),
            ]
            for (owner, user, group) in cases {
                let address = try UnixAddress(path: folder["s"])
                _ = try StreamSocket.listening(at: address, mode: 0o660, owner: owner, existing: .removed)
                let status = try folder.status("s")
                #expect(status.st_uid == user && status.st_gid == group && status.st_mode & 0o777 == 0o660, "\(owner)")
            }
        }
    }

    @Test("in a folder that is not there is a fault")
    func missing() throws {
        let folder = try TestFolder()
        #expect(throws: ListenFault.address(SystemFault(code: ENOENT))) {
            _ = try StreamSocket.listening(at: UnixAddress(path: folder["missing/s"]), mode: 0o600, existing: .keptUnlessDead)
        }
    }

    @Test("says in its fault what the system said, what to do, and nothing that could control a terminal")
    func words() {
        let fault = SystemFault(code: EPERM)
        #expect(ListenFault.host("no such host").description == "no such host")
        #expect(ListenFault.socket(fault).description == "Operation not permitted")
        #expect(ListenFault.address(fault).description == "Operation not permitted")
        #expect(ListenFault.address(SystemFault(code: EADDRINUSE)).description == "Address already in use; another process listens there")
        #expect(ListenFault.noUser("a\u{1b}").description == #"there is no user a\u001b"#)
        #expect(ListenFault.noGroup("a\u{1b}").description == #"there is no group a\u001b"#)
        #expect(ListenFault.owner("a:b", fault).description == "it cannot be given to a:b: Operation not permitted")
    }
}

@Suite("A program")
struct ProgramTests {
    @Test("is found in the first folder of PATH that has it as a file that may be executed")
    func path() async {
        await #expect(processExitsWith: .success) {
            let folder = try TestFolder()
            for name in ["a", "b", "c", "d"] { try makeFolder(folder[name], mode: 0o700) }
            try makeFolder(folder["a/tool"], mode: 0o700)
            try folder.put("b/tool", "", mode: 0o600)
            try folder.put("c/tool", "", mode: 0o700)
            try folder.put("d/tool", "", mode: 0o700)
            try folder.put("b/text", "", mode: 0)
            setenv("PATH", ["a", "b", "c", "d"].map { folder[$0] }.joined(separator: ":"), 1)
            #expect(try Process.find("tool") == folder["c/tool"])
            #expect(throws: SystemFault(code: EACCES)) { _ = try Process.find("text") }
            #expect(throws: SystemFault(code: ENOENT)) { _ = try Process.find("none") }
            #expect(throws: SystemFault(code: ENOENT)) { _ = try Process.find("") }
            #expect(try Process.find(folder["d/tool"]) == folder["d/tool"])
            // An empty member of PATH is the current folder.
            #expect(chdir(folder["d"]) == 0)
            setenv("PATH", ":" + folder["c"], 1)
            #expect(try Process.find("tool") == "./tool")
            unsetenv("PATH")
            #expect(try Process.find("sh").hasSuffix("/sh"))
        }
    }

    @Test("gets an environment without secrets: what it needs, what is kept for it, and what it is given, which wins")
    func environment() async {
        await #expect(processExitsWith: .success) {
            for name in ["HOME", "LANG", "TZ", "TMPDIR"] { unsetenv(name) }
            setenv("PATH", "/bin", 1)
            setenv("TZ", "UTC", 1)
            setenv("SECRET", "s", 1)
            setenv("KEPT", "k", 1)
            #expect(Process.cleanEnvironment([]) == ["PATH=/bin", "TZ=UTC"])
            #expect(
                Process.cleanEnvironment([("TZ", "CET"), ("A", "=")], keeping: ["KEPT", "NONE"])
                    == ["PATH=/bin", "KEPT=k", "TZ=CET", "A=="])
        }
    }

    @Test("is refused with a zero byte in a text, and with more descriptors than its supervisor takes")
    func refused() {
        #expect(throws: SystemFault(code: EINVAL)) { _ = try Process("true", ["a\0b"], descriptors: []) }
        #expect(throws: SystemFault(code: EINVAL)) { _ = try Process("true", [], environment: ["A=\0"], descriptors: []) }
        #expect(throws: SystemFault(code: EINVAL)) { _ = try Process("true\0", [], descriptors: []) }
        #expect(throws: SystemFault(code: EINVAL)) { _ = try Process("true", [], descriptors: Array(repeating: -1, count: 16)) }
    }

    @Test("that is the router itself is started by its path; any other by the path that was given")
    func own() {
        #expect(OwnProgram.found("/bin/sh") == "/bin/sh" && OwnProgram.found("") == "")
        #expect(OwnProgram.found(OwnProgram.link) == OwnProgram.path)
    }
}

@Suite("The histograms of the router")
struct HistogramBoundsTests {
    @Test("count times from a millisecond to a day, and sizes up to fifty thousand")
    func bounds() {
        let (times, sizes) = (Histogram.times, Histogram.sizes)
        #expect(times.bounds.first == 1_000_000 && times.bounds.last == 86_400_000_000_000 && times.counts.count == times.bounds.count + 1)
        #expect(sizes.bounds.first == 1 && sizes.bounds.last == 50_000 && sizes.total == 0 && sizes.sum == 0)
    }

    @Test("take every value: what is below the first bound, and what is beyond the last")
    func extremes() {
        var histogram = Histogram(bounds: [0])
        histogram.note(.min)
        histogram.note(.max, count: 2)
        histogram.note(7, count: 0)
        #expect(histogram.counts == [1, 2] && histogram.total == 3)
        #expect(histogram.sum == Double(Int64.min) + 2 * Double(Int64.max))
        var none = Histogram(bounds: [])
        none.note(1)
        #expect(none.counts == [1])
    }
}
