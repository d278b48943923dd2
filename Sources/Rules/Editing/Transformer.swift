// Runs the programs of a worker's routes. The stages write the event alternately to two buffers. The result is scanned once more, so that
// only a valid event is delivered.

public import Events
public import Expressions
internal import Redaction

public struct Transformer: ~Copyable {
    /// A transformed copy that is ready for delivery. It is valid until the next copy is made.
    public struct Made {
        public var event: ScannedEvent
        public var messageID: Slot
    }

    let rules: [StageRule]
    let programs: [Program]
    private var stages: [Stage?]
    var last: Scanner
    private let messageID: Int
    /// The buffers with the event before and after a stage.
    private var before = ByteBuffer()
    private var after = ByteBuffer()
    /// The number of times that an expression had no value in the last run.
    public private(set) var errors = 0
    /// The branches that the last trace found.
    public internal(set) var branches: [StepBranches] = []

    public init(_ stages: [StageRule], _ programs: [Program]) {
        rules = stages
        self.programs = programs
        self.stages = Array(repeating: nil, count: stages.count)
        let paths = PathTrie([Path(keys: ["messageId"])])
        messageID = paths.slot(of: Path(keys: ["messageId"]))!
        last = Scanner(paths, depth: Stage.depth)
    }

    /// Returns the event as the program leaves it. Returns nil if a stage rejects the event or if the event is not valid after a stage.
    public mutating func run(_ program: Int, event: ScannedEvent, around: EvaluationContext, turn: UInt64) -> Made? {
        var context = StageContext(around: around, turn: turn)
        defer { errors = context.errors }
        var line = Line(event)
        for number in programs[program].stages {
            guard let next = step(stage(number), line, context: &context) else { return nil }
            line = next
        }
        guard let made = last.scan(line.block, line.start) else { return nil }
        return Made(event: made, messageID: made.slots[messageID])
    }

    mutating func stage(_ number: Int) -> Stage {
        if let stage = stages[number] { return stage }
        let stage = rules[number].make()
        stages[number] = stage
        return stage
    }

    /// The place of an event between two stages.
    struct Line {
        let block: Bytes
        let start: UInt32
        /// The length of the event.
        let bytes: Int

        init(_ event: ScannedEvent) {
            (block, start) = (event.block, event.start)
            bytes = Int(event.end - event.start)
        }

        init(_ buffer: borrowing ByteBuffer, bytes: Int) {
            (block, start) = (Bytes(buffer.base), 0)
            self.bytes = bytes
        }
    }

    /// Runs the stage and returns where the event is afterwards. Returns nil if the stage rejects the event or cannot scan it, or if too few
    /// steps are left for it.
    mutating func step(_ stage: Stage, _ line: Line, context: inout StageContext) -> Line? {
        guard context.around.steps?.take(stage.steps(toRead: line.bytes)) ?? true else {
            context.errors += 1
            return nil
        }
        guard let event = stage.scan(line.block, line.start) else { return nil }
        // `after` may contain the event, so the stage writes to the other buffer.
        swap(&after, &before)
        after.removeAll()
        switch stage.run(event, &context, to: &after) {
        case .rejected: return nil
        case .unchanged:
            swap(&after, &before)
            return line
        case .changed: stage.replacements.write(event.block, start: event.start, end: event.end, to: &after)
        case .written: break
        }
        let bytes = after.count
        // The scanner needs a line break at the end, and readable bytes after it.
        after.append(UInt8(ascii: "\n"))
        after.reserve(Block.padding)
        (after.base + after.count).update(repeating: UInt8(ascii: "\n"), count: Block.padding)
        return Line(after, bytes: bytes)
    }
}
