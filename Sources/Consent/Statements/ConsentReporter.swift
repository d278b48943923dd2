// What a person should know of consent while the router runs: why what is on record does not count, and which signals are broken. Each is
// said once, with the way out and never with a value.

public import ConsentGate
public import Ledger
internal import Platform

public struct ConsentReporter: Sendable {
    public let say: @Sendable (String) -> Void
    private let told = Monitor<Set<ConsentMember>>([])

    public init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    public func tell(_ news: Registry.News) {
        switch news {
        case .damaged(let fault): say("\(fault); until the next start all of it is denied (denied_unreadable)")
        case .clockBehind(let now, let last):
            say(
                "the clock says \(timestamp(now)), and what is on record of consent was written up to \(timestamp(last)): nobody can tell "
                    + "what was said last, so what needs consent is denied (denied_clock) until the clock is right; if it is, say "
                    + "switchyard consent clock --believe")
        case .clockRight: say("the clock is no longer behind what is on record of consent, which counts again")
        }
    }

    public func tell(broken members: Set<ConsentMember>) {
        guard !members.isEmpty else { return }
        let fresh = told.withLock { told in
            defer { told.formUnion(members) }
            return members.subtracting(told)
        }
        for member in fresh.sorted(by: { $0.rawValue < $1.rawValue }) {
            say("an event is denied (denied_broken), since its \(member.path) is not \(member.form); further ones are only counted")
        }
    }
}
