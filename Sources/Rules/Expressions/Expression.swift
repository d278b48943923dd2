// CEL, the Common Expression Language, on events. An expression is parsed, checked and compiled once. Then it runs on scanned events,
// where the usual comparisons allocate nothing.
// Every evaluation ends: length, depth, steps and memory are bounded. Protocol-buffer messages are not supported.

public import Events

/// An expression that is parsed, checked and compiled. All threads can share it.
public final class Expression: Sendable {
    public let text: String
    /// The type of its value, as far as the type is known before the expression runs.
    public let type: Type
    /// The paths of the members that it names. The scanner must locate them. An empty path is the whole event.
    public let paths: [Path]
    /// The offset in the text at which it first reads the name of the source. It is nil if it does not read it.
    public let sourceOffset: Int?
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
        sourceOffset = compiler.sourceOffset
        assert(Set(paths).count == paths.count, "a member has two slots")
    }

    /// Compiles a condition. Throws a fault also if the value is known to be neither true nor false.
    public static func condition(
        _ text: String, in environment: Environment = .event, limits: ExpressionLimits = ExpressionLimits()
    ) throws(ExpressionFault) -> Expression {
        let expression = try Expression(text, in: environment, limits: limits)
        guard expression.type == .bool || expression.type == .dyn else {
            throw ExpressionFault("a condition is true or false, but this gives \(expression.type)", at: 0)
        }
        return expression
    }

    /// Compiles an expression whose value is written. Throws a fault also if the value is known to be an optional.
    public static func written(
        _ text: String, in environment: Environment = .event, limits: ExpressionLimits = ExpressionLimits()
    ) throws(ExpressionFault) -> Expression {
        let expression = try Expression(text, in: environment, limits: limits)
        guard expression.type.held == nil else { throw ExpressionFault(Problem.optional.words, at: 0) }
        return expression
    }

    /// Returns the value for these variables, without an event. `steps` are those that several evaluations share.
    public func value(of variables: [String: Value], steps: EventSteps? = nil) -> Result<Value, EvaluationFault> {
        var machine = Machine(limits: limits)
        machine.variables = variables
        machine.eventSteps = steps
        do throws(Failure) {
            return .success(try machine.run(code))
        } catch {
            return .failure(EvaluationFault(error, in: text))
        }
    }
}
