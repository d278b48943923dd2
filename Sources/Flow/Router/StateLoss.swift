// Records that the state folder of a running router is gone. Only the first report has an effect: it is logged in one line with advice, and
// it makes the router take no more events.

internal import Platform

final class StateLoss: Sendable {
    private let state = Monitor<StorageFault?>(nil)
    private let say: @Sendable (String) -> Void
    private let leave: @Sendable () -> Void

    /// `leave` makes the router take no more events. It is called once.
    init(say: @escaping @Sendable (String) -> Void, leave: @escaping @Sendable () -> Void) {
        self.say = say
        self.leave = leave
    }

    /// The reported fault. It is nil if everything is in its place.
    var fault: StorageFault? { state.withLock { $0 } }

    func report(_ fault: StorageFault) {
        let isFirst = state.withLock { first in
            guard first == nil else { return false }
            first = fault
            return true
        }
        guard isFirst else { return }
        say(
            "\(fault): nothing more is taken, and the router ends; what it cannot deliver until then is lost. If it was moved, move it "
                + "back before the next start; a router that is started now begins with an empty folder")
        leave()
    }
}
