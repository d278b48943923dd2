// Events that wait for their subjects' consent: what of a block is to wait, and what today's rules say of one that has waited.

public import Admission
internal import ConsentGate
public import Events

/// What is known of an event that has waited.
public struct HeldTerms: Sendable {
    public var arrival: Int64
    /// An index into the plan's sources; nil: it has none of that name any more.
    public var source: Int?
    /// Which of the source's keys bounds the routes, counted from 1; 0: none does.
    public var key = 0
    /// The level that it owes to the event that it was made of; 0: none.
    public var level = 0
    /// The messageId that it was given, in its quotes; empty: none was.
    public var messageID: [UInt8] = []
    /// The routes that it has waited for, by their indices.
    public var routes: [Int]

    public init(arrival: Int64, routes: [Int]) {
        self.arrival = arrival
        self.routes = routes
    }
}

extension Judge {
    /// Keeps what some routes would have wait.
    @inline(never) mutating func hold(_ event: ScannedEvent, _ arrival: Int64, level: Int) {
        let lacksID = MessageIDs.lacks(event.slots[rules.messageIDSlot], in: event.block)
        let adds = lacksID && holding.contains { rules.routes[$0].addsMessageIDs }
        held.append(
            event, id: adds ? messageIDs.text(turn) : nil, arrival: arrival, level: level, subjects: gate.subjects(of: event),
            routes: holding)
        holding.removeAll(keepingCapacity: true)
    }

    /// What has waited and is to be decided on again, by the routes that it waited for and no other: these have had it. What is admitted is
    /// appended to the parcels, as if the event had come now, but with its time of then. `isTrial`: nothing is appended, or remembered.
    public mutating func judge(
        held event: ScannedEvent, _ terms: HeldTerms, isTrial: Bool = false, into parcels: UnsafeMutablePointer<Parcel>,
        verdict: (_ route: Int, Verdict) -> Void
    ) {
        self.isTrial = isTrial
        defer { self.isTrial = false }
        begin(held: terms)
        let padded = terms.messageID + [UInt8](repeating: 0, count: Words.slack)
        padded.withUnsafeBufferPointer { id in
            givenID = terms.messageID.isEmpty ? nil : ByteRun(base: id.baseAddress!, count: terms.messageID.count)
            for route in 0..<rules.routes.count {
                guard terms.routes.contains(route) else {
                    // It may have been taken from those with `else`.
                    _ = filter(event, route)
                    continue
                }
                verdict(route, decide(held: event, route, terms.arrival, parcels))
            }
            givenID = nil
        }
    }
}
