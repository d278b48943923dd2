import Events
import Expressions
import Testing

/// Returns the type and the JSON of the value, or the error, or the fault.
func outcome(of text: String, variables: [String: Value] = [:], isChecked: Bool = true) -> String {
    let environment = Environment(.declared(variables.mapValues { _ in Type.dyn }), isChecked: isChecked)
    do {
        switch try Expression(text, in: environment).value(of: variables) {
        case .success(let value): return "\(value.typeName) \(value.json ?? "too deep")"
        case .failure(let fault): return "error: \(fault)"
        }
    } catch {
        return "fault at \(error.offset): \(error)"
    }
}

/// An event with its block and its scanner, which keep it valid.
final class ScannedLine {
    private var block = Block()
    private var scanner: Scanner
    let event: ScannedEvent

    init(_ text: String, _ paths: PathTrie) throws {
        block.text.append(text)
        block.seal()
        scanner = Scanner(paths)
        event = try #require(ScannedLine.scan(&scanner, block.bytes))
    }

    private static func scan(_ scanner: inout Scanner, _ bytes: Bytes) -> ScannedEvent? { scanner.scan(bytes, 0) }
}

struct OnEvent {
    var truth: Truth
    /// The value as JSON, or the error.
    var value: String
    var decision: Evaluator.Decision
}

func evaluate(_ text: String, on event: String, now: Int64 = 0, sources: [String] = ["stdin"]) throws -> OnEvent {
    let expression = try Expression(text)
    let paths = PathTrie(expression.paths)
    let line = try ScannedLine(event, paths)
    var evaluator = Evaluator(ExpressionSet([expression], paths: paths), sources: sources)
    let around = EvaluationContext(now: now)
    let truth = evaluator.decide(0, event: line.event, around: around)
    let value: String
    switch evaluator.value(0, event: line.event, around: around) {
    case .success(let found): value = found.json ?? "too deep"
    case .failure(let fault): value = "error: \(fault)"
    }
    return OnEvent(truth: truth, value: value, decision: evaluator.decision(0, event: line.event, around: around))
}

/// Returns the fault of a condition with its offset. It is nil if there is none.
func fault(_ text: String) -> String? {
    do {
        _ = try Expression.condition(text)
        return nil
    } catch {
        return "\(error.offset): \(error)"
    }
}
