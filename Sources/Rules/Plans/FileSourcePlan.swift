// What routes.json says of a source that reads files which other processes write, with every default filled in.

public struct FileSourcePlan: Sendable, Equatable {
    /// Patterns of paths, as a shell reads them.
    public var paths: [String] = []
    /// Whether a file goes when all of it was taken in safely and nobody writes it any more.
    public var drains = false
    /// How long a file must not have been written before it goes, or before one that has lost its name is let go.
    public var idle = Duration.seconds(10)
    /// How often the patterns are looked through when the system does not tell of changes.
    public var poll = Duration.seconds(30)
    /// What its events may do to the ledger.
    public var consent: ConsentRight?
    public init() {}
}
