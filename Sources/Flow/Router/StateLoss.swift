// Records that the state folder of a running router is gone. Only the first report has an effect: it is logged in one line with advice, and
// it makes the router take no more events.

internal import Platform

final class StateLoss: Sendable {
    private struct State {
        var fault: StorageFault?
        var leave: (@Sendable () -> Void)?
    }
    private let state = Monitor(State())
    private let say: @Sendable (String) -> Void

    init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    /// The reported fault. It is nil if everything is in its place.
    var fault: StorageFault? { state.withLock { $0.fault } }

    /// Calls `leave` once, as soon as a fault is reported.
    func onFirst(_ leave: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.leave = leave
            return state.fault != nil
        }
        if isLate { leave() }
    }

    func tell(_ fault: StorageFault) {
        let (isFirst, leave) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard state.fault == nil else { return (false, nil) }
            state.fault = fault
            return (true, state.leave)
        }
        guard isFirst else { return }
        say(
            "\(fault): nothing more is taken, and the router ends; what it cannot deliver until then is lost. If it was moved, move it "
                + "back before the next start; a router that is started now begins with an empty folder")
        leave?()
    }
}
