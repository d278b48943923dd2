// The settings of a source that reads files of other processes, with every default filled in.

public struct FileSourcePlan: Sendable, Equatable {
    /// The patterns of paths, in the syntax of a shell.
    public var paths: [String] = []
    /// True if a file is removed after all of it was taken in safely and nobody writes to it any more.
    public var drains = false
    /// The time without a write before a file is removed. After the same time, a file that has lost its name is no longer followed.
    public var idle = Duration.seconds(10)
    /// The time between two searches for changes that the system does not report.
    public var poll = Duration.seconds(30)
    /// The right of its events to write the ledger. If it is nil, they can only refuse consent.
    public var consent: ConsentRight?
    public init() {}
}
