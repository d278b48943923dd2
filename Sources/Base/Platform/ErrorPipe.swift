// The standard error of a program that this process runs, read line by line on a separate thread. Lines have a largest length. A limited
// number of lines per second is reported, and the others are only counted. The program waits only if `hear` blocks for so long that the
// pipe is full.

internal import Glibc

public final class ErrorPipe: Sendable {
    public enum Output: Sendable {
        /// A line without its newline. Its bytes are unchanged, except that bytes beyond the largest length are missing.
        case line([UInt8])
        /// The first of several lines that are left out.
        case tooMany(perSecond: Int)
        /// The number of lines that were left out.
        case leftOut(Int)
    }

    /// The largest number of bytes in a line.
    public static let mostBytes = 8192

    private let pipe: Descriptor
    private let stopped: WakeUp
    private let isOver = Monitor(false)

    /// Creates the pipe, passes its writing end to `start`, and from then on reports what is written to the pipe.
    public static func open<R>(
        _ name: String, budget: LineBudget = LineBudget(burst: 50, perSecond: 5), clock: Clock = .system,
        hear: @escaping @Sendable (Output) -> Void, start: (Int32) throws(SystemFault) -> R
    ) throws(SystemFault) -> (ErrorPipe, R) {
        let ends = try makePipe()
        let ours = Descriptor(owning: ends.reading)
        let theirs = Descriptor(owning: ends.writing)
        let pipe = ErrorPipe(ours, stopped: try WakeUp())
        let result = try start(theirs.number)
        _ = consume theirs
        Thread.start(name) {
            var lines = ErrorLines(budget, hear)
            pipe.read(&lines, clock)
            lines.end()
            pipe.isOver.withLock { $0 = true }
            pipe.isOver.wake()
        }.detach()
        return (pipe, result)
    }

    private init(_ pipe: consuming Descriptor, stopped: WakeUp) {
        _ = fcntl(pipe.number, F_SETFL, O_NONBLOCK)
        self.pipe = pipe
        self.stopped = stopped
    }

    /// Reports what was written so far and then stops, even if a process still has the writing end. It must be called only after the
    /// program has ended.
    public func close() {
        stopped.raise()
        isOver.wait(while: { !$0 })
    }

    private func read(_ lines: inout ErrorLines, _ clock: Clock) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        // A pipe holds at most this much. More data comes from a writer that is still active.
        var left = 1 << 20
        while left > 0 {
            // This is read before the data, so that data which was written before the stop is still reported.
            let isLast = isStopped
            let count = Glibc.read(pipe.number, &chunk, chunk.count)
            if count > 0 {
                lines.take(chunk[..<count], at: clock.now())
                if isLast { left -= count }
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, errno == EAGAIN, !isLast {
                var ready = [pollfd(fd: pipe.number, events: Int16(POLLIN), revents: 0), stop]
                poll(&ready, 2, -1)
            } else {
                return
            }
        }
    }

    private var stop: pollfd { pollfd(fd: stopped.descriptor, events: Int16(POLLIN), revents: 0) }
    private var isStopped: Bool {
        var ready = stop
        return poll(&ready, 1, 0) > 0
    }
}

/// Splits the data into lines.
struct ErrorLines {
    private var budget: LineBudget
    private let hear: @Sendable (ErrorPipe.Output) -> Void
    /// The beginning of a line whose end was not read yet.
    private var rest: [UInt8] = []
    private var now = Instant(nanoseconds: 0)

    init(_ budget: LineBudget, _ hear: @escaping @Sendable (ErrorPipe.Output) -> Void) {
        self.budget = budget
        self.hear = hear
    }

    mutating func take(_ bytes: ArraySlice<UInt8>, at now: Instant) {
        self.now = now
        var bytes = bytes
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            keep(bytes[..<end])
            say()
            bytes = bytes[(end + 1)...]
            // Most lines of a flood are only counted.
            guard budget.isLeavingOut, let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            let count = bytes[...last].reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
            if budget.leavesOut(count, at: now) { bytes = bytes[(last + 1)...] }
        }
        keep(bytes)
    }

    /// Reports the last line and the number of lines left out, at the end of the data.
    mutating func end() {
        if !rest.isEmpty { say() }
        let count = budget.takeLeftOut()
        if count > 0 { hear(.leftOut(count)) }
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) { rest += bytes.prefix(max(0, ErrorPipe.mostBytes - rest.count)) }

    private mutating func say() {
        assert(rest.count <= ErrorPipe.mostBytes, "a line is longer than the largest line")
        var line = rest
        rest.removeAll(keepingCapacity: true)
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        if line.isEmpty { return }
        switch budget.take(at: now) {
        case .said(let leftOut):
            if leftOut > 0 { hear(.leftOut(leftOut)) }
            hear(.line(line))
        case .leftOut(let isFirst): if isFirst { hear(.tooMany(perSecond: budget.perSecond)) }
        }
    }
}
