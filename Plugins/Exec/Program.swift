// A running program between two pipes. Writing and reading go on side by side, so that neither waits for the other.

internal import Glibc
internal import PluginKit

final class Program {
    private let process: Process
    /// nil once the program was told that nothing follows.
    private var input: Descriptor?
    private let output: Descriptor
    /// What was read behind the last whole line.
    private var rest: [UInt8] = []
    private var chunk = [UInt8](repeating: 0, count: 65_536)

    init(_ command: [String], _ environment: [String]) throws(SystemFault) {
        let (theirInput, ourInput) = try Program.pipe(ours: 1)
        let (ourOutput, theirOutput) = try Program.pipe(ours: 0)
        defer {
            close(theirInput)
            close(theirOutput)
        }
        input = Descriptor(owning: ourInput)
        output = Descriptor(owning: ourOutput)
        process = try Process(
            command[0], Array(command.dropFirst()), environment: environment, descriptors: [theirInput, theirOutput, 2])
    }

    deinit {
        process.kill()
        _ = process.wait()
    }

    /// The reading and the writing end; ours does not block.
    private static func pipe(ours: Int) throws(SystemFault) -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        guard Glibc.pipe(&ends) == 0 else { throw SystemFault() }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[ours], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    private var inputNumber: Int32 {
        switch input {
        case .some(let descriptor): descriptor.number
        case nil: -1
        }
    }

    /// Why it cannot be given events: it has ended, or has answered what it was not given.
    var fault: String? {
        var ready = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
        guard rest.isEmpty, poll(&ready, 1, 0) <= 0 else {
            let count = rest.isEmpty ? read(output.number, &chunk, chunk.count) : 1
            return count > 0 ? endNow("answered an event that it was not given") : howItEnded()
        }
        return nil
    }

    /// Writes the events and reads as many answers; with fewer, why. `timeout` in milliseconds is from one step to the next.
    func exchange(_ lines: UnsafeRawBufferPointer, count: Int, timeout: Int) -> (answers: [Outcome], fault: String?) {
        var answers: [Outcome] = []
        var offset = 0
        while answers.count < count {
            let target = offset < lines.count ? inputNumber : -1
            var ready = [pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)]
            if target >= 0 { ready.append(pollfd(fd: target, events: Int16(POLLOUT), revents: 0)) }
            let number = poll(&ready, nfds_t(ready.count), Int32(clamping: timeout))
            if number < 0, errno == EINTR { continue }
            if number == 0 { return (answers, endNow("gave no answer within \(timeout) ms and was ended")) }
            if target >= 0, ready[1].revents != 0 { write(lines, &offset, to: target) }
            guard ready[0].revents != 0 else { continue }
            let got = read(output.number, &chunk, chunk.count)
            if got < 0, errno == EINTR || errno == EAGAIN { continue }
            guard got > 0 else { return (answers, howItEnded()) }
            rest += chunk[..<got]
            guard takeLines(&answers, count) else { return (answers, endNow("gave an answer that is none and was ended")) }
        }
        guard offset == lines.count, rest.isEmpty else { return (answers, endNow("answered an event that it was not given")) }
        return (answers, nil)
    }

    private func write(_ lines: UnsafeRawBufferPointer, _ offset: inout Int, to target: Int32) {
        let written = Glibc.write(target, lines.baseAddress! + offset, lines.count - offset)
        if written >= 0 {
            offset += written
        } else if errno != EAGAIN, errno != EINTR {
            // It reads no more; what it still says is heard.
            input = nil
        }
    }

    /// False: a line is no answer.
    private func takeLines(_ answers: inout [Outcome], _ count: Int) -> Bool {
        var start = 0
        while answers.count < count, let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            guard let answer = rest.withUnsafeBytes({ Answer(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }) else { return false }
            answers.append(answer.outcome)
            start = end + 1
        }
        rest.removeFirst(start)
        return rest.count <= Answer.most
    }

    /// Its input ends, and it is given that many milliseconds to end itself; how it ended, where that was not well.
    func finish(patience: Int32) -> String? {
        input = nil
        if !process.ends(within: patience) {
            process.kill()
            _ = process.wait()
            return "did not end within \(patience) ms after its input and was ended"
        }
        let words = process.wait()
        return words == "ended with code 0" ? nil : words
    }

    private func howItEnded() -> String { process.ends(within: 1000) ? process.wait() : endNow("closed its output and was ended") }

    private func endNow(_ why: String) -> String {
        process.kill()
        _ = process.wait()
        return why
    }
}
