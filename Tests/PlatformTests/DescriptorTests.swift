// Tests what is written through interruptions, full pipes and closed ones, and who closes a descriptor.

import Glibc
import Platform
import TestSupport
import Testing

/// More than any pipe holds, in a pattern that shows a missing or repeated part.
private let large: [UInt8] = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

private func fault(_ body: () throws(SystemFault) -> Void) -> SystemFault? {
    do throws(SystemFault) {
        try body()
        return nil
    } catch {
        return error
    }
}

@Suite("Writing all bytes to a descriptor")
struct WriteTests {
    init() { signal(SIGPIPE, SIG_IGN) }

    @Test("continues after each signal that interrupts it, and writes every byte once")
    func interrupted() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            let ends = try makePipe()
            let writer = try InterruptedThread {
                defer { close(ends.writing) }
                return fault { () throws(SystemFault) in
                    try withBytes(large) { (bytes) throws(SystemFault) in try writeAll(ends.writing, bytes) }
                }
            }
            // The first signal ends a write of a part. The others interrupt writes that have written nothing.
            for _ in 0..<4 { try writer.interrupt() }
            #expect(try allBytes(of: ends.reading) == large)
            #expect(writer.value() == nil)
        }
    }

    @Test("waits until a full pipe that does not block has space again")
    func full() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        #expect(fcntl(ends.writing, F_SETFL, O_NONBLOCK) == 0)
        let result = Monitor<SystemFault?>(nil)
        let thread = Thread.start("writer") {
            let writing = Descriptor(owning: ends.writing)
            let fault = fault { () throws(SystemFault) in
                try withBytes(large) { (bytes) throws(SystemFault) in try writing.write(bytes) }
            }
            result.withLock { $0 = fault }
        }
        #expect(try allBytes(of: reading.number) == large)
        thread.join()
        #expect(result.withLock { $0 } == nil)
    }

    @Test("reports that the reader of a pipe has left, that a device is full and that a descriptor is not open for writing")
    func faults() throws {
        let ends = try makePipe()
        close(ends.reading)
        let writing = Descriptor(owning: ends.writing)
        let full = Descriptor(owning: open("/dev/full", O_WRONLY | O_CLOEXEC))
        let null = Descriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        for (number, code) in [(writing.number, EPIPE), (full.number, ENOSPC), (null.number, EBADF)] {
            let fault = fault { () throws(SystemFault) in
                try withBytes([1]) { (bytes) throws(SystemFault) in try writeAll(number, bytes) }
            }
            #expect(fault == SystemFault(code: code))
        }
    }

    @Test("makes no call for no bytes")
    func nothing() { #expect(fault { () throws(SystemFault) in try writeAll(-1, UnsafeRawBufferPointer(start: nil, count: 0)) } == nil) }
}

@Suite("A descriptor")
struct DescriptorTests {
    @Test("is closed together with its owner")
    func closes() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        do {
            let writing = Descriptor(owning: ends.writing)
            #expect(writing.number == ends.writing)
        }
        #expect(isHungUp(reading.number))
    }

    @Test("stays open when its owner gives it up")
    func released() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        let number = Descriptor(owning: ends.writing).release()
        #expect(number == ends.writing)
        #expect(write(number, [UInt8(ascii: "x")], 1) == 1)
        close(number)
        #expect(try allBytes(of: reading.number) == [UInt8(ascii: "x")])
    }

    @Test("of a pipe is not inherited, and what is written to one end is read from the other")
    func pipe() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        let writing = Descriptor(owning: ends.writing)
        #expect(isPrivate(reading.number) && isPrivate(writing.number))
        #expect(write(ends.writing, [UInt8(ascii: "y")], 1) == 1)
        var byte: UInt8 = 0
        #expect(read(ends.reading, &byte, 1) == 1 && byte == UInt8(ascii: "y"))
    }

    @Test("of a pipe, a wake-up or a socket that cannot be made is a fault, and leaves none open")
    func none() async {
        await #expect(processExitsWith: .success) {
            endIfStuck()
            try withFewDescriptors {
                let ends = try makePipe()
                close(ends.reading)
                close(ends.writing)
            }
            try withFewDescriptors { _ = try WakeUp() }
            let folder = try TestFolder()
            let path = folder["s"]
            try withFewDescriptors {
                let address = try UnixAddress(path: path)
                let listener = try StreamSocket.listening(at: address, mode: 0o600, existing: .removed)
                let client = try StreamSocket.connected(to: address)
                guard let server = StreamSocket.accept(from: listener.number) else { throw SystemFault() }
                #expect(client.number != server.number)
            }
        }
    }

    @Test("of a pipe gets a larger pipe, and of a file stays as it is")
    func wide() throws {
        let ends = try makePipe()
        let reading = Descriptor(owning: ends.reading)
        let writing = Descriptor(owning: ends.writing)
        #expect(fcntl(writing.number, F_SETFL, O_NONBLOCK) == 0)
        func room() -> Int {
            var count = 0
            let block = [UInt8](repeating: 0, count: 4096)
            while case let written = write(ends.writing, block, block.count), written > 0 { count += written }
            return count
        }
        let before = room()
        widenPipe(writing.number, to: Int32(before * 2))
        #expect(room() == before)
        widenPipe(-1, to: 65_536)
        #expect(reading.number >= 0)
    }
}

@Suite("A fault of the system")
struct SystemFaultTests {
    @Test("has the code of the last call and the words of the system")
    func words() {
        #expect(open("/no/such/file", O_RDONLY) == -1)
        let fault = SystemFault()
        #expect(fault == SystemFault(code: ENOENT) && fault.code == ENOENT)
        #expect(fault.description == "No such file or directory")
        #expect("\(SystemFault(code: ENOSPC))" == "No space left on device")
        #expect(fault != SystemFault(code: EACCES))
    }
}

@Suite("A flag that wakes a thread")
struct WakeUpTests {
    private func isRaised(_ flag: WakeUp) -> Bool {
        var ready = pollfd(fd: flag.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) == 1
    }

    @Test("stays raised until it is lowered, however often it was raised")
    func level() throws {
        let flag = try WakeUp()
        #expect(!isRaised(flag) && isPrivate(flag.descriptor))
        flag.lower()
        #expect(!isRaised(flag), "lowering a flag that is not raised must not wait")
        for _ in 0..<3 { flag.raise() }
        #expect(isRaised(flag) && isRaised(flag))
        flag.lower()
        #expect(!isRaised(flag))
        flag.raise()
        #expect(isRaised(flag))
    }

    @Test("ends the poll of another thread")
    func crossing() throws {
        let flag = try WakeUp()
        let thread = Thread.start("poll") {
            var ready = pollfd(fd: flag.descriptor, events: Int16(POLLIN), revents: 0)
            while poll(&ready, 1, -1) < 1 {}
        }
        flag.raise()
        thread.join()
        #expect(isRaised(flag))
    }
}

@Suite("A folder that is made")
struct MakeFolderTests {
    @Test("gets its missing parents, all with the mode")
    func parents() throws {
        let folder = try TestFolder()
        try makeFolder(folder["a/b/c"], mode: 0o700)
        for name in ["a", "a/b", "a/b/c"] { #expect(try folder.mode(name) == 0o700) }
    }

    @Test("may already be there, also behind a link, and keeps its mode")
    func existing() throws {
        let folder = try TestFolder()
        try makeFolder(folder["a"], mode: 0o750)
        #expect(symlink("a", folder["link"]) == 0)
        try makeFolder(folder["a"], mode: 0o700)
        try makeFolder(folder["link"], mode: 0o700)
        try makeFolder(folder["link/b//c/"], mode: 0o700)
        #expect(try folder.mode("a") == 0o750)
        #expect(folder.names == ["a", "link"] && TestFolder.names(in: folder["a/b"]) == ["c"])
        try makeFolder("/", mode: 0o700)
    }

    @Test("is refused where a file is, below a file and behind a link to nothing")
    func refused() throws {
        let folder = try TestFolder()
        try folder.put("file", "")
        #expect(symlink("nothing", folder["link"]) == 0)
        #expect(throws: SystemFault(code: ENOTDIR)) { try makeFolder(folder["file"], mode: 0o700) }
        #expect(throws: SystemFault(code: ENOTDIR)) { try makeFolder(folder["file/a/b"], mode: 0o700) }
        #expect(throws: SystemFault(code: ENOENT)) { try makeFolder(folder["link"], mode: 0o700) }
        #expect(throws: SystemFault(code: ENOENT)) { try makeFolder("", mode: 0o700) }
        #expect(folder.names == ["file", "link"])
    }
}
