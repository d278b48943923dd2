// One step of a transform at work: it sees a scanned event and says what becomes of its bytes. Stages of a route follow one another,
// each on the event as the one before has left it, so that every operation means just what it says. A stage is one worker's.

internal import Events
internal import Expressions
internal import Redaction

/// What a stage may ask besides the event.
struct StageContext {
    var around: EvaluationContext
    /// Tells one event from another.
    var turn: UInt64
    /// How often an expression had no value.
    var errors = 0
}

/// What a stage came to.
enum StageOutcome {
    case unchanged
    /// `replacements` holds what changes.
    case changed
    /// The event was written to the buffer.
    case written
    /// The route does not take the event after all.
    case rejected
}

class Stage {
    let paths: PathTrie
    private var scanner: Scanner
    var replacements = Replacements()

    init(_ paths: PathTrie) {
        self.paths = paths
        scanner = Scanner(paths, depth: Stage.depth)
    }

    /// An event that was let in may be deeper after a step, by as much as a path is long.
    static let depth = Scanner.deepest

    final func scan(_ block: Bytes, _ start: UInt32) -> ScannedEvent? { scanner.scan(block, start) }

    /// What becomes of the event. `out` is empty.
    func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome { .unchanged }

    /// What there is to say of the event before the stage changes it; nil: what it does shows in the event.
    func finding(on event: ScannedEvent, _ around: EvaluationContext) -> StepFinding.Report? { nil }

    /// Why what was last to be scanned is no event.
    final var fault: Fault { scanner.fault }
}

/// What a worker's stages are made from, shared by all workers.
public struct StageRule: Sendable {
    let paths: PathTrie
    /// The operation that it is part of, an index into the route's list; of several that are folded, the last one.
    /// nil: what consent cuts, or what the sample and the session write.
    let step: Int?
    let make: @Sendable () -> Stage
}
