// The plan, compiled to the plain values that the judge reads for each event.

internal import Admission
internal import ConsentGate
internal import Editing
internal import Events
internal import Matching
internal import Sampling

struct RouteRules: BitwiseCopyable {
    /// The number that identifies the route in its events.
    let number: UInt16
    let events: Globs
    let match: UnsafeBufferPointer<MatchRule>
    let not: Exclusion
    /// The number of its globs that may have to search the whole name, in its filter and in its sample.
    let searches: Int
    /// True if it takes only events that no earlier route took.
    let takesRest: Bool
    /// True if `match` names the type. Only such a route takes events of type `consent` and `reset`, if a ledger is kept.
    let matchesType: Bool
    /// The index of the ruleset's expression that must be true. It is -1 if there is none.
    let condition: Int
    /// The index of the ruleset's expression that must not be true. It is -1 if there is none.
    let exclusion: Int
    let demand: Demand
    let edits: EditVariants
    /// The sample. If it is nil, all events pass.
    let sample: UnsafePointer<SampleRule>?
    /// The session. It is nil if the route writes no session ids.
    let session: UnsafePointer<SessionRule>?
    let providers: UnsafeBufferPointer<Int>
    /// True if its copies get a `messageId` when the event has none.
    let addsMessageIDs: Bool
}

/// The edits of a route, in the order of what varies from event to event. First comes the level of the event's state, if members demand
/// levels. Then comes the rate of the sample, if it is written. Last comes whether the id of a session is written.
struct EditVariants: BitwiseCopyable {
    /// Indices of edits. -1 means no edit; lower numbers mean a program.
    let edits: UnsafeBufferPointer<Int>
    /// The number of edits for one level. It is 0 if all levels share them.
    let perLevel: Int
    /// The number of edits for one rate. It is 0 if no rate is written.
    let perRate: Int

    @inline(__always) func edit(level: Int, rate: Int, hasSession: Bool) -> Int {
        assert(edits.indices.contains(level &* perLevel &+ rate &* perRate &+ (hasSession ? 1 : 0)), "an event that no edit is for")
        return edits[level &* perLevel &+ rate &* perRate &+ (hasSession ? 1 : 0)]
    }

    /// Returns the index of the ruleset's program that makes the copy. Returns nil if splices are enough.
    @inline(__always) static func program(of edit: Int) -> Int? { edit < -1 ? -2 - edit : nil }
    /// Returns the number that means this program among the edits.
    static func edit(ofProgram number: Int) -> Int { -2 - number }
}

struct Rules: @unchecked Sendable {
    var routes: UnsafeBufferPointer<RouteRules>
    /// The most routes whose names can be checked quickly for an event.
    static let mostNamed = 8
    /// True if the name of an event shows quickly that no route takes it.
    var namesDecide: Bool
    /// The filters of all routes, compiled together. It is nil if it is faster to visit every route.
    var index: UnsafePointer<RouteIndex>?
    /// For each source and key, whether its events may take each route. It is nil for a key that does not limit its routes.
    var bounds: UnsafeBufferPointer<UnsafeBufferPointer<UnsafePointer<Bool>?>>
    var nameSlot: Int
    var messageIDSlot: Int
    /// For each provider, the names of events that must not wait for a batch to fill.
    var immediate: UnsafeBufferPointer<Globs>
    var emits: UnsafeBufferPointer<EmitRule>
    /// The slot of the mark of emitted events.
    var markSlot: Int
    /// The members by which routes sample.
    var sampled: UnsafeBufferPointer<SampledMember>
    var subjects: UnsafeBufferPointer<Int>
    var subjectKey: SipKey
    var edits: UnsafeBufferPointer<Edit>
    /// For each edit of whole events, the most bytes that an event can gain.
    var growth: UnsafeBufferPointer<Int>
    var digests: UnsafeBufferPointer<DigestRule>
    /// The number of digests of edited values.
    var editedDigests: Int
    var keys: UnsafeBufferPointer<HMACKey>
    /// The rules for statements to the ledger. It is nil if there is no ledger.
    var statement: UnsafePointer<ConsentStatementRules>?
}
