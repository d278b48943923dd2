// `mask`: replaces the matches of a regular expression in strings.

internal import Document
public import Events
internal import Expressions
internal import FormReading
public import Redaction

public struct MaskStep: Step {
    public var mask: Mask
    /// The members that are masked. If the list is empty, every string of the event is masked.
    public var paths: [Path]

    public init(_ mask: Mask, in paths: [Path] = []) {
        self.mask = mask
        self.paths = paths
    }

    static let declaration = StepDeclaration(
        "mask", "Replaces the matches of a regular expression in strings.",
        example: .init(
            ##"{"pattern": "[0-9]+", "with": "#", "in": ["note"]}"##, event: #"{"note":"room 12"}"#, result: ##"{"note":"room #"}"##),
        samples: [
            ##"{"pattern":"[0-9]+","with":"#"}"##, #"{"pattern":"(\\w)(\\w*)","with":"\\2\\1","in":["$path"]}"#,
            #"{"pattern":"bob","with":"\"\\\\","in":["$path","$path"]}"#,
        ],
        form: Form<Settings>.object(
            Settings(),
            [
                Member(
                    "pattern", Forms.string.then { text, _, _ in text.value }, required: true, "A regular expression (RE2).",
                    example: #""[0-9]{4,}""#,
                    into: \.pattern),
                Member("with", Forms.replacement, required: true, "The text that replaces each match.", example: ##""#""##, into: \.text),
                Member(
                    "in", Forms.textPlaces, "Where to look; every string of the event when left out.", example: #"["properties.note"]"#,
                    into: \.paths),
            ]
        ).then { settings, node, reading in compile(settings, node, reading) })

    private struct Settings: Sendable {
        var pattern: String?
        var text: String?
        var paths: [Path] = []
    }

    private static func compile(_ settings: Settings, _ node: Node, _ reading: Reading) -> MaskStep? {
        guard let pattern = settings.pattern, let text = settings.text else { return nil }
        do throws(MaskFault) {
            return MaskStep(try Mask(pattern: pattern, with: text), in: settings.paths)
        } catch {
            guard let child = node[error.part == .pattern ? "pattern" : "with"] else { return nil }
            // The message quotes the text, which must stay hidden if it came from outside the file.
            if child.text?.isTainted == true {
                reading.refuse(child, error.part == .pattern ? "a regular expression (RE2)" : "a text for that pattern")
            } else {
                reading.fault(child, error.message)
            }
            return nil
        }
    }

    public func summary(_ shown: (String) -> String) -> String {
        let place = paths.isEmpty ? "every string" : list(paths, shown)
        return "mask \(place): what matches \(shown(mask.patternText)) becomes \(JSONText.quoted(shown(mask.replacementText)))"
    }

    public func effects(_ shown: (String) -> String) -> [MemberEffect] {
        [MemberEffect(.changed, paths, "every part that matches a pattern is replaced")]
    }

    public func code(_ resources: StepResources) -> StepCode {
        let (trie, places, mask) = (PathTrie(paths + [TextPlaces.messageID]), paths, mask)
        return .stages([StageRule(trie) { MaskStage(trie, places: places, mask: mask) }])
    }
}

final class MaskStage: Stage {
    private let places: TextPlaces
    private var masker: Masker

    init(_ paths: PathTrie, places: [Path], mask: Mask) {
        self.places = TextPlaces(places, in: paths)
        masker = Masker(mask)
        super.init(paths)
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        guard mask(event, context.around) else { return .unchanged }
        context.errors += masker.unsearched
        masker.replacements.write(event.block, start: event.start, end: event.end, to: &out)
        return .written
    }

    private func mask(_ event: ScannedEvent, _ around: EvaluationContext) -> Bool {
        masker.mask(event, in: UnsafeBufferPointer(places.slots), sparing: places.spared, steps: around.steps)
    }

    override func finding(on event: ScannedEvent, _ around: EvaluationContext) -> StepFinding.Report? {
        guard mask(event, around), masker.unsearched > 0 else { return nil }
        return .unsearched(masker.unsearched)
    }
}
