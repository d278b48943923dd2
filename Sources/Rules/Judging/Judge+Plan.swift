// The part of the judge for the tracking plan. The plan looks at an event when the first route would take it, after consent and the sample: an
// event that is denied is never looked at. Its answer holds for all routes. Copies of rejected events are collected for the dead letters.

public import Admission
internal import ConsentGate
internal import Events
internal import TrackingPlans

/// Copies of events that the tracking plan rejects for the same reason, for the dead letters of one provider.
public final class RejectedEvents {
    /// The index of the provider in the plan.
    public let provider: Int
    public let reason: String
    /// The rule that they violate.
    public let rule: String
    var parcel = Parcel()

    init(provider: Int, reason: String, rule: String) {
        (self.provider, self.reason, self.rule) = (provider, reason, rule)
    }

    /// Returns the events. It is called once.
    public func take() -> Batch {
        var events = Parcel()
        swap(&events, &parcel)
        return Batch(events)
    }
}

extension Judge {
    /// The most reasons that are told apart in a block. Beyond them, a reason names the rule without the place.
    static let mostReasons = 32

    @inline(__always) mutating func beginPlan() {
        if plan != nil { plan!.begin() }
    }

    /// Returns what the plan says about the event.
    @inline(never) mutating func checkPlan(_ event: ScannedEvent) -> PlanStage.Answer {
        assert(plan != nil, "an event is checked without a plan")
        return plan!.check(event, name: context.readName(event))
    }

    /// Returns what the plan found in the present event.
    var planFinding: PlanFinding? { mutating get { plan == nil ? nil : plan!.currentFinding() } }

    /// Returns what is done with the event because it violates the plan. It returns this once for an event.
    @inline(__always) mutating func takeAction() -> ViolationAction? { plan == nil ? nil : plan!.takeAction() }

    /// Keeps the copy for the dead letters of the route's providers.
    @inline(never) mutating func reject(_ copy: consuming RouteCopy, event: ScannedEvent, arrival: Int64) {
        guard let violation = planFinding?.violation else { preconditionFailure("an event is rejected without a reason") }
        let note = Parcel.Note(
            route: rules.routes[copy.route].number, isImmediate: false, arrival: arrival, subjects: gate.subjects(of: event))
        for provider in rules.routes[copy.route].providers {
            copies.append(copy, note, to: group(provider, violation), turn: context.turn)
        }
    }

    private mutating func group(_ provider: Int, _ violation: PlanViolation) -> RejectedEvents {
        let words = rejected.count < Judge.mostReasons ? violation.text : violation.rule
        let reason = "violates the tracking plan: \(words)"
        if let known = rejected.first(where: { $0.provider == provider && $0.reason == reason }) { return known }
        rejected.append(RejectedEvents(provider: provider, reason: reason, rule: violation.rule))
        return rejected[rejected.count - 1]
    }
}
