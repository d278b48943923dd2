// The steps that change the text of strings: `scrub` and `mask`. They never change the event's own `messageId`, because receivers
// recognise a repeated event by it.

internal import Events
internal import Expressions
internal import Redaction

/// The slots of the members that a stage searches. If there are none, it searches the whole event.
struct TextPlaces: ~Copyable {
    static let messageID = Path(keys: ["messageId"])

    let slots: UnsafeMutableBufferPointer<Int>
    let spared: Int

    init(_ places: [Path], in paths: PathTrie) {
        slots = .allocate(capacity: places.count)
        _ = slots.initialize(from: places.map { paths.slot(of: $0)! })
        spared = paths.slot(of: TextPlaces.messageID)!
    }

    deinit { slots.deallocate() }
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

final class MaskStage: Stage {
    private let places: TextPlaces
    private var masker: Masker

    init(_ paths: PathTrie, places: [Path], mask: Mask) {
        self.places = TextPlaces(places, in: paths)
        masker = Masker(mask)
        super.init(paths)
    }

    override func run(_ event: ScannedEvent, _ context: inout StageContext, to out: inout ByteBuffer) -> StageOutcome {
        guard masker.mask(event, in: UnsafeBufferPointer(places.slots), sparing: places.spared) else { return .unchanged }
        masker.replacements.write(event.block, start: event.start, end: event.end, to: &out)
        return .written
    }
}
