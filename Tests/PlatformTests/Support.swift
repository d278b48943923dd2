// What several tests of this module need: a folder of their own, threads that are interrupted in a system call, and an end for exit tests
// that hang.

import Glibc
import Platform
import Testing

/// A folder that is removed with everything in it at the end of its test.
final class TestFolder {
    let path: String

    init() throws {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/sy-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemFault() }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { TestFolder.remove(path) }

    private static func remove(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        if status.st_mode & S_IFMT == S_IFDIR {
            for name in names(in: path) { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }

    static func names(in path: String) -> [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    var names: [String] { TestFolder.names(in: path) }

    subscript(name: String) -> String { path + "/" + name }

    /// Writes a file of its own inode.
    func put(_ name: String, _ text: String, mode: mode_t = 0o600) throws {
        let file = try opened(name, O_WRONLY | O_CREAT | O_TRUNC)
        try withBytes(Array(text.utf8)) { (bytes) throws(SystemFault) in try file.write(bytes) }
        guard fchmod(file.number, mode) == 0 else { throw SystemFault() }
    }

    func text(_ name: String) throws(SystemFault) -> String {
        let file = try opened(name, O_RDONLY)
        return String(decoding: try allBytes(of: file.number), as: UTF8.self)
    }

    func opened(_ name: String, _ flags: Int32) throws(SystemFault) -> Descriptor {
        let number = open(self[name], flags | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SystemFault() }
        return Descriptor(owning: number)
    }

    func status(_ name: String) throws(SystemFault) -> stat {
        var status = stat()
        guard lstat(self[name], &status) == 0 else { throw SystemFault() }
        return status
    }

    func mode(_ name: String) throws(SystemFault) -> mode_t { try status(name).st_mode & 0o7777 }
}

func withBytes(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(SystemFault) -> Void) throws(SystemFault) {
    try bytes.withUnsafeBufferPointer { (bytes) throws(SystemFault) in try body(UnsafeRawBufferPointer(bytes)) }
}

/// Reads up to the end of a file or of a pipe.
func allBytes(of descriptor: Int32) throws(SystemFault) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw SystemFault() }
        if count == 0 { return bytes }
        bytes += chunk[..<count]
    }
}

/// True if no other program inherits the descriptor.
func isPrivate(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0 }

/// True if a pipe's other end is closed everywhere. A child that another test starts may hold it for a moment.
func isHungUp(_ descriptor: Int32) -> Bool {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&ready, 1, 30_000) == 1 && ready.revents & Int16(POLLHUP) != 0
}

/// Kills the process of an exit test that hangs, so that the test fails.
func endIfStuck() { alarm(120) }

/// A thread whose system calls a test interrupts. Use it only in an exit test, because it sets a signal handler of the process.
final class InterruptedThread<Value: Sendable>: Sendable {
    private let result = Monitor<Value?>(nil)
    private let place = Monitor<(handle: pthread_t, path: String)?>(nil)

    init(_ body: @escaping @Sendable () -> Value) throws(SystemFault) {
        let ends = try makePipe()
        handled = ends.writing
        heard = ends.reading
        var action = sigaction()
        // Without SA_RESTART, an interrupted call returns.
        action.__sigaction_handler.sa_handler = { _ in
            var one: UInt8 = 1
            write(handled, &one, 1)
        }
        guard sigaction(SIGUSR1, &action, nil) == 0 else { throw SystemFault() }
        Thread.start("interrupted") { [result, place] in
            // A thread inherits the signal mask of its maker, and the threads that run tests block most signals.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGUSR1)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            var name = [CChar](repeating: 0, count: 256)
            let count = readlink("/proc/thread-self", &name, name.count)
            let path = String(decoding: name[..<max(0, count)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            place.withLock { $0 = (pthread_self(), "/proc/" + path + "/stat") }
            place.wake()
            let value = body()
            result.withLock { $0 = value }
            result.wake()
        }.detach()
    }

    /// Interrupts the thread as soon as it sleeps in a call, and returns after the handler has run.
    func interrupt() throws {
        let (handle, path) = place.waitUntilReady { place -> Readiness<(handle: pthread_t, path: String)> in
            if let place { .ready(place) } else { .notBefore(nil) }
        }
        while true {
            let number = open(path, O_RDONLY | O_CLOEXEC)
            guard number >= 0 else { throw SystemFault() }
            let file = Descriptor(owning: number)
            let text = try allBytes(of: file.number)
            // The state follows the name in brackets.
            guard let end = text.lastIndex(of: UInt8(ascii: ")")), end + 2 < text.count else { throw SystemFault(code: EIO) }
            if text[end + 2] == UInt8(ascii: "S") { break }
            sched_yield()
        }
        pthread_kill(handle, SIGUSR1)
        var byte: UInt8 = 0
        while read(heard, &byte, 1) < 0, errno == EINTR {}
    }

    /// Waits for the end of the body.
    func value() -> Value {
        result.waitUntilReady { result -> Readiness<Value> in
            if let result { .ready(result) } else { .notBefore(nil) }
        }
    }
}

/// The pipe that the handler writes to. They are set before the handler is.
nonisolated(unsafe) private var handled: Int32 = -1
nonisolated(unsafe) private var heard: Int32 = -1
