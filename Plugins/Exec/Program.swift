// A running program and its three pipes. It gets lines, and answers each with one line. Writing and reading are interleaved, so that neither
// blocks the other. A thread of its own reads the standard error.

internal import Glibc
internal import PluginKit

final class Program {
    /// The time that the program has to end after its input has ended, and then after SIGTERM, before it is killed.
    struct Timeouts {
        var afterInput = Duration.seconds(4)
        var afterTerminate = Duration.seconds(1)
    }

    private let process: Process
    private let now: @Sendable () -> Instant
    /// The writing end of its input. It is nil after the input was closed.
    private var input: Descriptor?
    private let output: Descriptor
    private let errors: ErrorPipe
    /// The bytes that were read after the last whole line.
    private var rest: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 65_536)

    /// Starts the program. `hear` gets the lines of its standard error, on a separate thread.
    init(
        _ command: [String], _ environment: [String], now: @escaping @Sendable () -> Instant = Clock.system.now,
        hear: @escaping @Sendable (ErrorPipe.Output) -> Void
    ) throws(SystemFault) {
        self.now = now
        let (theirInput, ourInput) = try Program.pipe(ours: 1)
        defer { close(theirInput) }
        input = Descriptor(owning: ourInput)
        let (ourOutput, theirOutput) = try Program.pipe(ours: 0)
        defer { close(theirOutput) }
        output = Descriptor(owning: ourOutput)
        (errors, process) = try ErrorPipe.open("exec errors", hear: hear) { (theirErrors) throws(SystemFault) in
            try Process(
                command[0], Array(command.dropFirst()), environment: environment, descriptors: [theirInput, theirOutput, theirErrors])
        }
    }

    deinit { _ = end("is let go") }

    /// Makes a pipe and returns its reading and writing ends. Our end does not block.
    private static func pipe(ours: Int) throws(SystemFault) -> (Int32, Int32) {
        let ends = try makePipe()
        _ = fcntl(ours == 0 ? ends.reading : ends.writing, F_SETFL, O_NONBLOCK)
        return (ends.reading, ends.writing)
    }

    private var inputNumber: Int32 {
        switch input {
        case .some(let descriptor): descriptor.number
        case nil: -1
        }
    }

    /// What a program is told that gives more answers than it was asked for.
    private static let extra = "gave an answer that it was not asked for"

    /// The reason why the program cannot get lines: it has ended, or it has given an answer too many. Nil if it can get lines.
    var fault: String? {
        if process.hasEnded { return end() }
        var ready = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
        guard rest.isEmpty, poll(&ready, 1, 0) <= 0 else {
            let count = rest.isEmpty ? Glibc.read(output.number, &chunk, chunk.count) : 1
            return count > 0 ? end(Program.extra) : howItEnded()
        }
        return nil
    }

    /// The events that are asked for at once have about as many bytes as a pipe holds, so that nothing is asked for long before it is
    /// written.
    private static let askedBytes = 65_536

    /// Asks for the next events of a batch. Returns the number of events that may leave so far, or nil if the next ones may not leave.
    private static func ask(for batch: borrowing Batch, after allowed: Int) -> Int? {
        let lines = batch.lines
        let start = allowed == 0 ? 0 : lines.end(of: allowed - 1)
        let next = max(allowed + 1, lines.whole(within: start + askedBytes))
        return batch.mayBegin(allowed..<next) ? next : nil
    }

    /// Writes the events and reads one answer for each that may leave. `given` is the number of events that were allowed to leave. If there
    /// are fewer answers than that, `fault` is the reason. `timeout` is in milliseconds and runs from the start, or from one whole answer to
    /// the next, whatever else the program does meanwhile.
    func exchange(_ batch: borrowing Batch, timeout: Int) -> (answers: [Outcome], given: Int, fault: String?) {
        let lines = batch.lines
        // The number of events that may leave so far, and the number that the program is to answer in the end.
        var allowed = 0
        var wanted = lines.count
        let read = { (line: UnsafeRawBufferPointer) in Answer(line)?.outcome }
        let (answers, fault) = exchange(lines, timeout: timeout, wanted: &wanted, most: Answer.most, read: read) { wanted in
            guard allowed < wanted else { return allowed }
            if let next = Program.ask(for: batch, after: allowed) { allowed = next } else { wanted = allowed }
            return allowed
        }
        return (answers, wanted, fault)
    }

    /// Writes a message, which is one line, and reads the line that answers it, of at most `most` bytes. If `read` returns nil, the answer is
    /// invalid. With a fault the answer does not count.
    func ask<A>(_ message: [UInt8], timeout: Int, most: Int, read: (UnsafeRawBufferPointer) -> A?) -> (answer: A?, fault: String?) {
        precondition(message.last == UInt8(ascii: "\n") && !message.dropLast().contains(UInt8(ascii: "\n")), "a message is not one line")
        return message.withUnsafeBytes { message in
            withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 1) { ends in
                ends.initialize(repeating: UInt64(message.count))
                var wanted = 1
                let lines = Lines(bytes: message, ends: UnsafeBufferPointer(ends))
                let (answers, fault) = exchange(lines, timeout: timeout, wanted: &wanted, most: most, read: read) { $0 }
                return (fault == nil ? answers.first : nil, fault)
            }
        }
    }

    /// `allow` is called before bytes leave that are not allowed yet. It returns the number of lines that may leave, and lowers `wanted` if
    /// there will be no more. `read` reads an answer of at most `most` bytes, and returns nil if it is invalid.
    private func exchange<A>(
        _ lines: Lines, timeout: Int, wanted: inout Int, most: Int, read: (UnsafeRawBufferPointer) -> A?, allow: (inout Int) -> Int
    ) -> (answers: [A], fault: String?) {
        var answers: [A] = []
        /// The number of bytes that may leave so far.
        var limit = 0
        var offset = 0
        hasRead = -unread
        var until = now() + .milliseconds(timeout)
        let late = "gave no answer within \(timeout) ms and was ended"
        while answers.count < wanted {
            // After the program has ended, its whole output is in the pipe, even if another process still holds the pipe.
            let hasEnded = process.hasEnded
            let bytes = wanted == 0 ? 0 : lines.end(of: wanted - 1)
            let target = offset < bytes && !hasEnded ? inputNumber : -1
            var ready = [pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)]
            if !hasEnded { ready.append(pollfd(fd: process.news, events: Int16(POLLIN), revents: 0)) }
            if target >= 0 { ready.append(pollfd(fd: target, events: Int16(POLLOUT), revents: 0)) }
            let left = (until - now()).nanoseconds
            let number = poll(&ready, nfds_t(ready.count), hasEnded || left <= 0 ? 0 : Int32(clamping: left / 1_000_000 + 1))
            if number < 0, errno == EINTR { continue }
            // A late answer that is already in the pipe counts. Otherwise a router that was stopped for a while would end the program.
            if number == 0 || left <= 0 && ready[0].revents == 0 { return (answers, end(hasEnded ? nil : late)) }
            if target >= 0, ready[2].revents != 0 {
                if offset == limit {
                    let allowed = allow(&wanted)
                    limit = allowed == 0 ? 0 : lines.end(of: allowed - 1)
                }
                if offset < limit { write(UnsafeRawBufferPointer(rebasing: lines.bytes[..<limit]), &offset, to: target) }
            }
            guard ready[0].revents != 0 else { continue }
            let known = answers.count
            let got = Glibc.read(output.number, &chunk, chunk.count)
            if got < 0, errno == EINTR || errno == EAGAIN { continue }
            guard got > 0 else { return (answers, howItEnded()) }
            rest += chunk[..<got]
            // This runs after the answers were read, so the count is not less than what the program had read when it gave them.
            if input != nil { hasRead = max(hasRead, offset - unread) }
            assert(hasRead <= offset && offset <= lines.bytes.count, "the program has read more than it was given")
            if let fault = takeLines(&answers, of: lines, most: most, read: read) { return (answers, end(fault)) }
            assert(answers.count <= wanted, "more answers were taken than there are lines")
            if answers.count > known {
                until = now() + .milliseconds(timeout)
            } else if left <= 0 {
                return (answers, end(hasEnded ? nil : late))
            }
        }
        guard rest.isEmpty else { return (answers, end(Program.extra)) }
        return (answers, nil)
    }

    /// The number of bytes of the current lines that the program has read, at least. It is negative while the program has not read all
    /// earlier lines.
    private var hasRead = 0

    /// The number of unread bytes in the pipe to the program.
    private var unread: Int {
        var count: Int32 = 0
        return inputNumber >= 0 && ioctl(inputNumber, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    private func write(_ lines: UnsafeRawBufferPointer, _ offset: inout Int, to target: Int32) {
        let written = Glibc.write(target, lines.baseAddress! + offset, lines.count - offset)
        if written >= 0 {
            offset += written
        } else if errno != EAGAIN, errno != EINTR {
            // The program reads no more. Its answers are still read.
            hasRead = max(hasRead, offset - unread)
            input = nil
        }
    }

    /// Takes the whole lines as answers. Returns what is wrong with a line, or nil if every line is the answer to a line that the program
    /// has read.
    private func takeLines<A>(_ answers: inout [A], of lines: Lines, most: Int, read: (UnsafeRawBufferPointer) -> A?) -> String? {
        let none = "gave an invalid answer and was ended"
        var start = 0
        while answers.count < lines.count, let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            guard let answer = rest.withUnsafeBytes({ read(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }) else { return none }
            // The program may read the newline after the event later.
            guard lines.end(of: answers.count) - 1 <= hasRead else { return "gave an answer before it had read the line and was ended" }
            answers.append(answer)
            start = end + 1
            assert(start <= rest.count, "a line of the program ends after what was read")
        }
        rest.removeFirst(start)
        return rest.count <= most ? nil : none
    }

    /// Closes the input of the program and gives it time to end. Then it sends SIGTERM, and then it kills the program with all processes
    /// that it has started. Returns how the program ended, or nil if it ended with code 0.
    func finish(_ timeouts: Timeouts) -> String? {
        input = nil
        if !process.endsWhole(within: timeouts.afterInput) {
            let hasEnded = process.hasEnded
            process.terminate()
            if !process.endsWhole(within: timeouts.afterTerminate), !process.hasEnded {
                return end(
                    "did not end within \(shown(timeouts.afterInput + timeouts.afterTerminate)) after the end of its input and was killed")
            }
            if !hasEnded { return end("did not end within \(shown(timeouts.afterInput)) after the end of its input and got SIGTERM") }
        }
        let words = end()
        return words == "ended with code 0" ? nil : words
    }

    private func shown(_ time: Duration) -> String { "\(time.nanoseconds / 1_000_000) ms" }

    private func howItEnded() -> String { process.ends(within: .seconds(1)) ? end() : end("closed its output and was ended") }

    /// Ends the program and all processes that it has started. Returns `why`, or how the program ended. It first reads the whole standard
    /// error.
    private func end(_ why: String? = nil) -> String {
        if why != nil { process.kill() }
        let words = process.wait()
        errors.close()
        return why ?? words
    }
}
