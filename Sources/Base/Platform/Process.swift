// A program that this process starts and ends. None of its processes is left behind: not if it ignores every request to end, not those that
// it started itself, and not if this process is killed.
//
// A supervisor (cplatform_supervise) runs between the two. It is the router's own executable, started with a special first argument. It is
// the parent of the program and the reaper of all descendants, and a socket tells it when this process has ended. Then it kills everything,
// also processes in other process groups or sessions. If the supervisor itself is killed, the kernel kills the program (PR_SET_PDEATHSIG),
// and this process kills the rest of its process group.
//
// The program inherits only the descriptors that it is given, and no ignored or blocked signals. It has the working directory, the umask
// and the resource limits of this process.

internal import CPlatform
internal import Glibc

public final class Process: Sendable {
    /// The first of the two arguments with which the router's executable becomes a supervisor. The second is the number of its socket.
    public static let supervisorCommand = "supervise"

    /// The process id of the program.
    public let number: Int32
    private let supervisor: Int32
    private let control: Descriptor
    /// Raised when everything must be killed.
    private let killed: WakeUp

    private enum Stage: Comparable { case running, ended, gone }
    private struct State {
        /// `ended` means that the program has ended. `gone` means that the supervisor and all processes of the program have ended.
        var stage = Stage.running
        /// The status of the program, as waitpid returns it.
        var status: Int32?
        var killedAt: Instant?
        var isReaped = false
    }
    private let state = Monitor(State())
    /// The time that the supervisor has to kill everything before it is killed too, together with the program's process group.
    private static let timeout = Duration.seconds(2)
    private static let mostDescriptors = 15

    /// Starts a program, which is found in PATH unless its name contains a slash. `descriptors[i]` becomes its descriptor i; -1 means
    /// /dev/null. Members of `environment` have the form `NAME=value`; if it is nil, the program gets the environment of this process.
    /// `memory` limits its address space, in bytes.
    public init(
        _ program: String, _ arguments: [String], environment: [String]? = nil, memory: Int? = nil, descriptors: [Int32]
    ) throws(SystemFault) {
        guard descriptors.count <= Process.mostDescriptors else { throw SystemFault(code: EINVAL) }
        // A zero byte ends a text, so the rest would become another argument or another variable.
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
        // A failure to send is detected when the report is read.
        Process.send(
            Order(path, arguments: [program] + arguments, environment: environment, memory: Process.bound(memory)).bytes, to: control.number
        )
        var ready = pollfd(fd: control.number, events: Int16(POLLIN), revents: 0)
        while poll(&ready, 1, 30_000) < 0, errno == EINTR {}
        let report = Process.report(from: control.number)
        guard let report, report.kind == Int32(CPLATFORM_STARTED) else {
            _ = Glibc.kill(-supervisor, SIGKILL)
            var status: Int32 = 0
            while waitpid(supervisor, &status, 0) < 0, errno == EINTR {}
            // Without a report, the program was not started in time, or its supervisor has failed.
            throw SystemFault(code: report?.value ?? ETIMEDOUT)
        }
        number = report.value
    }

    deinit {
        kill()
        _ = wait()
    }

    // MARK: - The end of the program

    /// A descriptor that becomes readable when the program has ended, for a poll together with its pipes. Then `hasEnded` must be checked.
    public var news: Int32 { control.number }

    /// True if the program has ended. Processes that it has started may still run.
    public var hasEnded: Bool { listen() >= .ended }

    /// Asks the program and the processes in its group to end (SIGTERM).
    public func terminate() { Process.send([UInt8(CPLATFORM_TERMINATE)], to: control.number) }

    /// Ends the program and all its processes at once. It has no effect after `wait`.
    public func kill() {
        state.withLock { state in
            if state.killedAt == nil { state.killedAt = Clock.system.now() }
        }
        // The supervisor sees the end of its input, and can still report how the program ended.
        shutdown(control.number, Int32(SHUT_WR))
        killed.raise()
    }

    /// Returns true if the program ends within that time. The caller must still call `wait`.
    public func ends(within time: Duration) -> Bool { comes(.ended, by: Clock.system.now() + time) }

    /// Returns true if the program and all processes that it has started end within that time.
    public func endsWhole(within time: Duration) -> Bool { comes(.gone, by: Clock.system.now() + time) }

    /// Waits for the end of the program, and kills the processes that it has left behind. Returns a description of how the program ended.
    /// Only one thread may call this.
    public func wait() -> String {
        _ = comes(.ended, by: nil)
        kill()
        _ = comes(.gone, by: nil)
        return state.withLock { state in
            assert(!state.isReaped || state.status != nil, "the program was reaped, and its status is not known")
            if !state.isReaped {
                // This is for a supervisor that is stopped or could not kill everything, and for processes that a killed supervisor has
                // left.
                _ = Glibc.kill(-supervisor, SIGKILL)
                var status: Int32 = 0
                while waitpid(supervisor, &status, 0) < 0, errno == EINTR {}
                state.isReaped = true
                // If the supervisor was killed, the program died with it. Then the status of the supervisor is used.
                if state.status == nil { state.status = status }
            }
            return Process.words(state.status!)
        }
    }

    /// Reads the reports of the supervisor so far, and returns the stage.
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

    /// Waits for the stage. Returns false if it was not reached by that time, or if the supervisor has not killed everything in time.
    private func comes(_ stage: Stage, by instant: Instant?) -> Bool {
        while listen() < stage {
            let killedAt = state.withLock { $0.killedAt }
            let until = [instant, killedAt.map { $0 + Process.timeout }].compactMap { $0 }.min()
            let left = until.map { ($0 - Clock.system.now()).nanoseconds }
            if let left, left <= 0 { return false }
            var ready = [pollfd(fd: control.number, events: Int16(POLLIN), revents: 0)]
            // The flag stays raised, so a poll that includes it would return at once.
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

    // MARK: - The start of the program

    /// Returns the path of a program. A name without a slash is searched in the folders of PATH. The fault says why it cannot be started.
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

    /// Returns an environment without this process's secrets. It consists of the variables for file locations and language, of those named
    /// in `keeping`, and of `others`.
    public static func cleanEnvironment(_ others: [(name: String, value: String)], keeping more: [String] = []) -> [String] {
        let kept = (["PATH", "HOME", "LANG", "TZ", "TMPDIR"] + more).filter { name in !others.contains { $0.name == name } }
        return kept.compactMap { name in getenv(name).map { "\(name)=\(String(cString: $0))" } } + others.map { "\($0.name)=\($0.value)" }
    }

    /// The variables of the dynamic linker, the Swift runtime and the sanitizers of a test, which the router's own program reads.
    public static let runtimeVariables = [
        "LD_LIBRARY_PATH", "SWIFT_BACKTRACE", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "ASAN_SYMBOLIZER_PATH",
    ]

    /// Returns the path of this program if it is the router, or else (in a test) of the router in the same folder.
    private static func router() throws(SystemFault) -> String {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { readlink(OwnProgram.link, $0.bindMemory(to: CChar.self).baseAddress!, $0.count) }
        guard count > 0 else { throw SystemFault() }
        let path = String(decoding: buffer[..<count], as: UTF8.self)
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        if ["/switchyard", "/switchyard (deleted)"].contains(String(path[slash...])) { return OwnProgram.path }
        let beside = String(path[..<slash] + "/switchyard")
        // If there is none in the same folder, this program is the router under another name.
        return access(beside, X_OK) == 0 ? beside : OwnProgram.path
    }

    private static func startSupervisor(_ descriptors: [Int32]) throws(SystemFault) -> Int32 {
        assert((1...mostDescriptors + 1).contains(descriptors.count), "the supervisor gets no socket, or too many descriptors")
        let router = try router()
        let texts = ["switchyard", supervisorCommand, String(descriptors.count - 1)]
        let words = texts.map { text in strdup(text) } + [nil]
        defer { for word in words { free(word) } }
        var child: Int32 = 0
        let error = cplatform_spawn(&child, router, words, environ, descriptors, Int32(descriptors.count))
        guard error == 0 else { throw SystemFault(code: error) }
        return child
    }

    /// Returns the memory limit, or nil in a program with a sanitizer, which maps more memory than any machine has.
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

/// An order to the supervisor to start a program, as bytes.
private struct Order {
    private(set) var bytes: [UInt8] = []

    init(_ path: String, arguments: [String], environment: [String]?, memory: Int?) {
        var texts: [UInt8] = []
        for text in [path] + arguments + (environment ?? []) { texts += Array(text.utf8) + [0] }
        var variables = environment?.count ?? 0
        // The variables are copied as bytes, because they need not be UTF-8.
        if environment == nil {
            while let variable = environ[variables] {
                texts += UnsafeRawBufferPointer(start: variable, count: strlen(variable) + 1)
                variables += 1
            }
        }
        var head = cplatform_order()
        assert(texts.count { $0 == 0 } == 1 + arguments.count + variables, "a text of an order ends before its end")
        head.magic = UInt32(CPLATFORM_ORDER)
        head.size = UInt32(clamping: texts.count)
        head.arguments = UInt32(arguments.count)
        head.variables = UInt32(variables)
        head.memory = UInt64(memory ?? 0)
        withUnsafeBytes(of: head) { bytes += $0 }
        bytes += texts
        assert(bytes.count == MemoryLayout<cplatform_order>.size + Int(head.size), "the head of an order has another size than the order")
    }
}
