// A program that this process starts and ends. It promises that nothing of it is left behind: not when it ignores every request to
// end, not what it started itself, and not when this process is killed.
//
// Between the two stands a supervisor (cplatform_supervise): the router's own executable, started with a word of its own. It is the
// parent of the program and the reaper of everything below it, and a socket tells it that this process is gone. Everything is
// killed then, also what has a process group or a session of its own. If the supervisor itself is killed, the kernel kills the
// program (PR_SET_PDEATHSIG), and what that leaves in the group is killed from here.
//
// The program inherits the descriptors that it is given and nothing else, and no ignored or blocked signal. The working directory,
// the umask and the resource limits are those of this process.

internal import CPlatform
internal import Glibc

public final class Process: Sendable {
    /// The first of the two words with which the router's executable becomes a supervisor; the second is the number of its socket.
    public static let supervisorCommand = "supervise"

    /// The process id of the program.
    public let number: Int32
    private let supervisor: Int32
    private let control: Descriptor
    /// Raised when everything is to be killed.
    private let killed: WakeUp

    private enum Stage: Comparable { case running, ended, gone }
    private struct State {
        /// `ended` is the program, `gone` the supervisor, and with it all that the program had started.
        var stage = Stage.running
        /// Of the program, as waitpid has it.
        var status: Int32?
        var killedAt: Instant?
        var isReaped = false
    }
    private let state = Monitor(State())
    /// How long the supervisor may take to kill everything before it is killed as well, with the program's group.
    private static let patience = Duration.seconds(2)
    private static let mostDescriptors = 15

    /// Starts a program, found by PATH unless its name holds a slash. `descriptors[i]` becomes its descriptor i; -1 is /dev/null. Members
    /// of `environment` are `NAME=value`; nil: this process's own. `memory` bounds its address space, in bytes.
    public init(
        _ program: String, _ arguments: [String], environment: [String]? = nil, memory: Int? = nil, descriptors: [Int32]
    ) throws(SystemFault) {
        guard descriptors.count <= Process.mostDescriptors else { throw SystemFault(code: EINVAL) }
        // A text ends at its first zero byte: the rest would be another argument, or another variable.
        guard !([program] + arguments + (environment ?? [])).contains(where: { $0.utf8.contains(0) }) else {
            throw SystemFault(code: EINVAL)
        }
        let path = try Process.find(program)
        killed = try WakeUp()
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else { throw SystemFault() }
        control = Descriptor(owning: ends[0])
        let theirs = Descriptor(owning: ends[1])
        supervisor = try Process.startSupervisor(descriptors + [theirs.number])
        _ = consume theirs
        // What cannot be sent is seen where the report is read.
        Process.send(Order(path, [program] + arguments, environment, memory: Process.bound(memory)).bytes, to: control.number)
        var ready = pollfd(fd: control.number, events: Int16(POLLIN), revents: 0)
        while poll(&ready, 1, 30_000) < 0, errno == EINTR {}
        let report = Process.report(from: control.number)
        guard let report, report.kind == Int32(CPLATFORM_STARTED) else {
            _ = Glibc.kill(-supervisor, SIGKILL)
            var status: Int32 = 0
            while waitpid(supervisor, &status, 0) < 0, errno == EINTR {}
            // Without a report it was not started in time, or its supervisor has failed.
            throw SystemFault(code: report?.value ?? ETIMEDOUT)
        }
        number = report.value
    }

    deinit {
        kill()
        _ = wait()
    }

    // MARK: - Its end

    /// Can be read from when the program has ended, for a poll beside its pipes; `hasEnded` then says so.
    public var news: Int32 { control.number }

    /// Whether the program has ended. What it has started may still be there.
    public var hasEnded: Bool { listen() >= .ended }

    /// Asks it, and what it has started in its group, to end (SIGTERM).
    public func terminate() { Process.send([UInt8(CPLATFORM_TERMINATE)], to: control.number) }

    /// Ends it at once, with all that it has started. Harmless once it was waited for.
    public func kill() {
        state.withLock { state in
            if state.killedAt == nil { state.killedAt = Clock.system.now() }
        }
        // The supervisor sees the end of what it is told, and can still say how the program ended.
        shutdown(control.number, Int32(SHUT_WR))
        killed.raise()
    }

    /// Whether the program ends within that time. It is still to be waited for.
    public func ends(within time: Duration) -> Bool { comes(.ended, by: Clock.system.now() + time) }

    /// Whether the program and all that it has started end within that time.
    public func endsWhole(within time: Duration) -> Bool { comes(.gone, by: Clock.system.now() + time) }

    /// Waits until the program has ended and kills what it has left behind; in words for a person how the program ended. To be called
    /// by one thread.
    public func wait() -> String {
        _ = comes(.ended, by: nil)
        kill()
        _ = comes(.gone, by: nil)
        return state.withLock { state in
            if !state.isReaped {
                // For a supervisor that was stopped or cannot end what it has to, and for what one that was killed has left.
                _ = Glibc.kill(-supervisor, SIGKILL)
                var status: Int32 = 0
                while waitpid(supervisor, &status, 0) < 0, errno == EINTR {}
                state.isReaped = true
                // A supervisor that was killed has taken the program with it.
                if state.status == nil { state.status = status }
            }
            return Process.words(state.status!)
        }
    }

    /// Takes in what the supervisor has said so far.
    private func listen() -> Stage {
        state.withLock { state in
            while state.stage < .gone {
                var report = cplatform_report()
                let count = recv(control.number, &report, MemoryLayout<cplatform_report>.size, Int32(MSG_DONTWAIT))
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN { break }
                if count < MemoryLayout<cplatform_report>.size {
                    state.stage = .gone
                } else if report.kind == Int32(CPLATFORM_ENDED) {
                    state.stage = .ended
                    state.status = report.value
                }
            }
            return state.stage
        }
    }

    /// Waits for the stage; false when it has not come by then, or the supervisor has not killed everything in time.
    private func comes(_ stage: Stage, by instant: Instant?) -> Bool {
        while listen() < stage {
            let killedAt = state.withLock { $0.killedAt }
            let until = [instant, killedAt.map { $0 + Process.patience }].compactMap { $0 }.min()
            let left = until.map { ($0 - Clock.system.now()).nanoseconds }
            if let left, left <= 0 { return false }
            var ready = [pollfd(fd: control.number, events: Int16(POLLIN), revents: 0)]
            // Once it is raised it stays so.
            if killedAt == nil { ready.append(pollfd(fd: killed.descriptor, events: Int16(POLLIN), revents: 0)) }
            poll(&ready, nfds_t(ready.count), left.map { Int32(clamping: $0 / 1_000_000 + 1) } ?? -1)
        }
        return true
    }

    private static func words(_ status: Int32) -> String {
        let signal = status & 0x7f
        if signal != 0 { return "died of signal \(signal) (\(String(cString: strsignal(signal))))" }
        return "ended with code \(status >> 8 & 0xff)"
    }

    // MARK: - Its beginning

    /// The file of a program, by its name in the folders of PATH or, where it holds a slash, by its path. The fault says why it cannot
    /// be started.
    public static func find(_ program: String) throws(SystemFault) -> String {
        if program.contains("/") {
            guard access(program, X_OK) == 0 else { throw SystemFault() }
            return program
        }
        var fault = SystemFault(code: ENOENT)
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
        for folder in folders.split(separator: ":", omittingEmptySubsequences: false) where !program.isEmpty {
            let path = folder.isEmpty ? "./" + program : "\(folder)/\(program)"
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            if access(path, X_OK) == 0 { return path }
            fault = SystemFault(code: EACCES)
        }
        throw fault
    }

    /// The environment of a program that gets none of this process's secrets: of its variables those that say where things are and how
    /// a person reads, and `others`.
    public static func cleanEnvironment(_ others: [(name: String, value: String)], keeping more: [String] = []) -> [String] {
        let kept = (["PATH", "HOME", "LANG", "TZ", "TMPDIR"] + more).filter { name in !others.contains { $0.name == name } }
        return kept.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } } + others.map { "\($0.name)=\($0.value)" }
    }

    /// What the dynamic linker, the Swift runtime and the sanitizers of a test read in the router's own program.
    public static let runtimeVariables = [
        "LD_LIBRARY_PATH", "SWIFT_BACKTRACE", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH",
    ]

    /// This program where it is the router, or else (in a test) the router beside it.
    private static func router() throws(SystemFault) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink(OwnProgram.link, $0.bindMemory(to: CChar.self).baseAddress!, $0.count) }
        guard count > 0 else { throw SystemFault() }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        if ["/switchyard", "/switchyard (deleted)"].contains(String(path[slash...])) { return OwnProgram.path }
        let beside = String(path[..<slash] + "/switchyard")
        // Where there is none beside it, this is the router under another name.
        return access(beside, X_OK) == 0 ? beside : OwnProgram.path
    }

    private static func startSupervisor(_ descriptors: [Int32]) throws(SystemFault) -> Int32 {
        let router = try router()
        let texts = ["switchyard", supervisorCommand, String(descriptors.count - 1)]
        let words = texts.map { text in strdup(text) } + [nil]
        defer { for word in words { free(word) } }
        var child: Int32 = 0
        let error = cplatform_spawn(&child, router, words, environ, descriptors, Int32(descriptors.count))
        guard error == 0 else { throw SystemFault(code: error) }
        return child
    }

    /// A program that was built with a sanitizer maps more than any machine has.
    private static func bound(_ memory: Int?) -> Int? {
        let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in dlsym(nil as UnsafeMutableRawPointer?, name) != nil }
        return isSanitized ? nil : memory
    }

    private static func send(_ bytes: [UInt8], to socket: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return }
        }
    }

    private static func report(from socket: Int32) -> cplatform_report? {
        var report = cplatform_report()
        let size = MemoryLayout<cplatform_report>.size
        return recv(socket, &report, size, Int32(MSG_DONTWAIT)) == size ? report : nil
    }
}

/// What a supervisor is told to start, in bytes.
private struct Order {
    private(set) var bytes: [UInt8] = []

    init(_ path: String, _ arguments: [String], _ environment: [String]?, memory: Int?) {
        var texts: [UInt8] = []
        for text in [path] + arguments + (environment ?? []) { texts += Array(text.utf8) + [0] }
        var variables = environment?.count ?? 0
        // Byte for byte: a variable need not be UTF-8.
        if environment == nil {
            while let variable = environ[variables] {
                texts += UnsafeRawBufferPointer(start: variable, count: strlen(variable) + 1)
                variables += 1
            }
        }
        var head = cplatform_order()
        head.magic = UInt32(CPLATFORM_ORDER)
        head.size = UInt32(clamping: texts.count)
        head.arguments = UInt32(arguments.count)
        head.variables = UInt32(variables)
        head.memory = UInt64(memory ?? 0)
        withUnsafeBytes(of: head) { bytes += $0 }
        bytes += texts
    }
}
