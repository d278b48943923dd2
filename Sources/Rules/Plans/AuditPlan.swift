// The audit trail, as the file defines it, and the text of the file as the trail keeps it.

public struct AuditPlan: Sendable, Equatable {
    /// The verdicts that the trail has for single events.
    public enum Verdicts: String, Sendable, CaseIterable {
        /// None. Nothing about verdicts is in the trail.
        case none
        /// Those of events that some route did not get because of consent. Others are counted.
        case denied
        case all
    }
    /// The places that get each new head.
    public struct Heads: Sendable, Equatable {
        public var file: String?
        /// A command with its arguments. It is empty if there is none.
        public var command: [String] = []
        public var every = Duration.seconds(60)
        /// The public keys of witnesses, in the form of C2SP signed-note.
        public var witnesses: [String] = []
        public init() {}
    }

    /// The key from which the trail's keys are derived, as an index into `Plan.keys`.
    public var key = 0
    /// The keys of earlier heads.
    public var previous: [Int] = []
    /// The name of the log. It is nil if it follows from the key.
    public var origin: String?
    public var verdicts = Verdicts.denied
    /// How long entries and verdicts are kept. It is nil if they are kept for good.
    public var retention: Duration?
    public var heads = Heads()
    public init() {}
}

/// The text of a configuration without the texts that no output may show.
public struct PlanText: Sendable {
    public var bytes: [UInt8]
    /// The SHA-256 of the bytes in hexadecimal digits.
    public var hash: String
    public init(bytes: [UInt8], hash: String) {
        self.bytes = bytes
        self.hash = hash
    }
}
