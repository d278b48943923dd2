// What a durable lane asks of its spool. A file is one; tests have others that fail when they are told to.
// It promises that work is done wholly or not at all, and that rows come back in the order of their numbers.

public import Admission
public import ConsentGate
public import Platform

/// Rows of events in order, each of them a small batch. Used by one thread at a time.
public protocol SpoolStore: AnyObject, Sendable {
    /// What an earlier run left.
    var contents: SpoolContents { get }
    /// The rows behind that one, in order: as many as fit into so many bytes, but one at least if there is one.
    func read(after row: Int64, most bytes: Int) throws(SpoolFault) -> [SpoolRow]
    /// Looks at some rows behind that one, in order, and destroys their events that are to go.
    func sweep(after row: Int64, _ broom: RetentionSweep) throws(SpoolFault) -> SpoolSwept
    /// Does all of it, in one transaction, or nothing. What only records what became of rows may be noted elsewhere where there is no room
    /// for that, and is done as well: whoever opens the store finds it so.
    func commit(_ work: SpoolWork) throws(SpoolFault)
    /// Events that turned out to be damaged since the last call: they are set aside and will not be read.
    func takeLoss() -> SpoolLoss?
    /// Gives back the space that nothing needs any more. Called when there is nothing else to do.
    func tidy() throws(SpoolFault)
    /// Behind a `tidy`: nothing of what was destroyed is left between what waits either.
    func clearGaps() throws(SpoolFault)
    /// Fails when its files were removed, moved away or replaced.
    func checkPlace() throws(SpoolFault)
    /// They were: nothing is stored any more, and what they hold is still to be read and removed.
    func letGo()
    /// Puts its files in order; after it nothing is called.
    func close()
}

/// Of stores that have no files.
extension SpoolStore {
    public func checkPlace() throws(SpoolFault) {}
    public func letGo() {}
}

public struct SpoolRow: Sendable {
    public var id: Int64
    public var batch: Batch
    /// How often its events were tried so far, and when first, in nanoseconds since 1970.
    public var attempts: Int
    public var firstTried: Int64?

    public init(id: Int64, batch: Batch, attempts: Int = 0, firstTried: Int64? = nil) {
        self.id = id
        self.batch = batch
        self.attempts = attempts
        self.firstTried = firstTried
    }
}

public struct SpoolWork: Sendable {
    /// New rows; their numbers rise and were never used before.
    public var insert: [(id: Int64, batch: Batch)] = []
    /// Rows of which only these events are left.
    public var rewrite: [(id: Int64, batch: Batch)] = []
    /// How often the events of a row were tried, and when first, in nanoseconds since 1970.
    public var tried: [(id: Int64, attempts: Int, firstTried: Int64)] = []
    public var remove: [Int64] = []
    /// Of rows of `rewrite`: where each of their events stood in the rows as they were, of which some may be in `remove`. Where it is said,
    /// what is settled can be noted also on a disk that has no room for what is left.
    public var left: [Int64: [SpoolPlace]] = [:]

    public init() {}
    public var isEmpty: Bool { insert.isEmpty && rewrite.isEmpty && tried.isEmpty && remove.isEmpty }
}

/// An event of a row.
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
    /// Of the events as they will be delivered.
    public var bytes = 0
    /// The greatest number that a row ever had; 0: there was none.
    public var lastRow: Int64 = 0
    /// How many events there are by route, by the numbers of the run's `RunNames`.
    public var routes: [UInt16: Int] = [:]
    /// When the oldest came in, in nanoseconds since 1970.
    public var oldest: Int64?

    public init() {}
}

/// What was destroyed of some rows.
public struct SpoolSwept: Sendable, Equatable {
    /// How many events were refused by their subjects, by route, by the numbers of the run's `RunNames`.
    public var routes: [UInt16: Int] = [:]
    public var bytes = 0
    /// The same of those that were too old.
    public var aged: [UInt16: Int] = [:]
    public var agedBytes = 0
    /// When the next of those that are left is too old, in nanoseconds since 1970; nil: none ever is.
    public var due: Int64?
    /// The last row that was looked at; nil: there are no more behind.
    public var next: Int64?
    public init() {}
}

/// What was lost of a spool to damage.
public struct SpoolLoss: Sendable, Equatable {
    /// How many events by route, by the numbers of the run's `RunNames`.
    public var routes: [UInt16: Int]
    public var bytes: Int
    /// Says where the rest is, for a person.
    public var words: String

    public init(routes: [UInt16: Int], bytes: Int, words: String) {
        self.routes = routes
        self.bytes = bytes
        self.words = words
    }
}

/// A spool fails as whatever is kept on disk does.
public typealias SpoolFault = StorageFault
