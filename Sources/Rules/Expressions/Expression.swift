// CEL, the Common Expression Language, over events. An expression is read, checked and made ready once, and then run on
// scanned events, where it builds nothing for the usual comparisons.
// It promises to end: length, depth, steps and memory are bounded. It has no protocol-buffer messages.

public import Events

/// A text that has been read, checked and compiled. Shared by all threads.
public final class Expression: Sendable {
    public let text: String
    /// What it gives, as far as that is known before it runs.
    public let type: Type
    /// The members that it names; the scanner must locate them. An empty path is the whole event.
    public let paths: [Path]
    let code: Code
    let limits: ExpressionLimits

    public init(
        _ text: String, in environment: Environment = .event, limits: ExpressionLimits = ExpressionLimits()
    ) throws(ExpressionFault) {
        self.text = text
        self.limits = limits
        let node = try Parser.parse(text, limits: limits)
        var checker = Checker(environment)
        type = try checker.check(node)
        var compiler = Compiler(environment)
        code = try compiler.compile(node)
        paths = compiler.paths
    }

    /// One that decides: true or false. A text whose value is known to be another is refused.
    public static func condition(_ text: String, limits: ExpressionLimits = ExpressionLimits()) throws(ExpressionFault) -> Expression {
        let expression = try Expression(text, limits: limits)
        guard expression.type == .bool || expression.type == .dyn else {
            throw ExpressionFault("a condition is true or false, but this gives \(expression.type)", at: 0)
        }
        return expression
    }

    /// Its value with these variables, without an event.
    public func value(of variables: [String: Value]) -> Result<Value, EvaluationFault> {
        var machine = Machine(limits: limits)
        machine.variables = variables
        do throws(Failure) {
            return .success(try machine.run(code))
        } catch {
            return .failure(EvaluationFault(error, in: text))
        }
    }
}
