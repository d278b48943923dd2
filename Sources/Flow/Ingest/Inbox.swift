// The queue between sources with their own threads and the workers. The sources are listeners, followed files, and standard input beside
// them. Lines are judged in the order in which they arrived. The inbox holds no more bytes than its limit, except for one larger submission
// and for lines that are put after the closing. Every submitter is answered once, and by its deadline, unless a worker has taken its events
// to the lanes before. A submission whose client has left while it waited is dropped.

public import Events
internal import Glibc
public import Platform

public final class Inbox: EventSink, Sendable {
    public struct Limits: Sendable {
        /// The largest number of waiting bytes of all sources together. A submission may be larger if nothing else waits.
        public var bytes = 32_000_000
        /// The time after which a submission is given back if none of its events has gone to a lane. A submitter may set its own deadline.
        public var timeout = Duration.seconds(10)
        /// A submission that waited longer is dropped if its submitter has left.
        public var unasked = Duration.milliseconds(100)
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
        let deadline: Instant
        /// The submission. It is nil for lines that nobody wants an answer for.
        let portion: Submissions.Portion?

        init(_ text: consuming ByteBuffer, overlong: Int? = nil, source: Int) {
            self.text = text
            self.overlong = overlong
            self.source = source
            key = 0
            deadline = Instant(nanoseconds: .max)
            portion = nil
        }

        init(_ text: consuming ByteBuffer, from submitter: Submitter, deadline: Instant, _ portion: Submissions.Portion) {
            self.text = text
            overlong = nil
            source = submitter.source
            key = submitter.key
            self.deadline = deadline
            self.portion = portion
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
        /// True if a worker waits for lines, and everything that was taken before has its place in the order.
        var isHungry = true
        /// True if submissions were offered for which no worker was woken.
        var hasOffers = false
        /// The submissions of the blocks that workers hold. Those that are taken or given back are removed with the next block.
        var inWork: [Submissions] = []
        /// Until this time a block has one submission only, since lanes are full.
        var apartUntil = Instant(nanoseconds: 0)

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
    private let judge = Monitor(Judge())
    private let latency = Monitor(Histogram.times)
    /// The state of the thread that gives back submissions that have waited too long.
    private let watch = Monitor(Watch())
    private struct Judge {
        /// Judges offers on the thread that brought them. It is nil until the run begins.
        var function: (@Sendable () -> Void)?
    }
    private struct Watch {
        /// The time at which it looks again. It is nil if nothing has a deadline.
        var next: Instant?
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

    public func submit(_ lines: consuming ByteBuffer, from submitter: Submitter, answer: @escaping @Sendable (Submission) -> Void) -> Bool {
        let now = clock.now()
        let deadline = submitter.deadline ?? now + limits.timeout
        let measured: @Sendable (Submission) -> Void = { [clock, latency] result in
            let time = clock.now() - now
            latency.withLock { $0.note(time.nanoseconds) }
            answer(result)
        }
        // The time until events have come to their end is that of their providers, and says nothing about the inbox.
        var portion = Submissions.Portion(
            lines: countLines(lines.bytes), since: now, reasons: submitter.reasons, isThere: submitter.isThere,
            answer: submitter.awaitsEnd ? answer : measured)
        (portion.awaitsEnd, portion.taken) = (submitter.awaitsEnd, submitter.taken)
        portion.origin = submitter.origin
        let item = Item(lines, from: submitter, deadline: deadline, portion)
        let isOffer = submitter.offers
        enum Fate { case taken, refused, closing }
        let fate = state.withLock { state -> Fate in
            if state.isClosed { return .closing }
            guard state.isEmpty || state.bytes + item.bytes <= limits.bytes else { return .refused }
            state.items.append(item)
            state.bytes += item.bytes
            if isOffer { state.hasOffers = true }
            return .taken
        }
        switch fate {
        case .refused: return false
        case .closing: answer(.closing)
        case .taken:
            if !isOffer { state.wake() }
            wakeWatch(by: deadline)
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
        add(Item(lines, source: source))
    }

    /// Adds a report that a line of so many bytes was over the limit and was discarded.
    public func put(overlong bytes: Int, source: Int) {
        add(Item(ByteBuffer(), overlong: bytes, source: source))
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
    }

    /// The waiting submissions and their bytes.
    public var waiting: (submissions: Int, bytes: Int) { state.withLock { ($0.items.count - $0.first, $0.bytes) } }

    /// The times from submission to answer, in nanoseconds.
    public var latencies: Histogram { latency.withLock { $0 } }

    // MARK: - Workers

    /// Fills the block with waiting lines of one source and key, and waits only if there are none. Only one worker at a time may call this.
    /// The submissions are nil if nobody wants an answer. The worker must take them before it hands over any of their events.
    public func next(_ block: inout Block) -> (intake: Intake, submissions: Submissions?) {
        block.removeAll()
        guard let first = takeFirst() else {
            endWatch()
            return (.end, nil)
        }
        block.source = first.source
        block.key = first.key
        // Sources in `put` may wait for free space.
        defer { state.wake() }
        if let bytes = first.overlong { return (.overlong(bytes: bytes), nil) }
        swap(&block.text, &first.text)
        Inbox.end(&block)
        var portions = first.portion.map { [$0] } ?? []
        var deadline = first.deadline
        while block.count < limits.block, let more = takeMore(behind: first, room: limits.block - block.count) {
            block.text.append(contentsOf: more.text.bytes)
            Inbox.end(&block)
            if let portion = more.portion { portions.append(portion) }
            deadline = min(deadline, more.deadline)
        }
        assert(block.text.bytes.last.map { $0 == UInt8(ascii: "\n") } ?? true, "the last line of a block does not end")
        assert(
            portions.reduce(0) { $0 + $1.lines } <= countLines(block.text.bytes), "the portions of a block have more lines than the block")
        if portions.isEmpty { return (.lines, nil) }
        let submissions = Submissions(portions, deadline: deadline)
        state.withLock { state in
            state.inWork.removeAll { !$0.isOpen }
            state.inWork.append(submissions)
        }
        wakeWatch(by: deadline)
        return (.lines, submissions)
    }

    /// Gives each submission a block of its own for a while, because a lane is full. Otherwise submissions whose lanes have room would be
    /// given back together with those whose lanes have none.
    public func separate() {
        let until = clock.now() + .seconds(Int64(limits.pause))
        state.withLock { $0.apartUntil = until }
    }

    /// Ends the last line, so that the next submission begins on a new line.
    private static func end(_ block: inout Block) {
        if block.count > 0, block.text.base[block.count - 1] != UInt8(ascii: "\n") { block.text.append(UInt8(ascii: "\n")) }
    }

    private func takeFirst() -> Item? {
        while true {
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
            guard let item, let portion = item.portion, portion.hasLeft(now: clock.now(), unasked: limits.unasked) else { return item }
            portion.answer(.overloaded(retryAfter: limits.pause))
        }
    }

    private func takeMore(behind first: Item, room: Int) -> Item? {
        let now = clock.now()
        return state.withLock { state in
            guard !state.isEmpty, now >= state.apartUntil || first.portion == nil else { return nil }
            let item = state.items[state.first]
            let belongs = item.source == first.source && item.key == first.key && item.overlong == nil
            guard belongs, item.bytes <= room, item.portion?.hasLeft(now: now, unasked: limits.unasked) != true else { return nil }
            return state.take()
        }
    }

    // MARK: - Offers

    /// Lets this function judge offers from now on, by `takeHere`. It leaves to the workers what it does not take.
    public func judgeOffers(by function: @escaping @Sendable () -> Void) { judge.withLock { $0.function = function } }

    public func judgeOffers() {
        guard state.withLock({ $0.hasOffers }) else { return }
        judge.withLock { $0.function }?()
        let isLeft = state.withLock { state in
            state.hasOffers = false
            return !state.isEmpty
        }
        if isLeft { state.wake() }
    }

    /// True if a worker waits for lines.
    var hasIdleWorker: Bool { state.withLock { $0.isHungry } }

    /// Fills the block with waiting submissions of one source and key, and calls `enter` while no other block can be taken. Returns nil if there
    /// are none, if no worker waits for lines, or if they are for a worker: more than `most` bytes wait, lanes are full, or a submission has
    /// waited so long that its submitter may have left.
    public func takeHere(_ block: inout Block, most: Int, enter: () -> Void) -> Submissions? {
        block.removeAll()
        let now = clock.now()
        return state.withLock { state in
            guard state.isHungry, !state.isEmpty, !state.isClosed, state.bytes <= most, now >= state.apartUntil else { return nil }
            let first = state.items[state.first]
            var portions: [Submissions.Portion] = []
            var deadline = first.deadline
            while !state.isEmpty, let portion = state.items[state.first].portion, now - portion.since <= limits.unasked {
                guard state.items[state.first].source == first.source, state.items[state.first].key == first.key else { break }
                let item = state.take()
                block.text.append(contentsOf: item.text.bytes)
                Inbox.end(&block)
                portions.append(portion)
                deadline = min(deadline, item.deadline)
            }
            if portions.isEmpty { return nil }
            (block.source, block.key) = (first.source, first.key)
            let submissions = Submissions(portions, deadline: deadline)
            state.inWork.removeAll { !$0.isOpen }
            state.inWork.append(submissions)
            enter()
            return submissions
        }
    }

    // MARK: - Late submissions

    /// Makes the watching thread look at the given time or earlier. If nothing has a deadline, the thread sleeps, so that it does not wake
    /// an idle router.
    private func wakeWatch(by deadline: Instant) {
        let isEarlier = watch.withLock { watch in
            if let next = watch.next, next <= deadline { return false }
            watch.next = deadline
            return true
        }
        if isEarlier { watch.wake() }
    }

    private func endWatch() {
        watch.withLock { $0.isOver = true }
        watch.wake()
    }

    /// Gives back submissions that have waited too long, until the inbox is closed and empty. It needs a separate thread.
    public func keepWatch() {
        while true {
            let clock = clock
            let isOver = watch.waitUntilReady { watch -> Readiness<Bool> in
                if watch.isOver { return .ready(true) }
                guard let next = watch.next else { return .notBefore(nil) }
                if clock.now() < next { return .notBefore(next) }
                // This is cleared before the look, so that a submission that comes during the look sets it again.
                watch.next = nil
                return .ready(false)
            }
            if isOver { return }
            giveBackLate()
            let next = state.withLock { state in
                (state.items[state.first...].lazy.filter { $0.portion != nil }.map(\.deadline)
                    + state.inWork.lazy.filter(\.isOpen).map(\.deadline)).min()
            }
            if let next { wakeWatch(by: next) }
        }
    }

    func giveBackLate() {
        let now = clock.now()
        let (late, inWork) = state.withLock { state -> ([Item], [Submissions]) in
            let lateInWork = state.inWork.filter { $0.deadline <= now }
            let late = state.items[state.first...].filter { $0.portion != nil && $0.deadline <= now }
            guard !late.isEmpty else { return ([], lateInWork) }
            state.items = state.items[state.first...].filter { $0.portion == nil || $0.deadline > now }
            state.first = 0
            for item in late { state.bytes -= item.bytes }
            assert(state.bytes >= 0, "more bytes left the inbox than came")
            return (late, lateInWork)
        }
        if !late.isEmpty { state.wake() }
        for item in late { item.portion?.answer(.overloaded(retryAfter: limits.pause)) }
        for submissions in inWork { submissions.giveBack(retryAfter: limits.pause) }
    }
}

/// Returns the number of lines. The last line counts even if it has no newline.
private func countLines(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard var at = bytes.baseAddress else { return 0 }
    let end = at + bytes.count
    var count = 0
    while at < end {
        count += 1
        guard let next = memchr(at, Int32(UInt8(ascii: "\n")), end - at) else { break }
        at = UnsafeRawPointer(next) + 1
    }
    return count
}
