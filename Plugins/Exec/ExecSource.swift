// The source `exec`: the lines that a program writes to its standard output are events. The program reads on its standard input how far they
// are safe: for each advance, the number of the last line such that it and all lines before it have come to their end.
//
// It promises that a number is written only after the router has acknowledged every line up to it. Lines are counted from 1 since the start
// of the program, blank ones too. A program that ends with code 0 has no more events. After any other end it is started again, and the
// numbers begin again at 1; a program that must not lose lines writes those again that were not acknowledged.

internal import Glibc
public import PluginKit

final class ExecSource: Source {
    static let sourceDescription = SourceDescription(
        name: "exec", version: "0.1.0", summary: "Runs a program whose lines are events, and tells it which of them are safe.",
        settings: [
            "command": .list("the program and its arguments, without a shell; found by PATH", of: .text("")).required,
            "environment": .object(
                "variables for the program; of the router's own variables it gets PATH, HOME, LANG, TZ and TMPDIR", [:], others: .text("")),
        ])

    private let host: SourceHost
    private let command: ProgramCommand
    private let timeouts: Program.Timeouts
    private let gate: SourceGate
    private let stopped: WakeUp
    private struct State {
        var program: SourceProgram?
        var isReading = false
    }
    private let state = Monitor(State())

    convenience init(settings: Settings, host: SourceHost) throws {
        try self.init(settings: settings, host: host, timeouts: Program.Timeouts(afterInput: .seconds(1), afterTerminate: .seconds(4)))
    }

    init(settings: Settings, host: SourceHost, timeouts: Program.Timeouts) throws {
        self.host = host
        self.timeouts = timeouts
        command = try ProgramCommand(settings)
        gate = SourceGate(host)
        do throws(SystemFault) {
            stopped = try WakeUp()
        } catch {
            throw SettingsFault("the source cannot be made: \(error)")
        }
    }

    func start() {
        state.withLock { $0.isReading = true }
        Thread.start("exec source") {
            self.run()
            self.state.withLock { $0.isReading = false }
            self.state.wake()
        }.detach()
    }

    func pause() { gate.pause() }
    func resume() { gate.resume() }

    func acknowledge(_ tokens: [UInt64]) { state.withLock { $0.program }?.acknowledge(tokens) }

    func stop(withinMilliseconds time: Int) {
        gate.stop()
        stopped.raise()
        let until = Clock.system.now() + .milliseconds(time)
        state.waitUntilReady { state in
            !state.isReading || Clock.system.now() >= until ? .ready(()) : .notBefore(until)
        }
    }

    func close() {
        stop(withinMilliseconds: 60_000)
        guard let words = state.withLock({ $0.program })?.finish(timeouts) else { return }
        host.log(.warning, "the program \(command.name) \(words)")
    }

    // MARK: - The thread

    private func run() {
        var ends = 0
        // The numbers of the blocks of all programs, so that an acknowledgement of an earlier program is recognized.
        var lastToken: UInt64 = 0
        while !gate.isStopped {
            let end = runOnce(&lastToken)
            if case .stopped = end { return }
            if case .finished = end {
                return host.ended("the program \(command.name) ended with code 0")
            }
            guard case .failed(let words, let hasWritten) = end else { return }
            ends = hasWritten ? 1 : ends + 1
            let pause = Duration.milliseconds(min(60_000, 250 << min(ends - 1, 10)))
            host.state(.connecting, "\(words); it is started again in \(pause.nanoseconds / 1_000_000) ms")
            guard gate.wait(until: Clock.system.now() + pause) else { return }
        }
    }

    private enum End {
        case stopped
        /// It has ended with code 0.
        case finished
        case failed(String, hasWritten: Bool)
    }

    private func runOnce(_ lastToken: inout UInt64) -> End {
        let program: SourceProgram
        do throws(SystemFault) {
            program = try SourceProgram(command, mostLine: host.mostLine, stopped: stopped) { [host] in
                ProgramCommand.tell($0) { host.log($0, $1) }
            }
        } catch {
            return .failed("the program \(command.name) cannot be started: \(error)", hasWritten: false)
        }
        state.withLock { $0.program = program }
        host.state(.connected, "the program \(command.name) runs")
        while true {
            switch program.next(token: lastToken + 1) {
            case .block(let block):
                lastToken += 1
                // A block that is refused is not acknowledged. The kit makes none that breaks a rule.
                guard gate.submit(block) == .taken else { return .stopped }
            case .stopped: return .stopped
            case .ended(let words):
                return words.map { .failed("the program \(command.name) \($0)", hasWritten: program.hasWritten) } ?? .finished
            }
        }
    }
}

@c(switchyard_source_entry) public func sourceEntry() -> UnsafePointer<switchyard_source> { export(source: ExecSource.self) }
