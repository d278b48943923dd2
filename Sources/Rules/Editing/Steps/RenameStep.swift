// `rename`: gives each member another name in the same object, at the same place.

internal import Document
public import Events
internal import FormReading

public struct RenameStep: Step {
    public var names: [(path: Path, name: String)]

    public init(_ names: [(path: Path, name: String)]) { self.names = names }

    static let declaration = StepDeclaration(
        "rename", "Gives each member another name in the same object.",
        example: .init(
            #"{"userId": "user_id"}"#, event: #"{"userId": "u1", "type": "track"}"#, result: #"{"user_id": "u1", "type": "track"}"#),
        samples: [#"{"$path":"$key"}"#, #"{"$path":"$key","$path":"$key"}"#],
        form: Forms.table("paths with names", by: Forms.pathKey, of: Forms.memberName).then { table, _, _ in
            RenameStep(table.map { (path: $0.key, name: $0.value) })
        })

    /// A rename is a move in the same object.
    public var moves: [(from: Path, to: Path)] { names.map { (from: $0.path, to: Path(keys: $0.path.keys.dropLast() + [$0.name])) } }

    public var paths: [Path] { moves.flatMap { [$0.from, $0.to] } }

    public func summary(_ shown: (String) -> String) -> String {
        "move " + moves.map { "\(shown($0.from.description)) to \(shown($0.to.description))" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        moves.map { MemberEffect(.moved(to: $0.to), [$0.from], "renamed") }
    }

    public func code(_ resources: StepResources) -> StepCode { .stages(MoveStage.rules(moves)) }
}
