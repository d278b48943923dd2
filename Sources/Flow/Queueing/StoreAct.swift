// The kinds of requests of a lane to its store.

/// A kind of request to the store.
public enum StoreAct: Sendable {
    /// Store new rows.
    case rows
    /// Record the outcomes of stored events.
    case records
    case reads
    /// Destroy events that must not stay.
    case sweeps
}
