// The provider `exec`: writes events to a program in any language, one per line, and reads one answer line for each event. It promises that
// every event gets its own answer. An invalid answer, an extra answer, or an answer to an event that the program has not read ends the
// program. The events without an answer are then unknown. The same holds for the message that asks the program to erase people, which it gets
// between two batches.

public import PluginKit

final class ExecProvider: Provider, SubjectEraser {
    static let description: Description = {
        var description = Description(
            name: "exec", version: "0.1.0", summary: "Hands events to a program, which answers each with an outcome.",
            settings: [
                "command": .list("the program and its arguments, without a shell; found by PATH", of: .text("")).required,
                "environment": .object(
                    "variables for the program; of the router's own variables it gets PATH, HOME, LANG, TZ and TMPDIR", [:],
                    others: .text("")),
                "timeout": .duration("how long the program may go without an answer while it has events", default: "30s"),
                "erase": .flag(
                    "true if the program knows the message that asks it to erase people; if false, their ids are never given to it",
                    default: false),
            ],
            limits: Description.Limits(events: 10_000), asks: true,
            // No deadline: the program's own timeout applies, since the program can be ended.
            delivery: Description.Delivery(ordered: true, deadline: "0s"))
        description.byHand = byHand
        return description
    }()

    private let timeout: Int
    private let canErase: Bool
    private let turns = Turns()
    private let program: Monitor<RestartingProgram>

    convenience init(settings: Settings, host: Host) throws { try self.init(settings: settings, host: host, now: Clock.system.now) }

    init(
        settings: Settings, host: Host, timeouts: Program.Timeouts = Program.Timeouts(), now: @escaping @Sendable () -> Instant
    ) throws {
        timeout = settings.get("timeout") ?? 30_000
        canErase = settings.get("erase") ?? false
        // Only the first delivery or erasure starts the program.
        let command = try ProgramCommand(settings)
        program = Monitor(RestartingProgram(command.words, command.environment, timeouts, host: host, now: now))
    }

    func deliver(_ batch: borrowing Batch) -> Outcome {
        turns.beginDelivery()
        defer { turns.endDelivery() }
        return program.withLock { $0.deliver(batch, timeout: timeout) }
    }

    func erase(_ erasure: Erasure) -> Erasure.Answer {
        guard canErase else { return .cannot(ExecProvider.byHand) }
        let until = Clock.system.now() + .milliseconds(erasure.deadlineMilliseconds)
        guard turns.beginErasure(until: until) else {
            return Erasure.Answer(.retry("the program was busy with events for the whole time of the call"))
        }
        defer { turns.endErasure() }
        let left = Int(clamping: (until - Clock.system.now()).nanoseconds / 1_000_000)
        // An answer that the router does not wait for would be lost.
        return program.withLock { $0.erase(erasure, timeout: max(1, min(timeout, left))) }
    }

    func close() { program.withLock { $0.finish() } }

    private static let byHand =
        "Erase the ids where the program stores events; or, if it knows the message, set erase, and the provider asks it."
}

@c(switchyard_plugin_entry) public func entry() -> UnsafePointer<switchyard_plugin> { export(ExecProvider.self) }
