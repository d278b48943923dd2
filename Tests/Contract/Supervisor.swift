// Runs the checks in a child process and prints its report. If the child dies or stops reporting, the check that it ran has failed.

import Glibc

struct Supervisor {
    let patience: Int

    /// Returns the exit code, which is 0 if every check passed.
    func run(_ arguments: [String]) -> Int32 {
        guard let folder = privateFolder() else {
            print("FAILED  no temporary folder could be made: \(String(cString: strerror(errno)))")
            return 70
        }
        defer { Files.remove(folder) }
        let words = ["--patience", "\(patience)", "--child"] + arguments.map(absolute)
        // The child inherits this working folder.
        guard chdir(folder) == 0 else {
            print("FAILED  the temporary folder cannot be entered: \(String(cString: strerror(errno)))")
            return 70
        }
        if getenv(FakeServer.variable) == nil { setenv(FakeServer.variable, FakeServer(folder: folder).start(), 1) }
        guard let (child, report) = spawn(words) else {
            print("FAILED  the checks could not be started: \(String(cString: strerror(errno)))")
            return 70
        }
        let (passed, failed, current, isQuiet) = listen(report)
        if isQuiet { kill(child, SIGKILL) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        var failures = failed
        if let current {
            failures += 1
            let end = status & 0x7f
            let why =
                isQuiet ? "the module does not return" : end != 0 ? "the module died of signal \(end)" : "the module ended the process"
            print("FAILED  \(current): \(why); the remaining checks were not run")
        }
        print("\(passed) passed, \(failures) failed")
        return failures == 0 && passed > 0 ? 0 : 1
    }

    /// Makes an empty folder that only this user can enter, in TMPDIR or /tmp. Returns nil if that fails.
    private func privateFolder() -> String? {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        guard let made = strdup("\(absolute(parent))/switchyard-contract-XXXXXX") else { return nil }
        defer { free(made) }
        return mkdtemp(made).map { String(cString: $0) }
    }

    private func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : Files.currentFolder + "/" + path
    }

    /// Starts the child. Returns its process id and the descriptor of its reports. Its standard output is discarded.
    private func spawn(_ arguments: [String]) -> (pid_t, Int32)? {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], Report.descriptor)
        let words = ([CommandLine.arguments[0]] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        // One line about its end is enough. A backtrace helps only the author of the module.
        setenv("SWIFT_BACKTRACE", "enable=no", 0)
        var child = pid_t()
        let error = posix_spawn(&child, "/proc/self/exe", &actions, nil, words, environ)
        close(ends[1])
        errno = error
        return error == 0 ? (child, ends[0]) : nil
    }

    /// Prints the lines of the child until it ends or is silent for too long. `current` is the check that has begun and not ended.
    private func listen(_ descriptor: Int32) -> (passed: Int, failed: Int, current: String?, isQuiet: Bool) {
        var (passed, failed) = (0, 0)
        var current: String?
        var rest: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&ready, 1, Int32(patience + 5) * 1000) == 0 { return (passed, failed, current, true) }
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return (passed, failed, current, false) }
            rest += chunk[..<count]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeSubrange(...end)
                if line == Report.alive { continue }
                if let name = line.dropping("begin ") {
                    current = name
                    continue
                }
                if line.hasPrefix("passed") { passed += 1 }
                if line.hasPrefix("FAILED") { failed += 1 }
                if !line.hasPrefix("        ") { current = nil }
                print(line)
            }
        }
    }
}

extension String {
    func dropping(_ prefix: String) -> String? { hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil }
}

/// The lines that the child reports to its overseer.
enum Report {
    /// The descriptor of the reports. The standard descriptors belong to the module.
    static let descriptor: Int32 = 3

    /// The line that says, during a long check, that the module still makes progress.
    static let alive = "alive"
    static func goesOn() { write(alive) }
    static func begin(_ check: String) { write("begin \(check)") }
    static func passed(_ check: String) { write("passed  \(check)") }
    static func failed(_ check: String, _ why: String) { write("FAILED  \(check): \(why)") }
    static func note(_ text: String) { write("        \(text)") }

    private static func write(_ line: String) {
        let bytes = Array((line.map { $0.isNewline ? " " : String($0) }.joined() + "\n").utf8)
        _ = Glibc.write(descriptor, bytes, bytes.count)
    }
}
