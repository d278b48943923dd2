// Compiles the expressions among the settings of an instance. The router has compiled them before, so a fault here means that the module and
// the router are of different versions, or that a rule was broken that only the module knows.

package import Expressions
package import PluginKit

package struct ExpressionReader {
    /// The setting that holds the constants.
    package static let constantsSchema = Schema.object(
        "texts that expressions use as constants.NAME, such as a key from ${env:}; their values are never shown", [:],
        others: .text("the value").secret)

    /// The names that an expression about an answer can use.
    package static let replyNames: KeyValuePairs<String, Schema.Variable> = [
        "status": .integer, "headers": .texts, "body": .any, "count": .integer,
    ]
    /// The names that an expression about one item of an answer can use.
    package static let itemNames: KeyValuePairs<String, Schema.Variable> = [
        "status": .integer, "headers": .texts, "body": .any, "count": .integer, "item": .any,
    ]

    package let constants: [String: String]

    package init(_ settings: Settings) throws(SettingsFault) {
        var constants: [String: String] = [:]
        if let given = settings.get(Environment.constantsName, as: Settings.self) {
            for name in given.names {
                guard let text = given.get(name, as: String.self) else {
                    throw SettingsFault("\(Environment.constantsName).\(printable(name)) must be text")
                }
                constants[name] = text
            }
        }
        self.constants = constants
    }

    /// The constants as variables of an expression.
    package var variables: [String: Value] { Value.variables(ofConstants: constants) }

    /// Compiles the expression of a setting, if there is one. If `names` is nil, the names in it are the members of an event.
    package func expression(
        _ settings: Settings, _ name: String, in section: String, names: KeyValuePairs<String, Schema.Variable>? = nil,
        isCondition: Bool = false
    ) throws(SettingsFault) -> Expression? {
        guard let text = settings.get(name, as: String.self) else { return nil }
        let place = section.isEmpty ? name : "\(section).\(name)"
        var environment = Environment.event
        if let names { environment.variables = .declared(Dictionary(names.map { ($0.key, $0.value.type) }) { first, _ in first }) }
        environment.constants = Array(constants.keys)
        let expression: Expression
        do throws(ExpressionFault) {
            expression =
                isCondition ? try Expression.condition(text, in: environment) : try Expression(text, in: environment)
        } catch {
            throw SettingsFault("\(place), column \(error.offset + 1): \(error.message)")
        }
        guard expression.sourceOffset == nil else {
            throw SettingsFault("\(place): the source of an event is not known when it is handed over")
        }
        return expression
    }
}

extension Schema.Variable {
    fileprivate var type: Expressions.`Type` {
        switch self {
        case .any: .dyn
        case .integer: .int
        case .text: .string
        case .texts: .map(.string, .string)
        case .opaque: .opaque("placeholder", [])
        }
    }
}
