// `set`: gives members a value. If all values are constants, the operation is folded with its neighbours.

public import Events
public import Expressions
internal import FormReading

public struct SetStep: Step {
    public var members: [(path: Path, value: ComputedValue)]

    public init(_ members: [(path: Path, value: ComputedValue)]) { self.members = members }

    /// Sets constants, as JSON texts.
    public init(constants: [(path: Path, json: String)]) {
        members = constants.map { (path: $0.path, value: .json($0.json)) }
    }

    static let declaration = StepDeclaration(
        "set", "Gives each member a value: a constant, or the value of an expression.",
        example: .init(
            #"{"properties.total": {"cel": "properties.price * properties.quantity"}, "source": "shop"}"#,
            event: #"{"properties":{"price":2.5,"quantity":2}}"#,
            result: #"{"properties":{"price":2.5,"quantity":2,"total":5},"source":"shop"}"#),
        samples: [
            #"{"$path":"$value","$path":"$value"}"#, #"{"$path":{"cel":"$expression"},"$path":"$value"}"#,
            #"{"$path":{"cel":"$expression"}}"#,
        ],
        form: Forms.table("paths with values", by: Forms.pathKey, of: ComputedValue.form).then { table, _, _ in
            SetStep(table.map { (path: $0.key, value: $0.value) })
        })

    public var paths: [Path] { members.map(\.path) }
    public var expressions: [(path: Path, expression: Expression)] {
        members.compactMap { member in member.value.expression.map { (member.path, $0) } }
    }

    /// The constants. It is nil if a value is an expression.
    private var constants: [(path: Path, json: String)]? {
        let constants = members.compactMap { member in member.value.constant.map { (path: member.path, json: $0) } }
        return constants.count == members.count ? constants : nil
    }

    public func summary(_ shown: (String) -> String) -> String {
        "set " + members.map { "\(shown($0.path.description)) to \($0.value.described(shown))" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        members.map { MemberEffect(.written, [$0.path], "set by the router\($0.value.summary(shown))") }
    }

    public func code(_ resources: StepResources) -> StepCode {
        guard let constants else { return .stages(members.map { ComputeStage.rule($0, onlyWhereLacking: false, resources) }) }
        return .folded { fate in for member in constants { fate.set(member.path.bytes[...], Constant(json: member.json)) } }
    }
}
