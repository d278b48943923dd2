// Reads what a module says of itself. The router does so in a process of its own, which loads the judged copy of the module: a constructor
// that ends the process, crashes or hangs costs a message and not the router. Nothing of that process is waited for longer than the
// patience. What was read is kept for as long as the file stays the same.
//
// A constructor that behaves there and misbehaves in the router cannot be helped; nor can a process that it has started with a session
// of its own, which stays.

internal import CPlatform
internal import Configuration
internal import Document
internal import Glibc
internal import Plans
public import Platform

public struct Describer: Sendable {
    /// nil: it is done in this process.
    private var executable: String?
    private var patience = Duration.zero
    private var clock = Clock.system

    /// In this process: for one that can be spared, or a program that overlooks its own end.
    public static let here = Describer()

    /// In a process of its own for each module. `executable` is the router's program, or in a test one that knows the same word.
    public static func process(
        executable: String = OwnProgram.link, patience: Duration = .seconds(10), clock: Clock = .system
    ) -> Describer {
        Describer(executable: executable, patience: patience, clock: clock)
    }

    private static let known = Monitor<[FileIdentity: ModuleDescription]>([:])

    func describe(_ file: TrustedFile) throws(ModuleFault) -> ModuleDescription {
        guard let executable else { return try ModuleTable.read(Module.table(file).describe(), of: file.path) }
        if let known = Describer.known.withLock({ $0[file.identity] }) { return known }
        let description = try ModuleTable.read(try ask(executable, Library(copying: file)), of: file.path)
        Describer.known.withLock { $0[file.identity] = description }
        return description
    }

    // MARK: - The process

    /// What the process has said so far.
    private struct Heard {
        var report = DescribingProcess.Report()
        var errors: [UInt8] = []

        /// The first line that it wrote to standard error, as an addition to what is said of its end.
        var complaint: String {
            let line = errors.split(separator: UInt8(ascii: "\n")).first ?? []
            let text = line.withUnsafeBufferPointer { ForeignText.read($0, most: 200, hiding: HiddenTexts()) }
            return text.isEmpty ? "" : "; it wrote: \(text)"
        }
    }

    private func ask(_ executable: String, _ library: Library) throws(ModuleFault) -> String {
        let (answer, errors, process) = try start(executable, library)
        var heard = Heard()
        let end = hear(answer, errors, process, &heard)
        // Whatever it has started in its group goes with it. It was not waited for yet, so that its number is still its own.
        kill(-process, SIGKILL)
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        if let answer = heard.report.answer { return try answer.get() }
        let how =
            switch end {
            case .outOfTime: "did not answer within \(patience.configured)"
            case .ended: Describer.words(status)
            case .talked: "wrote more than a description into the router's pipe"
            }
        throw ModuleFault("\(library.path): \(heard.report.stage) \(how)\(heard.complaint)")
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

    /// Starts it; the reading ends of its answer and of its standard error, and its number.
    private func start(_ executable: String, _ library: Library) throws(ModuleFault) -> (ReadingEnd, ReadingEnd, pid_t) {
        do throws(SystemFault) {
            let (answer, theirAnswer) = try ReadingEnd.make()
            let (errors, theirErrors) = try ReadingEnd.make()
            let texts = ["switchyard", DescribingProcess.command, String(getpid()), library.path]
            let words = texts.map { text in strdup(text) } + [nil]
            // One line says how it died; a page on where is for the module's author.
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

    /// Hears it until it has answered, has ended, or its time is up. A child of it may hold the pipes for longer.
    private func hear(_ answer: ReadingEnd, _ errors: ReadingEnd, _ process: pid_t, _ heard: inout Heard) -> End {
        let until = clock.now() + patience
        while true {
            // Looked at first, so that what it had written by then is read below.
            let hasEnded = Describer.hasEnded(process)
            let left = (until - clock.now()).nanoseconds
            errors.read { heard.errors += $0.prefix(4096 - min(4096, heard.errors.count)) }
            answer.read { heard.report.take($0) }
            if heard.report.answer != nil || hasEnded { return .ended }
            if heard.report.isTooLong { return .talked }
            guard left > 0 else { return .outOfTime }
            var ready = [answer, errors].filter { !$0.isOver }.map { pollfd(fd: $0.number, events: Int16(POLLIN), revents: 0) }
            // A pipe that ends says that the process does, or that it has closed it.
            let pause = answer.isOver ? 1 : 100
            poll(&ready, nfds_t(ready.count), Int32(min(Int64(pause), left / 1_000_000 + 1)))
        }
    }

    /// Whether it can be waited for.
    private static func hasEnded(_ process: pid_t) -> Bool {
        var info = siginfo_t()
        return waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
    }
}

/// The end of a pipe at which a process is heard, without waiting for it.
private final class ReadingEnd {
    private let descriptor: Descriptor
    /// Nothing follows.
    private(set) var isOver = false
    var number: Int32 { descriptor.number }

    private init(_ number: Int32) {
        descriptor = Descriptor(owning: number)
        _ = fcntl(number, F_SETFL, O_NONBLOCK)
    }

    /// It, and the writing end, which is closed when its owner goes.
    static func make() throws(SystemFault) -> (ReadingEnd, Writing) {
        let ends = try makePipe()
        return (ReadingEnd(ends.reading), Writing(Descriptor(owning: ends.writing)))
    }

    final class Writing {
        private let descriptor: Descriptor
        var number: Int32 { descriptor.number }
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    /// What is there by now, but no more than a pipe holds, whoever goes on writing.
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
