// Writes lines to the file at a path: opens it, notices when it was moved, and rotates it. In a folder that every user may write, it never
// opens a file or link that another user may have placed there.

internal import Glibc
internal import PluginKit

final class Writer {
    private enum Target {
        case regular(RegularFile)
        /// A FIFO, a terminal or a device. It is never truncated and never rotated.
        case stream(LineStream, descriptor: Int32, FileStatus.Identity)
    }

    /// How long a write waits for a full FIFO before it returns a fault to the lane, in milliseconds.
    private static let timeout: Int32 = 1000

    private let rules: FileRules
    private let host: Host
    private let system: FileSystem
    private let finisher: Finisher?
    private var path = ""
    private var target: Target?
    /// The last reason why the file could not be rotated. Each reason is logged once.
    private var stuck: String?

    init(_ rules: FileRules, host: Host, system: FileSystem, files: Monitor<OwnFiles>) {
        self.rules = rules
        self.host = host
        self.system = system
        finisher = Finisher(rules, host: host, system: system, files: files)
    }

    /// Writes the lines to the file at the path, and returns the number of lines that were written.
    func write(_ lines: Lines, to path: String) -> (lines: Int, fault: FileFault?) {
        if path != self.path {
            // The previous file is finished: its time has passed.
            if let fault = letGo(synchronize: rules.sync != .never) { return (0, fault) }
            self.path = path
            finisher?.begin(path)
        }
        var done = 0
        var idle = 0
        do throws(FileFault) {
            while done < lines.count {
                let rest = lines[done..<lines.count]
                let count: Int
                switch try opened() {
                case .stream(let stream, _, _): count = try write(rest, to: stream, &done)
                case .regular(let file): count = try append(rest, to: file, &done)
                }
                done += count
                assert(done <= lines.count, "more lines were written than there were")
                // Each round writes lines, or finds that the file was moved, or rotates it.
                idle = count > 0 ? 0 : idle + 1
                if idle > 16 { throw FileFault("gave up on a file that is moved again and again:", path: path, code: EAGAIN) }
            }
            return (done, nil)
        } catch {
            // Keep a stream open if it may accept data later, since it holds the rest of a torn line.
            if case .stream = target, [EAGAIN, ENOSPC, EDQUOT].contains(error.code) { return (done, error) }
            close()
            return (done, error)
        }
    }

    /// Syncs the written data to disk.
    func synchronize() -> FileFault? {
        guard case .regular(let file) = target else { return nil }
        let result = system.synchronize(file.descriptor)
        return result < 0 ? FileFault("cannot sync", path: file.path, code: -result) : nil
    }

    /// Closes the file. The next lines open it again.
    func close() {
        if case .stream(_, let descriptor, _) = target { Glibc.close(descriptor) }
        target = nil
    }

    func end() {
        if let fault = letGo(synchronize: rules.sync != .never) { host.log(.error, fault.message) }
        finisher?.end()
    }

    private func letGo(synchronize wanted: Bool) -> FileFault? {
        if wanted, let fault = synchronize() { return fault }
        close()
        return nil
    }

    // MARK: - Writing

    private func write(_ lines: Lines, to stream: LineStream, _ done: inout Int) throws(FileFault) -> Int {
        let progress = stream.write(lines)
        guard progress.error != 0 else { return progress.lines }
        done += progress.lines
        if progress.error == EPIPE { throw FileFault("the reader has left", path: path, code: EPIPE) }
        if progress.error == EAGAIN { throw FileFault("the reader takes nothing from", path: path, code: EAGAIN) }
        throw FileFault("cannot write to", path: path, code: progress.error)
    }

    /// Appends as many lines as fit into the file. Returns 0 if the file was moved or rotated; then the next round opens another file.
    private func append(_ lines: Lines, to file: RegularFile, _ done: inout Int) throws(FileFault) -> Int {
        file.lock()
        defer { file.unlock() }
        guard file.isInPlace else {
            close()
            return 0
        }
        let size = try file.mendedSize { host.log(.warning, $0) }
        var count = lines.count
        if size > 0, let age = rules.rotation.age, system.now() - file.born >= age, rotate(file) { return 0 }
        if let most = rules.rotation.bytes {
            count = lines.whole(within: most - size)
            if count == 0, size > 0, rotate(file) { return 0 }
            // A single event that is larger than the limit gets its own file. A file that cannot be rotated takes all lines.
            if count == 0 { count = size == 0 ? 1 : lines.count }
        }
        assert((1...lines.count).contains(count), "no line is appended, or more than there are")
        let (written, fault) = file.append(lines[0..<count], at: size, synchronize: rules.sync == .batch)
        if let fault {
            done += written
            throw fault
        }
        return written
    }

    /// Renames the locked file and closes it. Returns false if the file stays in place; then writing continues.
    private func rotate(_ file: RegularFile) -> Bool {
        if rules.sync != .never { _ = system.synchronize(file.descriptor) }
        var refusal: String?
        if FileStatus(path: path, followingLinks: false)?.kind == .link {
            refusal = "'\(path)' is a symbolic link, which is followed but not rotated"
        } else {
            let result = system.rename(path, RotatedName.free(for: path, at: system.now()))
            if result < 0 { refusal = "cannot rotate '\(path)': \(systemWords(-result))" }
        }
        if let refusal {
            if refusal != stuck { host.log(.warning, refusal) }
            stuck = refusal
            return false
        }
        stuck = nil
        if rules.sync != .never { synchronizeFolder() }
        finisher?.begin(path)
        close()
        return true
    }

    /// Syncs the folder of a path, so that a new name in it is durable.
    private func synchronizeFolder(of path: String? = nil) {
        let path = path ?? self.path
        let result = system.synchronizeFolder(path)
        if result < 0 { host.log(.warning, "cannot sync the folder of '\(path)': \(systemWords(-result))") }
    }

    // MARK: - Opening

    /// Returns the checked folders of the path. Throws if another user may have placed an entry on the path.
    private func way() throws(FileFault) -> SharedFolder {
        do throws(ForeignEntry) {
            return try SharedFolder(path, writes: true)
        } catch {
            throw FileFault(error)
        }
    }

    private func opened() throws(FileFault) -> Target {
        // For a regular file, this check happens under its lock.
        if case .stream(_, _, let identity) = target, FileStatus(path: path)?.identity != identity { close() }
        if let target { return target }
        _ = try way()
        let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        var descriptor = system.open(path, flags, 0)
        let isNew = descriptor == -ENOENT
        if isNew {
            descriptor = system.open(path, flags | O_CREAT, rules.mode)
            if descriptor == -ENOENT {
                let result = makeFolders(of: path) { if rules.sync == .batch { synchronizeFolder(of: $0) } }
                if result < 0 { throw FileFault("cannot make the folders of", path: path, code: -result) }
                descriptor = system.open(path, flags | O_CREAT, rules.mode)
            }
        }
        guard descriptor >= 0 else {
            let isFIFO = descriptor == -ENXIO && FileStatus(path: path)?.kind == .fifo
            throw FileFault(isFIFO ? "nobody reads the FIFO" : "cannot open", path: path, code: -descriptor)
        }
        guard let status = system.status(descriptor) else {
            let fault = FileFault("cannot look at", path: path, code: errno)
            Glibc.close(descriptor)
            throw fault
        }
        do throws(FileFault) {
            // Check again, since the entry may have changed before it was opened.
            let way = try way()
            guard !way.isOnTheWay || way.found.map({ status.identity.isOf(device: $0.device, number: $0.number) }) ?? false else {
                throw FileFault("another file took the place of", path: path, code: EAGAIN)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        guard status.kind != .block else {
            Glibc.close(descriptor)
            throw FileFault("does not write to a block device:", path: path, code: EINVAL)
        }
        let opened: Target
        if status.kind == .regular {
            // The umask may have removed bits.
            if isNew { fchmod(descriptor, rules.mode) }
            if isNew, rules.sync == .batch { synchronizeFolder() }
            let born = isNew ? system.now() : birth(of: descriptor)
            opened = .regular(RegularFile(path: path, descriptor: descriptor, identity: status.identity, born: born, system: system))
        } else {
            let calls = StreamCalls(write: system.write, wait: system.wait)
            let stream = LineStream(descriptor: descriptor, timeout: Writer.timeout, calls: calls)
            opened = .stream(stream, descriptor: descriptor, status.identity)
        }
        target = opened
        return opened
    }
}
