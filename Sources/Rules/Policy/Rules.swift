// The plan compiled to plain values: what the judge reads for each event.

internal import Configuration
internal import Events

struct RouteRules: BitwiseCopyable {
    /// What its events carry to tell that they came by it.
    let number: UInt16
    let events: Globs
    let match: UnsafeBufferPointer<MatchRule>
    let not: Exclusion
    /// Whether it takes only what no route before it took.
    let takesRest: Bool
    /// Which of the ruleset's expressions must hold; -1: none.
    let condition: Int
    let gate: RouteGate
    /// Nil: the route takes all.
    let sample: UnsafePointer<SampleRule>?
    /// Nil: the route tells no sessions.
    let session: UnsafePointer<SessionRule>?
    let providers: UnsafeBufferPointer<Int>
    /// Whether its copies get a `messageId` when the event has none.
    let addsMessageIDs: Bool
}

struct Rules: @unchecked Sendable {
    var routes: UnsafeBufferPointer<RouteRules>
    /// Of how many routes it is quick to say whether one takes events of a name.
    static let mostNamed = 8
    /// Whether the name of an event tells quickly that no route takes it.
    var namesDecide: Bool
    /// By source, then by key: the routes that its events may take. Of a key that bounds none all are true.
    var bounds: UnsafeBufferPointer<UnsafeBufferPointer<UnsafePointer<Bool>>>
    /// Nil: there is no consent section.
    var gate: UnsafePointer<Gate.Rules>?
    var nameSlot: Int
    var messageIDSlot: Int
    /// By provider: names that must not wait for a batch to fill.
    var immediate: UnsafeBufferPointer<Globs>
    var emits: UnsafeBufferPointer<EmitRule>
    /// Where the mark stands of what was made of another event.
    var markSlot: Int
    /// The slots that routes sample by; -1: `messageId`.
    var sampled: UnsafeBufferPointer<Int>
    var subjects: UnsafeBufferPointer<Int>
    var subjectKey: SipKey
    var edits: UnsafeBufferPointer<Edit>
    /// By edit, for those of whole events: the most bytes that an event can gain.
    var growth: UnsafeBufferPointer<Int>
    var digests: UnsafeBufferPointer<DigestRule>
    /// How many digests of edited values there are.
    var rooms: Int
    var keys: UnsafeBufferPointer<HMACKey>
    /// Nil: no ledger is kept.
    var speech: UnsafePointer<SpeechRules>?
}
