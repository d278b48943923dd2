// What of the events that wait is to be destroyed: those whose subject has since refused, and those that are older than they may get.

@_spi(Spool) public import Admission
internal import Events

/// How old waiting events may get, in nanoseconds since they came in.
public struct Retention: Sendable, Equatable {
    /// All of them; nil: any age.
    public var all: Int64?
    /// By the number of the route that they came by.
    public var routes: [UInt16: Int64]

    public init(all: Int64? = nil, routes: [UInt16: Int64] = [:]) {
        self.all = all
        self.routes = routes
    }

    public var isEmpty: Bool { all == nil && routes.isEmpty }

    /// nil: all may get as old as they like.
    public var shortest: Int64? { ([all].compactMap(\.self) + routes.values).min() }

    /// When the event is too old, in nanoseconds since 1970; nil: never.
    public func due(_ entry: Entry) -> Int64? {
        guard let most = [all, routes[entry.route]].compactMap(\.self).min() else { return nil }
        let (due, isNever) = entry.arrival.addingReportingOverflow(most)
        return isNever ? nil : due
    }
}

public struct RetentionSweep: Sendable {
    /// What is to go of a batch, by index, each once.
    public struct Finds: Sendable, Equatable {
        public var refused: [Int] = []
        public var aged: [Int] = []
        /// When the next of the others is too old, in nanoseconds since 1970; nil: none ever is.
        public var due: Int64?

        public init() {}

        public var isEmpty: Bool { refused.isEmpty && aged.isEmpty }
        public func left(of count: Int) -> [Int] {
            let gone = Set(refused + aged)
            return (0..<count).filter { !gone.contains($0) }
        }
    }

    private let check: SecondCheck?
    private let retention: Retention
    private let now: Int64

    /// `check`: nil: only for their age; `now`: nanoseconds since 1970.
    public init(_ check: SecondCheck?, _ retention: Retention = Retention(), now: Int64 = 0) {
        self.check = check
        self.retention = retention
        self.now = now
    }

    /// nil: nobody can tell at the moment what subjects refuse.
    public func finds(in batch: Batch) -> Finds? { finds(in: batch.entries, batch.subjects) }

    public func finds(in entries: UnsafeBufferPointer<Entry>, _ subjects: UnsafeBufferPointer<SubjectKey>) -> Finds? {
        var finds = Finds()
        switch check?.check(entries, subjects) ?? .pass {
        case .pass: break
        case .refused(let refused): finds.refused = refused
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
    /// What is to go of the batch that this stands beside.
    @_spi(Spool) public func finds(_ sweep: RetentionSweep) -> RetentionSweep.Finds? {
        entries.withUnsafeBufferPointer { entries in subjects.withUnsafeBufferPointer { sweep.finds(in: entries, $0) } }
    }
}
