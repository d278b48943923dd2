// A running program of the source, with its three pipes. One thread reads its lines. Numbers of safe lines are written from any thread, and
// no write waits: if the program does not read them, only the latest number waits for it.

internal import Glibc
internal import PluginKit

final class SourceProgram: @unchecked Sendable {
    enum News {
        case block(SourceBlock)
        case stopped
        /// It has ended: nil with code 0, or how else.
        case ended(String?)
    }

    /// A block has about this many bytes at most, unless one line is longer.
    private static let blockBytes = 256 << 10
    private let process: Process
    private let output: Descriptor
    private let errors: ErrorPipe
    private let stopped: WakeUp
    private let mostLine: Int

    // Only the reading thread uses these.
    /// The bytes after the last whole line, and whether the rest of that line is left out because it is too long.
    private var rest: [UInt8] = []
    private var isSkipping = false
    private var chunk = [UInt8](repeating: 0, count: SourceProgram.blockBytes)
    private var hasEnded = false
    private var lines: Int64 = 0
    var hasWritten: Bool { lines > 0 }

    private struct State: ~Copyable {
        var front = SafeFront()
        /// The writing end of its standard input. It is nil after the input was closed.
        var input: Descriptor?
        /// The rest of a number of which the pipe took only the beginning.
        var torn: [UInt8] = []
        /// The number that is to be written next.
        var next: Int64?
    }
    private let state: Monitor<State>
    /// Raised when a number waits for room in the pipe.
    private let late: WakeUp

    init(
        _ command: ProgramCommand, mostLine: Int, stopped: WakeUp, hear: @escaping @Sendable (ErrorPipe.Output) -> Void
    ) throws(SystemFault) {
        self.mostLine = mostLine
        self.stopped = stopped
        late = try WakeUp()
        let input = try makePipe()
        defer { close(input.reading) }
        _ = fcntl(input.writing, F_SETFL, O_NONBLOCK)
        state = Monitor(State(input: Descriptor(owning: input.writing)))
        let output = try makePipe()
        defer { close(output.writing) }
        _ = fcntl(output.reading, F_SETFL, O_NONBLOCK)
        self.output = Descriptor(owning: output.reading)
        (errors, process) = try ErrorPipe.open("exec errors", hear: hear) { (theirErrors) throws(SystemFault) in
            try Process(
                command.name, Array(command.words.dropFirst()), environment: command.environment,
                descriptors: [input.reading, output.writing, theirErrors])
        }
    }

    deinit {
        process.kill()
        _ = process.wait()
        errors.close()
    }

    // MARK: - Its lines

    /// Waits for lines, for the end of the program, or for the stop. A block has the given token.
    func next(token: UInt64) -> News {
        while true {
            let wasOver = hasEnded || process.hasEnded
            let count = Glibc.read(output.number, &chunk, chunk.count)
            if count > 0 {
                if let block = take(chunk[..<count], token: token) { return .block(block) }
                if isRaised { return .stopped }
                continue
            }
            if count < 0, errno == EINTR { continue }
            // After the program has ended, its whole output is in the pipe, even if another process still holds the pipe.
            if wasOver { return last(token: token) }
            if count == 0 { return waitForEnd() ? last(token: token) : .stopped }
            if !wait(for: output.number) { return .stopped }
        }
    }

    private var isRaised: Bool {
        var ready = pollfd(fd: stopped.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0
    }

    /// Waits until there may be something new. Returns false at the stop.
    private func wait(for descriptor: Int32) -> Bool {
        var ready = [
            pollfd(fd: stopped.descriptor, events: Int16(POLLIN), revents: 0), pollfd(fd: process.news, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        ready.append(pollfd(fd: late.descriptor, events: Int16(POLLIN), revents: 0))
        let target = state.withLock { state in state.next == nil && state.torn.isEmpty ? -1 : SourceProgram.number(of: state.input) }
        if target >= 0 { ready.append(pollfd(fd: target, events: Int16(POLLOUT), revents: 0)) }
        poll(&ready, nfds_t(ready.count), -1)
        if ready[3].revents != 0 { late.lower() }
        if target >= 0, ready[4].revents != 0 { state.withLock { _ = SourceProgram.write(&$0) } }
        return ready[0].revents == 0
    }

    /// Waits for the end of a program that has closed its output. It may still read numbers. Returns false at the stop.
    private func waitForEnd() -> Bool {
        while !process.hasEnded { if !wait(for: -1) { return false } }
        return true
    }

    /// Takes the last line, which may have no newline, and then the end.
    private func last(token: UInt64) -> News {
        if !hasEnded {
            hasEnded = true
            let words = process.wait()
            errors.close()
            end = words == "ended with code 0" ? nil : words
            // An unfinished line of a program that failed is written again.
            if end == nil, !rest.isEmpty, let block = take([UInt8(ascii: "\n")], token: token) { return .block(block) }
        }
        return .ended(end)
    }
    private var end: String?

    private func take(_ bytes: ArraySlice<UInt8>, token: UInt64) -> SourceBlock? {
        guard let newline = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
            keep(bytes)
            return nil
        }
        var block = SourceBlock(token: token)
        var text = bytes[bytes.startIndex...newline]
        if isSkipping || !rest.isEmpty, let first = text.firstIndex(of: UInt8(ascii: "\n")) {
            keep(text[..<first])
            rest.append(UInt8(ascii: "\n"))
            lines += Int64(rest.withUnsafeBytes { block.append(lines: $0, first: lines + 1) })
            text = text[(first + 1)...]
            rest.removeAll(keepingCapacity: rest.count < 1 << 20)
            isSkipping = false
        }
        lines += Int64(text.withUnsafeBytes { block.append(lines: $0, first: lines + 1) })
        keep(bytes[(newline + 1)...])
        let last = lines
        guard !block.isEmpty else {
            // Blank lines are safe as soon as the lines before them are.
            tell { $0.add(nil, last: last) }
            return nil
        }
        state.withLock { _ = $0.front.add(token, last: last) }
        return block
    }

    /// Keeps the beginning of a line. More than one byte beyond the limit is of no use.
    private func keep(_ bytes: ArraySlice<UInt8>) {
        let room = max(0, mostLine + 1 - rest.count)
        rest += bytes.prefix(room)
        if bytes.count > room { isSkipping = true }
    }

    // MARK: - Its acknowledgements

    /// Tells the program how far its lines are safe. Tokens of an earlier program have no effect.
    func acknowledge(_ tokens: [UInt64]) {
        tell { front in
            var number: Int64?
            for token in tokens { number = front.end(token) ?? number }
            return number
        }
    }

    /// Writes the number that `advance` returns.
    private func tell(_ advance: (inout SafeFront) -> Int64?) {
        let isLate = state.withLock { state in
            guard let number = advance(&state.front) else { return false }
            // A number that has waited is replaced: the later one says more.
            state.next = number
            return !SourceProgram.write(&state)
        }
        if isLate { late.raise() }
    }

    /// Writes what the pipe has room for. Returns false if something is left.
    private static func write(_ state: inout State) -> Bool {
        while true {
            let target = number(of: state.input)
            guard target >= 0 else { break }
            let isTorn = !state.torn.isEmpty
            guard isTorn || state.next != nil else { return true }
            let bytes = isTorn ? state.torn : Array("\(state.next!)\n".utf8)
            let count = bytes.withUnsafeBytes { Glibc.write(target, $0.baseAddress, $0.count) }
            if count > 0 {
                state.torn = Array(bytes[count...])
                if !isTorn { state.next = nil }
            } else if errno == EAGAIN {
                return false
            } else if errno != EINTR {
                // The program reads no more numbers.
                state.input = nil
            }
        }
        (state.torn, state.next) = ([], nil)
        return true
    }

    private static func number(of descriptor: borrowing Descriptor?) -> Int32 {
        switch descriptor {
        case .some(let descriptor): descriptor.number
        case nil: -1
        }
    }

    /// Closes the input of the program and gives it time to end, then sends SIGTERM, and then kills it with all processes that it has
    /// started. Returns what must be told, or nil. Nobody reads its lines any more.
    func finish(_ timeouts: Program.Timeouts) -> String? {
        state.withLock { $0.input = nil }
        guard !hasEnded else { return nil }
        hasEnded = true
        defer { errors.close() }
        if process.endsWhole(within: timeouts.afterInput) {
            _ = process.wait()
            return nil
        }
        process.terminate()
        let isEnding = process.endsWhole(within: timeouts.afterTerminate)
        process.kill()
        _ = process.wait()
        return isEnding ? nil : "did not end after SIGTERM and was killed"
    }
}

/// How far the lines of a program are safe. The blocks end in any order; the front is the last line before the first block that has not
/// ended.
struct SafeFront {
    private var blocks: [(token: UInt64?, last: Int64)] = []
    private var ended: Set<UInt64> = []

    /// Notes lines up to `last`, in a block or without one. Returns the number up to which lines are safe, if it has advanced.
    mutating func add(_ token: UInt64?, last: Int64) -> Int64? {
        blocks.append((token, last))
        return token == nil ? advance() : nil
    }

    /// Notes the end of a block. Returns the number up to which lines are safe, if it has advanced.
    mutating func end(_ token: UInt64) -> Int64? {
        guard blocks.contains(where: { $0.token == token }) else { return nil }
        ended.insert(token)
        return advance()
    }

    private mutating func advance() -> Int64? {
        var count = 0
        while count < blocks.count, blocks[count].token.map({ ended.contains($0) }) ?? true {
            if let token = blocks[count].token { ended.remove(token) }
            count += 1
        }
        guard count > 0 else { return nil }
        let last = blocks[count - 1].last
        blocks.removeFirst(count)
        return last
    }
}
