import Glibc
import PluginKit
import Testing

@testable import File

private func provider(_ settings: String, _ recorder: HostRecorder = HostRecorder(), _ system: FileSystem = .system) throws -> FileProvider
{
    try FileProvider(settings: Settings(json: settings), host: recorder.host, system: system)
}

private func deliver(_ provider: FileProvider, _ events: [String]) -> String {
    Batch.with(events) { provider.deliver($0) }.text
}

@Suite("file, when the system refuses")
struct FileFaultTests {
    let folder = TemporaryFolder()
    private var path: String { folder.path + "/x" }
    private var settings: String { #"{"path":"\#(path)"}"# }

    /// Returns a file system whose disk has space for `room` more bytes. The error occurs once.
    private func system(room: Int, error: Int32 = ENOSPC) -> FileSystem {
        let left = Monitor(room)
        var system = FileSystem.system
        system.write = { descriptor, bytes in
            left.withLock { left in
                if left < 0 { return write(descriptor, bytes.baseAddress, bytes.count) }
                let count = write(descriptor, bytes.baseAddress, min(left, bytes.count))
                left -= count
                if count > 0 { return count }
                left = -1
                return -Int(error)
            }
        }
        return system
    }

    @Test("a batch that a full disk took only in part is cut off again, and delivered as a whole later", arguments: [0, 1, 3, 5, 10])
    func full(room: Int) throws {
        let file = try provider(settings, HostRecorder(), system(room: room))
        #expect(deliver(file, ["{}", "{\"a\":1}"]) == "retry 28: cannot write to '\(path)': No space left on device")
        #expect(folder.text("x") == "")
        #expect(deliver(file, ["{}", "{\"a\":1}"]) == "delivered")
        #expect(folder.text("x") == "{}\n{\"a\":1}\n")
        file.close()
    }

    @Test("other errors are reported with the system's message", arguments: [EIO, EFBIG, EDQUOT, EROFS])
    func words(error: Int32) throws {
        let file = try provider(settings, HostRecorder(), system(room: 0, error: error))
        #expect(deliver(file, ["{}"]) == "retry \(error): cannot write to '\(path)': \(systemWords(error))")
        file.close()
    }

    @Test("a file whose status cannot be read is closed again")
    func noStatus() throws {
        let (reading, writing) = try makePipe()
        let end = Descriptor(owning: reading)
        var system = FileSystem.system
        system.open = { _, _, _ in writing }
        system.status = { _ in
            errno = EIO
            return nil
        }
        let file = try provider(settings, HostRecorder(), system)
        #expect(deliver(file, ["{}"]) == "retry 5: cannot look at '\(path)': Input/output error")
        // The reading end of a pipe hangs up when its writing end is closed. A child that another test starts may still hold it for a moment.
        var ready = pollfd(fd: end.number, events: Int16(POLLIN), revents: 0)
        #expect(poll(&ready, 1, 30_000) == 1 && ready.revents & Int16(POLLHUP) != 0, "the descriptor is still open")
        file.close()
    }

    @Test("if a torn line cannot be cut off, whole lines count as delivered, and the torn one is repaired")
    func cannotCut() throws {
        var system = system(room: 5)
        system.truncate = { _, _ in -EPERM }
        let recorder = HostRecorder()
        let file = try provider(settings, recorder, system)
        #expect(deliver(file, ["{}", "{\"a\":1}"]) == "0 delivered; retry 28: cannot write to '\(path)': No space left on device")
        #expect(folder.text("x") == "{}\n{\"")
        #expect(deliver(file, ["{\"a\":1}"]) == "delivered")
        #expect(folder.text("x") == "{}\n{\"a\":1}\n")
        #expect(recorder.logs == ["cut off a torn line of 2 bytes at the end of '\(path)'"])
        file.close()
    }

    @Test("a batch that cannot be synced is removed again, so that it is in the file only once")
    func unsynchronized() throws {
        let fails = Monitor(true)
        var system = FileSystem.system
        system.synchronize = { _ in fails.withLock { $0 } ? -EIO : 0 }
        let file = try provider(#"{"path":"\#(path)","sync":"batch"}"#, HostRecorder(), system)
        #expect(deliver(file, ["{}"]) == "retry 5: cannot sync '\(path)': Input/output error")
        #expect(folder.text("x") == "")
        fails.withLock { $0 = false }
        #expect(deliver(file, ["{}"]) == "delivered")
        #expect(folder.text("x") == "{}\n")
        fails.withLock { $0 = true }
        #expect(file.flush().text == "retry 5: cannot sync '\(path)': Input/output error")
        file.close()
    }

    @Test("while a batch is written, every other writer of the file waits")
    func locks() throws {
        let results = Monitor<[Int32]>([])
        let path = self.path
        var system = FileSystem.system
        system.write = { descriptor, bytes in
            let other = open(path, O_WRONLY)
            defer { close(other) }
            let result = flock(other, LOCK_EX | LOCK_NB) == 0 ? 0 : errno
            results.withLock { $0.append(result) }
            return write(descriptor, bytes.baseAddress, min(bytes.count, 2))
        }
        let file = try provider(settings, HostRecorder(), system)
        #expect(deliver(file, ["{}"]) == "delivered")
        #expect(results.withLock { $0 } == [EWOULDBLOCK, EWOULDBLOCK])
        file.close()
    }

    @Test("data is synced as often as `sync` requires", arguments: [("never", 0), ("rotation", 2), ("batch", 3)])
    func synchronizes(sync: String, times: Int) throws {
        let count = Monitor(0)
        var system = FileSystem.system
        system.synchronize = { _ in
            count.withLock { $0 += 1 }
            return 0
        }
        let file = try provider(#"{"path":"\#(path)","sync":"\#(sync)","rotate":{"bytes":4}}"#, HostRecorder(), system)
        #expect(deliver(file, ["{}"]) == "delivered")
        if sync != "batch" { #expect(deliver(file, ["{}"]) == "delivered") }
        if sync == "batch" { _ = file.flush() }
        file.close()
        #expect(count.withLock { $0 } == times)
    }

    @Test(
        "the folder is synced after a rotation, and with `batch` also for a new file and each new folder",
        arguments: [("never", []), ("rotation", ["rename a/x", "folder of a/x"])] as [(String, [String])]
            + [("batch", ["folder of a", "folder of a/x", "rename a/x", "folder of a/x", "folder of a/x"])])
    func synchronizesFolders(sync: String, calls: [String]) throws {
        let seen = Monitor<[String]>([])
        let root = folder.path + "/"
        @Sendable func note(_ call: String, _ path: String) { seen.withLock { $0.append("\(call) \(path.dropFirst(root.utf8.count))") } }
        var system = FileSystem.system
        system.rename = { from, to in
            note("rename", from)
            return rename(from, to)
        }
        system.synchronizeFolder = { path in
            note("folder of", path)
            return FileSystem.system.synchronizeFolder(path)
        }
        let recorder = HostRecorder()
        let file = try provider(#"{"path":"\#(root)a/x","sync":"\#(sync)","rotate":{"bytes":4}}"#, recorder, system)
        #expect(deliver(file, ["{}", "{}"]) == "delivered")
        file.close()
        #expect(seen.withLock { $0 }.filter { sync != "never" || !$0.hasPrefix("rename") } == calls && recorder.logs == [])
    }

    @Test("a folder that cannot be synced is reported, and the compressed file does not replace the plain one")
    func unsynchronizedFolder() throws {
        var system = FileSystem.system
        system.synchronizeFolder = { _ in -EIO }
        system.now = { 1_767_323_045_678_000_000 }
        let recorder = HostRecorder()
        let settings = #"{"path":"\#(path)","sync":"rotation","rotate":{"bytes":4,"compression":"gzip"}}"#
        let file = try provider(settings, recorder, system)
        #expect(deliver(file, ["{}", "{}"]) == "delivered")
        file.close()
        let name = "x.20260102T030405.678Z"
        #expect(folder.names == ["x", name] && folder.text(name) == "{}\n")
        // The thread that compresses files may find the rotated file two times: when the first file and when the second file is begun.
        #expect(
            Set(recorder.logs)
                == [
                    "cannot sync the folder of '\(path)': Input/output error",
                    "cannot sync the folder of '\(folder.path)/\(name).gz': Input/output error;"
                        + " '\(folder.path)/\(name)' stays as it is",
                ])
    }

    @Test("a folder at the path, a file in place of a folder, or a missing permission is a retry")
    func folderInTheWay() throws {
        mkdir(path, 0o700)
        let file = try provider(settings)
        #expect(deliver(file, ["{}"]) == "retry 21: cannot open '\(path)': Is a directory")
        rmdir(path)
        #expect(deliver(file, ["{}"]) == "delivered")
        file.close()

        let inner = try provider(#"{"path":"\#(path)/y"}"#)
        #expect(deliver(inner, ["{}"]) == "retry 20: cannot open '\(path)/y': Not a directory")
        var system = FileSystem.system
        system.open = { _, _, _ in -EACCES }
        #expect(deliver(try provider(settings, HostRecorder(), system), ["{}"]) == "retry 13: cannot open '\(path)': Permission denied")
    }

    @Test("a device accepts events like a file, and /dev/full refuses them")
    func devices() throws {
        let null = try provider(#"{"path":"/dev/null","rotate":{"bytes":1}}"#)
        #expect(deliver(null, ["{}", "{}"]) == "delivered")
        #expect(null.flush().text == "delivered")
        null.close()
        let full = try provider(#"{"path":"/dev/full"}"#)
        for _ in 0..<2 { #expect(deliver(full, ["{}"]) == "retry 28: cannot write to '/dev/full': No space left on device") }
        full.close()
    }

    @Test("a FIFO without a reader is a retry, and delivery continues with the next reader")
    func fifo() throws {
        signal(SIGPIPE, SIG_IGN)
        mkfifo(path, 0o600)
        let file = try provider(settings)
        #expect(deliver(file, ["1"]) == "retry 6: nobody reads the FIFO '\(path)': No such device or address")
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        #expect(deliver(file, ["1"]) == "delivered")
        close(reader)
        #expect(deliver(file, ["2"]) == "retry 32: the reader has left '\(path)': Broken pipe")
        #expect(deliver(file, ["2"]) == "retry 6: nobody reads the FIFO '\(path)': No such device or address")
        let next = open(path, O_RDONLY | O_NONBLOCK)
        #expect(deliver(file, ["2", "3"]) == "delivered")
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(next, &bytes, bytes.count)
        #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "2\n3\n")
        close(next)
        file.close()
    }

    @Test("if the reader of a FIFO is stuck, the lane gets a retry, and writing continues where it stopped")
    func stuckReader() throws {
        mkfifo(path, 0o600)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        var system = FileSystem.system
        system.wait = { _, _ in 0 }
        let file = try provider(settings, HostRecorder(), system)
        let events = (0..<1000).map { "{\"n\":\($0),\"x\":\"\(String(repeating: "x", count: 200))\"}" }
        var out: [UInt8] = []
        var rest = events[...]
        while !rest.isEmpty {
            let outcome = Batch.with(Array(rest)) { file.deliver($0) }
            switch outcome {
            case .delivered: rest = []
            case .mixed(.retry(let code, let message, _), let done):
                #expect(code == Int(EAGAIN))
                #expect(message.hasPrefix("the reader takes nothing from '\(path)'"))
                rest = rest.dropFirst(done.count)
            default: Issue.record("\(outcome.text)")
            }
            var bytes = [UInt8](repeating: 0, count: 1 << 20)
            let count = read(reader, &bytes, bytes.count)
            out += bytes.prefix(max(0, count))
        }
        #expect(String(decoding: out, as: UTF8.self) == events.joined(separator: "\n") + "\n")
        file.close()
    }
}
