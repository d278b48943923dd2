// What limits and targets said of the events of a block. Each of them asks once for an event, even when its block is judged again since
// what is on record has changed: else the same event would use up a limit twice.

public struct SampleDecisions {
    private struct Draw: BitwiseCopyable {
        /// Which event of the block.
        let event: UInt64
        let rule: UnsafePointer<SampleRule>
        let isLimit: Bool
        let answer: Int
    }

    /// Whether answers are kept: only of what may be judged again.
    public var isKeeping = false
    private var drawn: [Draw] = []
    /// What was drawn when the block was judged before, and how far that is used.
    private var before: [Draw] = []
    private var next = 0
    /// The turn of the judge before the first event of the block.
    private var start: UInt64 = 0

    public init() {}

    /// The next event is the first of a block.
    public mutating func begin(after turn: UInt64) {
        drawn.removeAll(keepingCapacity: true)
        before.removeAll(keepingCapacity: true)
        next = 0
        start = turn
    }

    /// The next event is the first of the same block again.
    public mutating func beginAgain(after turn: UInt64) {
        swap(&before, &drawn)
        drawn.removeAll(keepingCapacity: true)
        next = 0
        start = turn
    }

    /// What was answered when the event was judged before; else what the body answers.
    @inline(__always) public mutating func draw(_ rule: UnsafePointer<SampleRule>, isLimit: Bool, turn: UInt64, _ body: () -> Int) -> Int {
        isKeeping ? kept(rule, isLimit, turn &- start, body) : body()
    }

    private mutating func kept(_ rule: UnsafePointer<SampleRule>, _ isLimit: Bool, _ event: UInt64, _ body: () -> Int) -> Int {
        while next < before.count, before[next].event < event { next += 1 }
        var at = next
        while at < before.count, before[at].event == event, before[at].rule != rule || before[at].isLimit != isLimit { at += 1 }
        let isKnown = at < before.count && before[at].event == event
        let answer = isKnown ? before[at].answer : body()
        drawn.append(Draw(event: event, rule: rule, isLimit: isLimit, answer: answer))
        return answer
    }
}
