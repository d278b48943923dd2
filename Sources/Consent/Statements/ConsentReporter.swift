// Tells the operator why the consent records do not count, and which consent signals are broken. It reports each change of the ledger's
// state, and each broken member once. A message never shows a value of an event.

public import ConsentGate
public import Ledger
internal import Platform

public struct ConsentReporter: Sendable {
    public let say: @Sendable (String) -> Void
    private let reported = Monitor<Set<ConsentMember>>([])

    public init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    public func tell(_ news: Registry.News) {
        switch news {
        case .damaged(let fault): say("\(fault); until the next start all events that need consent are denied (denied_unreadable)")
        case .clockBehind(let now, let last):
            say(
                "the clock says \(timestamp(now)), but consent was recorded up to \(timestamp(last)): the latest decision cannot be known, so "
                    + "events that need consent are denied (denied_clock) until the clock is right; if it is right already, run "
                    + "switchyard consent clock --believe")
        case .clockRight: say("the clock is no longer behind the consent records, which count again")
        }
    }

    public func tell(broken members: Set<ConsentMember>) {
        guard !members.isEmpty else { return }
        let fresh = reported.withLock { reported in
            defer { reported.formUnion(members) }
            return members.subtracting(reported)
        }
        for member in fresh.sorted() {
            say("an event is denied (denied_broken), since its \(member.path) is not \(member.form); further ones are only counted")
        }
    }
}
