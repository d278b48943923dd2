// The submissions of one block. They have one fate: either a worker takes all of them, and then its lanes get their events, or all are given
// back before any lane got one. So a submitter that is told to send again makes no second events.

public import Platform

public final class Submissions: Sendable {
    /// The part of a block that was submitted together.
    public struct Portion: Sendable {
        public var lines: Int
        /// The time at which it was submitted.
        public var since: Instant
        /// Returns false if the submitter has left. It is nil if the submitter never leaves.
        public var isThere: (@Sendable () -> Bool)?
        /// The reasons that the submitter gave for lines that are not events, by their index.
        public var reasons: [Int: String]
        /// True if the answer waits until every event has come to its end.
        public var awaitsEnd = false
        /// Called when the portion can no longer be given back.
        public var taken: (@Sendable () -> Void)?
        /// Where the lines come from, if the submitter said it.
        public var origin: LineOrigin?
        public var answer: @Sendable (Submission) -> Void

        public init(
            lines: Int, since: Instant, reasons: [Int: String] = [:], isThere: (@Sendable () -> Bool)? = nil,
            answer: @escaping @Sendable (Submission) -> Void
        ) {
            self.lines = lines
            self.since = since
            self.isThere = isThere
            self.reasons = reasons
            self.answer = answer
        }

        /// Returns true if it waited longer than `unasked` and its submitter has left. A fast submission is not asked, so that a client that
        /// closes its sending side behind a request is served.
        func hasLeft(now: Instant, unasked: Duration) -> Bool {
            guard let isThere, now - since > unasked else { return false }
            return !isThere()
        }
    }

    private enum Fate { case open, taken, givenBack }

    public let portions: [Portion]
    /// The earliest deadline of the submitters.
    public let deadline: Instant
    private let fate = Monitor(Fate.open)

    public init(_ portions: [Portion], deadline: Instant) {
        assert(!portions.isEmpty, "there is nobody to answer")
        assert(portions.allSatisfy { $0.awaitsEnd == portions[0].awaitsEnd }, "a block is answered at two times")
        self.portions = portions
        self.deadline = deadline
    }

    /// True if they are neither taken nor given back.
    public var isOpen: Bool { fate.withLock { $0 == .open } }

    /// True if the answers wait until every event has come to its end.
    public var awaitsEnd: Bool { portions[0].awaitsEnd }

    /// Takes the submissions, so that their events may go to the lanes. Returns false if they were given back before.
    public func take() -> Bool {
        let isTaken = fate.withLock { fate in
            guard fate == .open else { return false }
            fate = .taken
            return true
        }
        guard isTaken else { return false }
        for portion in portions { portion.taken?() }
        return true
    }

    /// Returns true if one of the submitters has left while its submission waited.
    public func hasLeft(now: Instant, unasked: Duration) -> Bool {
        portions.contains { $0.hasLeft(now: now, unasked: unasked) }
    }

    /// Tells every submitter to send again later, unless the submissions were taken or given back before.
    public func giveBack(retryAfter seconds: Int) {
        let isFirst = fate.withLock { fate in
            guard fate == .open else { return false }
            fate = .givenBack
            return true
        }
        guard isFirst else { return }
        for portion in portions { portion.answer(.overloaded(retryAfter: seconds)) }
    }
}
