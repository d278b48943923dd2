// The stage of the plan for a judge: it checks an event at most once, when the first route would take it, and keeps the answer for the other
// routes. If the plan removes members or marks the event, it holds the changed copy, which all routes then edit instead of the original.

public import Events

/// What the plan says about an event.
public struct PlanFinding: Sendable, Equatable {
    public var violation: PlanViolation
    /// What happens: `strip` is `reject` if the members that can be removed do not suffice.
    public var action: ViolationAction
}

public struct PlanStage: ~Copyable {
    public enum Answer {
        /// The routes take this event: the original, or a changed copy that is valid until the next event.
        case passes(ScannedEvent)
        case rejected
    }

    /// The most members that are removed from one event.
    static let mostRemovals = 32

    private var checker: PlanChecker
    private var editor: ViolationEditor
    private var answer: Answer?
    /// What the plan found in the present event. It is nil if it satisfies the plan or was not checked.
    public private(set) var finding: PlanFinding?
    /// True if the finding is not counted yet.
    private var isNew = false

    /// `depth` is the number of levels that an event may have.
    public init(_ plan: TrackingPlan, _ paths: PathTrie) {
        checker = PlanChecker(plan, paths)
        editor = ViolationEditor(paths)
    }

    /// Begins with another event.
    @inline(__always) public mutating func begin() {
        if answer != nil {
            answer = nil
            finding = nil
            isNew = false
        }
    }

    /// Returns the answer for the present event. `name` is its name, decoded. The event is checked only at the first call.
    @inline(__always) public mutating func check(_ event: ScannedEvent, name: ByteRun?) -> Answer {
        if let answer { return answer }
        let new: Answer =
            if let found = checker.check(event, name: name) { treat(event, found, name: name) } else { .passes(event) }
        answer = new
        return new
    }

    /// Returns the finding. A judge can call only mutating functions of a stage that it may not have.
    public mutating func currentFinding() -> PlanFinding? { finding }

    /// Returns what is done with the violation of the event, once.
    public mutating func takeAction() -> ViolationAction? {
        guard isNew else { return nil }
        isNew = false
        return finding?.action
    }

    @inline(never) private mutating func treat(_ event: ScannedEvent, _ found: FoundViolation, name: ByteRun?) -> Answer {
        isNew = true
        finding = PlanFinding(violation: found.violation, action: found.action)
        switch found.action {
        case .count: return .passes(event)
        case .reject: return .rejected
        case .mark:
            if let marked = editor.mark(event, found.violation.text) { return .passes(marked) }
        case .strip:
            if let stripped = strip(event, found, name: name) { return .passes(stripped) }
        }
        // The event cannot be changed as the plan demands.
        finding?.action = .reject
        return .rejected
    }

    /// Removes the offending members, one after the other. Returns nil if the event still violates the plan.
    private mutating func strip(_ event: ScannedEvent, _ first: FoundViolation, name: ByteRun?) -> ScannedEvent? {
        var (event, found) = (event, first)
        for _ in 0..<PlanStage.mostRemovals {
            guard let member = found.member, let changed = editor.remove(member, from: event) else { return nil }
            event = changed
            guard let next = checker.check(event, name: name) else { return event }
            found = next
        }
        return nil
    }
}
