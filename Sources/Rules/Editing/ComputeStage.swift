// Sets one member, for `set` with an expression and for `default`. If the expression has no value, the event stays as it is and the error
// is counted.

internal import Events
internal import Expressions
internal import Redaction

final class ComputeStage: Stage {
    private let path: MemberPath
    private let wanted: Path
    private let json: [UInt8]
    private let hasExpression: Bool
    private var evaluator: Evaluator
    private let onlyWhereLacking: Bool
    private var value = ByteBuffer()

    /// Returns the rule of the stage that sets one member.
    static func rule(_ member: (path: Path, value: ComputedValue), onlyWhereLacking: Bool, _ resources: StepResources) -> StageRule {
        let paths = PathTrie([member.path] + member.value.readPaths)
        let set: ExpressionSet? =
            if case .expression(let expression) = member.value { ExpressionSet([expression], paths: paths) } else { nil }
        let (path, value, sources) = (member.path, member.value, resources.sources)
        return StageRule(paths) {
            ComputeStage(paths, path: path, value: value, set: set, onlyWhereLacking: onlyWhereLacking, sources: sources)
        }
    }

    private init(
        _ paths: PathTrie, path: Path, value: ComputedValue, set: ExpressionSet?, onlyWhereLacking: Bool, sources: [String]
    ) {
        self.path = MemberPath(path, in: paths)
        wanted = path
        json = if case .json(let text) = value { Constant(json: text).json } else { [] }
        hasExpression = set != nil
        evaluator = Evaluator(set ?? ExpressionSet([], paths: paths), sources: sources)
        self.onlyWhereLacking = onlyWhereLacking
        super.init(paths)
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        let slot = event.slot(path)
        if isSpared(slot, event) { return .unchanged }
        value.removeAll()
        if hasExpression {
            guard evaluator.write(0, event: event, around: context.around, to: &value) else {
                context.errors += 1
                return .unchanged
            }
        } else {
            json.withUnsafeBytes { value.append(contentsOf: $0) }
        }
        replacements.removeAll()
        Place(path, event).put({ $0.put(Bytes(value.base), value.count) }, at: path, in: &replacements)
        return .changed
    }

    private func isSpared(_ slot: Slot, _ event: ScannedEvent) -> Bool {
        onlyWhereLacking && slot.isPresent && event.block[Int(slot.start)] != UInt8(ascii: "n")
    }

    override func finding(on event: ScannedEvent, _ around: EvaluationContext) -> StepFinding.Report? {
        guard hasExpression, !isSpared(event.slot(path), event) else { return nil }
        return evaluator.fault(0, event: event, around: around).map { .erred(wanted, $0) }
    }

    override func branches(on event: ScannedEvent, _ around: EvaluationContext) -> (path: Path, taken: [TakenBranch])? {
        guard hasExpression, !isSpared(event.slot(path), event) else { return nil }
        return (wanted, evaluator.takenBranches(0, isCondition: false, event: event, around: around))
    }
}
