// One step of a transform at run time. A stage reads a scanned event and determines its new bytes. The stages of a route run in order, and
// each reads the event as the preceding one has left it. A stage belongs to one worker.

internal import Events
internal import Expressions
internal import Redaction

/// The data that a stage may use besides the event.
struct StageContext {
    var around: EvaluationContext
    /// The number that identifies the event.
    var turn: UInt64
    /// The number of times that an expression had no value.
    var errors = 0
}

/// The result of a stage.
enum StageOutcome {
    case unchanged
    /// The changes are in `replacements`.
    case changed
    /// The event was written to the buffer.
    case written
    /// The route does not take the event.
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

    /// The deepest nesting that a stage accepts. A step can nest an accepted event deeper, by up to the length of a path.
    static let depth = Scanner.deepest

    final func scan(_ block: Bytes, _ start: UInt32) -> ScannedEvent? { scanner.scan(block, start) }

    /// Returns the steps for reading and writing an event of so many bytes, besides those that the stage itself takes for expressions and
    /// patterns. A usual event takes few: a step covers 256 bytes.
    func steps(toRead bytes: Int) -> Int { bytes >> 8 }

    /// Runs the stage on the event. `out` is empty before the call.
    func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome { .unchanged }

    /// Returns a report on the event before the stage changes it. Returns nil if the changed event shows everything.
    func finding(on event: ScannedEvent, _ around: EvaluationContext) -> StepFinding.Report? { nil }

    /// Returns the branches that the expression of the stage takes. It has none by default.
    func branches(on event: ScannedEvent, _ around: EvaluationContext) -> (path: Path, taken: [TakenBranch])? { nil }

    /// The reason why the last scanned bytes are not a valid event.
    final var fault: Fault { scanner.fault }
}

/// The rule from which each worker makes its own stage. All workers share it.
public struct StageRule: Sendable {
    let paths: PathTrie
    /// The index in the route's list of the operation that it is part of. If several are folded, it is the last of them.
    /// It is nil if the stage drops what consent withholds, or writes the annotation of the sample and the session.
    var step: Int?
    let make: @Sendable () -> Stage

    init(_ paths: PathTrie, _ make: @escaping @Sendable () -> Stage) {
        self.paths = paths
        self.make = make
    }
}
