// `geo`: reduces an object to some of its members. A value that is not an object is dropped, because it could contain too much detail.

public import Events
internal import FormReading
internal import Redaction

public struct GeoStep: Step {
    public var paths: [Path] = []
    /// The names of the members that stay.
    public var keep = ["country"]

    public init(_ paths: [Path], keep: [String] = ["country"]) {
        self.paths = paths
        self.keep = keep
    }

    static let declaration = StepDeclaration(
        "geo", "Reduces an object that says where somebody is to some of its members.",
        example: .init(
            #"["context.location"]"#, event: #"{"context":{"location":{"city":"Bremen","country":"DE","latitude":53.07}}}"#,
            result: #"{"context":{"location":{"country":"DE"}}}"#),
        samples: [#"["$path","$path"]"#, #"{"fields":["$path"],"keep":["c","w","k"]}"#],
        form: Forms.fields(object) { GeoStep($0) })

    private static let object = Form<GeoStep>.object(
        GeoStep([]),
        [
            Member(
                "fields", Forms.paths, required: true, "The objects that say where somebody is.", example: #"["context.location"]"#,
                into: \.paths),
            Member(
                "keep", Forms.set("names", of: Forms.memberName), "The members that stay; country when left out.",
                example: #"["country", "region"]"#, into: \.keep),
        ])

    public func summary(_ shown: (String) -> String) -> String {
        "geo \(list(paths, shown)) to \(keep.map(shown).joined(separator: ", "))"
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.changed, paths, "coarser: only \(keep.map(shown).joined(separator: ", "))", hides: true)]
    }

    public func code(_ resources: StepResources) -> StepCode {
        let kept = paths.flatMap { path in keep.map { Path(keys: path.keys + [$0]) } }
        return .stages(ChangeStage.rules(paths, reading: kept) { [keep] in PickChange(keep) })
    }
}

final class PickChange: Changing {
    private let names: [String]
    /// The slots of the members that are kept, by the slot of their field.
    private var slots: [Int: [Int]] = [:]

    init(_ names: [String]) { self.names = Array(Set(names)) }

    func prepare(_ paths: PathTrie, _ fields: [MemberPath]) {
        for field in fields {
            let keys = paths.path(of: field.slot).keys
            slots[field.slot] = names.map { paths.slot(of: Path(keys: keys + [$0]))! }
        }
    }

    func change(_ value: ByteRun, slot: Int, event: ScannedEvent, into out: inout Replacements) -> ValueOutcome {
        guard value.isObject else { return .drop }
        let kept = (slots[slot] ?? []).map { event.slots[$0] }.filter(\.isPresent).sorted { $0.start < $1.start }
        out.put(UInt8(ascii: "{"))
        for (index, member) in kept.enumerated() {
            if index > 0 { out.put(UInt8(ascii: ",")) }
            out.put(event.block + Int(member.key), Int(member.end - member.key))
        }
        out.put(UInt8(ascii: "}"))
        return .put
    }
}
