// The provider `exec`: writes events to a program in any language, one per line, and reads one answer line for each event. It promises that
// every event gets its own answer. An invalid answer, an extra answer, or an answer to an event that the program has not read ends the
// program. The events without an answer are then unknown.

internal import Glibc
public import PluginKit

final class ExecProvider: Provider {
    static let description = Description(
        name: "exec", version: "0.1.0", summary: "Hands events to a program, which answers each with an outcome.",
        settings: [
            "command": .list("the program and its arguments, without a shell; found by PATH", of: .text("")).required,
            "environment": .object(
                "variables for the program; of the router's own variables it gets PATH, HOME, LANG, TZ and TMPDIR", [:], others: .text("")),
            "timeout": .duration("how long the program may go without an answer while it has events", default: "30s"),
        ],
        limits: Description.Limits(events: 10_000), asks: true,
        // No deadline: the program's own timeout applies, since the program can be ended.
        delivery: Description.Delivery(ordered: true, deadline: "0s"))

    private let host: Host
    private let command: [String]
    private let environment: [String]
    private let timeout: Int
    private let now: @Sendable () -> Instant
    private let timeouts: Program.Timeouts
    private var program: Program?
    /// How often the program has ended since its last answer. `notBefore` is the earliest time of the next start.
    private var ends = 0
    private var notBefore: Instant?
    private var lastEnd = ""

    convenience init(settings: Settings, host: Host) throws { try self.init(settings: settings, host: host, now: Clock.system.now) }

    init(
        settings: Settings, host: Host, timeouts: Program.Timeouts = Program.Timeouts(), now: @escaping @Sendable () -> Instant
    ) throws {
        self.host = host
        self.now = now
        self.timeouts = timeouts
        command = try settings.require("command")
        timeout = settings.get("timeout") ?? 30_000
        guard let name = command.first, !name.isEmpty else { throw SettingsFault("'command' must name a program") }
        let own = settings.get("environment", as: Settings.self)
        let names = own?.names ?? []
        if let bad = names.first(where: { $0.isEmpty || $0.contains("=") || $0.utf8.contains(0) }) {
            throw SettingsFault("'environment' cannot hold a variable with the name '\(bad)'")
        }
        guard !(command + names.map { own?.get($0) ?? "" }).contains(where: { $0.utf8.contains(0) }) else {
            throw SettingsFault("'command' and the values of 'environment' must not contain the character U+0000")
        }
        environment = Process.cleanEnvironment(names.map { ($0, own?.get($0) ?? "") })
        // `switchyard check` also makes an instance, so only the first delivery starts the program.
        do throws(SystemFault) {
            _ = try Process.find(name)
        } catch {
            throw SettingsFault("the program \(name) cannot be started: \(error)")
        }
    }

    func deliver(_ batch: borrowing Batch) -> Outcome {
        if let fault = start() { return fault }
        guard let program else { return .retry("the program is not running") }
        let (answers, given, fault) = program.exchange(batch, timeout: timeout)
        assert(fault != nil || answers.count == given, "an event has no answer, and there is no reason")
        if !answers.isEmpty { ends = 0 }
        guard let fault else { return ExecProvider.outcome(answers, rest: given < batch.count ? .untried : .delivered) }
        end(fault)
        return ExecProvider.outcome(answers, rest: .unknown(lastEnd))
    }

    func close() {
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

    /// Starts the program if none is running. Returns nil, or the outcome of the batch if the program cannot run.
    private func start() -> Outcome? {
        if let fault = program?.fault {
            end(fault)
        } else if program != nil {
            return nil
        }
        if let notBefore, notBefore > now() {
            return .retry(lastEnd, afterMilliseconds: UInt64((notBefore - now()).nanoseconds / 1_000_000 + 1))
        }
        do throws(SystemFault) {
            program = try Program(command, environment, now: now) { [host] heard in ExecProvider.tell(heard, host) }
            return nil
        } catch {
            return .retry(code: Int(error.code), "the program \(command[0]) cannot be started: \(error)")
        }
    }

    /// Logs what the program writes to standard error. The router makes each line safe to show, masks secrets in it, and adds the
    /// provider's name.
    private static func tell(_ heard: ErrorPipe.Output, _ host: Host) {
        switch heard {
        case .line(let bytes): host.log(.information, String(decoding: bytes, as: UTF8.self))
        case .tooMany(let most):
            host.log(.warning, "writes more than \(most) lines a second to standard error; the others are left out and counted")
        case .leftOut(let count): host.log(.warning, "\(grouped(count)) lines of its standard error were left out")
        }
    }

    private func end(_ fault: String) {
        program = nil
        ends += 1
        lastEnd = "the program \(command[0]) \(fault)"
        notBefore = now() + .milliseconds(min(60_000, 250 << min(ends - 1, 10)))
        host.log(.warning, "\(lastEnd); it is started again when there is something to deliver")
    }
}

extension Outcome {
    fileprivate var isClosed: Bool { if case .closed = self { true } else { false } }
    fileprivate var isDelivered: Bool { if case .delivered = self { true } else { false } }
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(ExecProvider.self) }
