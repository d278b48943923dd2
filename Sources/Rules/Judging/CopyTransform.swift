// Runs the transform of a route that needs more than splices, before the verdict, because a step may withhold the event. It keeps the result
// until the copy is written.

internal import Editing
internal import Events
internal import Expressions

struct CopyTransform: ~Copyable {
    private var transformer: Transformer
    /// The result of the program that ran last. It is nil if the program withheld the event.
    private(set) var made: Transformer.Made?
    /// The number of times that an expression had no value, since `takeErrors`.
    private var errors = 0
    /// The steps that were left for the event before the program that ran last.
    private var stepsBefore: EventSteps.Left?
    /// The findings of the steps of the present route. They are collected only in a trial.
    var findings: [StepFinding] = []
    /// The branches that the expressions of the present route took. They are collected only in a trial.
    var branches: [StepBranches] = []

    init(_ ruleset: Ruleset) { transformer = Transformer(ruleset.stages, ruleset.programs) }

    /// Runs a program. Returns false if it withholds the event.
    mutating func run(_ program: Int, _ event: ScannedEvent, context: borrowing EventContext) -> Bool {
        stepsBefore = context.steps.left
        if context.isTrial {
            findings = trace(program, event, context: context)
            branches = transformer.branches
        }
        made = transformer.run(program, event: event, around: context.around, turn: context.turn)
        errors = transformer.errors
        return made != nil
    }

    /// Returns why the program that ran last could not edit the event. Returns nil if a step decided to withhold it.
    mutating func fault(_ edit: Int, _ event: ScannedEvent, context: borrowing EventContext) -> String? {
        guard let program = EditVariants.program(of: edit) else { return nil }
        switch trace(program, event, context: context).last?.report {
        case .broken(let fault): return fault.message
        case .unread: return "its transform takes more steps than the event may take"
        case .found, .erred, .unsearched, nil: return nil
        }
    }

    /// Returns the findings of a program. Takes none of the steps of the event.
    private mutating func trace(_ program: Int, _ event: ScannedEvent, context: borrowing EventContext) -> [StepFinding] {
        let stepsLeft = context.steps.left
        defer { context.steps.left = stepsLeft }
        if let stepsBefore { context.steps.left = stepsBefore }
        return transformer.trace(program, event: event, around: context.around, turn: context.turn)
    }

    /// Returns the number of times that an expression had no value, and forgets it.
    @inline(__always) mutating func takeErrors() -> Int {
        guard errors > 0 else { return 0 }
        defer { errors = 0 }
        return errors
    }
}
