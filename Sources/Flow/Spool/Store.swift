// The interface between a durable lane and its spool. `SpoolFile` implements it, and tests have implementations that fail on demand.
// A store promises that each commit is done completely or not at all, and that rows are read in the order of their numbers.

public import Admission
public import ConsentGate
public import Platform

/// A queue of rows in order. Each row is a small batch of events. Only one thread at a time may use it.
public protocol SpoolStore: AnyObject, Sendable {
    /// A summary of what the store holds. A lane reads it at its start, to learn what an earlier run left.
    var contents: SpoolContents { get }
    /// Returns the rows after `row`, in order. Returns as many rows as fit into `bytes`, but at least one if there is one.
    func read(after row: Int64, most bytes: Int) throws(StorageFault) -> [SpoolRow]
    /// Examines some rows after `row`, in order, and destroys those of their events that must go.
    func sweep(after row: Int64, _ sweep: RetentionSweep) throws(StorageFault) -> SpoolSwept
    /// Does all of the work in one transaction, or nothing. Work that only records what became of rows may be noted elsewhere if there is
    /// no space for it. Then it counts as done: the next opening of the store takes it over.
    func commit(_ work: SpoolWork) throws(StorageFault)
    /// Returns the events that were found damaged since the last call. They are set aside and are never read again.
    func takeLoss() -> SpoolLoss?
    /// Frees the space that is no longer needed. Called when there is nothing else to do.
    func tidy() throws(StorageFault)
    /// Overwrites what is left of destroyed events between the rows that wait. Called after `tidy`.
    func clearGaps() throws(StorageFault)
    /// Throws if the files of the store were removed, moved away or replaced.
    func checkPlace() throws(StorageFault)
    /// Called after the files were removed, moved away or replaced. Nothing more is stored, but rows can still be read and removed.
    func letGo()
    /// Puts the files of the store in order. No function is called after it.
    func close()
}

/// The defaults for stores without files.
extension SpoolStore {
    public func checkPlace() throws(StorageFault) {}
    public func letGo() {}
}

public struct SpoolRow: Sendable {
    public var id: Int64
    public var batch: Batch
    /// The number of attempts to deliver its events so far.
    public var attempts: Int
    /// The time of the first attempt, in nanoseconds since 1970. It is nil if there was none.
    public var firstTried: Int64?

    public init(id: Int64, batch: Batch, attempts: Int = 0, firstTried: Int64? = nil) {
        self.id = id
        self.batch = batch
        self.attempts = attempts
        self.firstTried = firstTried
    }
}

public struct SpoolWork: Sendable {
    /// New rows. Their numbers rise and were never used before.
    public var insert: [(id: Int64, batch: Batch)] = []
    /// Rows that keep only these events.
    public var rewrite: [(id: Int64, batch: Batch)] = []
    /// Rows with their number of attempts and the time of the first attempt, in nanoseconds since 1970.
    public var tried: [(id: Int64, attempts: Int, firstTried: Int64)] = []
    public var remove: [Int64] = []
    /// For a row of `rewrite`, the places of its events in the rows as they were before the work. Some of those rows may be in `remove`. If
    /// these places are given, the settled events can be noted even on a disk that has no space for the remaining events.
    public var left: [Int64: [SpoolPlace]] = [:]
    /// What withdrawals have destroyed since the last commit, of the removed events and of others that had no row.
    public var destroyed = Destroyed()

    public init() {}
    public var isEmpty: Bool { insert.isEmpty && rewrite.isEmpty && tried.isEmpty && remove.isEmpty && destroyed.isEmpty }
}

/// The place of an event: its row and its index in the row.
public struct SpoolPlace: Sendable, Hashable {
    public var row: Int64
    public var index: Int

    public init(row: Int64, index: Int) {
        self.row = row
        self.index = index
    }
}

public struct SpoolContents: Sendable, Equatable {
    public var rows = 0
    public var events = 0
    /// The number of bytes of the events as they will be delivered.
    public var bytes = 0
    /// The greatest number that a row ever had. It is 0 if there was no row.
    public var lastRow: Int64 = 0
    /// The number of events of each route. The keys are the route numbers of the run's `RunNames`.
    public var routes: [UInt16: Int] = [:]
    /// The time at which the oldest event came in, in nanoseconds since 1970. It is nil if it is unknown.
    public var oldest: Int64?
    /// What withdrawals have destroyed in this store so far.
    public var destroyed = Destroyed()

    public init() {}
}

/// The result of a sweep over some rows.
public struct SpoolSwept: Sendable, Equatable {
    /// The number of destroyed events that their subjects refused, for each route number of the run's `RunNames`.
    public var routes: [UInt16: Int] = [:]
    /// The number of bytes of these events.
    public var bytes = 0
    /// The same events by the receipt of their withdrawal.
    public var destroyed = Destroyed()
    /// The number of destroyed events that were too old, for each route number.
    public var aged: [UInt16: Int] = [:]
    public var agedBytes = 0
    /// The time at which the next remaining event becomes too old, in nanoseconds since 1970. It is nil if none ever does.
    public var due: Int64?
    /// The last row that was examined. It is nil if there are no more rows after it.
    public var next: Int64?
    public init() {}
}

/// The events that a spool has lost through damage.
public struct SpoolLoss: Sendable, Equatable {
    /// The number of lost events of each route. The keys are the route numbers of the run's `RunNames`.
    public var routes: [UInt16: Int]
    public var bytes: Int
    /// A message for the user that says where the damaged data is.
    public var words: String

    public init(routes: [UInt16: Int], bytes: Int, words: String) {
        self.routes = routes
        self.bytes = bytes
        self.words = words
    }
}

/// A spool throws the same faults as every other file of the state folder.
public typealias SpoolFault = StorageFault
