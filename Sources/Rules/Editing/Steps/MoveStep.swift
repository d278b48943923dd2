// `move`: moves each member to another path.

internal import Document
public import Events
internal import FormReading

public struct MoveStep: Step {
    public var moves: [(from: Path, to: Path)]

    public init(_ moves: [(from: Path, to: Path)]) { self.moves = moves }

    static let declaration = StepDeclaration(
        "move", "Moves each member to another path. Missing objects of the path are created.",
        example: .init(
            #"{"properties.plan": "traits.billing.plan"}"#, event: #"{"properties":{"plan":"pro","n":1}}"#,
            result: #"{"properties":{"n":1},"traits":{"billing":{"plan":"pro"}}}"#),
        samples: [#"{"$path":"$path"}"#, #"{"$path":"$path","$path":"$path"}"#], form: form)

    private static let form = Forms.table("paths with paths", by: Forms.pathKey, of: Forms.path).then { table, node, reading in
        for entry in table where entry.value.keys.count > entry.key.keys.count && entry.value.keys.starts(with: entry.key.keys) {
            let place = node.entries?.first { (try? Path(parsing: $0.key.name)) == entry.key }?.node ?? node
            reading.fault(place, "\(Reading.named(place)) is inside the member that is moved, expected a place outside it")
        }
        return MoveStep(table.map { (from: $0.key, to: $0.value) })
    }

    public var paths: [Path] { moves.flatMap { [$0.from, $0.to] } }

    public func summary(_ shown: (String) -> String) -> String {
        "move " + moves.map { "\(shown($0.from.description)) to \(shown($0.to.description))" }.joined(separator: ", ")
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        moves.map { MemberEffect(.moved(to: $0.to), [$0.from], "moved") }
    }

    public func code(_ resources: StepResources) -> StepCode { .stages(MoveStage.rules(moves)) }
}
