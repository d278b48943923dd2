// The answers of limits and targets for the events of a block. A block may be judged again because the consent on record has changed. Even
// then each limit and target is asked only once for an event, so that an event never uses up a limit twice.

public struct SampleDecisions {
    private struct Draw: BitwiseCopyable {
        /// The number of the event in the block.
        let event: UInt64
        let rule: UnsafePointer<SampleRule>
        let isLimit: Bool
        let answer: Int
    }

    /// True if answers are kept, because the block may be judged again.
    public var isKeeping = false
    private var drawn: [Draw] = []
    /// The answers from the time when the block was judged before.
    private var before: [Draw] = []
    /// The index of the first of them that may still be used.
    private var next = 0
    /// The turn of the judge before the first event of the block.
    private var start: UInt64 = 0

    public init() {}

    /// Begins a block. The next event is its first.
    public mutating func begin(after turn: UInt64) {
        drawn.removeAll(keepingCapacity: true)
        before.removeAll(keepingCapacity: true)
        next = 0
        start = turn
    }

    /// Begins the same block again. The next event is its first.
    public mutating func beginAgain(after turn: UInt64) {
        swap(&before, &drawn)
        drawn.removeAll(keepingCapacity: true)
        next = 0
        start = turn
    }

    /// Returns the answer from the time when the event was judged before, or else the answer of the body.
    @inline(__always) public mutating func draw(_ rule: UnsafePointer<SampleRule>, isLimit: Bool, turn: UInt64, _ body: () -> Int) -> Int {
        isKeeping ? kept(rule, isLimit: isLimit, event: turn &- start, body: body) : body()
    }

    private mutating func kept(_ rule: UnsafePointer<SampleRule>, isLimit: Bool, event: UInt64, body: () -> Int) -> Int {
        assert(event > 0 && drawn.last.map { $0.event <= event } ?? true, "the events of a block are not asked for in order")
        while next < before.count, before[next].event < event { next += 1 }
        var at = next
        while at < before.count, before[at].event == event, before[at].rule != rule || before[at].isLimit != isLimit { at += 1 }
        let isKnown = at < before.count && before[at].event == event
        let answer = isKnown ? before[at].answer : body()
        drawn.append(Draw(event: event, rule: rule, isLimit: isLimit, answer: answer))
        return answer
    }
}
