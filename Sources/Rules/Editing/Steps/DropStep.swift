// `drop`: removes members.

public import Events
internal import FormReading

public struct DropStep: Step {
    public var paths: [Path]

    public init(_ paths: [Path]) { self.paths = paths }

    static let declaration = StepDeclaration(
        "drop", "Removes these members.",
        example: .init(
            #"["context.ip", "traits"]"#, event: #"{"event":"a","context":{"ip":"203.0.113.7","locale":"en"},"traits":{}}"#,
            result: #"{"event":"a","context":{"locale":"en"}}"#),
        samples: [#"["$path"]"#, #"["$path","$path","$path"]"#],
        form: Forms.list("paths", of: Forms.path).then { paths, _, _ in DropStep(paths) })

    public func summary(_ shown: (String) -> String) -> String { "drop \(list(paths, shown))" }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.removed, paths, "removed")]
    }

    public func code(_ resources: StepResources) -> StepCode {
        .folded { [paths] fate in for path in paths { fate.drop(path.bytes[...]) } }
    }
}
