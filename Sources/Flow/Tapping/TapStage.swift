// What a tap shows: a stage of the way of events, and what narrows it.

public import Admission
public import Expressions
public import Plans

/// A stage at which events are shown. The raw values are the words of the command line.
public enum TapStage: String, CaseIterable, Sendable {
    /// Every event that routes judge, with the verdict of each route.
    case `in`
    /// A route denies the event because of consent.
    case denied
    /// The filter of a route does not take the event.
    case filtered
    /// A route leaves the event out by its sample or its limit.
    case sampled
    /// The event waits until its subjects say whether they consent.
    case held
    /// The provider has confirmed the event.
    case sent
    /// The provider has refused the event for good.
    case rejected
    /// The event was kept as a dead letter.
    case dead

    /// True if the events of the stage come from a lane, and false if they come from the routes.
    public var isOfLanes: Bool {
        switch self {
        case .in, .denied, .filtered, .sampled, .held: false
        case .sent, .rejected, .dead: true
        }
    }

    var bit: UInt64 { 1 << UInt64(TapStage.allCases.firstIndex(of: self)!) }
}

/// What somebody wants to see.
public struct TapRequest: Sendable {
    public var stage: TapStage
    /// Only this route counts. Nil stands for all.
    public var route: String?
    /// Only this provider counts, and only the routes that send to it. Nil stands for all.
    public var provider: String?
    /// Only events for which it is true are shown.
    public var condition: Expression?
    /// True if the values of events are shown as they are.
    public var isRaw = false
    /// The number of events after which the tap ends. It is nil if it does not end by itself.
    public var limit: Int?

    public init(_ stage: TapStage) { self.stage = stage }

    /// Returns, for each route of the plan, whether its verdicts count.
    public func routes(of plan: Plan) -> [Bool] {
        let provider = provider.map { name in plan.providers.firstIndex { $0.name == name } }
        return plan.routes.map { candidate in
            if let route, candidate.name != route { return false }
            guard let provider else { return true }
            return provider.map(candidate.providers.contains) ?? false
        }
    }
}

/// A plan whose events are shown. Many events share one.
public final class TapPlan: Sendable {
    public let plan: Plan
    public init(_ plan: Plan) { self.plan = plan }
}

/// An event that was captured for a tap and is not shown yet.
public struct TappedEvent: Sendable {
    public enum Origin: Sendable {
        /// The verdict of each route of the plan, as an index into the columns of a tally, and the index of the source.
        case routes(TapPlan, columns: [UInt8], source: Int)
        /// The lane and the route, and what was answered. The reason is that of a dead letter.
        case lane(provider: String, route: String, answer: Answered?, reason: String?)
    }

    /// What a provider has answered, without what it repeats of the event.
    public struct Answered: Sendable, Equatable {
        public var code: Int
        public var message: String
        public init(code: Int, message: String) {
            self.code = code
            self.message = message
        }
    }

    public var line: [UInt8]
    /// The time at which the event came in, in nanoseconds since 1970.
    public var arrival: Int64
    public var subjects: [SubjectKey]
    public var origin: Origin

    public init(line: [UInt8], arrival: Int64, subjects: [SubjectKey], origin: Origin) {
        self.line = line
        self.arrival = arrival
        self.subjects = subjects
        self.origin = origin
    }
}
