// Runs the programs of a worker's routes: from stage to stage the event goes through two buffers in turn. The copy that comes out was
// scanned once more, so that nothing leaves that is no event.

public import Events
public import Expressions
internal import Redaction

public struct Transformer: ~Copyable {
    /// A copy that is ready to leave, valid until the next one is made.
    public struct Made {
        public var event: ScannedEvent
        public var messageID: Slot
    }

    let rules: [StageRule]
    let programs: [Program]
    private var stages: [Stage?]
    var last: Scanner
    private let messageID: Int
    /// The event before a stage, and behind it.
    private var before = ByteBuffer()
    private var after = ByteBuffer()
    /// How often an expression of the last program had no value.
    public private(set) var errors = 0

    public init(_ stages: [StageRule], _ programs: [Program]) {
        rules = stages
        self.programs = programs
        self.stages = Array(repeating: nil, count: stages.count)
        let paths = PathTrie([Path(keys: ["messageId"])])
        messageID = paths.slot(of: Path(keys: ["messageId"]))!
        last = Scanner(paths, depth: Stage.depth)
    }

    /// The event as the program leaves it; nil: the route does not take it.
    public mutating func run(_ program: Int, event: ScannedEvent, around: EvaluationContext, turn: UInt64) -> Made? {
        var context = StageContext(around: around, turn: turn)
        defer { errors = context.errors }
        var block = event.block
        var start = event.start
        for number in programs[program].stages {
            guard let next = step(stage(number), block: block, start: start, context: &context) else { return nil }
            (block, start) = next
        }
        guard let made = last.scan(block, start) else { return nil }
        return Made(event: made, messageID: made.slots[messageID])
    }

    mutating func stage(_ number: Int) -> Stage {
        if let stage = stages[number] { return stage }
        let stage = rules[number].make()
        stages[number] = stage
        return stage
    }

    /// Where the event lies behind the stage.
    mutating func step(_ stage: Stage, block: Bytes, start: UInt32, context: inout StageContext) -> (Bytes, UInt32)? {
        guard let event = stage.scan(block, start) else { return nil }
        // The other one may hold the event.
        swap(&after, &before)
        after.removeAll()
        switch stage.run(event, &context, to: &after) {
        case .rejected: return nil
        case .unchanged:
            swap(&after, &before)
            return (block, start)
        case .changed: stage.replacements.write(event.block, start: event.start, end: event.end, to: &after)
        case .written: break
        }
        // As the scanner wants it: ended, and with room to read behind it.
        after.append(UInt8(ascii: "\n"))
        after.reserve(Block.padding)
        (after.base + after.count).update(repeating: UInt8(ascii: "\n"), count: Block.padding)
        return (Bytes(after.base), 0)
    }
}
