// `default`: gives members a value if they are missing or null.

public import Events
public import Expressions
internal import FormReading

public struct DefaultStep: Step {
    public var members: [(path: Path, value: ComputedValue)]

    public init(_ members: [(path: Path, value: ComputedValue)]) { self.members = members }

    static let declaration = StepDeclaration(
        "default", "Gives each member a value if it is missing or null: a constant, or the value of an expression.",
        example: .init(
            #"{"properties.currency": "EUR", "properties.quantity": 1}"#, event: #"{"properties":{"quantity":3,"currency":null}}"#,
            result: #"{"properties":{"quantity":3,"currency":"EUR"}}"#),
        samples: [#"{"$path":"$value","$path":{"cel":"$expression"}}"#],
        form: Forms.table("paths with values", by: Forms.pathKey, of: ComputedValue.form).then { table, _, _ in
            DefaultStep(table.map { (path: $0.key, value: $0.value) })
        })

    public var paths: [Path] { members.map(\.path) }
    public var expressions: [(path: Path, expression: Expression)] {
        members.compactMap { member in member.value.expression.map { (member.path, $0) } }
    }

    public func summary(_ shown: (String) -> String) -> String {
        "default " + members.map { "\(shown($0.path.description)) to \($0.value.described(shown))" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        members.map { MemberEffect(.changed, [$0.path], "written where it is missing\($0.value.summary(shown))") }
    }

    public func code(_ resources: StepResources) -> StepCode {
        .stages(members.map { ComputeStage.rule($0, onlyWhereLacking: true, resources) })
    }
}
