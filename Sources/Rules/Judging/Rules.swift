// The plan compiled to plain values: what the judge reads for each event.

internal import Admission
internal import ConsentGate
internal import Editing
internal import Events
internal import Matching
internal import Sampling

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
    let demand: Demand
    let edits: EditVariants
    /// Nil: the route takes all.
    let sample: UnsafePointer<SampleRule>?
    /// Nil: the route tells no sessions.
    let session: UnsafePointer<SessionRule>?
    let providers: UnsafeBufferPointer<Int>
    /// Whether its copies get a `messageId` when the event has none.
    let addsMessageIDs: Bool
}

/// The edits of a route, by what varies from event to event: the level of the event's state, where members demand levels; then the rate of
/// the sample, where it is written; then whether the id of a session is written.
struct EditVariants: BitwiseCopyable {
    /// Indices of edits; -1: none; below: a program.
    let edits: UnsafeBufferPointer<Int>
    /// How many there are for a level; 0: all levels share them.
    let perLevel: Int
    /// How many there are for a rate; 0: no rate is written.
    let perRate: Int

    @inline(__always) func edit(level: Int, rate: Int, hasSession: Bool) -> Int {
        edits[level &* perLevel &+ rate &* perRate &+ (hasSession ? 1 : 0)]
    }

    /// Which of the ruleset's programs makes the copy; nil: splices alone do.
    @inline(__always) static func program(of edit: Int) -> Int? { edit < -1 ? -2 - edit : nil }
    /// What stands for a program among edits.
    static func edit(ofProgram number: Int) -> Int { -2 - number }
}

struct Rules: @unchecked Sendable {
    var routes: UnsafeBufferPointer<RouteRules>
    /// Of how many routes it is quick to say whether one takes events of a name.
    static let mostNamed = 8
    /// Whether the name of an event tells quickly that no route takes it.
    var namesDecide: Bool
    /// By source, then by key: the routes that its events may take. Of a key that bounds none all are true.
    var bounds: UnsafeBufferPointer<UnsafeBufferPointer<UnsafePointer<Bool>>>
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
    var statement: UnsafePointer<ConsentStatementRules>?
}
