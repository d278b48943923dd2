// Where sources that run by themselves leave lines until a worker has time for them: requests of a listener, files that are followed,
// standard input beside them. It promises that lines which were taken are judged in the order in which they came, that it holds no
// more than it was allowed, and that whoever asked is answered once: also when no worker comes for longer than a client waits.

public import Events
public import Platform

public final class Inbox: EventSink, Sendable {
    /// A part of a block that was submitted as one.
    public struct Portion: Sendable {
        public var lines: Int
        public var answer: @Sendable (Submission) -> Void
        public init(lines: Int, answer: @escaping @Sendable (Submission) -> Void) {
            self.lines = lines
            self.answer = answer
        }
    }

    public struct Limits: Sendable {
        /// The bytes that may wait, of all sources; one submission may be larger when nothing else waits.
        public var bytes = 32_000_000
        /// How long a submission waits for a worker before it is given back.
        public var patience = Duration.seconds(10)
        /// How many seconds a client should wait before it comes again.
        public var pause = 1
        /// A block is not filled further when it has so many bytes.
        public var block = 256 << 10
        public init() {}
    }

    private final class Item: Sendable {
        nonisolated(unsafe) var text: ByteBuffer
        /// Of a line that was over the limit and is gone: its bytes.
        let overlong: Int?
        let source: Int
        let key: Int
        let lines: Int
        let since: Instant
        let deadline: Instant
        let answer: (@Sendable (Submission) -> Void)?

        init(
            _ text: consuming ByteBuffer, overlong: Int? = nil, source: Int, key: Int = 0, since: Instant, deadline: Instant,
            answer: (@Sendable (Submission) -> Void)?
        ) {
            lines = answer == nil ? 0 : countLines(text.bytes)
            self.text = text
            self.overlong = overlong
            self.source = source
            self.key = key
            self.since = since
            self.deadline = deadline
            self.answer = answer
        }

        var bytes: Int { text.count }
    }

    private struct State {
        var items: [Item] = []
        /// The first that waits.
        var first = 0
        var bytes = 0
        /// Sources that put what they read, and have not ended.
        var feeders = 0
        var isClosed = false
        /// Whether a worker waits for lines.
        var isHungry = true

        var isEmpty: Bool { first == items.count }

        mutating func take() -> Item {
            let item = items[first]
            first += 1
            bytes -= item.bytes
            if first == items.count {
                items.removeAll(keepingCapacity: true)
                first = 0
            } else if first > 1024 {
                items.removeFirst(first)
                first = 0
            }
            return item
        }
    }

    private let limits: Limits
    private let clock: Clock
    private let onPause: @Sendable (Bool) -> Void
    private let state = Monitor(State())
    private let latency = Monitor(Histogram.times)
    /// Whether somebody looks after those that have waited too long.
    private let watch = Monitor(Watch())
    private struct Watch {
        var isAwake = false
        var isOver = false
    }

    /// `onPause` is told true when a worker has nothing to do, and false when it has again; at first it counts as paused.
    public init(limits: Limits = Limits(), clock: Clock = .system, onPause: @escaping @Sendable (Bool) -> Void = { _ in }) {
        self.limits = limits
        self.clock = clock
        self.onPause = onPause
    }

    // MARK: - Sources

    public func submit(
        _ lines: consuming ByteBuffer, source: Int, key: Int, answer: @escaping @Sendable (Submission) -> Void
    ) -> Bool {
        let now = clock.now()
        let item = Item(lines, source: source, key: key, since: now, deadline: now + limits.patience, answer: answer)
        enum Fate { case taken, refused, closing }
        let fate = state.withLock { state -> Fate in
            if state.isClosed { return .closing }
            guard state.isEmpty || state.bytes + item.bytes <= limits.bytes else { return .refused }
            state.items.append(item)
            state.bytes += item.bytes
            return .taken
        }
        switch fate {
        case .refused: return false
        case .closing: answer(.closing)
        case .taken:
            state.wake()
            wakeWatch()
        }
        return true
    }

    /// A source that puts what it reads; `leave` must follow. What it puts is taken also after the closing.
    public func join() { state.withLock { $0.feeders += 1 } }

    public func leave() {
        state.withLock { $0.feeders -= 1 }
        state.wake()
    }

    /// Adds lines, waiting while there is no room; nobody is answered.
    public func put(_ lines: consuming ByteBuffer, source: Int) {
        add(Item(lines, source: source, since: clock.now(), deadline: Instant(nanoseconds: .max), answer: nil))
    }

    /// Adds that a line of so many bytes was over the limit and is gone.
    public func put(overlong bytes: Int, source: Int) {
        let now = clock.now()
        add(Item(ByteBuffer(), overlong: bytes, source: source, since: now, deadline: Instant(nanoseconds: .max), answer: nil))
    }

    private func add(_ item: Item) {
        state.waitUntilReady { state -> Readiness<Void> in
            guard state.isEmpty || state.isClosed || state.bytes + item.bytes <= limits.bytes else { return .notBefore(nil) }
            state.items.append(item)
            state.bytes += item.bytes
            return .ready(())
        }
        state.wake()
    }

    /// No more is taken, but for what sources put that have not left; what waits is judged.
    public func close() {
        state.withLock { $0.isClosed = true }
        state.wake()
        watch.withLock { $0.isOver = true }
        watch.wake()
    }

    /// How much waits.
    public var waiting: (submissions: Int, bytes: Int) { state.withLock { ($0.items.count - $0.first, $0.bytes) } }

    /// How long submissions took from their coming to their answer, in nanoseconds.
    public var latencies: Histogram { latency.withLock { $0 } }

    // MARK: - Workers

    /// Fills the block with what waits of one source and key, waiting only while there is nothing; one worker at a time. `portions` gets one
    /// for each submission, in the order of the lines.
    public func next(_ block: inout Block, _ portions: inout [Portion]) -> Intake {
        block.removeAll()
        portions.removeAll(keepingCapacity: true)
        guard let first = takeFirst() else { return .end }
        block.source = first.source
        block.key = first.key
        // Those that put may wait for the room.
        defer { state.wake() }
        if let bytes = first.overlong { return .overlong(bytes: bytes) }
        swap(&block.text, &first.text)
        Inbox.end(&block)
        note(first, &portions)
        while block.count < limits.block, let more = takeMore(behind: first, room: limits.block - block.count) {
            block.text.append(contentsOf: more.text.bytes)
            Inbox.end(&block)
            note(more, &portions)
        }
        return .lines
    }

    private func note(_ item: Item, _ portions: inout [Portion]) {
        guard let answer = item.answer else { return }
        portions.append(
            Portion(lines: item.lines) { [clock, latency, since = item.since] submission in
                let time = clock.now() - since
                latency.withLock { $0.note(time.nanoseconds) }
                answer(submission)
            })
    }

    /// The next submission begins on a line of its own.
    private static func end(_ block: inout Block) {
        if block.count > 0, block.text.base[block.count - 1] != UInt8(ascii: "\n") { block.text.append(UInt8(ascii: "\n")) }
    }

    private func takeFirst() -> Item? {
        let (item, wasHungry) = state.waitUntilReady { state -> Readiness<(Item?, Bool)> in
            if !state.isEmpty {
                let wasHungry = state.isHungry
                state.isHungry = false
                return .ready((state.take(), wasHungry))
            }
            if state.isClosed, state.feeders == 0 { return .ready((nil, false)) }
            if !state.isHungry {
                state.isHungry = true
                onPause(true)
            }
            return .notBefore(nil)
        }
        if wasHungry { onPause(false) }
        return item
    }

    private func takeMore(behind first: Item, room: Int) -> Item? {
        state.withLock { state in
            guard !state.isEmpty else { return nil }
            let item = state.items[state.first]
            let belongs = item.source == first.source && item.key == first.key && item.overlong == nil
            return belongs && item.bytes <= room ? state.take() : nil
        }
    }

    // MARK: - Patience

    /// Somebody looks after what waits only while something does, and a while longer: an idle router is not woken.
    private func wakeWatch() {
        let wasAsleep = watch.withLock { watch in
            defer { watch.isAwake = true }
            return !watch.isAwake
        }
        if wasAsleep { watch.wake() }
    }

    /// Gives back what has waited too long, until the inbox is closed. For a thread of its own.
    public func keepWatch() {
        while true {
            let isOver = watch.waitUntilReady { watch in watch.isOver ? .ready(true) : watch.isAwake ? .ready(false) : .notBefore(nil) }
            if isOver { return }
            giveBackLate()
            let now = clock.now()
            let next = state.withLock { state in
                state.items[state.first...].first { $0.answer != nil }?.deadline ?? (state.isEmpty ? nil : now + limits.patience)
            }
            guard let next else {
                // What came since was seen by nobody: it is looked for once more before the next sleep without end.
                watch.withLock { $0.isAwake = false }
                if !state.withLock({ $0.isEmpty }) { watch.withLock { $0.isAwake = true } }
                continue
            }
            watch.waitUntilReady { watch -> Readiness<Void> in watch.isOver || clock.now() >= next ? .ready(()) : .notBefore(next) }
        }
    }

    func giveBackLate() {
        let now = clock.now()
        let late = state.withLock { state -> [Item] in
            let late = state.items[state.first...].filter { $0.answer != nil && $0.deadline <= now }
            guard !late.isEmpty else { return [] }
            state.items = state.items[state.first...].filter { $0.answer == nil || $0.deadline > now }
            state.first = 0
            for item in late { state.bytes -= item.bytes }
            return late
        }
        state.wake()
        for item in late { item.answer?(.overloaded(retryAfter: limits.pause)) }
    }
}

/// How many lines there are, the last one counted also when it is not ended.
private func countLines(_ bytes: UnsafeRawBufferPointer) -> Int {
    let ends = bytes.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    return bytes.isEmpty || bytes.last == UInt8(ascii: "\n") ? ends : ends + 1
}
