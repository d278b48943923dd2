// The facts about the event that is judged at present, and the readers that all stages of all routes share. A name is decoded at most once
// for an event. It remembers nothing of earlier events except their number.

internal import Events
internal import Expressions
internal import Matching

struct EventContext: ~Copyable {
    /// The number of the present event. A cached answer is used only if it has this number.
    private(set) var turn: UInt64 = 0
    /// The time at which the present event came, and its source.
    private(set) var around = EvaluationContext(now: 0)
    /// True if nothing of the event is remembered, so that it does not change the verdicts on later events.
    var isTrial = false
    var name = EventName()
    let nameSlot: Int
    var decoder = Decoder()
    var evaluator: Evaluator
    /// The steps that the expressions and masks of the present event may still take.
    let steps = EventSteps()

    init(_ conditions: ExpressionSet, sources: [String], nameSlot: Int) {
        evaluator = Evaluator(conditions, sources: sources)
        self.nameSlot = nameSlot
    }

    deinit { steps.destroy() }

    /// Begins with another event.
    @inline(__always) mutating func begin(_ arrival: Int64, _ source: Int) {
        steps.begin()
        around = EvaluationContext(now: arrival, source: source, steps: steps)
        turn &+= 1
        assert(turn != 0, "0 is the turn of no event")
        name.forget()
    }

    /// Begins with the rules of `emit`, which have as many steps as all routes together.
    func beginEmit() { steps.begin() }

    /// Returns the name of the event, or nil if it has none.
    @inline(__always) mutating func readName(_ event: ScannedEvent) -> ByteRun? { name.read(event, slot: nameSlot) }

    mutating func isNamed(_ globs: Globs, _ event: ScannedEvent) -> Bool { readName(event).map(globs.match) ?? false }

    /// Decides whether the ruleset's expression with this index holds for the event.
    @inline(__always) mutating func decide(_ condition: Int, _ event: ScannedEvent) -> Truth {
        evaluator.decide(condition, event: event, around: around)
    }

    /// Returns the decision with its reasons. It takes the steps that the condition itself takes, so that a second condition of the rule has
    /// what it had. If too few are left, that is the reason.
    mutating func decision(_ condition: Int, _ event: ScannedEvent) -> Evaluator.Decision {
        let isStarved = decide(condition, event) == .error && steps.available == 0
        var around = around
        if !isStarved { around.steps = nil }
        return evaluator.decision(condition, event: event, around: around)
    }
}
