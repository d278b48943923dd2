// The part of the judge for events that wait for the consent of their subjects. It collects the events of a block that must be held, and it
// judges a held event again by the present rules.

public import Admission
internal import ConsentGate
public import Events

/// The facts that are known about an event that was held.
public struct HeldTerms: Sendable {
    public var arrival: Int64
    /// The index of its source in the plan. It is nil if the plan no longer has a source of that name.
    public var source: Int?
    /// The key of the source that limits its routes, counted from 1. It is 0 if there is none.
    public var key = 0
    /// The level that an emitted event demands because its original did. It is 0 if there is none.
    public var level = 0
    /// The messageId that it was given, in quotes. It is empty if it was given none.
    public var messageID: [UInt8] = []
    /// The indices of the routes for which it was held.
    public var routes: [Int]

    public init(arrival: Int64, routes: [Int]) {
        self.arrival = arrival
        self.routes = routes
    }
}

extension Judge {
    /// Keeps the event for the routes that hold it.
    @inline(never) mutating func hold(_ event: ScannedEvent, _ arrival: Int64, level: Int) {
        assert(!holding.isEmpty, "an event that no route holds")
        let lacksID = MessageIDs.lacks(event.slots[rules.messageIDSlot], in: event.block)
        let adds = lacksID && holding.contains { rules.routes[$0].addsMessageIDs }
        held.append(
            event, id: adds ? copies.messageIDs.text(context.turn) : nil, arrival: arrival, level: level,
            subjects: gate.subjects(of: event),
            routes: holding)
        holding.removeAll(keepingCapacity: true)
    }

    /// Judges an event that was held, but only by the routes for which it was held: the others have already judged it. Admitted copies are
    /// appended to the parcels with the time when the event came. If `isTrial` is true, nothing is appended and nothing is remembered.
    public mutating func judge(
        held event: ScannedEvent, _ terms: HeldTerms, isTrial: Bool = false, into parcels: UnsafeMutablePointer<Parcel>,
        verdict: (_ route: Int, Verdict) -> Void
    ) {
        context.isTrial = isTrial
        defer { context.isTrial = false }
        begin(held: terms, isForLedger: isForLedger(event))
        let padded = terms.messageID + [UInt8](repeating: 0, count: Words.slack)
        padded.withUnsafeBufferPointer { id in
            copies.givenID = terms.messageID.isEmpty ? nil : ByteRun(base: id.baseAddress!, count: terms.messageID.count)
            for route in 0..<rules.routes.count {
                guard terms.routes.contains(route) else {
                    // If this route took the event, later routes with `else` do not get it.
                    _ = filter.stage(event, route: route, context: &context)
                    continue
                }
                verdict(route, decide(held: event, route, arrival: terms.arrival, parcels: parcels))
            }
            copies.givenID = nil
        }
    }

    /// Begins with an event that was held.
    private mutating func begin(held terms: HeldTerms, isForLedger: Bool) {
        begin(terms.arrival, terms.source ?? -1, raisedFrom: terms.level, isForLedger: isForLedger)
        if let source = terms.source { filter.limit(source: source, key: terms.key) } else { filter.removeLimit() }
    }

    /// Returns the verdict of a route on an event that was held. Appends an admitted copy, except in a trial.
    @inline(never) private mutating func decide(
        held event: ScannedEvent, _ route: Int, arrival: Int64, parcels: UnsafeMutablePointer<Parcel>
    ) -> Verdict {
        defer { forgetErrors() }
        switch decide(event, route) {
        case .refused(let verdict): return verdict
        case .rejected(let copy):
            if !context.isTrial { reject(copy, event: event, arrival: arrival) }
            return .violating
        case .admitted(let copy):
            if !context.isTrial {
                copies.append(copy, event: event, arrival: arrival, parcels: parcels, gate: &gate, context: &context)
            }
            return .admitted
        }
    }
}
