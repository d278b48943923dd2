// `scrub`: finds personal data in strings, and replaces it, drops the member, or rejects the event.

internal import Document
public import Events
internal import Expressions
internal import FormReading
public import Redaction

public struct ScrubStep: Step {
    public var scrub: Scrub
    /// The members that are scrubbed. If the list is empty, the whole event is scrubbed.
    public var paths: [Path]

    public init(_ scrub: Scrub = Scrub(), in paths: [Path] = []) {
        self.scrub = scrub
        self.paths = paths
    }

    static let declaration = StepDeclaration(
        "scrub", "Finds personal data in strings, and replaces it, drops the member, or rejects the event.",
        example: .init("{}", event: #"{"note":"write to bob@example.org"}"#, result: #"{"note":"write to [email]"}"#),
        samples: [
            "{}", #"{"in":["$path"],"action":"reject"}"#, #"{"in":["$path"]}"#, #"{"find":["email"],"action":"reject"}"#,
            #"{"find":["ip"]}"#, #"{"find":["national_id"],"countries":["DE","FR"]}"#, #"{"action":"drop"}"#,
            #"{"in":["$path"],"action":"drop"}"#,
        ],
        form: Form<Settings>.object(
            Settings(),
            [
                Member(
                    "find", Forms.set("kinds", of: kind), "What to look for; all kinds when left out.", example: #"["email", "phone"]"#,
                    into: \.kinds),
                Member(
                    "countries", Forms.set("countries", of: country),
                    "The countries whose national ids are found, by their codes of ISO 3166; all that are known when left out.",
                    example: #"["DE", "FR"]"#,
                    into: \.countries),
                Member(
                    "in", Forms.textPlaces, "Where to look; the whole event with its keys when left out.",
                    example: #"["properties.note"]"#, into: \.paths),
                Member("action", Forms.choice(Scrub.Action.self), "What happens to a find; replace when left out.", into: \.action),
                Member(
                    "with", texts, "The text that replaces a find, by kind; the name of the kind in brackets when left out.",
                    example: #"{"email": "(mail)"}"#, into: \.texts),
            ]
        ).then { settings, node, reading in
            if settings.action != .replace, let with = node["with"] {
                reading.fault(with, "is used only with the action replace, but the action is \(settings.action.rawValue)")
            }
            let kinds = settings.kinds.reduce(SensitiveSet()) { $0.union(SensitiveSet($1)) }
            let countries = settings.countries.reduce(CountrySet()) { $0.union(CountrySet($1)) }
            if let node = node["countries"], !kinds.contains(.nationalID) {
                reading.fault(node, "is used only for national_id, which 'find' does not name")
            }
            return ScrubStep(
                Scrub(kinds: kinds, countries: countries, action: settings.action, texts: settings.texts), in: settings.paths)
        })

    private struct Settings: Sendable {
        var kinds = Sensitive.allCases
        var countries = Country.allCases
        var paths: [Path] = []
        var action = Scrub.Action.replace
        var texts = Scrub.defaultTexts
    }

    private static let kindNames = Sensitive.allCases.map(\.name)

    private static let kind = Form<Sensitive>(SchemaParts.choice(kindNames)) { node, reading in
        if let kind = Sensitive.allCases.first(where: { $0.name == node.text?.value }) { return kind }
        reading.refuseChoice(node, kindNames)
        return nil
    }

    private static let countryCodes = Country.allCases.map(\.code)

    private static let country = Form<Country>(SchemaParts.choice(countryCodes)) { node, reading in
        if let country = Country.allCases.first(where: { $0.code == node.text?.value }) { return country }
        reading.refuseChoice(node, countryCodes)
        return nil
    }

    private static let texts = Form<[String]>.object(
        Scrub.defaultTexts,
        Sensitive.allCases.map { kind in
            Member(
                kind.name, Forms.replacement, "The text that replaces this kind; [\(kind.name)] when left out.",
                example: JSONText.quoted("(\(kind.name))"), into: \.[Int(kind.rawValue)]
            )
        }, called: "kind")

    public func summary(_ shown: (String) -> String) -> String {
        var text = "scrub \(paths.isEmpty ? "every string" : list(paths, shown))"
        if scrub.kinds != .all { text += " for \(scrub.kinds.list.map(\.name).joined(separator: ", "))" }
        if scrub.countries != .all { text += ", of \(scrub.countries.list.map(\.code).joined(separator: ", "))" }
        switch scrub.action {
        case .replace: break
        case .drop: text += ", which removes the member"
        case .reject: text += ", which withholds the event"
        }
        for kind in Sensitive.allCases where scrub.texts[Int(kind.rawValue)] != Scrub.defaultTexts[Int(kind.rawValue)] {
            text += ", \(kind.name) by \(JSONText.quoted(shown(scrub.texts[Int(kind.rawValue)])))"
        }
        return text
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        let fate =
            switch scrub.action {
            case .replace: "is replaced"
            case .drop: "removes the member"
            case .reject: "withholds the event"
            }
        return [MemberEffect(.changed, paths, "private text (\(scrub.kinds.list.map(\.name).joined(separator: ", "))) \(fate)")]
    }

    public func code(_ resources: StepResources) -> StepCode {
        let (trie, places, scrub) = (PathTrie(paths + [TextPlaces.messageID]), paths, scrub)
        return .stages([StageRule(trie) { ScrubStage(trie, places: places, scrub: scrub) }])
    }
}

final class ScrubStage: Stage {
    private let places: TextPlaces
    private let rejects: Bool
    private let scrub: Scrub
    private var scrubber: Scrubber

    init(_ paths: PathTrie, places: [Path], scrub: Scrub) {
        rejects = scrub.action == .reject
        self.scrub = scrub
        self.places = TextPlaces(places, in: paths)
        scrubber = Scrubber(scrub)
        super.init(paths)
    }

    /// A step covers 8 bytes: text that is full of almost-finds takes up to 80 ns a byte.
    override func steps(toRead bytes: Int) -> Int { bytes >> 3 }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        guard scrubber.scrub(event, in: UnsafeBufferPointer(places.slots), sparing: places.spared) else { return .unchanged }
        if rejects { return .rejected }
        scrubber.replacements.write(event.block, start: event.start, end: event.end, to: &out)
        return .written
    }

    /// Counts all finds, even if the first find is enough to reject the event.
    override func finding(on event: ScannedEvent, _ around: EvaluationContext) -> StepFinding.Report? {
        var all = scrub
        all.action = .replace
        var counter = Scrubber(all)
        _ = counter.scrub(event, in: UnsafeBufferPointer(places.slots), sparing: places.spared)
        var finds: [StepFinding.Find] = []
        for kind in counter.found.list { finds.append(StepFinding.Find(kind: kind.name, count: counter.count(of: kind))) }
        return .found(finds)
    }
}
