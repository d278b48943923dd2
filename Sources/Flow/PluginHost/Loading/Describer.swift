// Reads the description of a module. The router reads it in a separate process, which loads the checked copy of the module. If a
// constructor ends the process, crashes or hangs, the result is a message, and the router goes on. The router waits for that process no
// longer than `timeout`. It remembers a description as long as the file stays the same (KnownDescriptions.swift).
//
// It cannot detect a constructor that behaves well there and badly in the router. It does not end a process that the module has started
// in a session of its own.

internal import CPlatform
internal import Document
internal import Glibc
internal import Plans
public import Platform

public struct Describer: Sendable {
    /// The program that describes modules. It is nil if they are described in this process.
    private var executable: String?
    private var timeout = Duration.zero
    private var clock = Clock.system
    private var known = KnownDescriptions.shared

    /// Describes modules in this process. It is meant for processes that may crash, or whose end another process observes.
    public static let here = Describer()

    /// Describes each module in a separate process. `executable` is the router's program, or a test program that takes the same argument.
    public static func process(
        executable: String = OwnProgram.link, timeout: Duration = .seconds(10), clock: Clock = .system,
        known: KnownDescriptions = .shared
    ) -> Describer {
        Describer(executable: executable, timeout: timeout, clock: clock, known: known)
    }

    func describe(_ file: TrustedFile) throws(ModuleFault) -> ModuleDescription {
        guard let executable else { return try Module.tables(file).describe().read(of: file.path) }
        if let description = known.description(of: file.identity) { return description }
        let texts = if let earlier = known.earlierTexts(of: file.identity) { earlier } else { try ask(executable, Library(copying: file)) }
        let description = try texts.read(of: file.path)
        known.note(texts, description, of: file.identity)
        return description
    }

    // MARK: - The process

    /// The output of the process so far.
    private struct ProcessOutput {
        var report = DescribingProcess.Report()
        var errors: [UInt8] = []

        /// The first line that it wrote to standard error, as an addition to the message about its end. It is empty if there is none.
        var complaint: String {
            let line = errors.split(separator: UInt8(ascii: "\n")).first ?? []
            let text = line.withUnsafeBufferPointer { ForeignText.read($0, most: 200, hiding: HiddenTexts()) }
            return text.isEmpty ? "" : "; it wrote: \(text)"
        }
    }

    private func ask(_ executable: String, _ library: Library) throws(ModuleFault) -> ModuleTexts {
        let (answer, errors, process) = try start(executable, library)
        var output = ProcessOutput()
        let end = hear(answer, errors: errors, process: process, output: &output)
        // Kill its whole process group. The process was not waited for yet, so no other process can have its number.
        kill(-process, SIGKILL)
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        if let answer = output.report.answer { return try answer.get() }
        let how =
            switch end {
            case .outOfTime: "did not answer within \(timeout.configured)"
            case .ended: Describer.words(status)
            case .talked: "wrote more than a description into the router's pipe"
            }
        throw ModuleFault("\(library.path): \(output.report.stage) \(how)\(output.complaint)")
    }

    private static func words(_ status: Int32) -> String {
        let signal = status & 0x7F
        guard signal != 0 else { return "ended the process with code \(status >> 8 & 0xFF)" }
        return "was killed by signal \(signal) (\(signals[signal] ?? String(cString: strsignal(signal))))"
    }

    private static let signals: [Int32: String] = [
        SIGILL: "SIGILL", SIGTRAP: "SIGTRAP", SIGABRT: "SIGABRT", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGKILL: "SIGKILL",
        SIGSEGV: "SIGSEGV", SIGPIPE: "SIGPIPE", SIGALRM: "SIGALRM", SIGTERM: "SIGTERM", SIGSYS: "SIGSYS", SIGXCPU: "SIGXCPU",
    ]

    /// Starts the process. Returns the reading ends of its answer and of its standard error, and its process id.
    private func start(_ executable: String, _ library: Library) throws(ModuleFault) -> (ReadingEnd, ReadingEnd, pid_t) {
        do throws(SystemFault) {
            let (answer, theirAnswer) = try ReadingEnd.make()
            let (errors, theirErrors) = try ReadingEnd.make()
            let texts = ["switchyard", DescribingProcess.command, String(getpid()), library.path]
            let words = texts.map { text in strdup(text) } + [nil]
            // The message has one line about its end. A backtrace helps only the module's author.
            let environment = Process.cleanEnvironment([("SWIFT_BACKTRACE", "enable=no")], keeping: Process.runtimeVariables)
            let variables = environment.map { text in strdup(text) } + [nil]
            defer { for text in words + variables { free(text) } }
            var process: Int32 = 0
            let streams = [-1, -1, theirErrors.number, library.number, theirAnswer.number]
            let error = withExtendedLifetime((theirAnswer, theirErrors)) {
                cplatform_spawn(&process, OwnProgram.found(executable), words, variables, streams, Int32(streams.count))
            }
            guard error == 0 else { throw SystemFault(code: error) }
            return (answer, errors, process)
        } catch {
            throw ModuleFault("\(library.path): the process that is to describe it cannot be started: \(error)")
        }
    }

    private enum End { case ended, outOfTime, talked }

    /// Reads its output until it has answered, has ended, or its time is up. It does not wait for the end of the pipes, since a child of
    /// the process may hold them longer.
    private func hear(_ answer: ReadingEnd, errors: ReadingEnd, process: pid_t, output: inout ProcessOutput) -> End {
        let until = clock.now() + timeout
        while true {
            // Check this first, so that everything the process wrote before its end is read below.
            let hasEnded = Describer.hasEnded(process)
            let left = (until - clock.now()).nanoseconds
            errors.read { output.errors += $0.prefix(4096 - min(4096, output.errors.count)) }
            assert(output.errors.count <= 4096, "more of the process's words is kept than may be")
            answer.read { output.report.take($0) }
            if output.report.answer != nil || hasEnded { return .ended }
            if output.report.isTooLong { return .talked }
            guard left > 0 else { return .outOfTime }
            var ready = [answer, errors].filter { !$0.isOver }.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
            // If the pipe has ended, the process is ending or has closed the pipe. Check its end more often.
            let pause = answer.isOver ? 1 : 100
            poll(&ready, nfds_t(ready.count), Int32(min(Int64(pause), left / 1_000_000 + 1)))
        }
    }

    /// Returns true if the process has ended. It leaves the exit status for waitpid.
    private static func hasEnded(_ process: pid_t) -> Bool {
        var info = siginfo_t()
        return waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
    }
}

/// The reading end of a pipe from a process. A read never waits.
private final class ReadingEnd {
    private let descriptor: Descriptor
    /// True if the pipe has ended.
    private(set) var isOver = false
    var number: Int32 { descriptor.number }

    private init(_ number: Int32) {
        descriptor = Descriptor(owning: number)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    /// Returns the reading end and the writing end. The writing end is closed when its object is released.
    static func make() throws(SystemFault) -> (ReadingEnd, Writing) {
        let ends = try makePipe()
        return (ReadingEnd(ends.reading), Writing(Descriptor(owning: ends.writing)))
    }

    final class Writing {
        private let descriptor: Descriptor
        var number: Int32 { descriptor.number }
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    /// Passes on the data that is available now. It reads a limited number of chunks, so that an endless writer cannot keep it busy.
    func read(_ body: (ArraySlice<UInt8>) -> Void) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        for _ in 0..<16 where !isOver {
            let count = Glibc.read(number, &chunk, chunk.count)
            if count > 0 {
                body(chunk[..<count])
            } else if count == 0 {
                isOver = true
            } else if errno != EINTR {
                return
            }
        }
    }
}
