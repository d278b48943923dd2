// Finds the waiting events that must be destroyed: those whose subject has since refused, and those that are too old.

@_spi(Spool) public import Admission
internal import Events

/// The maximum age of waiting events, in nanoseconds since their arrival.
public struct Retention: Sendable, Equatable {
    /// The maximum age of every event. It is nil if there is none.
    public var all: Int64?
    /// The maximum age by route number.
    public var routes: [UInt16: Int64]

    public init(all: Int64? = nil, routes: [UInt16: Int64] = [:]) {
        self.all = all
        self.routes = routes
    }

    public var isEmpty: Bool { all == nil && routes.isEmpty }

    /// The shortest maximum age. It is nil if there is none.
    public var shortest: Int64? { ([all].compactMap(\.self) + routes.values).min() }

    /// Returns the time when the event becomes too old, in nanoseconds since 1970, or nil if it never does.
    public func due(_ entry: Entry) -> Int64? {
        guard let most = [all, routes[entry.route]].compactMap(\.self).min() else { return nil }
        let (due, isNever) = entry.arrival.addingReportingOverflow(most)
        return isNever ? nil : due
    }
}

public struct RetentionSweep: Sendable {
    /// The events of a batch that must be destroyed, by index, without duplicates.
    public struct Finds: Sendable, Equatable {
        public var refused: [Int] = []
        /// For each refused event, the receipt of the withdrawal that destroys it, or 0.
        public var receipts: [Int64] = []
        public var aged: [Int] = []
        /// The time when the next of the other events becomes too old, in nanoseconds since 1970. It is nil if none ever does.
        public var due: Int64?

        public init() {}

        /// Returns only the refused events that are in the list.
        public func part(_ events: [Int]) -> Finds {
            let wanted = Set(events)
            var part = Finds()
            for (event, receipt) in zip(refused, receipts) where wanted.contains(event) {
                part.refused.append(event)
                part.receipts.append(receipt)
            }
            return part
        }

        /// Counts the refused events of this batch by receipt.
        public func destroyed(of batch: Batch) -> Destroyed {
            assert(refused.count == receipts.count, "a refused event has no receipt")
            var destroyed = Destroyed()
            for (event, receipt) in zip(refused, receipts) { destroyed.add(receipt, bytes: batch.event(event).count + 1) }
            return destroyed
        }

        public var isEmpty: Bool { refused.isEmpty && aged.isEmpty }
        public func left(of count: Int) -> [Int] {
            let gone = Set(refused + aged)
            assert(gone.count == refused.count + aged.count, "an event is destroyed twice")
            return (0..<count).filter { !gone.contains($0) }
        }
    }

    private let check: SecondCheck?
    private let retention: Retention
    private let now: Int64
    /// True if the sweep carries out a withdrawal. Then damaged rows go too, since nobody can tell whose events they hold.
    public let isForWithdrawal: Bool

    /// Makes a sweep. If `check` is nil, only the age counts. `now` is in nanoseconds since 1970.
    public init(_ check: SecondCheck?, _ retention: Retention = Retention(), now: Int64 = 0, isForWithdrawal: Bool = false) {
        self.isForWithdrawal = isForWithdrawal
        self.check = check
        self.retention = retention
        self.now = now
    }

    /// Returns the events of a batch that must be destroyed. Returns nil if the records cannot be read at the moment.
    public func finds(in batch: Batch) -> Finds? { finds(in: batch.entries, batch.subjects) }

    public func finds(in entries: UnsafeBufferPointer<Entry>, _ subjects: UnsafeBufferPointer<SubjectKey>) -> Finds? {
        finds(in: entries, check?.check(entries, subjects) ?? .pass)
    }

    /// Returns the events of a batch that must be destroyed, if `answer` is the answer of the second check for the batch. It makes no check
    /// itself. Returns nil if the records cannot be read at the moment.
    public func finds(in batch: Batch, answer: SecondCheck.Answer) -> Finds? { finds(in: batch.entries, answer) }

    private func finds(in entries: UnsafeBufferPointer<Entry>, _ answer: SecondCheck.Answer) -> Finds? {
        var finds = Finds()
        switch answer {
        case .pass: break
        case .refused(let refused): (finds.refused, finds.receipts) = (refused.events, refused.receipts)
        case .unreadable: return nil
        }
        guard !retention.isEmpty else { return finds }
        let refused = Set(finds.refused)
        for (index, entry) in entries.enumerated() where !refused.contains(index) {
            guard let due = retention.due(entry) else { continue }
            if due <= now { finds.aged.append(index) } else { finds.due = min(finds.due ?? .max, due) }
        }
        return finds
    }
}

extension BatchIndex {
    /// Returns the events that must be destroyed in the batch of this index.
    @_spi(Spool) public func finds(_ sweep: RetentionSweep) -> RetentionSweep.Finds? {
        entries.withUnsafeBufferPointer { entries in subjects.withUnsafeBufferPointer { sweep.finds(in: entries, $0) } }
    }
}
