// Asks a source that was not started whether it can connect, and how far it is behind. What it answers is foreign: texts are bounded, masked
// and escaped.

internal import CSwitchyardPlugin
internal import Ingest
internal import Platform

/// What a source has found out.
public struct SourceFinding: Sendable {
    public var finding: ProbeFinding
    /// How far it is behind. A value is nil if it has not said it.
    public var eventsBehind: UInt64?
    public var timeBehind: Duration?
    /// False if the module is still in its call, so that it cannot be closed.
    public var hasReturned: Bool
}

extension SourceInstance {
    /// Returns within the time and a second, even if the module does not return. It returns nil if the module cannot be asked.
    public func probe(within time: Duration) -> SourceFinding? { probe(within: time, clock: .system) }

    func probe(within time: Duration, clock: Clock) -> SourceFinding? {
        guard let probe = table.probe else { return nil }
        let notes = ProbeNotes()
        connect(notes)
        let answer = ProbeAnswer(hidden: callbacks.hidden)
        let hasReturned = Monitor(false)
        // A module that does not return keeps this thread, and the answer, for ever.
        Thread.start("probe") { [self] in
            let context = Unmanaged.passRetained(answer)
            visitor.during(.inquire) {
                probe(handle, UInt64(clamping: time.nanoseconds / 1_000_000), context.toOpaque()) { context, kind, code, message in
                    guard let context else { return }
                    Unmanaged<ProbeAnswer>.fromOpaque(context).takeUnretainedValue().take(kind, code, message)
                }
            }
            hasReturned.withLock { $0 = true }
            hasReturned.wake()
            answer.put(ProbeFinding(.failed, "the module gave no answer"))
            context.release()
        }.detach()
        let until = clock.now() + time + .seconds(1)
        let finding = answer.wait(until: until, clock)
        let returned: Bool = hasReturned.waitUntilReady { hasReturned in
            hasReturned || clock.now() >= until ? .ready(hasReturned) : .notBefore(until)
        }
        let (events, late) = notes.behind
        return SourceFinding(finding: finding, eventsBehind: events, timeBehind: late, hasReturned: returned)
    }
}

/// What a module reports while it is asked. It may hand over nothing.
private final class ProbeNotes: SourceReceiver {
    private struct State {
        var events: UInt64?
        var time: Duration?
    }
    private let state = Monitor(State())

    var behind: (UInt64?, Duration?) { state.withLock { ($0.events, $0.time) } }

    func take(_ block: RawSourceBlock) -> BlockVerdict { .closing }
    func note(behind events: UInt64?, _ time: Duration?) { state.withLock { ($0.events, $0.time) = (events, time) } }
    func note(_ state: SourceState, _ message: String) {}
    func end(_ message: String) {}
}
