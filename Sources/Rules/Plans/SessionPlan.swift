// The rule by which a route determines the sessions of its subjects, as the file defines it.

public import Events

public struct SessionPlan: Sendable, Hashable {
    /// The member whose value is the subject.
    public var by: Path
    /// A new session begins after this time without an event of the subject.
    public var idle = Duration.seconds(1800)
    /// The member that gets the id.
    public var place = Path(keys: ["context", "sessionId"])
    /// The number of subjects that are remembered.
    public var most = 100_000

    public init(by: Path) { self.by = by }
}
