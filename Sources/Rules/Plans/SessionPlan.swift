// How a route tells the sessions of its subjects, as the file says it.

public import Events

public struct SessionPlan: Sendable, Hashable {
    /// The member whose value is the subject.
    public var by: Path
    /// After so long without an event of the subject another session begins.
    public var idle = Duration.seconds(1800)
    /// Where the id is written.
    public var place = Path(keys: ["context", "sessionId"])
    /// How many subjects are remembered.
    public var most = 100_000

    public init(by: Path) { self.by = by }
}
