// The value of a member that `set` or `default` writes, and its form: a constant, or `{"cel": …}`.

internal import Document
internal import Events
public import Expressions
internal import FormReading

public enum ComputedValue: Sendable {
    case json(String)
    case expression(Expression)

    static let form = Form<ComputedValue>(SchemaParts.value) { node, reading in
        guard let entries = node.entries, entries.count == 1, entries[0].key.name == "cel" else {
            return .json(JSONText.of(node, in: reading.source))
        }
        return ExpressionForms.value.read(entries[0].node, reading).map(ComputedValue.expression)
    }

    /// The JSON text of a constant.
    var constant: String? { if case .json(let text) = self { text } else { nil } }

    var expression: Expression? { if case .expression(let expression) = self { expression } else { nil } }

    var readPaths: [Path] { if case .expression(let expression) = self { expression.paths } else { [] } }

    /// Returns the value as `check` shows it. `shown` masks each string that came from outside the file.
    func described(_ shown: (String) -> String) -> String {
        switch self {
        case .expression(let expression): shown(expression.text)
        case .json(let json): JSONText.changing(json, shown)
        }
    }

    /// Says by which expression the value is computed; a constant is left out.
    func summary(_ shown: (String) -> String) -> String {
        switch self {
        case .json: ""
        case .expression(let expression): " to \(shown(expression.text))"
        }
    }
}
