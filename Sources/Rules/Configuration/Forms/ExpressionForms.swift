// Expressions in a file: read and checked where they stand, so that a fault has its place inside of the string.

internal import Document
internal import Expressions

enum ExpressionForms {
    /// One that is true or false.
    static let condition = Form<Expression>(schema) { node, reading in
        read(node, reading) { (text) throws(ExpressionFault) in try Expression.condition(text) }
    }

    /// One of any value.
    static let value = Form<Expression>(schema) { node, reading in
        read(node, reading) { (text) throws(ExpressionFault) in try Expression(text) }
    }

    private static let schema = #"{"type":"string","minLength":1,"maxLength":32768}"#

    private static func read(
        _ node: Node, _ reading: Reading, _ compile: (String) throws(ExpressionFault) -> Expression
    ) -> Expression? {
        guard let text = node.text else {
            reading.refuseType(node, "an expression in CEL, as a string")
            return nil
        }
        if text.isBroken { return nil }
        // A message about it would show what must not be shown, and what runs here must be what was reviewed.
        if text.isTainted {
            reading.fault(node, "an expression must be written out, without ${env:} and ${file:}")
            return nil
        }
        do throws(ExpressionFault) {
            return try compile(text.value)
        } catch {
            // A placeholder's escape makes the value another than the token.
            let offset = text.isVerbatim ? reading.source.offset(of: error.offset, inString: node.range) : node.offset
            reading.fault(node, at: offset, error.message)
            return nil
        }
    }
}
