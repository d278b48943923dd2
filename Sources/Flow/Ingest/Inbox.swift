// The queue between sources with their own threads and the workers. The sources are listeners, followed files, and standard input beside
// them. Lines are judged in the order in which they arrived. The inbox holds no more bytes than its limit, except for one larger submission
// and for lines that are put after the closing. Every submitter is answered once, even if no worker comes within the time that a client
// waits.

public import Events
public import Platform

public final class Inbox: EventSink, Sendable {
    /// The part of a block that was submitted together.
    public struct Portion: Sendable {
        public var lines: Int
        public var answer: @Sendable (Submission) -> Void
        public init(lines: Int, answer: @escaping @Sendable (Submission) -> Void) {
            self.lines = lines
            self.answer = answer
        }
    }

    public struct Limits: Sendable {
        /// The largest number of waiting bytes of all sources together. A submission may be larger if nothing else waits.
        public var bytes = 32_000_000
        /// The time that a submission waits for a worker before it is given back.
        public var timeout = Duration.seconds(10)
        /// The number of seconds that a client should wait before it sends again.
        public var pause = 1
        /// The size in bytes from which on nothing more is added to a block.
        public var block = 256 << 10
        public init() {}
    }

    private final class Item: Sendable {
        nonisolated(unsafe) var text: ByteBuffer
        /// The size in bytes of a discarded line over the limit. It is nil for lines.
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
        /// The index of the first waiting item.
        var first = 0
        var bytes = 0
        /// The number of sources that have joined and not left.
        var feeders = 0
        var isClosed = false
        /// True if a worker waits for lines.
        var isHungry = true

        var isEmpty: Bool { first == items.count }

        mutating func take() -> Item {
            assert(!isEmpty, "a line is taken from an empty inbox")
            let item = items[first]
            first += 1
            bytes -= item.bytes
            assert(bytes >= 0, "more bytes left the inbox than came")
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
    /// The state of the thread that gives back submissions that have waited too long.
    private let watch = Monitor(Watch())
    private struct Watch {
        var isAwake = false
        var isOver = false
    }

    /// `onPause` is called with true when a worker has nothing to do, and with false when it has work again. At first the inbox counts as
    /// paused.
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
        let item = Item(lines, source: source, key: key, since: now, deadline: now + limits.timeout, answer: answer)
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

    /// Registers a source that calls `put`. It must call `leave` later. The inbox takes its lines even after `close`.
    public func join() { state.withLock { $0.feeders += 1 } }

    public func leave() {
        state.withLock { state in
            state.feeders -= 1
            assert(state.feeders >= 0, "a source left that had not joined")
        }
        state.wake()
    }

    /// Adds lines, and waits while the inbox is full. Nobody is answered.
    public func put(_ lines: consuming ByteBuffer, source: Int) {
        add(Item(lines, source: source, since: clock.now(), deadline: Instant(nanoseconds: .max), answer: nil))
    }

    /// Adds a report that a line of so many bytes was over the limit and was discarded.
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

    /// Refuses new submissions. Lines of sources that have not left are still taken, and waiting lines are still judged.
    public func close() {
        state.withLock { $0.isClosed = true }
        state.wake()
        watch.withLock { $0.isOver = true }
        watch.wake()
    }

    /// The waiting submissions and their bytes.
    public var waiting: (submissions: Int, bytes: Int) { state.withLock { ($0.items.count - $0.first, $0.bytes) } }

    /// The times from submission to answer, in nanoseconds.
    public var latencies: Histogram { latency.withLock { $0 } }

    // MARK: - Workers

    /// Fills the block with waiting lines of one source and key, and waits only if there are none. Only one worker at a time may call this.
    /// `portions` gets one element for each submission, in the order of the lines.
    public func next(_ block: inout Block, _ portions: inout [Portion]) -> Intake {
        block.removeAll()
        portions.removeAll(keepingCapacity: true)
        guard let first = takeFirst() else { return .end }
        block.source = first.source
        block.key = first.key
        // Sources in `put` may wait for free space.
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
        assert(block.text.bytes.last.map { $0 == UInt8(ascii: "\n") } ?? true, "the last line of a block does not end")
        assert(
            portions.reduce(0) { $0 + $1.lines } <= countLines(block.text.bytes), "the portions of a block have more lines than the block")
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

    /// Ends the last line, so that the next submission begins on a new line.
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

    // MARK: - Late submissions

    /// Wakes the watching thread if it sleeps. It sleeps if nothing has waited for some time, so that it does not wake an idle router.
    private func wakeWatch() {
        let wasAsleep = watch.withLock { watch in
            defer { watch.isAwake = true }
            return !watch.isAwake
        }
        if wasAsleep { watch.wake() }
    }

    /// Gives back submissions that have waited too long, until the inbox is closed. It needs a separate thread.
    public func keepWatch() {
        while true {
            let isOver = watch.waitUntilReady { watch in watch.isOver ? .ready(true) : watch.isAwake ? .ready(false) : .notBefore(nil) }
            if isOver { return }
            giveBackLate()
            let now = clock.now()
            let next = state.withLock { state in
                state.items[state.first...].first { $0.answer != nil }?.deadline ?? (state.isEmpty ? nil : now + limits.timeout)
            }
            guard let next else {
                // A source may have submitted lines after the check above. It found `isAwake` true, so it woke nobody. Therefore this
                // checks again after clearing `isAwake` and before sleeping without limit.
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
            assert(state.bytes >= 0, "more bytes left the inbox than came")
            return late
        }
        state.wake()
        for item in late { item.answer?(.overloaded(retryAfter: limits.pause)) }
    }
}

/// Returns the number of lines. The last line counts even if it has no newline.
private func countLines(_ bytes: UnsafeRawBufferPointer) -> Int {
    let ends = bytes.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    return bytes.isEmpty || bytes.last == UInt8(ascii: "\n") ? ends : ends + 1
}
