// The shape of a provider at the hand-over: its filter and its transform, compiled and carried out like those of a route. It reads the event,
// its time of arrival and the plan, and nothing else. So the same event gets the same bytes under the same plan, however often it is handed
// over.

@_spi(Shaping) public import Admission
internal import Editing
internal import Events
public import Plans

/// The compiled shape of a provider. All threads can share it.
public final class Shape: Sendable {
    let ruleset: Ruleset
    /// True if events are changed, and not only left out.
    public let isChanging: Bool
    /// The most bytes of a batch that is handed over, unless it holds a single event.
    public let batchBytes: Int
    /// The most bytes that the module takes. It is nil if there is no limit.
    public let largest: Int?

    /// Returns nil if the module gets the events as they wait.
    public init?(_ provider: ProviderPlan, of plan: Plan) {
        guard !provider.shape.isEmpty else { return nil }
        ruleset = Ruleset(plan.shape(of: provider))
        isChanging = !provider.shape.transforms.isEmpty
        batchBytes = provider.delivery.batch.bytes
        largest = provider.delivery.batch.largest
    }
}

/// Shapes events. Only one thread at a time may use it, since it holds scratch space.
public struct Shaper: ~Copyable {
    public enum Result: Equatable {
        /// The event is handed over. If the shape changes events, its copy is in the parcel.
        case shaped
        /// This stage of the filter leaves the event out.
        case filtered(FilterStage)
        /// A step of the transform withholds the event.
        case withheld
        /// The event cannot be read, or is no event any more after a step.
        case broken(String)
    }

    private let isChanging: Bool
    private var scanner: Scanner
    private var context: EventContext
    private var filter: RouteFilter
    private var copies: CopyWriter
    /// The last events of a batch, with the readable bytes behind them that the scanner needs.
    private var aside = Block()
    /// The number of times that an expression of the transform had no value.
    public private(set) var errors = 0

    public init(_ shape: Shape) {
        let ruleset = shape.ruleset
        isChanging = shape.isChanging
        scanner = Scanner(ruleset.paths, depth: Scanner.deepest)
        context = EventContext(ruleset.conditions, sources: [], nameSlot: ruleset.rules.nameSlot)
        filter = RouteFilter(ruleset.rules)
        copies = CopyWriter(ruleset)
    }

    /// Shapes one event of the batch. Its copy is appended to the parcel if events are changed.
    public mutating func shape(_ index: Int, of batch: Batch, into parcel: inout Parcel) -> Result {
        guard let event = scan(index, of: batch) else { return .broken(scanner.fault.message) }
        context.begin(batch.arrivals[index], 0)
        filter.begin()
        if let stage = filter.stage(event, route: 0, context: &context) { return .filtered(stage) }
        guard isChanging else { return .shaped }
        let edit = copies.editAtHandOver
        let isMade = copies.prepare(edit, event, context: context)
        errors += copies.transform.takeErrors()
        guard isMade else {
            return copies.transform.fault(edit, event, context: context).map { .broken($0) } ?? .withheld
        }
        copies.append(copyOf: index, of: batch, event, edit: edit, turn: context.turn, to: &parcel)
        return .shaped
    }

    private mutating func scan(_ index: Int, of batch: Batch) -> ScannedEvent? {
        let start = index == 0 ? 0 : Int(batch.entries[index - 1].end)
        let end = Int(batch.entries[index].end)
        let base = batch.bytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
        if end + Block.padding <= batch.bytes.count { return scanner.scan(base, UInt32(start)) }
        // A large event must not keep its memory.
        if aside.text.capacity > 1 << 20 { aside = Block() }
        aside.removeAll()
        aside.text.append(base + start, end - start)
        aside.seal()
        return scanner.scan(aside.bytes, 0)
    }
}

extension CopyWriter {
    /// The edit of the only route of a shape.
    fileprivate var editAtHandOver: Int { rules.routes[0].edits.edit(level: 0, rate: 0, hasSession: false) }

    /// Appends the shaped copy of an event of a batch.
    fileprivate mutating func append(
        copyOf index: Int, of batch: Batch, _ event: ScannedEvent, edit: Int, turn: UInt64, to parcel: inout Parcel
    ) {
        var source = event
        if EditVariants.program(of: edit) != nil, let made = transform.made { source = made.event }
        let most = Int(source.end &- source.start) + editor.growth(edit) + 1 + Words.slack
        let out = parcel.place(forLineOf: most)
        var writer = EditWriter(block: source.block, out: out, id: .max)
        if edit >= 0 {
            editor.write(source, root: edit, turn: turn, to: &writer)
        } else {
            writer.copy(source.start, source.end)
        }
        writer.put(UInt8(ascii: "\n"))
        assert(writer.out - out <= most, "a line fits the space that was reserved for it")
        parcel.append(copyOf: index, of: batch, lineOf: writer.out - out)
    }
}
