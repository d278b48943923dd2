// The program of a provider. It is started when there is something to say to it. After it has ended, it is started again the next time, but
// not before a pause that doubles with each end without an answer.

internal import PluginKit

struct RestartingProgram {
    private let host: Host
    private let command: [String]
    private let environment: [String]
    private let timeouts: Program.Timeouts
    private let now: @Sendable () -> Instant
    private var program: Program?
    /// How often the program has ended since its last answer. `notBefore` is the earliest time of the next start.
    private var ends = 0
    private var notBefore: Instant?
    private var lastEnd = ""

    init(_ command: [String], _ environment: [String], _ timeouts: Program.Timeouts, host: Host, now: @escaping @Sendable () -> Instant) {
        self.command = command
        self.environment = environment
        self.timeouts = timeouts
        self.host = host
        self.now = now
    }

    /// Gives the events of a batch to the program, and returns its outcome.
    mutating func deliver(_ batch: borrowing Batch, timeout: Int) -> Outcome {
        if let fault = start() { return fault }
        guard let program else { return .retry("the program is not running") }
        let (answers, given, fault) = program.exchange(batch, timeout: timeout)
        assert(fault != nil || answers.count == given, "an event has no answer, and there is no reason")
        if !answers.isEmpty { ends = 0 }
        guard let fault else { return RestartingProgram.outcome(answers, rest: given < batch.count ? .untried : .delivered) }
        end(fault)
        return RestartingProgram.outcome(answers, rest: .unknown(lastEnd))
    }

    /// Gives the message of an erasure to the program, and returns what it says. If the program ends before it has given exactly one valid
    /// answer, nothing is known.
    mutating func erase(_ erasure: Erasure, timeout: Int) -> Erasure.Answer {
        if let fault = start() { return Erasure.Answer(fault) }
        guard let program else { return Erasure.Answer(.retry("the program is not running")) }
        let message = ErasureMessage(erasure)
        let (answer, fault) = program.ask(message.line, timeout: timeout, most: message.mostAnswer, read: message.answer)
        guard let answer, fault == nil else {
            end(fault ?? "gave no answer")
            return Erasure.Answer(.unknown(lastEnd))
        }
        ends = 0
        return answer
    }

    /// Ends the program, if it runs.
    mutating func finish() {
        guard let program else { return }
        // A program that has answered everything may still have data to save.
        if let words = program.finish(timeouts) { host.log(.warning, "the program \(command[0]) \(words)") }
        self.program = nil
    }

    /// Returns the outcome of a batch from the answers, with `rest` for the events without an answer. If the destination is permanently
    /// gone for one event, it is gone for all events after it.
    private static func outcome(_ answers: [Outcome], rest: Outcome) -> Outcome {
        if let gone = answers.firstIndex(where: \.isClosed) {
            return .mixed(rest: answers[gone], events: Array(answers[..<gone].enumerated().map { ($0.offset, $0.element) }))
        }
        if case .delivered = rest {
            let others = answers.enumerated().filter { !$0.element.isDelivered }
            return others.isEmpty ? .delivered : .mixed(rest: .delivered, events: others.map { ($0.offset, $0.element) })
        }
        return answers.isEmpty ? rest : .mixed(rest: rest, events: answers.enumerated().map { ($0.offset, $0.element) })
    }

    /// Starts the program if none is running. Returns nil, or the outcome if the program cannot run.
    private mutating func start() -> Outcome? {
        if let fault = program?.fault {
            end(fault)
        } else if program != nil {
            return nil
        }
        if let notBefore, notBefore > now() {
            return .retry(lastEnd, afterMilliseconds: UInt64((notBefore - now()).nanoseconds / 1_000_000 + 1))
        }
        do throws(SystemFault) {
            program = try Program(command, environment, now: now) { [host] heard in
                ProgramCommand.tell(heard) { host.log($0, $1) }
            }
            return nil
        } catch {
            return .retry(code: Int(error.code), "the program \(command[0]) cannot be started: \(error)")
        }
    }

    private mutating func end(_ fault: String) {
        program = nil
        ends += 1
        lastEnd = "the program \(command[0]) \(fault)"
        notBefore = now() + .milliseconds(min(60_000, 250 << min(ends - 1, 10)))
        host.log(.warning, "\(lastEnd); it is started again when there is something for it")
    }
}

extension Outcome {
    fileprivate var isClosed: Bool { if case .closed = self { true } else { false } }
    fileprivate var isDelivered: Bool { if case .delivered = self { true } else { false } }
}
