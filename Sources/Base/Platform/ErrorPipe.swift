// The standard error of a program that this process runs, read line by line by a thread of its own. It promises that the program never
// waits for whoever hears the lines, that a line has a bound, and that so many lines a second are heard and the others are counted.

internal import Glibc

public final class ErrorPipe: Sendable {
    public enum Heard: Sendable {
        /// A line without its end. Nothing is done to its bytes, but that what stands behind the bound is missing.
        case line([UInt8])
        /// The first line of several that are left out.
        case tooMany(perSecond: Int)
        /// So many lines were left out.
        case leftOut(Int)
    }

    /// The most bytes of a line.
    public static let mostBytes = 8192

    private let pipe: Descriptor
    private let stopped: WakeUp
    private let isOver = Monitor(false)

    /// Makes the pipe, lends its writing end to `start`, and hears what is written there from then on.
    public static func open<R>(
        _ name: String, budget: LineBudget = LineBudget(burst: 50, perSecond: 5), clock: Clock = .system,
        hear: @escaping @Sendable (Heard) -> Void, start: (Int32) throws(SystemFault) -> R
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

    /// Hears what is there by now and no more, whoever still has the writing end. To be called once the program has ended.
    public func close() {
        stopped.raise()
        isOver.wait(while: { !$0 })
    }

    private func read(_ lines: inout ErrorLines, _ clock: Clock) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        // What a pipe holds at most; more is of a writer that goes on.
        var left = 1 << 20
        while left > 0 {
            // Asked before the read: what was written before the end is then read after it.
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

/// Makes lines of what was read.
struct ErrorLines {
    private var budget: LineBudget
    private let hear: @Sendable (ErrorPipe.Heard) -> Void
    /// The beginning of a line whose end was not read yet.
    private var rest: [UInt8] = []
    private var now = Instant(nanoseconds: 0)

    init(_ budget: LineBudget, _ hear: @escaping @Sendable (ErrorPipe.Heard) -> Void) {
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
            // Most of a flood is only counted.
            guard budget.isLeavingOut, let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else { continue }
            let count = bytes[...last].reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
            if budget.leavesOut(count, at: now) { bytes = bytes[(last + 1)...] }
        }
        keep(bytes)
    }

    /// Nothing follows.
    mutating func end() {
        if !rest.isEmpty { say() }
        let count = budget.takeLeftOut()
        if count > 0 { hear(.leftOut(count)) }
    }

    private mutating func keep(_ bytes: ArraySlice<UInt8>) { rest += bytes.prefix(max(0, ErrorPipe.mostBytes - rest.count)) }

    private mutating func say() {
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
