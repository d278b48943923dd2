// The forms of expressions. An expression is compiled when it is read, so that a fault points at its place inside the string.

public import Document
public import Expressions

public enum ExpressionForms {
    /// An expression that gives true or false.
    public static let condition = Form<Expression>(schema) { node, reading in
        read(node, reading: reading) { (text) throws(ExpressionFault) in try Expression.condition(text) }
    }.showing(#""properties.price > 10""#)

    /// An expression that gives a value of any type.
    public static let value = Form<Expression>(schema) { node, reading in
        read(node, reading: reading) { (text) throws(ExpressionFault) in try Expression.written(text) }
    }.showing(#""properties.price * 2""#)

    public static let schema = #"{"type":"string","minLength":1,"maxLength":32768}"#

    /// Reads an expression that a module evaluates. `environment` says what its names mean.
    public static func read(_ node: Node, _ reading: Reading, in environment: Environment, isCondition: Bool) -> Expression? {
        read(node, reading: reading, isAtHandOver: true, remedy: "; write the value into 'constants', and constants.NAME here") {
            (text) throws(ExpressionFault) in
            isCondition ? try Expression.condition(text, in: environment) : try Expression.written(text, in: environment)
        }
    }

    private static func read(
        _ node: Node, reading: Reading, isAtHandOver: Bool = false, remedy: String = "",
        compile: (String) throws(ExpressionFault) -> Expression
    ) -> Expression? {
        guard let text = node.text else {
            reading.refuseType(node, "an expression in CEL, as a string")
            return nil
        }
        if text.isBroken { return nil }
        // A message about the expression would show hidden text. Also, the expression that runs must be the one that was reviewed.
        if text.isTainted {
            reading.fault(node, "an expression must be written out, without ${env:} and ${file:}" + remedy)
            return nil
        }
        do throws(ExpressionFault) {
            let expression = try compile(text.value)
            if let at = expression.sourceOffset, reading.isAtHandOver || isAtHandOver {
                let offset = text.isVerbatim ? reading.source.offset(of: at, inString: node.range) : node.offset
                reading.fault(
                    node, at: offset,
                    "the source of an event is not known when it is handed over, since queues do not keep it; "
                        + "compare it in the route, or let the route write it into the event")
                return nil
            }
            return expression
        } catch {
            // If the text holds the escape $${, an offset in the value is not an offset in the token.
            let offset = text.isVerbatim ? reading.source.offset(of: error.offset, inString: node.range) : node.offset
            reading.fault(node, at: offset, error.message)
            return nil
        }
    }
}
