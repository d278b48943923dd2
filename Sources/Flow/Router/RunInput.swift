// The sources of a run as its workers see them: standard input alone, or the inbox that listeners, followed files and standard input fill.

internal import Ingest
internal import Plans
internal import Platform
internal import Workers

struct RunInput: Sendable {
    /// The sources and the limit of a line. They are the same in all plans of the run.
    let sources: [SourcePlan]
    let lineLimit: Int
    /// The inbox. It is nil if standard input is the only source.
    let inbox: Inbox?
    let sequencer: Sequencer<Inflow>
    let activity: SourceActivity
    let stop: SourceStop
    private let options: RouterOptions

    init(_ plan: Plan, options: RouterOptions) {
        self.options = options
        sources = plan.sources
        lineLimit = plan.limits.line
        let activity = SourceActivity()
        let onPause: @Sendable (Bool) -> Void = { isPaused in isPaused ? activity.waitBegins() : activity.waitEnds() }
        let inbox = plan.readsOnlyInput ? nil : Inbox(limits: options.inbox, clock: options.clock, onPause: onPause)
        let stop = SourceStop(inbox)
        sequencer = Sequencer(
            inbox.map { Inflow($0) }
                ?? Inflow(RunInput.reader(options, lineLimit: plan.limits.line, stop: stop.wakeUp, onPause: onPause)))
        self.activity = activity
        self.inbox = inbox
        self.stop = stop
    }

    private static func reader(
        _ options: RouterOptions, lineLimit: Int, stop: WakeUp, onPause: @escaping @Sendable (Bool) -> Void = { _ in }
    ) -> LineReader {
        LineReader(descriptor: options.input, lineLimit: lineLimit, blockSize: options.blockSize, stop: stop, onPause: onPause)
    }

    /// The index of the source that is standard input. It is nil if there is none.
    var inputSource: Int? { sources.firstIndex { $0.isInput } }
    var inputName: String { inputSource.map { sources[$0].name } ?? "stdin" }

    /// Starts the threads that feed the inbox, if there are sources other than standard input. `ended` gets the last intake of standard
    /// input.
    func start(ended: @escaping @Sendable (Intake) -> Void) -> [ThreadHandle] {
        guard let inbox else { return [] }
        var threads = [ThreadHandle(Thread.start("inbox") { inbox.keepWatch() })]
        guard let source = inputSource else { return threads }
        inbox.join()
        let feeder = Feeder(inbox: inbox, source: source, ended: ended)
        threads.append(
            ThreadHandle(
                Thread.start("input") { [options, lineLimit, stop] in
                    feeder.run(RunInput.reader(options, lineLimit: lineLimit, stop: stop.wakeUp))
                }))
        return threads
    }
}

/// Makes all sources of a run stop reading.
final class SourceStop: Sendable {
    let wakeUp: WakeUp
    /// This reference is weak, since the inbox tells the lanes when it waits, and the lanes report to objects that hold this one.
    private weak let inbox: Inbox?

    /// `inbox` is nil if standard input is the only source.
    init(_ inbox: Inbox?) {
        self.inbox = inbox
        do throws(SystemFault) {
            wakeUp = try WakeUp()
        } catch {
            // A router is made only once, before it has taken any event.
            fatalError("a router cannot be made: \(error)")
        }
    }

    func raise() {
        wakeUp.raise()
        inbox?.close()
    }
}

/// Keeps a thread that is joined later.
final class ThreadHandle {
    private var thread: Thread?

    init(_ thread: consuming Thread) { self.thread = consume thread }

    func join() {
        precondition(thread != nil, "a thread is joined twice")
        thread.take()?.join()
    }
}
